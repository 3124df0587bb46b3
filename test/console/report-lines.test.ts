// How many changes of checks the page of `diff` lists: there may be a million.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';
import { makeFolder } from '../support/temp-folder.js';

test('a report lists a thousand changes of one kind, and counts the others', async () => {
  const folder = await makeFolder();
  const head = 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n';
  const members = Array.from({ length: 60 }, (_, i) => `orcid:u${String(i)}`).join(', ');
  const sides = { apart: `${head}exclusive:\n  - [${members}]\n`, free: head };
  for (const [side, text] of Object.entries(sides)) {
    await mkdir(join(folder, side));
    await writeFile(join(folder, side, 'policy.yaml'), text);
  }
  const ran = makeIo({ cwd: folder });
  expect(await main(['diff', 'apart', 'free', '--format', 'html'], ran.io)).toBe(0);
  const page = ran.stdout();
  expect(page.match(/is no longer denied/g)).toHaveLength(1_000);
  expect(page).toContain('770 more changes of `exclusive` not shown: `bailiwick diff` lists all.');
});
