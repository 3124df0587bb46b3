// A policy of one's own in the playground: its folder is chosen or dropped, what ends soon is said, and a table is copied.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { faultsOf, hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const DAY = 24 * 60 * 60 * 1000;
const until = (days: number): string =>
  new Date(Math.floor(Date.now() / 1000) * 1000 + days * DAY).toISOString().replace('.000Z', 'Z');
const [SOON, LATER] = [until(10), until(100)];

(hasBrowser ? describe : describe.skip)('a folder of a policy', () => {
  let folder: string;
  let browser: TestBrowser;
  let page: Page;
  let faults: readonly string[];

  beforeAll(async () => {
    folder = await makeFolder({
      'labs/policy.yaml': 'bailiwick: 1\nname: labs\nproviders: { badge: {} }\n',
      'labs/people.yaml': 'people:\n  ana: { identities: [badge:a, badge:ana] }\n',
      'labs/grants/own.yaml': `grants:
  - { id: visit, identity: badge:a, namespace: /labs, scopes: [resource:read], expires: ${SOON}, reason: a visit }
  - { id: stay, identity: badge:ana, namespace: /labs, scopes: [resource:write], expires: ${LATER} }
`,
    });
    await runCli(['playground', '-o', join(folder, 'page.html')]);
    browser = await openBrowser();
    page = await browser.context.newPage();
    faults = faultsOf(page, (url) => url.startsWith('file:'));
  }, 60_000);
  beforeEach(async () => {
    await page.goto(pathToFileURL(join(folder, 'page.html')).href);
    await page.locator('.matrix .across .head').first().waitFor();
  });
  afterAll(async () => {
    await browser.close();
  });

  /** As a file manager drops it. */
  const drop = async (path: string): Promise<void> => {
    const session = await browser.context.newCDPSession(page);
    const data = { items: [], files: [path], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await session.send('Input.dispatchDragEvent', { type, x: 200, y: 300, data });
    await session.detach();
  };
  const files = (): Promise<readonly string[]> =>
    page.getByRole('group', { name: 'Files' }).getByRole('button').allTextContents();

  it('is dropped on the page; one without a policy is not opened', async () => {
    // Chromium opens no folder below /dev, where temporary ones may be.
    await drop(fromRoot('docs/examples/erp'));
    await page.getByRole('button', { name: 'audit.yaml', exact: true }).waitFor();
    expect(await files()).toEqual([
      'audit.yaml',
      'guardrails.yaml',
      'policy.yaml',
      'teams/apac/grants.yaml',
      'teams/emea/grants.yaml',
      'tests.yaml',
    ]);
    await drop(fromRoot('test/console'));
    expect(await page.getByRole('alert').textContent()).toBe('Nothing was opened: there is no YAML file in it.');
  }, 60_000);

  it('is chosen; then the page says where each right of a person comes from, and what ends soon', async () => {
    await page.getByLabel('Open a folder').setInputFiles(join(folder, 'labs'));
    await page.getByRole('button', { name: 'grants/own.yaml', exact: true }).waitFor();
    expect(await files()).toEqual(['grants/own.yaml', 'people.yaml', 'policy.yaml']);
    await page.locator('.across .head', { hasText: 'ana' }).first().waitFor();
    await page.getByRole('tab', { name: 'One person' }).click();
    await page.getByLabel('Person or identity').fill('ana');
    await page.keyboard.press('Tab');
    await page.getByRole('heading', { name: 'Ends within 30 days' }).waitFor();
    const ends = await page.locator('h2', { hasText: 'Ends within 30 days' }).locator('+ ul li').allTextContents();
    expect(ends).toEqual([`resource:read at /labs and below until ${SOON}`]);
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('tabpanel').getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()')).split('\n');
    expect(copied.map((line) => line.split('\t'))).toEqual([
      ['Where', 'Scopes', 'Until', 'By'],
      ['/labs and below', 'resource:read', SOON, 'grant visit (grants/own.yaml:2): a visit'],
      ['/labs and below', 'resource:write', LATER, 'grant stay (grants/own.yaml:3)'],
    ]);
    expect(faults).toEqual([]);
  }, 60_000);
});
