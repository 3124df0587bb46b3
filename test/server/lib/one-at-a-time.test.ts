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
