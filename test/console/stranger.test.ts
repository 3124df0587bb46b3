// Somebody who knows nothing but the question finds in the playground who can write at a beamline and why, and takes the answer away. What is
// taken away is what the command line says of the shipped policy.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { faultsOf, hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const PLACE = '/beamlines/amx';

interface Grant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
}

interface Answer {
  readonly at: string;
  readonly identities: readonly {
    readonly identity: string;
    readonly person?: string;
    readonly grants: readonly Grant[];
  }[];
}

(hasBrowser ? describe : describe.skip)('a stranger in the playground', () => {
  let browser: TestBrowser;
  let page: Page;
  let faults: readonly string[];

  beforeAll(async () => {
    const file = join(await makeFolder(), 'page.html');
    await runCli(['playground', '-o', file]);
    browser = await openBrowser();
    page = await browser.context.newPage();
    faults = faultsOf(page, (url) => url.startsWith('file:'));
    await page.goto(pathToFileURL(file).href);
  }, 60_000);
  afterAll(async () => {
    await browser.close();
  });

  const saved = async (kind: 'CSV' | 'JSON'): Promise<string> => {
    const table = page.locator('section', { has: page.getByRole('heading', { name: 'Who can do it there' }) });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      table.getByRole('button', { name: kind, exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`who-can.${kind.toLowerCase()}`);
    return readFile(await download.path(), 'utf8');
  };
  const whoCan = async (scope: string, at: string): Promise<Answer> => {
    const { stdout } = await runCli(['who-can', fromRoot('policies'), scope, PLACE, '--at', at, '--format', 'json']);
    return JSON.parse(stdout) as Answer;
  };

  it('has the shipped policy before them', async () => {
    expect(await page.locator('header select').inputValue()).toBe('A research facility (shipped)');
    await page.locator('.seal', { hasText: /sha256:/ }).waitFor();
  });

  it('asks who can write there, and takes it away as the command line says it', async () => {
    await page.getByRole('tab', { name: 'Why' }).click();
    const scopes = page.getByRole('tabpanel').locator('select');
    const writing = (await scopes.locator('option').allTextContents()).filter((scope) => scope.endsWith(':write'));
    expect(writing.length).toBeGreaterThan(3);
    for (const scope of writing) {
      await scopes.selectOption(scope);
      await page.getByLabel('at', { exact: true }).fill(PLACE);
      await page.keyboard.press('Tab');
      await page.getByRole('button', { name: 'CSV', exact: true }).waitFor();
      const json = JSON.parse(await saved('JSON')) as Answer;
      const said = await whoCan(scope, json.at);
      expect(json).toEqual(said);
      expect(said.identities.length).toBeGreaterThan(0);
      const [heads, ...rows] = (await saved('CSV')).replace('\ufeff', '').trimEnd().split('\r\n');
      expect([heads, rows.length]).toEqual(['"Who","Person","By"', said.identities.length]);
      said.identities.forEach(({ identity, person = '', grants }, i) => {
        expect(rows[i]).toMatch(new RegExp(`^"${identity}","${person}","grant `));
        for (const { id, file, line } of grants) expect(rows[i]).toContain(`grant ${id} (${file}:${String(line)})`);
      });
    }
  }, 120_000);

  it('asks why one of them can, and sees the grants that were taken away', async () => {
    const { identities } = await whoCan('resource:write', new Date().toISOString());
    const [first] = identities;
    await page.getByRole('tabpanel').locator('select').selectOption('resource:write');
    await page.getByRole('button', { name: `Why? ${first?.identity ?? ''}`, exact: true }).click();
    await page.getByRole('heading', { name: 'Allowed' }).waitFor();
    const by = await page.locator('h3', { hasText: 'By' }).locator('+ ul li').allTextContents();
    expect(by.map((text) => /^grant (\S+)/.exec(text)?.[1])).toEqual(first?.grants.map(({ id }) => id));
    expect(faults).toEqual([]);
  }, 60_000);
});
