// Requests that somebody writes into the playground are decided as `bailiwick decide` decides them, by the policy as it is edited in the page.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { faultsOf, hasBrowser, openBrowser } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const access = (id: string, identity: string, scope: string): object => ({
  ...{ id, actor: { identities: [identity] } },
  request: { kind: 'access', scope, target: '/beamlines/amx' },
});
const LINES = [
  JSON.stringify(access('leads write', 'badge:b-11240', 'resource:write')),
  JSON.stringify(access('others do not', 'badge:b-10210', 'resource:write')),
  JSON.stringify({ ...access('long ago', 'badge:b-11240', 'resource:write'), at: '2001-01-01T00:00:00Z' }),
  JSON.stringify({
    actor: { identities: ['badge:b-11240'] },
    request: { kind: 'copy', source: '/beamlines/amx/a', destination: '/labs/b' },
  }),
  JSON.stringify(access('no such scope', 'badge:b-11240', 'resource:frobnicate')),
  JSON.stringify(access('no identity', 'b-11240', 'resource:write')),
  '',
  '{"id":"twice","id":"twice"}',
  '{"id":"cut off"',
];

(hasBrowser ? test : test.skip)(
  'lines of requests are decided in the page as on the command line',
  async () => {
    const folder = await makeFolder();
    const [file, requests] = [join(folder, 'page.html'), join(folder, 'requests.jsonl')];
    await writeFile(requests, LINES.join('\n'));
    await runCli(['playground', fromRoot('policies'), '-o', file]);
    const browser = await openBrowser();
    try {
      const page = await browser.context.newPage();
      const faults = faultsOf(page, (url) => url.startsWith('file:'));
      await page.goto(pathToFileURL(file).href);
      await page.getByRole('tab', { name: 'Requests' }).click();
      const pane = page.getByRole('tabpanel');
      // What is there first is an example of the policy that is open.
      await pane.getByRole('row', { name: /^r1 (?:allow|deny) / }).waitFor();
      await page.getByLabel('Requests, one a line').fill(LINES.join('\n'));
      await pane.getByRole('row', { name: /^leads write allow grant amx-leads/ }).waitFor();
      const [, at = ''] = /decided at (\S+Z)\./.exec((await pane.textContent()) ?? '') ?? [];
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        pane.getByRole('button', { name: 'JSON', exact: true }).click(),
      ]);
      const said = await runCli(['decide', fromRoot('policies'), '--requests', requests, '--at', at]);
      const answers = said.stdout.trimEnd().split('\n');
      expect(answers).toHaveLength(8);
      expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toEqual(
        answers.map((line) => JSON.parse(line) as object),
      );
      expect(await pane.getByRole('row', { name: /^others do not / }).textContent()).toContain('no_matching_grant');
      await pane.getByRole('row', { name: /error request\.duplicate_key/ }).waitFor();
      // An edit is decided by at once.
      await page.getByRole('button', { name: 'grants/beamlines/amx/grants.yaml' }).click();
      const text = page.getByRole('textbox', { name: 'Text of grants/beamlines/amx/grants.yaml' });
      await text.focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.press('Delete');
      await page.keyboard.insertText('grants: []\n');
      await pane.getByRole('row', { name: /^leads write deny no_matching_grant/ }).waitFor();
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  120_000,
);
