// Logs that are read for admins, on a thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { ANONYMOUS } from '../../../server/audit/event.js';
import { makeLogReader, type NewestFound } from '../../../server/audit/read-in-thread.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { eventOf, LOG, writeLog, writerOf } from '../../support/audit-log.js';
import { pathOf } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';

const STAYING = new AbortController().signal;

const shownIn = ({ newest }: NewestFound): readonly { readonly id: string; readonly fault?: string }[] =>
  JSON.parse(newest) as ReturnType<typeof shownIn>;

it('the newest events that match are found, newest first, and the log is verified', async () => {
  const { folder, head } = await writeLog(9);
  const reader = makeLogReader(folder);
  const found = await reader.search({ request: null }, 2, STAYING);
  expect(found).toMatchObject({ events: 9, found: 9, malformed: 0, unverified: 0 });
  expect(shownIn(found).map(({ id, fault }) => [id, fault])).toEqual([
    ['event9', undefined],
    ['event8', undefined],
  ]);
  expect(shownIn(await reader.search({ request: 'request3' }, 2, STAYING))).toMatchObject([{ id: 'event3' }]);
  expect(await reader.verify([{ ...head, log: LOG }], STAYING)).toMatchObject({ ok: true, events: 9 });
  const more = { log: LOG, seq: 10, hash: head.hash };
  expect(await reader.verify([more], STAYING)).toMatchObject({ ok: false, faults: [{ kind: 'head', seq: 10 }] });
});

it('of large events fewer are handed over, without a gap: no answer is larger than it may be', async () => {
  const folder = await makeFolder();
  const writer = writerOf(folder);
  const path = pathOf(`/${Array.from({ length: 16 }, () => 'y'.repeat(60)).join('/')}`);
  const paths = Array.from({ length: 1_000 }, () => path);
  const count = Math.ceil((2 * AUDIT_LIMITS.shownCharacters) / (paths.length * path.length));
  for (let n = 1; n <= count; n += 1) {
    // A small one now and then would fit where a large one did not.
    writer.add(eventOf(n, { actor: { ...ANONYMOUS, namespaceRestrictions: n % 5 === 0 ? [] : paths } }));
    await writer.sync();
  }
  await writer.close();
  const found = await makeLogReader(folder).search({}, 1_000, STAYING);
  expect([found.found, found.newest.length <= AUDIT_LIMITS.shownCharacters + 1_000]).toEqual([count, true]);
  const ids = shownIn(found).map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(10);
  expect(ids.length).toBeLessThan(count);
  expect(ids).toEqual(ids.map((_, n) => `event${String(count - n)}`));
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
