// Progress: only on a terminal, only for work over a second, never many times a second, and gone at the end.
import { expect, test } from '@jest/globals';
import { startProgress } from '../../server/cli/render/progress.js';
import { makeIo } from '../support/cli-io.js';

test('nothing is written where stderr is no terminal', () => {
  const { io, stderr } = makeIo({ terminal: false });
  let now = 0;
  const progress = startProgress(io, () => now);
  now = 10_000;
  progress.update('1 line');
  progress.phase('compiling');
  progress.done();
  expect(stderr()).toBe('');
});

test('on a terminal: quiet for a second, then at most ten times a second, then removed', () => {
  const { io, stderr } = makeIo({ terminal: true });
  let now = 0;
  const progress = startProgress(io, () => now);
  const at = (time: number, text: string): void => {
    now = time;
    progress.update(text);
  };
  at(999, 'too early');
  at(1_000, 'first');
  at(1_050, 'too soon');
  at(1_100, 'second');
  progress.done();
  progress.done();
  expect(stderr()).toBe('\r\u001b[Kfirst\r\u001b[Ksecond\r\u001b[K');
});

test('work that ends within a second leaves nothing behind', () => {
  const { io, stderr } = makeIo({ terminal: true });
  const progress = startProgress(io, () => 0);
  progress.update('x');
  progress.done();
  expect(stderr()).toBe('');
});
