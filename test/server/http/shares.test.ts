import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBodies, makeShares, makeReaders, type Shares } from '../../../server/http/shares.js';
import { makeStreamPlaces } from '../../../server/http/stream-places.js';
import { STREAM_LIMITS } from '../../../server/limits/changes.js';
import { SHARE_LIMITS } from '../../../server/limits/http.js';

const MEBIBYTE = 1024 * 1024;
const totalBytes = 256 * MEBIBYTE;
const staying = { gone: new AbortController().signal };
const codeOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'in',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );

describe('turns', () => {
  it('are so many for one actor, in order, and others have their own', async () => {
    const shares = makeShares({ totalBytes, concurrency: 2 });
    const order: number[] = [];
    const leaves = await Promise.all([shares.enter('a', staying), shares.enter('a', staying)]);
    const third = shares.enter('a', staying).then((leave) => (order.push(3), leave));
    const fourth = shares.enter('a', staying).then((leave) => (order.push(4), leave));
    await shares.enter('b', staying);
    await sleep(5);
    expect(order).toEqual([]);
    leaves[0]();
    await third;
    expect(order).toEqual([3]);
    (await third)();
    await fourth;
    expect(order).toEqual([3, 4]);
  });

  it('are waited for no longer than patience, and then refused with the quota', async () => {
    const shares = makeShares({ totalBytes, concurrency: 1, patience: 20 });
    await shares.enter('a', staying);
    await expect(shares.enter('a', staying)).rejects.toMatchObject({
      code: 'limit.rate',
      status: 429,
      detail: { retryAfter: 1, headers: expect.arrayContaining(['RateLimit-Policy', '"concurrency";q=1;w=1']) },
    });
  });

  it('are refused at once to one more than may wait', async () => {
    const shares = makeShares({ totalBytes, concurrency: 1 });
    const leave = await shares.enter('a', staying);
    const waiting = Array.from({ length: SHARE_LIMITS.waiting }, () => shares.enter('a', staying));
    expect(await codeOf(shares.enter('a', staying))).toBe('limit.rate');
    leave();
    for (const one of waiting) (await one)();
  });

  it('are given up by a client that has gone', async () => {
    const shares = makeShares({ totalBytes, concurrency: 1 });
    const leave = await shares.enter('a', staying);
    const leaving = new AbortController();
    const left = shares.enter('a', { gone: leaving.signal });
    const behind = shares.enter('a', staying);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ name: 'RequestAborted' });
    leave();
    (await behind)();
    await expect(shares.enter('a', { gone: AbortSignal.abort() })).resolves.toBeInstanceOf(Function);
  });

  it('are not counted with 0', async () => {
    const shares = makeShares({ totalBytes, concurrency: 0 });
    const all = await Promise.all(Array.from({ length: 1_000 }, () => shares.enter('a', staying)));
    expect(all).toHaveLength(1_000);
  });
});

describe('answers that are still to be read', () => {
  const fill = (shares: Shares, name: string, mebibytes: number): (() => void) =>
    shares.hold(name, mebibytes * MEBIBYTE);

  it('keep more of the same actor waiting, and nobody else', async () => {
    const shares = makeShares({ totalBytes, concurrency: 0, patience: 1_000 });
    const taken = fill(shares, 'a', 32);
    const next = shares.enter('a', staying);
    expect(await codeOf(shares.enter('b', staying))).toBe('in');
    expect(await Promise.race([next, sleep(20).then(() => 'waits')])).toBe('waits');
    taken();
    expect(await codeOf(next)).toBe('in');
  });

  it('are refused above twice the share, which is what was begun meanwhile', () => {
    const shares = makeShares({ totalBytes, concurrency: 0 });
    fill(shares, 'a', 31);
    expect(() => {
      shares.checkRoom('a', 33 * MEBIBYTE);
    }).not.toThrow();
    expect(() => {
      shares.checkRoom('a', 34 * MEBIBYTE);
    }).toThrow('limit.rate');
  });

  it('of all together are bounded', async () => {
    const shares = makeShares({ totalBytes, concurrency: 0 });
    const taken = Array.from({ length: 16 }, (_, index) => fill(shares, `a${String(index)}`, 16));
    expect(await codeOf(shares.enter('b', staying))).toBe('overloaded');
    taken[0]?.();
    expect(await codeOf(shares.enter('b', staying))).toBe('in');
  });
});

describe('answers to strangers', () => {
  it('have a total of their own; in a full one the slowest reader gives way, and nobody else', () => {
    const strangers = makeReaders(10);
    const cut: string[] = [];
    const reader = (name: string, pace: number): Parameters<typeof strangers.hold>[0] => ({
      pace: () => pace,
      cut: () => cut.push(name),
    });
    strangers.hold(reader('fast', 100), 4);
    const done = strangers.hold(reader('slow', 1), 4);
    strangers.hold(reader('middling', 10), 2);
    expect(cut).toEqual([]);
    strangers.hold(reader('new', 0), 4);
    expect(cut).toEqual(['slow']);
    // It was given back already.
    done();
    strangers.hold(reader('next', 50), 3);
    expect(cut).toEqual(['slow', 'new']);
    strangers.hold(reader('large', 0), 20);
    expect(cut).toEqual(['slow', 'new', 'middling', 'next', 'fast']);
  });
});

it('bodies have a total; in a full one the largest gives way, and small ones pass', () => {
  const bodies = makeBodies(10);
  const cut: string[] = [];
  const open = (name: string): ReturnType<typeof bodies.open> => bodies.open({ cut: () => cut.push(name) });
  const [large, small, other] = [open('large'), open('small'), open('other')];
  large.add(5);
  small.add(1);
  other.add(4);
  expect(cut).toEqual([]);
  small.add(1);
  expect(cut).toEqual(['large']);
  // It is counted no more, and what has ended gives its room back.
  large.add(20);
  large.end();
  other.end();
  small.add(8);
  expect(cut).toEqual(['large']);
  small.add(1);
  expect(cut).toEqual(['large', 'small']);
});

it('places of streams go to who has fewer than others, and to nobody once all have as many', async () => {
  let open = 0;
  const { anonymous } = makeStreamPlaces((by) => {
    open += by;
  });
  const cut: string[] = [];
  const enter = (name: string): Promise<() => void> =>
    anonymous.enter(name, { ...staying, peer: { cut: () => cut.push(name) } });
  const most = STREAM_LIMITS.anonymous;
  const leaves = [await enter('a'), await enter('a')];
  for (let n = 2; n < most; n += 1) leaves.push(await enter(`b${String(n)}`));
  expect(await codeOf(enter('a'))).toBe('limit.rate');
  expect(await codeOf(enter('b2'))).toBe('limit.rate');
  expect(cut).toEqual([]);
  leaves.push(await enter('c'));
  expect(cut).toEqual(['a']);
  expect(await codeOf(enter('d'))).toBe('limit.rate');
  // The one that gave way takes nobody's place along when it ends.
  leaves[0]?.();
  expect([open, await codeOf(enter('d'))]).toEqual([most, 'limit.rate']);
  leaves[1]?.();
  expect(await codeOf(enter('d'))).toBe('in');
  for (const leave of leaves.slice(2)) leave();
  expect(open).toBe(1);
});
