// `audit archive`: old files are verified, copied, listed and only then removed, and a run that was interrupted goes on.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { ArchiveBusy, archiveFiles } from '../../server/audit/archive.js';
import { lockLog, ownLog } from '../../server/audit/own-log.js';
import { LOG, logFiles, readLines, writeLog } from '../support/audit-log.js';
import { pauseRenaming } from '../support/hung-files.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const namesIn = (folder: string): readonly string[] => logFiles(folder).map((path) => basename(path));
const archive = (folder: string, to: string, ...more: readonly string[]): Promise<CliRun> =>
  runCli(['audit', 'archive', folder, '--to', to, '--older-than', '1d', ...more]);

describe('audit archive', () => {
  it('moves all files but the last, which verify finds again', async () => {
    const { folder } = await writeLog(18);
    const before = namesIn(folder);
    const lines = readLines(folder);
    expect(before.length).toBeGreaterThan(2);
    const to = join(await makeFolder(), 'archive');
    const run = await archive(folder, to);
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(
      new RegExp(`^(?:[0-9a-f]{64} {2}.*\n)+${String(before.length - 1)} files moved to .*, 1 file kept\n$`),
    );
    expect([namesIn(to), namesIn(folder)]).toEqual([before.slice(0, -1), before.slice(-1)]);
    expect([...readLines(to), ...readLines(folder)]).toEqual(lines);
    for (const name of readdirSync(to)) expect(statSync(join(to, name)).mode & 0o777).toBe(0o600);
    const verified = await runCli(['audit', 'verify', folder, '--archive', to]);
    expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('intact: 18 events of 1 log')]);
    const again = await archive(folder, to, '--format', 'json');
    expect(JSON.parse(again.stdout)).toEqual({ moved: [], kept: 1 });
  });

  it('keeps the last file with an event where one after it is empty', async () => {
    const { folder, head } = await writeLog(9);
    const [last, empty] = [namesIn(folder).at(-1), `${LOG}.000000000000010.jsonl`];
    writeFileSync(join(folder, empty), '');
    expect((await archive(folder, await makeFolder())).status).toBe(0);
    expect(namesIn(folder)).toEqual([last, empty]);
    const owned = await ownLog(folder);
    await owned.release();
    expect(owned.head).toEqual(head);
  });

  it('moves a file if its last event is older, whatever the others of the file are', async () => {
    const { folder } = await writeLog(18);
    const [names, to] = [namesIn(folder), await makeFolder()];
    const [first, second = '', third] = names;
    const ofTwo = readLines(folder).findIndex((line) => readFileSync(join(folder, third ?? '')).includes(line));
    const before = ofTwo * 1000; // of the last event in the second file
    const move = (time: number): Promise<number> =>
      archiveFiles(folder, { to, before: instantOf(time), onMoved: () => undefined });
    expect(await move(before)).toBe(names.length - 1);
    expect(namesIn(to)).toEqual([first]);
    writeFileSync(join(folder, second), '{"an event that a crash cut off', { flag: 'a' });
    expect(await move(before + 1)).toBe(names.length - 2);
    expect(namesIn(to)).toEqual([first, second]);
  });

  it('writes the list whole each time, and never a part of a line', async () => {
    const { folder } = await writeLog(18);
    const list = join(folder, 'archived.sha256');
    writeFileSync(list, '');
    linkSync(list, `${list}.before`);
    // Whoever may read the list reads it afterwards, too, also if root moves the files.
    chmodSync(list, 0o640);
    if (process.getuid?.() === 0) chownSync(list, 65_534, 65_534);
    const { mode, uid, gid } = statSync(list);
    expect((await archive(folder, await makeFolder())).status).toBe(0);
    expect(statSync(list)).toMatchObject({ mode, uid, gid });
    expect(readFileSync(list, 'utf8')).toMatch(/^(?:[0-9a-f]{64} {2}.*\n){2,}$/);
    expect(readFileSync(`${list}.before`, 'utf8')).toBe('');
  });

  it('leaves nothing that keeps the user of the log out, though root moves the files', async () => {
    const { folder } = await writeLog(18);
    if (process.getuid?.() === 0) chownSync(folder, 65_534, 65_534);
    expect((await archive(folder, await makeFolder())).status).toBe(0);
    const { uid } = statSync(folder);
    const made = ['archived.sha256', 'archived.sha256.lock', join('archived.sha256.lock', '1')];
    expect(made.map((name) => statSync(join(folder, name)).uid)).toEqual([uid, uid, uid]);
  });

  it('gives the list to the user of the log, though its folder belongs to root and a group', async () => {
    const { folder } = await writeLog(18);
    const logs = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    if (process.getuid?.() === 0) for (const name of logs) chownSync(join(folder, name), 65_534, 65_534);
    const { uid, gid } = statSync(join(folder, logs[0] ?? ''));
    expect((await archive(folder, await makeFolder())).status).toBe(0);
    expect(statSync(join(folder, 'archived.sha256'))).toMatchObject({ uid, gid });
  });

  it('begins a line of its own after one that somebody wrote without an end', async () => {
    const { folder } = await writeLog(18);
    const list = join(folder, 'archived.sha256');
    const to = await makeFolder();
    expect((await archive(folder, to)).status).toBe(0);
    const [first = '', ...others] = readFileSync(list, 'utf8').trimEnd().split('\n');
    expect(others.length).toBeGreaterThan(0);
    // Only the first file was moved, by hand.
    writeFileSync(list, first);
    for (const line of others) copyFileSync(join(to, line.slice(66)), join(folder, line.slice(66)));
    expect((await archive(folder, to)).status).toBe(0);
    expect(readFileSync(list, 'utf8').trimEnd().split('\n')).toEqual([first, ...others]);
  });

  it('leaves what is too young', async () => {
    const { folder } = await writeLog(9);
    const before = namesIn(folder);
    const to = await makeFolder();
    // The events are of 1970.
    const run = await runCli(['audit', 'archive', folder, '--to', to, '--older-than', '99999d', '--format', 'json']);
    expect([run.status, JSON.parse(run.stdout)]).toEqual([0, { moved: [], kept: before.length }]);
    expect(namesIn(folder)).toEqual(before);
  });

  it('is done by one process at a time, since each writes the whole list', async () => {
    const { folder } = await writeLog(18);
    const [before, to] = [namesIn(folder), await makeFolder()];
    const runs: Promise<CliRun>[] = [];
    await archiveFiles(folder, {
      ...{ to, before: instantOf(Date.now()) },
      onMoved: () => runs.push(archive(folder, to)),
    });
    for (const { status, stderr } of await Promise.all(runs)) {
      if (status !== 0)
        expect([status, stderr]).toEqual([6, expect.stringContaining('another process moves files of')]);
    }
    expect((await runCli(['audit', 'verify', folder, '--archive', to])).status).toBe(0);
    expect([namesIn(to), namesIn(folder)]).toEqual([before.slice(0, -1), before.slice(-1)]);
    const held = lockLog(folder, 'archived.sha256');
    expect(await archive(folder, to)).toMatchObject({ status: 6, stderr: expect.stringContaining('another process') });
    await held?.release();
    // The lock is no log.
    const owned = await ownLog(folder);
    await owned.release();
    expect(owned.log).toBe(LOG);
  });

  it('puts no older list in the place of that of a later run, however long it was paused', async () => {
    const { folder } = await writeLog(18);
    const [before, to, list] = [namesIn(folder), await makeFolder(), join(folder, 'archived.sha256')];
    const paused = pauseRenaming(list);
    const first = archiveFiles(folder, { to, before: instantOf(Date.now()), onMoved: () => undefined });
    const ended = first.catch((error: unknown) => error);
    await paused.reached;
    // The paused run was silent for so long that others had the list.
    writeFileSync(join(`${list}.lock`, '2'), 'released\n');
    expect((await archive(folder, to)).status).toBe(0);
    const text = readFileSync(list, 'utf8');
    paused.goOn();
    expect(await ended).toBeInstanceOf(ArchiveBusy);
    expect(readFileSync(list, 'utf8')).toBe(text);
    expect((await runCli(['audit', 'verify', folder, '--archive', to])).status).toBe(0);
    expect([namesIn(to), namesIn(folder)]).toEqual([before.slice(0, -1), before.slice(-1)]);
  });

  it('says what the system says of a folder that cannot be used, and moves nothing', async () => {
    const { folder } = await writeLog(9);
    const before = namesIn(folder);
    const file = join(await makeFolder({ file: '' }), 'file', 'archive');
    const run = await archive(folder, file);
    expect([run.status, run.stderr]).toEqual([6, expect.stringContaining(`to \`${file}\` (ENOTDIR)`)]);
    expect(run.stderr).toContain('nothing is lost');
    expect(namesIn(folder)).toEqual(before);
  });

  it('moves nothing of a log that is not intact', async () => {
    const { folder } = await writeLog(9);
    const [oldest = ''] = logFiles(folder);
    writeFileSync(oldest, readFileSync(oldest, 'utf8').replace('400', '200'));
    const before = namesIn(folder);
    const to = await makeFolder();
    const run = await archive(folder, to);
    expect([run.status, run.stderr]).toEqual([8, expect.stringContaining('in the audit log: nothing is moved')]);
    expect([namesIn(folder), namesIn(to), existsSync(join(folder, 'archived.sha256'))]).toEqual([before, [], false]);
  });

  it.each(['copied', 'copied and listed', 'half copied'])('goes on where a file was %s', async (how) => {
    const { folder } = await writeLog(9);
    const to = await makeFolder();
    const [oldest = ''] = logFiles(folder);
    const place = join(to, basename(oldest));
    if (how === 'half copied') writeFileSync(`${place}.part`, readFileSync(oldest).subarray(0, 100));
    else copyFileSync(oldest, place);
    const list = join(folder, 'archived.sha256');
    if (how === 'copied and listed') {
      const other = await writeLog(9);
      await archive(other.folder, await makeFolder());
      const [first = ''] = readFileSync(join(other.folder, 'archived.sha256'), 'utf8').split('\n');
      writeFileSync(list, `${first}\n`);
    }
    expect((await archive(folder, to)).status).toBe(0);
    expect(existsSync(`${place}.part`)).toBe(false);
    const listed = readFileSync(list, 'utf8').trimEnd().split('\n');
    expect(new Set(listed).size).toBe(listed.length);
    expect((await runCli(['audit', 'verify', folder, '--archive', to])).status).toBe(0);
  });

  it('replaces no other file in the archive', async () => {
    const { folder } = await writeLog(9);
    const [oldest = ''] = logFiles(folder);
    const to = await makeFolder({ [basename(oldest)]: 'another log\n' });
    const run = await archive(folder, to);
    expect([run.status, run.stderr]).toEqual([6, expect.stringContaining('is there already, with other content')]);
    expect(existsSync(oldest)).toBe(true);
  });

  it('does not take the folder of the log for the archive', async () => {
    const { folder } = await writeLog(3);
    expect((await archive(folder, `${folder}/`)).status).toBe(2);
  });

  it('loses nothing where the archive is the log under another name', async () => {
    const { folder } = await writeLog(9);
    const before = namesIn(folder);
    const link = join(await makeFolder(), 'other');
    symlinkSync(folder, link);
    const run = await archive(folder, link);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('is in the log itself, under another name')]);
    expect(namesIn(folder)).toEqual(before);
  });

  it('loses nothing where a file of the archive is that of the log', async () => {
    const { folder } = await writeLog(9);
    const before = namesIn(folder);
    const [oldest = ''] = logFiles(folder);
    const to = await makeFolder();
    symlinkSync(oldest, join(to, basename(oldest)));
    expect((await archive(folder, to)).status).toBe(2);
    expect(namesIn(folder)).toEqual(before);
  });
});
