// Logs that are read for admins, on a thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { makeLogReader } from '../../../server/audit/read-in-thread.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { LOG, writeLog } from '../../support/audit-log.js';

const STAYING = new AbortController().signal;

it('the newest events that match are found, newest first, and the log is verified', async () => {
  const { folder, head } = await writeLog(9);
  const reader = makeLogReader(folder);
  const found = await reader.search({ request: null }, 2, STAYING);
  expect(found).toMatchObject({ events: 9, found: 9, malformed: 0, unverified: 0 });
  expect(found.newest.map(({ event, fault }) => [event.id, fault])).toEqual([
    ['event9', null],
    ['event8', null],
  ]);
  expect((await reader.search({ request: 'request3' }, 2, STAYING)).newest).toMatchObject([
    { event: { id: 'event3' } },
  ]);
  expect(await reader.verify([{ ...head, log: LOG }], STAYING)).toMatchObject({ ok: true, events: 9 });
  const more = { log: LOG, seq: 10, hash: head.hash };
  expect(await reader.verify([more], STAYING)).toMatchObject({ ok: false, faults: [{ kind: 'head', seq: 10 }] });
});

it('so many may wait, and whoever has left waits no longer', async () => {
  const { folder } = await writeLog(3);
  const reader = makeLogReader(folder);
  const leaving = new AbortController();
  const all = Array.from({ length: AUDIT_LIMITS.readingWaiting }, (_, n) =>
    reader.search({}, 1, n < 2 ? leaving.signal : STAYING).then(
      ({ found }) => found,
      (error: unknown) => error,
    ),
  );
  await expect(reader.search({}, 1, STAYING)).rejects.toMatchObject({ code: 'overloaded', detail: { retryAfter: 1 } });
  const gone = new Error('the client has left');
  leaving.abort(gone);
  expect((await Promise.all(all)).slice(0, 3)).toEqual([gone, gone, 3]);
  // Whoever left while the log was read for it left no thread behind.
  await sleep(1);
  expect((await reader.search({}, 1, STAYING)).found).toBe(3);
  await expect(reader.search({}, 1, AbortSignal.abort(gone))).rejects.toBe(gone);
});

it('a log that cannot be read is reported, and why is for the operator', async () => {
  const { folder } = await writeLog(3);
  const reader = makeLogReader(folder);
  await rm(folder, { recursive: true });
  await expect(reader.search({}, 1, STAYING)).rejects.toMatchObject({
    ...{ code: 'audit.unreadable', detail: { retryAfter: 1 } },
    cause: expect.objectContaining({ code: 'ENOENT' }),
  });
});
