// `audit verify` as an operator runs it: intact or not, where the fault is, and the heads that somebody noted.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { eventOf, logFiles, logOf, readLines, type Written, writeLog, writerOf } from '../support/audit-log.js';
import { leafHash } from '../../server/signing/merkle.js';
import { placeText } from '../../server/audit/log-place.js';
import { makeFolder } from '../support/temp-folder.js';
import { type CliRun, runCli } from '../support/run-cli.js';

let log: Written;
let lines: readonly string[] = [];

beforeAll(async () => {
  log = await writeLog(6);
  lines = readLines(log.folder);
});

const verify = (...asked: readonly string[]): Promise<CliRun> => runCli(['audit', 'verify', ...asked]);
const head = (): string => `${String(log.head.seq)}:${log.head.hash}`;

it('says of a log that it is intact, with its head, which a later run takes', async () => {
  const { status, stdout } = await verify(log.folder);
  const store =
    'not compared with the store: this is not the folder of the settings; name the store with a flag to compare with it';
  const text = `testlog: 6 events, head ${head()}\n${store}\nintact: 6 events of 1 log\n`;
  expect([status, stdout]).toEqual([0, text]);
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

it('ends with 8 where there is no log at all: a path may be mistyped, or a folder wiped', async () => {
  const empty = await makeFolder();
  const there = await verify(empty);
  expect([there.status, there.stdout]).toEqual([8, expect.stringContaining(`absent: there is no event in ${empty}`)]);
  const gone = await verify(join(empty, 'gone'));
  expect([gone.status, gone.stderr]).toEqual([8, expect.stringContaining('there is no audit log in')]);
});

describe('the snapshots that events name', () => {
  const bytes = '{"policy":"any"}';
  const snapshot = `sha256:${hash('sha256', bytes)}`;
  const path = (folder: string): string => join(folder, 'snapshots', `${snapshot.slice(7)}.json`);

  async function logWithSnapshot(): Promise<string> {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    writer.add(eventOf(1));
    writer.add(eventOf(2, { snapshot }));
    // It was stored for later, and has decided nothing.
    const stored = { kind: 'admin', operation: 'snapshot.store', outcome: 'allowed' } as const;
    writer.add(eventOf(3, { ...stored, snapshot: `sha256:${'1'.repeat(64)}` }));
    await writer.close();
    mkdirSync(join(folder, 'snapshots'));
    writeFileSync(path(folder), bytes);
    return folder;
  }

  it('are beside the log, to the byte', async () => {
    const folder = await logWithSnapshot();
    expect((await verify(folder)).status).toBe(0);
    writeFileSync(path(folder), bytes.replace('any', 'all'));
    const changed = await verify(folder);
    expect([changed.status, changed.stdout]).toEqual([8, expect.stringContaining('testlog: 2: snapshot: ')]);
    expect(changed.stdout).toContain('1 fault in 3 events of 1 log');
    rmSync(path(folder));
    const { status, stdout } = await verify(folder, '--format', 'json');
    expect([status, JSON.parse(stdout)]).toMatchObject([
      8,
      {
        ok: false,
        faults: [{ log: 'testlog', seq: 2, kind: 'snapshot', text: expect.stringContaining('is missing') }],
      },
    ]);
  });
});

describe('files that were moved to an archive', () => {
  /** Moves the oldest file, as docs/audit.md says. */
  async function archived(): Promise<{ readonly folder: string; readonly archive: string; readonly moved: string }> {
    const { folder } = await writeLog(9);
    const archive = await makeFolder();
    const [oldest = ''] = logFiles(folder);
    const name = basename(oldest);
    writeFileSync(join(folder, 'archived.sha256'), `${hash('sha256', readFileSync(oldest))}  ${name}\n`);
    const moved = join(archive, name);
    renameSync(oldest, moved);
    return { folder, archive, moved };
  }

  it('are taken from the list, and read where they are', async () => {
    const { folder, archive, moved } = await archived();
    const unread = await verify(folder);
    expect([unread.status, unread.stdout]).toEqual([0, expect.stringContaining('not read: 1 archived file;')]);
    const read = await verify(folder, '--archive', archive);
    expect([read.status, read.stdout]).toEqual([0, expect.stringContaining('intact: 9 events of 1 log')]);
    writeFileSync(moved, readFileSync(moved, 'utf8').replace('400', '200'));
    const edited = await verify(folder, '--archive', archive);
    expect([edited.status, edited.stdout]).toEqual([
      8,
      expect.stringMatching(/archived: .* was changed.*\n.*edited: /),
    ]);
    rmSync(moved);
    const lost = await verify(folder, '--archive', archive);
    expect([lost.status, lost.stdout]).toEqual([8, expect.stringContaining('is not there')]);
  });

  it('are named where they are the newest, as far as anything tells which they are', async () => {
    const { folder, head: end } = await writeLog(9);
    const [archive, newest = ''] = [await makeFolder(), logFiles(folder).at(-1)];
    const [name, first] = [basename(newest), Number(basename(newest).split('.')[1])];
    const text = readFileSync(newest);
    renameSync(newest, join(archive, name));
    const said = async (...more: readonly string[]): Promise<string> => {
      const { status, stdout } = await verify(folder, '--head', `9:${end.hash}`, ...more);
      expect(status).toBe(8);
      return /head: (.*)/.exec(stdout)?.[1] ?? '';
    };
    const noted = 'there is no event 9, which was noted as the end of the log: ';
    expect(await said()).toBe(`${noted}its end was cut off, or its newest files are absent, those from ${name} on`);
    expect(await said('--archive', archive)).toBe(
      `${noted}its newest files were moved to ${archive}, and archived.sha256 does not list them: ${name}`,
    );
    const place = (file: number): void => {
      const told = { tree: { size: 9, roots: [leafHash('8'), leafHash('9')] }, hash: end.hash, file, bytes: 100 };
      writeFileSync(join(folder, 'testlog.place'), placeText(told));
    };
    place(first);
    expect(await said()).toBe(`${noted}its newest files are absent, ${name} among them`);
    const before = basename(logFiles(folder).at(-1) ?? '');
    place(Number(before.split('.')[1]));
    expect(await said()).toBe(`${noted}its end was cut off from ${before}`);
    writeFileSync(join(folder, 'archived.sha256'), `${hash('sha256', text)}  ${name}\n`);
    expect(await said()).toBe(
      `${noted}its newest files were not read: archived.sha256 lists ${name}; name their folder with --archive`,
    );
    expect((await verify(folder, '--head', `9:${end.hash}`, '--archive', archive)).status).toBe(0);
    rmSync(join(archive, name));
    expect(await said('--archive', archive)).toBe(
      `${noted}its newest files, ${name}, are not in ${archive} as archived.sha256 lists them`,
    );
  });

  it('are missing where the list does not name them', async () => {
    const { folder } = await archived();
    rmSync(join(folder, 'archived.sha256'));
    expect(await verify(folder)).toMatchObject({ status: 8, stdout: expect.stringContaining('are missing') });
  });
});
