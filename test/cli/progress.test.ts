// Progress: only on a terminal, only for work over a second, never many times a second, and gone at the end.
import { expect, test } from '@jest/globals';
import { startProgress } from '../../server/cli/render/terminal.js';
import { openPolicy } from '../../server/cli/open-policy.js';
import { POLICY_LIMITS } from '../../server/limits/policy.js';
import { makeIo } from '../support/cli-io.js';
import { makeFolder } from '../support/temp-folder.js';

test('nothing is written if stderr is not a terminal', () => {
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

test('a large snapshot says that it is being verified, also where it turns out to be none', async () => {
  const { quietBytes } = POLICY_LIMITS;
  const folder = await makeFolder({
    'large\u001b.json': 'x'.repeat(quietBytes),
    'small.json': 'x'.repeat(quietBytes - 1),
  });
  const shownFor = async (name: string, terminal: boolean): Promise<string> => {
    const { io, stderr } = makeIo({ terminal });
    await expect(openPolicy({ ...io, cwd: folder }, name)).rejects.toMatchObject({ status: 8 });
    return stderr();
  };
  expect(await shownFor('large\u001b.json', true)).toBe('\r\u001b[Kverifying large\\x1b.json, 3 MB\r\u001b[K');
  expect(await shownFor('large\u001b.json', false)).toBe('');
  expect(await shownFor('small.json', true)).toBe('');
});
