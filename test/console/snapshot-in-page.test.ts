// A snapshot opened in the playground: the questions are answered as the command line answers them, and what needs files says so.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { faultsOf, hasBrowser, openBrowser } from '../support/browser.js';
import { runCli } from '../support/run-cli.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

(hasBrowser ? test : test.skip)(
  'a snapshot is opened in the page',
  async () => {
    const folder = await makeFolder();
    const [snapshot, damaged] = [join(folder, 'snapshot.json'), join(folder, 'damaged.json')];
    const compiled = await runCli(['compile', fromRoot('policies'), '-o', snapshot, '--format', 'json']);
    const { snapshot: digest } = JSON.parse(compiled.stdout) as { readonly snapshot: string };
    await writeFile(damaged, (await readFile(snapshot, 'utf8')).replace('b-11240', 'b-11241'));
    await runCli(['playground', '-o', join(folder, 'page.html')]);
    const browser = await openBrowser();
    try {
      const page = await browser.context.newPage();
      const faults = faultsOf(page, (url) => url.startsWith('file:'));
      const pane = page.getByRole('tabpanel');
      const tab = (name: string): Promise<void> => page.getByRole('tab', { name }).click();
      await page.goto(pathToFileURL(join(folder, 'page.html')).href);
      await page.locator('.matrix .across .head').first().waitFor();
      await page.getByLabel('Open a snapshot').setInputFiles(damaged);
      expect(await page.getByRole('alert').textContent()).toMatch(/^Nothing was opened: .+\.$/);
      await page.getByLabel('Open a snapshot').setInputFiles(snapshot);
      await page.getByText('A snapshot is what a gateway decides by.').waitFor();
      expect(await page.locator('.seal').textContent()).toContain(digest);
      await tab('Tests and guardrails');
      await pane.getByText('A snapshot holds neither tests nor guardrails').waitFor();
      await tab('What changed');
      await pane.getByText('Nothing can be changed in a snapshot.').waitFor();
      await tab('Why');
      await page.getByLabel('May', { exact: true }).fill('badge:b-10210');
      await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
      await page.keyboard.press('Tab');
      await pane.getByRole('heading', { name: 'Denied' }).waitFor();
      // The answer does not wait for the edits.
      await pane
        .getByText(/opens 779 other cells/)
        .first()
        .waitFor();
      await tab('One person');
      await page.getByLabel('Person or identity').fill('davide-ferro');
      await page.keyboard.press('Tab');
      await pane.getByText('a snapshot does not have the names of people').waitFor();
      const at = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
      const asked = await runCli(['what-can', snapshot, 'badge:b-11240', '--at', at, '--format', 'json']);
      const { access } = JSON.parse(asked.stdout) as { readonly access: readonly object[] };
      await page.getByLabel('Person or identity').fill('badge:b-11240');
      await page.keyboard.press('Tab');
      await pane.getByText(`${String(access.length)} rows`).waitFor();
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  120_000,
);
