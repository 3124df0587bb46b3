// Room in the audit log: what one actor takes of it, who waits for it, and for how long.
import { expect, it } from '@jest/globals';
import { makeRoom, type Need, type Place, type TakePlace } from '../../../server/audit/room.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';

const { room, roomOfActor } = AUDIT_LIMITS;
const HERE = new AbortController().signal;
const of = (events: number, eventBytes = 1): Need => ({ events, eventBytes });

/** The place that is given at once. */
function taken(take: TakePlace, name: string, need: Need): Place {
  const place = take(name, need, HERE);
  if (place === null || 'then' in place) throw new Error('there is no room');
  return place;
}

/** Whether there is room now. */
function hasRoom(take: TakePlace, name: string, need = of(1)): boolean {
  const place = take(name, need, AbortSignal.abort(new Error('asked only')));
  if (place === null) return false;
  if (!('then' in place)) {
    place.leave();
    return true;
  }
  place.catch(() => undefined);
  return false;
}

it('is shared by actors, so that none takes all of it, in events or in bytes', () => {
  const take = makeRoom({ isStrict: true });
  taken(take, 'pep', of(roomOfActor.events));
  expect([hasRoom(take, 'pep'), hasRoom(take, 'carol')]).toEqual([false, true]);
  taken(take, 'bulky', of(10, roomOfActor.bytes / 10));
  expect([hasRoom(take, 'bulky'), hasRoom(take, 'carol')]).toEqual([false, true]);
});

it('is bounded for all together', () => {
  const take = makeRoom({ isStrict: true });
  for (let n = 0; n < room.events / roomOfActor.events; n += 1) taken(take, String(n), of(roomOfActor.events));
  expect(hasRoom(take, 'carol')).toBe(false);
  const large = makeRoom({ isStrict: true });
  const most = Math.floor(room.bytes / roomOfActor.bytes);
  for (let n = 0; n < most; n += 1) taken(large, String(n), of(1, roomOfActor.bytes));
  expect(hasRoom(large, 'carol', of(1, roomOfActor.bytes))).toBe(false);
});

it('is free again once an event is on the disk, or its request is over without it', async () => {
  const take = makeRoom({ isStrict: true });
  const first = taken(take, 'pep', of(roomOfActor.events));
  const written = first.use();
  const next = take('pep', of(1), HERE);
  const last = take('pep', of(1), HERE);
  expect(hasRoom(take, 'pep')).toBe(false);
  written?.();
  expect((await next)?.use()).not.toBeNull();
  first.leave();
  expect(await last).not.toBeNull();
  expect(first.use()).toBeNull();
  first.leave();
  expect(hasRoom(take, 'pep', of(roomOfActor.events - 1))).toBe(false);
  expect(hasRoom(take, 'pep', of(roomOfActor.events - 2))).toBe(true);
});

it('is waited for only so long, and only for a client that is there', async () => {
  const take = makeRoom({ isStrict: true, patience: 20 });
  const place = taken(take, 'pep', of(roomOfActor.events));
  await expect(take('pep', of(1), HERE)).rejects.toMatchObject({
    code: 'audit.unavailable',
    title: 'The request cannot be recorded now: too many events wait to be written',
    detail: { retryAfter: 1 },
  });
  const client = new AbortController();
  const gone = take('pep', of(1), client.signal);
  client.abort(new Error('gone'));
  await expect(gone).rejects.toThrow('gone');
  place.leave();
  // Neither of them has any.
  expect(hasRoom(take, 'pep', of(roomOfActor.events))).toBe(true);
});

it('is not waited for where an actor can never have it, nor where requests are answered without it', () => {
  const more = of(2, roomOfActor.bytes);
  expect(() => makeRoom({ isStrict: true })('pep', more, HERE)).toThrow(
    expect.objectContaining({ code: 'request.too_large' }),
  );
  const take = makeRoom({ isStrict: false });
  expect(take('pep', more, HERE)).toBeNull();
  taken(take, 'pep', of(roomOfActor.events));
  expect(take('pep', of(1), HERE)).toBeNull();
});
