// `audit verify` as an operator runs it: whole or not, where the fault is, and the heads that somebody noted.
import { beforeAll, expect, it, test } from '@jest/globals';
import { logOf, readLines, type Written, writeLog } from '../support/audit-log.js';
import { type CliRun, runCli } from '../support/run-cli.js';

let log: Written;
let lines: readonly string[] = [];

beforeAll(async () => {
  log = await writeLog(6);
  lines = readLines(log.folder);
});

const verify = (...asked: readonly string[]): Promise<CliRun> => runCli(['audit', 'verify', ...asked]);
const head = (): string => `${String(log.head.seq)}:${log.head.hash}`;

it('says of a log that it is whole, with its head, which a later run takes', async () => {
  const { status, stdout } = await verify(log.folder);
  expect([status, stdout]).toEqual([0, `testlog: 6 events, head ${head()}\nwhole: 6 events in 1 log\n`]);
  expect((await verify(log.folder, '--head', head())).status).toBe(0);
});

test.each<[string, (all: readonly string[]) => readonly string[], string[]]>([
  [
    'an event that was edited',
    (all) => all.map((line, at) => (at === 3 ? line.replace('400', '200') : line)),
    ['edited'],
  ],
  ['one that was removed', (all) => all.filter((_, at) => at !== 3), ['missing']],
  ['the end that was cut off', (all) => all.slice(0, 4), ['head']],
])('ends with 8 for %s, and names it', async (_, change, kinds) => {
  const folder = await logOf(change(lines));
  const { status, stdout } = await verify(folder, '--head', head(), '--format', 'json');
  expect(status).toBe(8);
  const { ok, faults, error } = JSON.parse(stdout) as Readonly<Record<string, readonly { readonly kind: string }[]>>;
  expect([ok, error]).toEqual([false, expect.objectContaining({ code: 'audit.faults' })]);
  expect(faults?.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
  const text = await verify(folder, '--head', head());
  expect([text.status, text.stdout]).toEqual([8, expect.stringContaining(`: ${kinds[0] ?? ''}: `)]);
});
