// Which log a process takes, and where it goes on in it.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { BEGINNING } from '../../../server/audit/chain.js';
import { folderFault, lockLog, ownLog } from '../../../server/audit/own-log.js';
import { LOG, logFiles, logOf, readLines, writeLog } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';

const nameOf = (log: string, first: number): string => `${log}.${String(first).padStart(15, '0')}.jsonl`;

describe('a process', () => {
  it('makes a log of its own where there is none, with a name that no other one has', async () => {
    const folder = join(await makeFolder(), 'new');
    const [one, two] = [await ownLog(folder), await ownLog(folder)];
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const { log } of [one, two]) expect(log).toMatch(/^[0-9a-hj-kmnp-tv-z]{10}$/);
    expect(one.log).not.toBe(two.log);
    expect(one).toMatchObject({ folder, head: BEGINNING, torn: null, isFenced: true });
    expect(await one.isOwner()).toBe(true);
    await one.release();
    await two.release();
  });

  it('takes a log with events before a name that was only locked, and that before a new one', async () => {
    const { folder, head } = await writeLog(3);
    mkdirSync(join(folder, 'aaa.lock'));
    mkdirSync(join(folder, 'no.log.lock'));
    mkdirSync(join(folder, `${'b'.repeat(33)}.lock`));
    mkdirSync(join(folder, 'ccc.locks'));
    const owned = [await ownLog(folder), await ownLog(folder), await ownLog(folder)];
    expect(owned.map(({ log }) => log)).toEqual([LOG, 'aaa', expect.stringMatching(/^.{10}$/)]);
    expect(owned.map((one) => one.head)).toEqual([head, BEGINNING, BEGINNING]);
    for (const one of owned) await one.release();
  });

  it('hears that another one has its log, and has it no more', async () => {
    const folder = await makeFolder();
    const owned = await ownLog(folder);
    const file = join(folder, `${owned.log}.lock`, '1');
    const record = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...record, host: 'elsewhere', space: 'elsewhere' }));
    utimesSync(file, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    const next = lockLog(folder, owned.log);
    expect(next?.mayLive).toBe(true);
    await owned.taken;
    expect(await owned.isOwner()).toBe(false);
    await next?.release();
    await owned.release();
  });

  it('leaves a log to nobody while it has it, and to the next one after that', async () => {
    const folder = await makeFolder();
    const lock = lockLog(folder, LOG);
    expect([lock?.mayLive, lockLog(folder, LOG)]).toEqual([false, null]);
    await lock?.release();
    const next = lockLog(folder, LOG);
    expect(next?.mayLive).toBe(false);
    await next?.release();
  });
});

describe('the end of a log', () => {
  it('is behind its last whole line, however many files were only begun; half a line is kept aside', async () => {
    const lines = readLines((await writeLog(3)).folder);
    const folder = await logOf(lines);
    writeFileSync(join(folder, nameOf(LOG, 4)), 'half');
    writeFileSync(join(folder, nameOf(LOG, 5)), '');
    const [file = ''] = logFiles(folder);
    appendFileSync(file, '  ');
    writeFileSync(join(folder, `.x.${'0'.repeat(12)}.tmp`), '');
    utimesSync(join(folder, `.x.${'0'.repeat(12)}.tmp`), 0, 0);
    const owned = await ownLog(folder);
    expect(owned).toMatchObject({ log: LOG, head: { seq: 3 }, torn: join(folder, `${nameOf(LOG, 4)}.0.torn`) });
    expect(readFileSync(owned.torn ?? '', 'utf8')).toBe('half');
    expect(statSync(owned.torn ?? '').mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(lines.map((line) => `${line}\n`).join(''));
    expect(readdirSync(folder).sort()).toEqual([`${LOG}.lock`, basename(file), `${nameOf(LOG, 4)}.0.torn`].sort());
    await owned.release();
  });

  it.each<readonly [string, (lines: readonly string[]) => readonly string[], number]>([
    ['is none of an event', (lines) => [...lines, '{}'], 1],
    ['was changed', (lines) => lines.with(-1, lines.at(-1)?.replace('400', '200') ?? ''), 1],
    ['comes before the first of its file', (lines) => lines, 4],
  ])('is nowhere where the last line %s: nobody goes on there, and the log is free again', async (_, change, first) => {
    const folder = await makeFolder();
    const lines = readLines((await writeLog(3)).folder);
    const path = join(folder, nameOf(LOG, first));
    writeFileSync(
      path,
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    );
    for (let n = 0; n < 2; n += 1)
      await expect(ownLog(folder)).rejects.toMatchObject({
        ...{ name: 'AuditError', code: 'audit.damaged', message: `the last event in ${path} is damaged` },
        help: expect.stringContaining('`bailiwick audit verify`'),
      });
    const lock = lockLog(folder, LOG);
    expect(lock).not.toBeNull();
    await lock?.release();
  });

  it.each(['ENOSPC', 'EDQUOT'])('says that its disk is full (%s), which passes', (code) => {
    expect(folderFault('/audit', Object.assign(new Error(code), { code }))).toMatchObject({
      ...{ name: 'AuditError', code: 'audit.full', message: `the audit folder /audit cannot be used (${code})` },
    });
  });

  it('is in a folder that can be used', async () => {
    const folder = join(await makeFolder({ file: '' }), 'file');
    await expect(ownLog(folder)).rejects.toMatchObject({
      ...{ name: 'AuditError', code: 'audit.folder', message: expect.stringMatching(/ cannot be used \(E[A-Z]+\)$/) },
      cause: expect.anything(),
    });
  });
});
