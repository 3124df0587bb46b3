// The trail of one process on a store: the outbox is carried to the log exactly once, whatever ends in between; and
// what happens while the log cannot be written.
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { sql } from '../../../server/db/sql.js';
import { claimEvents, knownLogs, recordInTransaction } from '../../../server/audit/outbox.js';
import { ownLog } from '../../../server/audit/own-log.js';
import { releaseFolder, releaseLost } from '../../../server/audit/release.js';
import { type FileLayer, systemFiles } from '../../../server/audit/file-layer.js';
import type { AuditTrail, TrailOptions } from '../../../server/audit/trail.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { takeLock } from '../../../server/lib/owner-lock.js';
import {
  eventOf,
  failure,
  faultyFiles,
  logFiles,
  readLines,
  SILENT,
  trailIn,
  writerOf,
} from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { makeKeyPair, openPrivatePem, type SigningKey } from '../../../server/signing/ed25519.js';
import { describeOnStores } from '../../support/stores.js';
import { stickFile } from '../../support/stuck-file.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

/** What the check throws; null if it lets pass. */
function refusalOf(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
}

describeOnStores('the trail', (store) => {
  const open: AuditTrail[] = [];
  afterEach(async () => {
    for (const trail of open.splice(0)) await trail.close();
    await store.db.knex.raw('DELETE FROM audit_outbox');
  });

  async function openIn(folder: string, options: Partial<TrailOptions> = {}): Promise<AuditTrail> {
    const trail = await trailIn(folder, store.db, options);
    open.push(trail);
    return trail;
  }

  async function closeAll(): Promise<void> {
    for (const trail of open.splice(0)) await trail.close();
  }

  const put = (...numbers: readonly number[]): Promise<void> =>
    store.db.write((transaction) =>
      recordInTransaction(
        transaction,
        numbers.map((n) => eventOf(n)),
      ),
    );

  const ids = (folder: string): readonly string[] =>
    readLines(folder).map((line) => (JSON.parse(line) as { readonly id: string }).id);

  async function isEmpty(): Promise<boolean> {
    const { rows } = await store.db.knex.raw<{ rows: readonly unknown[] }>('SELECT 1 FROM audit_outbox LIMIT 1');
    return rows.length === 0;
  }

  const untilEmpty = (): Promise<void> => until(isEmpty);

  it('carries what is committed to the log in order, and what is not never', async () => {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    await put(1, 2);
    await expect(
      store.db.write(async (transaction) => {
        await recordInTransaction(transaction, [eventOf(3)]);
        throw new Error('not this one');
      }),
    ).rejects.toThrow('not this one');
    await put(4);
    trail.wake();
    await untilEmpty();
    await closeAll();
    expect(ids(folder)).toEqual(['event1', 'event2', 'event4']);
  });

  it('L17 has 64 changes of one record in the order in which they were committed', async () => {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    await store.db.knex.raw('CREATE TABLE IF NOT EXISTS bailiwick.counted (n integer)');
    await store.db.knex.raw('TRUNCATE bailiwick.counted');
    await store.db.knex.raw('INSERT INTO bailiwick.counted VALUES (0)');
    const change = (): Promise<void> =>
      store.db.write(async (transaction) => {
        const [row] = await transaction.rows<{ readonly n: number }>(
          sql`UPDATE bailiwick.counted SET n = n + 1 RETURNING n`,
        );
        await recordInTransaction(transaction, [eventOf(row?.n ?? 0)]);
        trail.wake();
      });
    // As many at a time as have a connection: one that waits for it longer than a second fails.
    const eight = async (): Promise<void> => {
      for (let i = 0; i < 8; i += 1) await change();
    };
    await Promise.all(Array.from({ length: 8 }, eight));
    await untilEmpty();
    await closeAll();
    expect(ids(folder)).toEqual(Array.from({ length: 64 }, (_, index) => `event${String(index + 1)}`));
  });

  it('appends an event once where its process ended after appending and before removing it', async () => {
    const folder = await makeFolder();
    await openIn(folder);
    await closeAll();
    const owned = await ownLog(folder);
    await put(1, 2, 3);
    const claimed = await claimEvents(store.db, { log: owned.log, after: owned.head.seq, most: 10 });
    const writer = writerOf(folder, { ...owned, files: faultyFiles(() => null) });
    // Two of three reach the disk.
    for (const { event } of claimed.slice(0, 2)) writer.add(event);
    await writer.close();
    await owned.release();
    await put(4);
    await openIn(folder);
    await untilEmpty();
    await closeAll();
    expect(ids(folder)).toEqual(['event1', 'event2', 'event3', 'event4']);
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 4 });
  });

  it('hands back what it has claimed while its log cannot be written, so that another log has it, once', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    let full = true;
    const lines: LogLine[] = [];
    // A full disk takes a part first.
    const files = faultyFiles((operation) => (full && operation === 'append' ? 600 : full ? failure('ENOSPC') : null));
    const failing = await openIn(one, { files, log: keptLog(lines) });
    await put(1, 2, 3);
    failing.wake();
    await until(() => failing.fault() !== null);
    const healthy = await openIn(other);
    healthy.wake();
    await untilEmpty();
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([{ events: 3 }]);
    full = false;
    await until(() => failing.fault() === null);
    await put(4);
    await closeAll();
    expect([ids(one), ids(other)].flat().sort()).toEqual(['event1', 'event2', 'event3', 'event4']);
    expect(ids(other).slice(0, 3)).toEqual(['event1', 'event2', 'event3']);
  });

  it('claims nothing once another process has taken over its log', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    const paused = await openIn(one);
    await put(1);
    paused.wake();
    await untilEmpty();
    const next = takeLock(join(one, `${paused.at().log}.lock`), 2, '');
    await put(2);
    paused.wake();
    await until(() => paused.fault() === 'files');
    const healthy = await openIn(other);
    healthy.wake();
    await untilEmpty();
    await closeAll();
    await next?.release();
    expect([ids(one), ids(other)]).toEqual([['event1'], ['event2']]);
  });

  it('says that its folder was moved, which is no other process, and goes on once it is back', async () => {
    const folder = join(await makeFolder(), 'audit');
    const lines: LogLine[] = [];
    const trail = await openIn(folder, { log: keptLog(lines) });
    renameSync(folder, `${folder}.moved`);
    trail.record({ ...PARTS, ...AT });
    await put(1);
    trail.wake();
    await until(() => lines.filter(({ level }) => level === 'error').length === 2);
    for (const { error } of lines) expect(String(error)).toMatch(/the audit folder was moved or removed/);
    renameSync(`${folder}.moved`, folder);
    await untilEmpty();
    const back = lines.filter(({ level }) => level !== 'error');
    const again = { level: 'info', seconds: expect.any(Number) };
    expect(back).toMatchObject([
      { ...again, message: 'the audit log can be written again' },
      { ...again, message: 'events of commands reach the audit log again' },
    ]);
    await closeAll();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
  });

  it('leaves to another log what that one has claimed, and says so for as long as it is not taken', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    const owned = await ownLog(one);
    await put(1);
    await claimEvents(store.db, { log: owned.log, after: 0, most: 10 });
    await put(2);
    const lines: object[] = [];
    const log = { ...SILENT, warn: (fields: object) => void lines.push(fields) };
    const trail = await openIn(other, { lookInterval: 20, log });
    for (let n = 0; n < 4; n += 1) {
      await sleep(60);
      trail.wake();
    }
    await sleep(60);
    expect(await isEmpty()).toBe(false);
    await closeAll();
    expect(ids(other)).toEqual(['event2']);
    expect(lines[0]).toMatchObject({ log: owned.log, events: 1 });
    await owned.release();
  });

  it('says at the start which logs of its place are gone, and names them in the first event of its new log', async () => {
    const folder = await makeFolder();
    await openIn(folder);
    await put(1, 2);
    open[0]?.wake();
    await untilEmpty();
    await closeAll();
    const [name] = (await verifyLogs(folder)).logs;
    for (const path of [...logFiles(folder), ...readdirSync(folder).map((one) => join(folder, one))]) {
      rmSync(path, { recursive: true, force: true });
    }
    const errors: object[] = [];
    await openIn(folder, { log: { ...SILENT, error: (fields: object) => void errors.push(fields) } });
    await closeAll();
    const lost = [{ log: name?.log, ...name?.head }];
    expect(errors).toMatchObject([{ lost }]);
    const [first] = readLines(folder).map((line): unknown => JSON.parse(line));
    expect(first).toMatchObject({ seq: 1, operation: 'audit.missing', lost });
    const known = await knownLogs(store.db);
    const here = known.filter((log) => log.folder === folder);
    const { faults } = await verifyLogs(folder, { known: here });
    expect(faults).toMatchObject([{ log: name?.log, seq: 2, kind: 'gone' }]);
  });

  it('notes the head of the log with each event of the outbox, so that a cut is found at once', async () => {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    await put(1);
    trail.wake();
    await untilEmpty();
    const known = await knownLogs(store.db);
    const { log, head } = trail.at();
    expect(known).toContainEqual({ log, ...head, host: hostname(), folder });
  });

  it('takes over what a log that was moved away had claimed and does not have, once', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    const first = await ownLog(one);
    await put(1, 2, 3);
    const claimed = await claimEvents(store.db, { log: first.log, after: 0, most: 10 });
    const writer = writerOf(one, { ...first, files: faultyFiles(() => null) });
    for (const { event } of claimed.slice(0, 2)) writer.add(event);
    await writer.close();
    const recorded: number[] = [];
    const record = (_: unknown, events: number): Promise<void> => Promise.resolve(void recorded.push(events));
    expect(await releaseFolder(store.db, one, record)).toBe(null);
    await first.release();
    expect(await releaseFolder(store.db, one, record)).toEqual([{ log: first.log, events: 1 }]);
    expect(await releaseFolder(store.db, one, record)).toEqual([{ log: first.log, events: 0 }]);
    expect(recorded).toEqual([1]);
    await openIn(other);
    await untilEmpty();
    await closeAll();
    expect([ids(one), ids(other)]).toEqual([['event1', 'event2'], ['event3']]);
  });

  it('takes over all that a lost log had claimed', async () => {
    const folder = await makeFolder();
    await put(1, 2);
    await claimEvents(store.db, { log: 'lost', after: 0, most: 10 });
    const record = (): Promise<void> => Promise.resolve();
    expect(await releaseLost(store.db, 'lost', record)).toEqual({ log: 'lost', events: 2 });
    await openIn(folder);
    await untilEmpty();
    await closeAll();
    expect(ids(folder)).toEqual(['event1', 'event2']);
  });

  it('L07 refuses commands once the log cannot be written for longer than the lag, queries at once, and neither once it can', async () => {
    const folder = await makeFolder();
    let fails: string | null = 'ENOSPC';
    const files = faultyFiles(() => (fails === null ? null : failure(fails)));
    const trail = await openIn(folder, { files });
    await put(1);
    trail.wake();
    const title = 'The request cannot be recorded now: the files of the audit log cannot be written';
    const unavailable = { code: 'audit.unavailable', status: 503, title };
    await until(() => refusalOf(trail.checkQueries) !== null);
    expect(refusalOf(trail.checkQueries)).toMatchObject(unavailable);
    await until(() => refusalOf(trail.checkCommands) !== null);
    expect(refusalOf(trail.checkCommands)).toMatchObject(unavailable);
    const error = expect.stringContaining('ENOSPC');
    expect([trail.fault(), trail.lags()]).toEqual(['files', { file: expect.any(Number), store: 0, error }]);
    expect(trail.lags().file).toBeGreaterThan(0);
    fails = 'EROFS';
    await until(() => String(trail.lags().error).includes('EROFS'));
    fails = null;
    await untilEmpty();
    await until(() => refusalOf(trail.checkQueries) === null && refusalOf(trail.checkCommands) === null);
    await closeAll();
    expect(ids(folder)).toEqual(['event1']);
  });

  it('tells a store that gives no events from files that cannot be written', async () => {
    const lines: LogLine[] = [];
    const trail = await openIn(await makeFolder(), { log: keptLog(lines) });
    expect([trail.fault(), trail.lags()]).toEqual([null, { file: 0, store: 0 }]);
    await store.db.knex.raw('ALTER TABLE audit_outbox RENAME TO audit_outbox_away');
    try {
      trail.wake();
      await until(() => trail.fault() !== null);
      const error = expect.stringMatching(/audit_outbox|SQLSTATE 42P01/);
      expect([trail.fault(), trail.lags()]).toEqual(['store', { file: 0, store: expect.any(Number), error }]);
      const title = 'The request cannot be recorded now: the store does not give its events to the audit log';
      expect(refusalOf(trail.checkCommands)).toMatchObject({ code: 'audit.unavailable', title });
      expect(refusalOf(trail.checkQueries)).toBeNull();
      expect(lines.map(({ message }) => message)).toEqual([
        'events of commands wait in the store, because it does not give them to the audit log',
      ]);
    } finally {
      await store.db.knex.raw('ALTER TABLE audit_outbox_away RENAME TO audit_outbox');
    }
    await until(() => trail.fault() === null && trail.lags().store === 0);
  });

  it('lets queries go on where the settings say so, and counts what was lost', async () => {
    const folder = await makeFolder();
    let full = true;
    const files = faultyFiles(() => (full ? failure('ENOSPC') : null));
    const trail = await openIn(folder, { files, onFailure: 'continue' });
    for (let n = 1; n <= 10_007; n += 1) trail.record({ ...PARTS, ...AT });
    await sleep(100);
    expect(() => {
      trail.checkQueries();
    }).not.toThrow();
    full = false;
    await until(() => trail.at().head.seq >= 10_000);
    trail.recordOwn('gateway.stop');
    await closeAll();
    const last = readLines(folder)
      .slice(-2)
      .map((line) => JSON.parse(line) as object);
    expect(last).toMatchObject([{ operation: 'audit.lost', items: 7 }, { operation: 'gateway.stop' }]);
    expect((await verifyLogs(folder)).ok).toBe(true);
  });

  it('ends in time where the disk does not answer, says what is left, and leaves the log to nobody', async () => {
    const folder = await makeFolder();
    const lines: LogLine[] = [];
    let isStuck = true;
    const files: FileLayer = {
      ...systemFiles,
      create: async (path) => {
        const file = await systemFiles.create(path);
        return { ...file, sync: () => until(() => !isStuck).then(file.sync) };
      },
    };
    const settings = { key: signingKey(), witnesses: [] };
    const trail = await openIn(folder, { files, patience: 20, log: keptLog(lines), checkpoints: settings });
    const { log } = trail.at();
    await put(1);
    trail.wake();
    await until(() => refusalOf(trail.checkQueries) !== null);
    await closeAll();
    expect(lines.map(({ message }) => message)).toEqual([
      'the audit log cannot be written',
      'events may be left in the outbox: the next start of this audit log takes them',
      'events of the audit log are not written yet and may be lost',
      'the last checkpoint of the audit log was not signed: the next start signs it',
      'the audit log stays locked until this process is gone, because the disk may still take what was written',
    ]);
    const other = await ownLog(folder);
    expect(other.log).not.toBe(log);
    await other.release();
    isStuck = false;
    await untilEmpty();
    expect(ids(folder)).toEqual(['event1']);
  });

  it.each([
    ['checkpoint', 'the last checkpoint of the audit log was not signed: the next start signs it'],
    ['lock/1', 'the lock of the audit log could not be released: it is free once this process is gone'],
  ])('ends in time where the disk does not answer for its %s', async (name, message) => {
    const folder = await makeFolder();
    const lines: LogLine[] = [];
    const checkpoints = { key: signingKey(), witnesses: [] };
    const trail = await openIn(folder, { patience: 500, log: keptLog(lines), checkpoints });
    trail.record({ ...PARTS, ...AT });
    const disk = stickFile(join(folder, `${trail.at().log}.${name}`));
    await closeAll();
    expect(disk.isStuck()).toBe(true);
    disk.free();
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', message, patience: 500 }));
  });

  it('leaves nothing of a lock behind that keeps the next one out', async () => {
    const folder = await makeFolder();
    for (let times = 0; times < 3; times += 1) {
      const trail = await openIn(folder);
      trail.record({ ...PARTS, ...AT });
      await closeAll();
    }
    expect(readdirSync(folder).filter((name) => name.endsWith('.lock'))).toHaveLength(1);
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 3 });
  });
});

function signingKey(): SigningKey {
  const key = openPrivatePem(makeKeyPair().privatePem);
  if (key === null) throw new Error('a key pair without a private key');
  return key;
}

const AT = { at: instantOf(0) };
const PARTS = {
  kind: 'refusal',
  requestId: 'r',
  actor: eventOf(1).actor,
  operation: 'request',
  outcome: 'failed',
} as const;
