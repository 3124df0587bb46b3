import { expect, it } from '@jest/globals';
import { oneAtATime } from '../../../server/lib/one-at-a-time.js';

const full = (): Error => new Error('full');

it('does work in order, never two at once', async () => {
  const inTurn = oneAtATime(3, full);
  const seen: string[] = [];
  const work = (name: string) => async (): Promise<string> => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
    return name;
  };
  expect(await Promise.all(['a', 'b', 'c'].map((name) => inTurn(work(name))))).toEqual(['a', 'b', 'c']);
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

it('refuses what is one too many, and goes on after a failure', async () => {
  const inTurn = oneAtATime(2, full);
  const failing = inTurn(() => Promise.reject(new Error('broken')));
  const next = inTurn(() => Promise.resolve('next'));
  await expect(inTurn(() => Promise.resolve('third'))).rejects.toThrow('full');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('next');
  expect(await inTurn(() => Promise.resolve('later'))).toBe('later');
});

it('gives the place of what is aborted to others at once, and never begins it', async () => {
  const inTurn = oneAtATime(2, full);
  let finish: () => void = () => undefined;
  const first = inTurn(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  const leaving = new AbortController();
  let isBegun = false;
  const begin = (): Promise<void> => {
    isBegun = true;
    return Promise.resolve();
  };
  const second = expect(inTurn(begin, leaving.signal)).rejects.toThrow('left');
  leaving.abort(new Error('left'));
  await second;
  const third = inTurn(() => Promise.resolve('third'));
  finish();
  await first;
  expect([await third, isBegun]).toEqual(['third', false]);
});
