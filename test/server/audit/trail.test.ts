// The trail of one process on a store: the outbox is carried to the log exactly once, whatever ends in between.
import { readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { sql } from '../../../server/db/sql.js';
import { findLeft } from '../../../server/audit/drainer.js';
import type { AuditEvent } from '../../../server/audit/event.js';
import { claimEvents, knownLogs, recordInTransaction, removeEvents } from '../../../server/audit/outbox.js';
import { ownLog } from '../../../server/audit/own-log.js';
import { releaseFolder, releaseLost } from '../../../server/audit/release.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { takeLock } from '../../../server/lib/owner-lock.js';
import { eventOf, faultyFiles, logFiles, readLines, SILENT, writerOf } from '../../support/audit-log.js';
import { pathOf } from '../../support/gateway.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';
import { REFUSED, trailsOn } from '../../support/trails.js';
import { until } from '../../support/until.js';

describeOnStores('the trail', (store) => {
  const { openIn, closeAll, put, ids, isEmpty, untilEmpty } = trailsOn(store);

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

  it('claims large events a few at a time, and carries all of them', async () => {
    const folder = await makeFolder();
    const namespaceRestrictions = Array.from({ length: 1_000 }, (_, n) =>
      pathOf(`/n${String(n)}/${'y'.repeat(60)}`.repeat(15)),
    );
    const large = (n: number): AuditEvent => eventOf(n, { actor: { ...eventOf(n).actor, namespaceRestrictions } });
    const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
    await store.db.write((writing) => recordInTransaction(writing, numbers.map(large)));
    const owned = await ownLog(folder);
    const claimed = await claimEvents(store.db, { log: owned.log, after: 0, most: 500 });
    const sizes = claimed.map(({ bytes }) => bytes);
    const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);
    expect(sum(sizes)).toBeGreaterThanOrEqual(AUDIT_LIMITS.drainedBytes);
    expect(sum(sizes.slice(0, -1))).toBeLessThan(AUDIT_LIMITS.drainedBytes);
    await owned.release();
    await openIn(folder);
    await untilEmpty();
    await closeAll();
    expect(ids(folder)).toEqual(numbers.map((n) => `event${String(n)}`));
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

  it('finds what was appended in each file of the log, and nothing where there is none', async () => {
    const folder = await makeFolder();
    const owned = await ownLog(folder);
    const { log } = owned;
    await put(1, 2, 3, 4);
    const claim = (after: number): ReturnType<typeof claimEvents> => claimEvents(store.db, { log, after, most: 2 });
    const claimed = [...(await claim(0)), ...(await claim(2))];
    const left = async (): Promise<readonly string[]> =>
      (await findLeft({ db: store.db, folder, log, end: null })).map(({ event }) => event.id);
    expect(await left()).toEqual(['event1', 'event2', 'event3', 'event4']);
    const writer = writerOf(folder, { ...owned, fileBytes: 1 });
    for (const { event } of claimed.slice(0, 3)) {
      writer.add(event);
      await writer.sync();
    }
    await writer.close();
    expect(logFiles(folder)).toHaveLength(3);
    expect(await left()).toEqual(['event4']);
    await owned.release();
  });

  it('takes nothing for an event that somebody with the password of the store has put there', async () => {
    await store.db.rows(sql`INSERT INTO audit_outbox (id, event) VALUES (${'x'}::text, ${'{"id":"x"}'}::text)`);
    await expect(claimEvents(store.db, { log: 'any', after: 0, most: 1 })).rejects.toThrow(
      'the outbox holds something that is not an event',
    );
  });

  it('carries at its end what is in the outbox, however much that is', async () => {
    const folder = await makeFolder();
    await openIn(folder);
    const numbers = Array.from({ length: 2 * AUDIT_LIMITS.drained + 1 }, (_, index) => index + 1);
    await put(...numbers);
    await closeAll();
    expect(ids(folder)).toEqual(numbers.map((n) => `event${String(n)}`));
  });

  it('carries what it is told of before it would look by itself', async () => {
    const trail = await openIn(await makeFolder());
    const from = performance.now();
    for (let n = 1; n <= 8; n += 1) {
      await put(n);
      trail.wake();
      await untilEmpty();
    }
    expect(performance.now() - from).toBeLessThan(6 * AUDIT_LIMITS.retryDelay);
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

  it('leaves to another log what that one has claimed, and says so once, and again when that has changed', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    const owned = await ownLog(one);
    await put(1, 3);
    const [first, second] = await claimEvents(store.db, { log: owned.log, after: 0, most: 10 });
    await put(2);
    const lines: object[] = [];
    const log = { ...SILENT, error: (fields: object) => void lines.push(fields) };
    const trail = await openIn(other, { lookInterval: 20, log });
    const lookOften = async (): Promise<void> => {
      for (let n = 0; n < 8; n += 1) {
        await sleep(60);
        trail.wake();
      }
    };
    await lookOften();
    await until(() => lines.length > 0);
    await lookOften();
    expect(await isEmpty()).toBe(false);
    await removeEvents(store.db, [first?.position ?? '']);
    await until(() => lines.length > 1);
    await lookOften();
    expect(trail.lags()).toEqual({ file: 0, store: 0, stuck: 1 });
    await removeEvents(store.db, [second?.position ?? '']);
    await until(() => trail.lags().stuck === undefined);
    await closeAll();
    expect(ids(other)).toEqual(['event2']);
    expect(lines).toEqual([2, 1].map((events) => ({ log: owned.log, events })));
    await owned.release();
  });

  it('says at the start which logs of its place are gone, and names them in the first event of its new log', async () => {
    const folder = await makeFolder();
    const begun = await openIn(folder);
    await put(1, 2);
    begun.wake();
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

  it('notes it at its end with events, too, that were in no outbox', async () => {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    trail.record(REFUSED);
    await closeAll();
    const [written] = (await verifyLogs(folder)).logs;
    expect(written?.head?.seq).toBe(1);
    const at = { host: hostname(), folder };
    expect(await knownLogs(store.db)).toContainEqual({ log: written?.log, ...written?.head, ...at });
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

  it('leaves nothing of a lock behind that keeps the next one out', async () => {
    const folder = await makeFolder();
    for (let times = 0; times < 3; times += 1) {
      const trail = await openIn(folder);
      trail.record(REFUSED);
      await closeAll();
    }
    expect(readdirSync(folder).filter((name) => name.endsWith('.lock'))).toHaveLength(1);
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 3 });
  });
});
