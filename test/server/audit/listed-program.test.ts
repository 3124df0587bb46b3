// The program of docs/audit.md, which says without ours which records an answer showed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { type Listed, listedOf, showsRecord } from '../../../server/audit/listed.js';
import { LOG, logFiles, logOf } from '../../support/audit-log.js';
import { fromRoot } from '../../support/root.js';

const EVENT = 'Zm9vYmFyYmF6cXV4';
const idOf = (n: number): string => `0190c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const idsOf = (count: number, from = 0): readonly string[] => Array.from({ length: count }, (_, i) => idOf(from + i));
const page = readFileSync(fromRoot('docs/audit.md'), 'utf8');

it('the program of the page says the same as we do', async () => {
  if (spawnSync('python3', ['--version']).status !== 0) {
    process.stderr.write('python3 is not on this machine: the program of docs/audit.md is not run\n');
    return;
  }
  const [program = ''] = /(?<=```python\n)[^]*?(?=```)/.exec(page) ?? [];
  const lists: readonly (Listed | undefined)[] = [
    { count: 3, set: 'L1w1TJo2oy45gA' },
    listedOf(EVENT, idsOf(500).join(','), 'set'),
    listedOf(EVENT, idsOf(500, 100).join(','), 'set'),
    listedOf(EVENT, idsOf(5, 8).join(','), 'set'),
    listedOf(EVENT, idsOf(5, 80).join(','), 'set'),
    { count: 7 },
    undefined,
  ];
  const folder = await logOf(
    lists.map((listed, i) =>
      JSON.stringify({ id: EVENT, seq: i + 1, log: LOG, ...(listed === undefined ? {} : { listed }) }),
    ),
  );
  const run = spawnSync('python3', ['-', join(logFiles(folder)[0] ?? ''), idOf(10)], {
    input: program,
    encoding: 'utf8',
  });
  expect(run.stderr).toBe('');
  const words = { yes: 'yes', maybe: 'maybe', no: 'no', unrecorded: 'not recorded', unreadable: '' };
  const ours = lists.map(
    (listed) => words[listed === undefined ? 'unrecorded' : showsRecord(EVENT, listed, idOf(10)).kind],
  );
  expect(ours).toEqual(['maybe', 'maybe', 'no', 'yes', 'no', 'not recorded', 'not recorded']);
  expect(run.stdout).toBe(ours.map((said, i) => `${String(i + 1)} ${said}\n`).join(''));
});
