// What the product costs in counts (bench/counts.json) is what it was: no more trips, statements, rows, blocks and bytes than is recorded,
// and no fewer without saying so.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { fromRoot } from './support/root.js';
import { makeFolder } from './support/temp-folder.js';

interface Compared {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function compare(...args: readonly string[]): Compared {
  return spawnSync(process.execPath, [fromRoot('bench/counts/measure.mjs'), ...args], {
    cwd: fromRoot(''),
    encoding: 'utf8',
  });
}

const RECORDED = {
  percent: { trips: 0, blocks: 10 },
  counts: { 'a create, trips': 3, 'a page, blocks': 100, 'PostgreSQL 12: a page, blocks': 7 },
};
const ABSENT = 'PostgreSQL 12: not counted, it is not here\n';
const ACCEPT =
  'If this is meant: `make bench-counts` records it in bench/counts.json, to be committed and reviewed with the change.\n';

async function filesWith(counts: Readonly<Record<string, number>>): Promise<readonly string[]> {
  const folder = await makeFolder({
    'recorded.json': JSON.stringify(RECORDED),
    'counted.json': JSON.stringify({ counts }),
  });
  const files = { recorded: `${folder}/recorded.json`, counted: `${folder}/counted.json`, out: `${folder}/out.json` };
  return Object.entries(files).flatMap(([option, path]) => [`--${option}`, path]);
}

it('is as recorded', () => {
  const { status, stdout, stderr } = compare();
  expect({ status, said: `${stderr}${status === 0 ? '' : stdout}` }).toEqual({ status: 0, said: '' });
  expect(stdout).toMatch(/\d+ counts, as recorded\n$/);
});

it.each([
  ['what is within its tolerance', { 'a create, trips': 3, 'a page, blocks': 110 }, ''],
  [
    'what is worse',
    { 'a create, trips': 4, 'a page, blocks': 111 },
    'Worse:\n  a create, trips: was 3, is 4 (33.3 % more, 0 % may differ)\n  a page, blocks: was 100, is 111 (11.0 % more, 10 % may differ)\n',
  ],
  [
    'what is better',
    { 'a create, trips': 1, 'a page, blocks': 90 },
    'Better, which is not recorded:\n  a create, trips: was 3, is 1 (66.7 % less, 0 % may differ)\n',
  ],
  [
    'what is new or gone',
    { 'a create, trips': 3, 'a count, blocks': 9, 'PostgreSQL 99: a page, blocks': 8 },
    'Counted, but not recorded:\n  a count, blocks: is 9\nRecorded, but no longer counted:\n  a page, blocks: was 100\nPostgreSQL 99: not compared, nothing is recorded of it\n',
  ],
])('tells %s', async (_, counted, said) => {
  const { status, stdout } = compare(...(await filesWith(counted)));
  expect(stdout).toBe(`${said}${ABSENT}${said === '' ? '2 counts, as recorded\n' : ACCEPT}`);
  expect(status).toBe(said === '' ? 0 : 1);
});

it('records what differs, and keeps what is within its tolerance or cannot be counted here', async () => {
  const files = await filesWith({ 'a create, trips': 1, 'a page, blocks': 109, 'a count, rows': 2 });
  expect(compare(...files, '--record').status).toBe(0);
  expect(JSON.parse(readFileSync(files[1] ?? '', 'utf8'))).toEqual({
    percent: { trips: 0, blocks: 10, rows: 0 },
    counts: { 'a create, trips': 1, 'a page, blocks': 100, 'a count, rows': 2, 'PostgreSQL 12: a page, blocks': 7 },
  });
  expect(compare(...files).status).toBe(0);
});
