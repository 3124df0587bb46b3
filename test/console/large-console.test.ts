// The console of a gateway with many grants, in `make test-deep` with 100,000: a snapshot is uploaded and put in force through the page, and the
// one before, from which it differs in four grants, is judged beside it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { faultsOf, hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { serveConsole, type ServedConsole } from '../support/console-gateway.js';
import { fromRoot } from '../support/root.js';
import { CLI } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';

const run = promisify(execFile);
const GRANTS = times({ usual: 10_000, deep: 100_000 });
const EDITS = 4;
const PATIENCE = times({ usual: 60_000, deep: 180_000 });

(hasBrowser ? describe : describe.skip)(`a gateway with ${String(GRANTS)} grants in a browser`, () => {
  let gateway: ServedConsole;
  let browser: TestBrowser;
  let page: Page;
  let faults: readonly string[];
  let edited: string;

  beforeAll(async () => {
    const folder = await makeFolder();
    const [plain, ...more] = await Promise.all([compiled(folder, 0), compiled(folder, EDITS)]);
    [edited] = more;
    [gateway, browser] = await Promise.all([serveConsole(plain), openBrowser()]);
    page = await browser.context.newPage();
    page.setDefaultTimeout(PATIENCE);
    faults = faultsOf(page, (url) => url.startsWith(gateway.url));
  }, PATIENCE);
  afterAll(async () => {
    await browser.close();
    gateway.served.child.kill('SIGKILL');
  });

  it(
    'one snapshot is put in force, and another one judged beside it',
    async () => {
      const button = (name: RegExp): Locator => page.getByRole('button', { name });
      await page.goto(`${gateway.url}/console`);
      await page.getByLabel('Admin key').fill(gateway.adminKey);
      await page.keyboard.press('Enter');
      await page.getByRole('tab', { name: 'Snapshots' }).click();
      await page.getByLabel('Compare a file, then upload it').setInputFiles(edited);
      await button(/^Upload it$/).click();
      await page.getByText('is stored. It decides nothing').waitFor();
      const activate = button(/^Activate: /);
      const [, gained = '', lost = ''] =
        /^Activate: ([\d,]+) cells gained, ([\d,]+) lost$/.exec((await activate.textContent()) ?? '') ?? [];
      await activate.click();
      await page.getByText('is in force here').waitFor();
      await button(/^Compare sha256:/).click();
      await button(/^Judge it in shadow$/).click();
      await page.getByText('is judged beside what runs').waitFor();
      // The page counted the cells in one direction, and the gateway counts them in the other.
      await page.getByText(`${lost} cells gained, ${gained} cells lost of `).waitFor();
      const rows = page.getByRole('region', { name: 'Table of shadow-cells' });
      // One grant was added for the first person, and one moved to the second.
      for (const person of ['badge:p000000', 'badge:p000001'])
        expect(await rows.getByRole('row', { name: new RegExp(`^lost ${person} .* always$`) }).count()).toBe(1);
      expect(faults).toEqual([]);
    },
    PATIENCE,
  );
});

async function compiled(folder: string, edits: number): Promise<string> {
  const [policy, snapshot] = [join(folder, `policy-${String(edits)}`), join(folder, `${String(edits)}.json`)];
  const sizes = ['--grants', String(GRANTS), '--edits', String(edits)];
  await run(process.execPath, [fromRoot('bench/policies/generate.mjs'), policy, ...sizes]);
  await run(process.execPath, [CLI, 'compile', policy, '-o', snapshot, '--format', 'json']);
  return snapshot;
}
