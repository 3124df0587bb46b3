// How many credentials of one address that have never been valid are looked up at once.
import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { notJudgedYet } from '../../../server/auth/authenticator.js';
import { makeAttempts } from '../../../server/http/attempts.js';
import { RequestAborted } from '../../../server/http/message.js';
import { ApiProblem } from '../../../server/problem.js';
import { makeRateLimiter } from '../../../server/http/rate-limit.js';

function setUp(quota: number, patience = 5_000) {
  const clock = { now: 0 };
  const failures = makeRateLimiter(quota, () => clock.now);
  const [spare, unjudged] = [makeRateLimiter(quota, () => clock.now), makeRateLimiter(quota, () => clock.now)];
  const { attempt } = makeAttempts({ failures, spare, unjudged, patience });
  const counts = { begun: 0, atOnce: 0, most: 0 };
  const lookUp = (isRight: boolean) => async (): Promise<string> => {
    counts.begun += 1;
    counts.atOnce += 1;
    counts.most = Math.max(counts.most, counts.atOnce);
    await sleep(1);
    counts.atOnce -= 1;
    if (isRight) return 'right';
    failures.take('a');
    throw new Error('wrong');
  };
  const many = (count: number, isRight: boolean, address = 'a'): Promise<readonly string[]> =>
    Promise.all(
      Array.from({ length: count }, () =>
        attempt(address, { gone: new AbortController().signal }, lookUp(isRight)).catch((error: unknown) =>
          error instanceof Error ? error.message : '',
        ),
      ),
    );
  return { clock, counts, many, attempt };
}

describe('attempts of one address', () => {
  it('that fail are as many as may fail, and as many to spare, however many come together', async () => {
    const { clock, counts, many } = setUp(5);
    const told = await many(200, false);
    expect(told.filter((each) => each === 'wrong')).toHaveLength(10);
    expect(told.filter((each) => each.startsWith('limit.rate'))).toHaveLength(190);
    expect(counts).toEqual({ begun: 10, atOnce: 0, most: 5 });
    clock.now += 1_000;
    expect((await many(200, false)).filter((each) => each === 'wrong')).toHaveLength(10);
  });

  it('that are right all go through, so many at once', async () => {
    const { counts, many } = setUp(5);
    expect(await many(200, true)).toEqual(Array<string>(200).fill('right'));
    expect(counts).toEqual({ begun: 200, atOnce: 0, most: 5 });
  });

  it('do not keep those of another one waiting, and are not bounded without a limit', async () => {
    const { many } = setUp(5);
    await many(200, false);
    expect(await many(1, true, 'b')).toEqual(['right']);
    const free = setUp(0);
    expect(await free.many(200, false)).toEqual(Array<string>(200).fill('wrong'));
    expect(free.counts.most).toBe(200);
  });

  it('end when their client leaves, and nothing more is done for it', async () => {
    const { attempt } = setUp(1);
    let [end, begun] = [(): void => undefined, 0];
    const first = attempt('a', { gone: new AbortController().signal }, () => new Promise<void>((done) => (end = done)));
    const leaving = new AbortController();
    const work = (): Promise<void> => {
      begun += 1;
      return Promise.resolve();
    };
    const waiting = attempt('a', { gone: leaving.signal }, work);
    const left = expect(waiting).rejects.toBeInstanceOf(RequestAborted);
    leaving.abort();
    // While the look-up before it is still running.
    await left;
    await expect(attempt('a', { gone: leaving.signal }, work)).rejects.toBeInstanceOf(RequestAborted);
    expect(begun).toBe(0);
    end();
    await first;
    await attempt('a', { gone: new AbortController().signal }, work);
    expect(begun).toBe(1);
  });

  it('that wait for an issuer leave half of the room to others, and what it cannot judge is no failure', async () => {
    const { attempt, many } = setUp(4, 500);
    const client = { gone: new AbortController().signal, issuer: 'away' };
    let begun = 0;
    const answered = new AbortController();
    const hang = async (): Promise<never> => {
      begun += 1;
      if (!answered.signal.aborted) await once(answered.signal, 'abort');
      throw new ApiProblem('auth.unavailable');
    };
    const codes = Array.from({ length: 6 }, () =>
      attempt('a', client, hang).catch((error: unknown) => (error instanceof ApiProblem ? error.code : '')),
    );
    // Those for which there was no room are told so before the issuer has answered.
    expect(await codes[5]).toBe('auth.unavailable');
    expect(begun).toBe(2);
    expect(await many(20, true)).toEqual(Array<string>(20).fill('right'));
    answered.abort();
    expect(new Set(await Promise.all(codes))).toEqual(new Set(['auth.unavailable']));
    // As many as may fail in a second: after those it is not asked.
    for (let index = 0; index < 4; index += 1) await expect(attempt('a', client, hang)).rejects.toThrow();
    expect(begun).toBe(4);
    expect(await attempt('a', { ...client, issuer: 'another' }, () => Promise.resolve('right'))).toBe('right');
  });

  it('that an issuer may yet judge, but that are probably wrong, use up nothing of what it cannot judge', async () => {
    const { attempt } = setUp(4);
    const client = { gone: new AbortController().signal, issuer: 'asked before' };
    const late = (): Promise<never> =>
      Promise.reject(notJudgedYet('unknown', { reason: 'not published', retryAfter: 1 }));
    for (let index = 0; index < 20; index += 1) await expect(attempt('a', client, late)).rejects.toThrow();
    expect(await attempt('a', client, () => Promise.resolve('right'))).toBe('right');
  });

  it('do not wait for longer than their clients do', async () => {
    const { attempt } = setUp(1, 500);
    const client = { gone: new AbortController().signal };
    let end = (): void => undefined;
    const first = attempt('a', client, () => new Promise<void>((done) => (end = done)));
    await expect(attempt('a', client, () => Promise.resolve())).rejects.toMatchObject({ code: 'overloaded' });
    end();
    await first;
  });
});
