// Revoked credentials: the list is read again while the gateway runs, and no damage makes it shorter.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { open as openFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mock } from 'node:test';
import { type Revocations, RevocationsError, watchRevocations } from '../../../server/auth/revocations.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];
const said: string[] = [];
const line = (_fields: object, message: string): void => void said.push(message);
const log = { info: line, warn: line, error: line };
let path: string;
let open: Revocations;

beforeEach(async () => {
  said.length = 0;
  path = join(await makeFolder({ 'revoked.txt': `# lost laptop\n${A} # ana's\n\n` }), 'revoked.txt');
  open = await watchRevocations(path, log);
});

afterEach(() => open.stop());

/** As tools do it that write with care. */
async function replace(text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
  await open.pollNow();
}

test('it holds what is listed, and nothing else', () => {
  expect([open.has(A), open.has(B), open.has(''), open.has('__proto__')]).toEqual([true, false, false, false]);
});

test('it is read again when it changes, in both directions', async () => {
  await replace(`${A}\r\n${B}\r\n`);
  expect([open.has(A), open.has(B)]).toEqual([true, true]);
  await replace('');
  expect([open.has(A), open.has(B)]).toEqual([false, false]);
  await writeFile(path, B);
  await open.pollNow();
  expect(open.has(B)).toBe(true);
});

test('what could not be read for a moment is read again, though the file has not changed since', async () => {
  const handle = await openFile(path);
  await handle.close();
  const read = mock.method(Object.getPrototypeOf(handle) as typeof handle, 'read').mock;
  read.mockImplementationOnce(() =>
    Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' })),
  );
  await replace(B);
  expect([open.has(A), open.has(B)]).toEqual([true, false]);
  await open.pollNow();
  expect([open.has(A), open.has(B)]).toEqual([false, true]);
  read.restore();
});

test('it is looked at without being asked', async () => {
  await writeFile(path, B);
  await until(() => open.has(B));
});

test.each<[string, (() => Promise<void>) | string]>([
  ['a line that is no fingerprint', `${B}\nana\n`],
  ['half a line', B.slice(0, 40)],
  ['capital letters', A.toUpperCase()],
  ['no file', () => rm(path)],
  ['more than there is room for', `${B}\n`.repeat(140_000)],
])('with %s the last list stays in force, and that is logged once', async (_name, damage) => {
  if (typeof damage === 'string') await replace(damage);
  else await damage();
  await open.pollNow();
  await open.pollNow();
  expect([open.has(A), open.has(B)]).toEqual([true, false]);
  expect(said).toEqual(['the list of revoked credentials cannot be read; the last one stays in force']);
  await replace(B);
  expect([open.has(A), open.has(B)]).toEqual([false, true]);
});

test('C29 the gateway does not start without its list', async () => {
  await expect(watchRevocations(`${path}.nowhere`, log)).rejects.toThrow(RevocationsError);
  await writeFile(path, 'x');
  await expect(watchRevocations(path, log)).rejects.toThrow('has no fingerprint in line 1');
});
