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
const fields: object[] = [];
const line = (about: object, message: string): void => {
  said.push(message);
  fields.push(about);
};
const log = { info: line, warn: line, error: line };
let path: string;
let open: Revocations;

beforeEach(async () => {
  said.length = 0;
  fields.length = 0;
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
  // The file is the same one, and as large.
  await writeFile(path, A);
  await open.pollNow();
  expect([open.has(A), open.has(B)]).toEqual([true, false]);
  expect(said).toEqual(Array.from({ length: 4 }, () => 'the list of revoked credentials was read again'));
  expect(fields).toEqual([2, 0, 1, 1].map((revoked) => ({ path, revoked })));
  await open.pollNow();
  await open.pollNow();
  expect(said).toHaveLength(4);
});

test('it may have been written on Windows, with comments', async () => {
  await replace(`# lost laptop\r\n${A} # ana's\r\n\r\n\u2028# a\u2028b\r\n${B}#\r\n`);
  expect([open.has(A), open.has(B)]).toEqual([true, true]);
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
  expect(fields).toMatchObject([{ path, reason: 'cannot be read (EMFILE)' }]);
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
  expect(fields).toEqual([{ path, reason: expect.stringMatching(/\w/), error: expect.any(Error) }]);
  await replace(B);
  expect([open.has(A), open.has(B)]).toEqual([false, true]);
  // It is another damage, and is reported.
  await replace('ana');
  expect(said.filter((message) => message.includes('cannot be read'))).toHaveLength(2);
  expect(fields.at(-1)).toMatchObject({ path, reason: 'has no fingerprint in line 1' });
});

test('C29 the gateway does not start without its list', async () => {
  await expect(watchRevocations(`${path}.nowhere`, log)).rejects.toThrow(RevocationsError);
  await writeFile(path, 'x');
  await expect(watchRevocations(path, log)).rejects.toThrow('has no fingerprint in line 1');
});
