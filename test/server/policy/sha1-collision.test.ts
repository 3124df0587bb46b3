// SHA-1 names objects of most repositories. What was made to share its SHA-1 with something else is recognized by its
// bytes alone. The one public pair that is used here is that of Stevens and others (2017), cut after its collision.
import { expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { holdsCollision } from '../../../server/policy/sources/sha1-collision.js';
import { makeCollisionCheck } from '../../../server/policy/sources/sha1-thread.js';
import { failIdle } from '../../support/idle-thread.js';

const PREFIX =
  '255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474682032203020522f4865696768742033203020522f547970' +
  '652034203020522f537562747970652035203020522f46696c7465722036203020522f436f6c6f7253706163652037203020522f4c656e67' +
  '74682038203020522f42697473506572436f6d706f6e656e7420383e3e0a73747265616d0affd8fffe00245348412d312069732064656164' +
  '2121212121852fec092339759c39b1a1c63c4c97e1fffe01';
const ONE =
  '7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de218f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd' +
  '728f0e45bce046d23c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500eb4ddc0decc1a864790c782c76215660' +
  'dd309791d06bd0af3f98cda4bc4629b1';
const OTHER =
  '7f46dc93a6b67e013b029aaa1db2560b45ca67d688c7f84b8c4c791fe02b3df614f86db1690901c56b45c1530afedfb76038e972722fe7ad' +
  '728f0e4904e046c230570fe9d41398abe12ef5bc942be33542a4802d98b5d70f2a332ec37fac3514e74ddc0f2cc1a874cd0c78305a215664' +
  '61309789606bd0bf3f98cda8044629a1';
const PAIR = [ONE, OTHER].map((blocks) => Buffer.from(PREFIX + blocks, 'hex'));

it('is found in either message of a pair, whatever follows, and in the thread, too', async () => {
  const digests = PAIR.map((message) => createHash('sha1').update(message).digest('hex'));
  expect(new Set(digests)).toEqual(new Set(['f92d74e3874587aaf443d1db961d4e26dde13e9c']));
  const check = makeCollisionCheck(new AbortController().signal);
  for (const message of PAIR) {
    expect(holdsCollision(message)).toBe(true);
    expect(holdsCollision(Buffer.concat([message, randomBytes(1000)]))).toBe(true);
    expect(await check.isCollision('', message)).toBe(true);
    expect(await check.isCollision(message.toString('latin1', 0, 9), message.subarray(9))).toBe(true);
    expect(await check.isCollision('blob 320\0', message)).toBe(false);
  }
  expect(await check.isCollision('blob 3\0', Buffer.from('abc'))).toBe(false);
  check.end();
});

it('is not found without its last block, with one bit changed, or behind anything else', () => {
  for (const message of PAIR) {
    expect(holdsCollision(message.subarray(0, 256))).toBe(false);
    expect(holdsCollision(Buffer.concat([Buffer.alloc(64), message]))).toBe(false);
    for (const at of [0, 200, 319]) {
      const changed = Buffer.from(message);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(holdsCollision(changed)).toBe(false);
    }
  }
});

it('is not found in ordinary bytes of any length', () => {
  for (let length = 0; length < 200; length += 1) expect(holdsCollision(Buffer.alloc(length, 'policy: '))).toBe(false);
  expect(holdsCollision(randomBytes(100_000))).toBe(false);
});

it('ends nothing else if its thread fails while nobody asks, and starts another for the next question', async () => {
  const check = makeCollisionCheck(new AbortController().signal);
  const ask = (): Promise<boolean> => check.isCollision('blob 3\0', Buffer.from('abc'));
  await failIdle(ask);
  expect(await ask()).toBe(false);
  check.end();
});
