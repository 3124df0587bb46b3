// Whether a disk has yet to answer, which decides how the process ends.
import { expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type * as StuckDisk from '../../../server/lib/stuck-disk.js';

// A copy of its own: other tests of this process leave a disk stuck.
const { answered, isDiskStuck, NoAnswer, noteStuckDisk } = (await import(
  new URL('../../../server/lib/stuck-disk.js?own', import.meta.url).href
)) as typeof StuckDisk;

it('is stuck for as long as a question that was given up is not answered', async () => {
  let [answer, fail]: [() => void, (error: Error) => void] = [() => undefined, () => undefined];
  const first = new Promise<void>((resolve) => (answer = resolve));
  const second = new Promise<void>((_, reject) => (fail = reject));
  for (const question of [first, second]) await expect(answered(() => question, 5)).rejects.toThrow(NoAnswer);
  expect(isDiskStuck()).toBe(true);
  answer();
  await turn();
  expect(isDiskStuck()).toBe(true);
  fail(new Error('late'));
  await turn();
  expect(isDiskStuck()).toBe(false);
  expect(await answered(() => Promise.resolve('in time'), 5)).toBe('in time');
  noteStuckDisk();
  expect(isDiskStuck()).toBe(true);
});
