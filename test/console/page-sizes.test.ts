// The pages are as large as they are said to be.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { consolePage } from '../../server/lib/console-page.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

test('the pages are as large as the README says', async () => {
  const readme = await readFile(fromRoot('README.md'), 'utf8');
  const made = (name: string): Promise<Buffer> => readFile(fromRoot(`dist/server/console/${name}.html`));
  const pages = [
    ['`playground.html` of', await made('playground')],
    ['`report.html` of', await made('report')],
    ['the console of', Buffer.from(consolePage('key').html)],
  ] as const;
  for (const [name, page] of pages) {
    const [, whole = '', packed = ''] = new RegExp(`${name} ([\\d,]+) kB \\((\\d+) kB`).exec(readme) ?? [];
    const isNear = (said: string, bytes: number): boolean =>
      Math.abs(bytes / 1000 / Number(said.replace(',', '')) - 1) < 0.05;
    expect([name, isNear(whole, page.length), isNear(packed, gzipSync(page).length)]).toEqual([name, true, true]);
  }
});

test('a report of 1,000 rows has less than 2 MB', async () => {
  const folder = await makeFolder();
  const grants = Array.from(
    { length: 1000 },
    (_, i) =>
      `  - { id: g${String(i)}, identity: "orcid:0000-0000-0000-${String(i).padStart(4, '0')}", namespace: /labs/lab-${String(i)}, scopes: [resource:write], reason: Stands in for number ${String(i)} }`,
  );
  for (const [name, granted] of [
    ['before', []],
    ['after', grants],
  ] as const) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'policy.yaml'), 'bailiwick: 1\nname: labs\nproviders: { orcid: {} }\n');
    if (granted.length > 0) await writeFile(join(folder, name, 'grants.yaml'), `grants:\n${granted.join('\n')}\n`);
  }
  const report = (await runCli(['diff', 'before', 'after', '--format', 'html'], { cwd: folder })).stdout;
  const [, data = ''] = /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(report) ?? [];
  expect((JSON.parse(data) as { readonly gained: readonly object[] }).gained).toHaveLength(1000);
  expect(Buffer.byteLength(report)).toBeLessThan(2_000_000);
});
