// The lock of an embedded store's folder: the living keep it, it can be taken from the dead, and two never hold it.
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLockFolder, ownsLock, readLock, takeLock } from '../../../server/lib/owner-lock.js';
import type { HeldLock } from '../../../server/lib/owner-lock.js';
import { OWNER_LIMITS } from '../../../server/limits/store.js';
import { identifyProcess } from '../../../server/lib/process-identity.js';
import { stickFile } from '../../support/stuck-file.js';

let folder: string;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'bailiwick-lock-')), 'store.lock');
  createLockFolder(folder);
});
afterEach(() => {
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

function take(): HeldLock {
  const state = readLock(folder);
  if (state.kind !== 'free') throw new Error('the lock is not free');
  const lock = takeLock(folder, state.next, '/tmp/bailiwick-abcdef');
  if (lock === null) throw new Error('the lock was taken by another');
  return lock;
}

/** A lock file as another process would have left it. */
function plant(change: Readonly<Record<string, unknown>>, ageMs = 0): void {
  const record = {
    ...identifyProcess(),
    token: 'planted',
    socketDir: '/tmp/bailiwick-123456',
    path: folder,
    inode: statSync(folder).ino,
    ...change,
  };
  const file = join(folder, '1');
  writeFileSync(file, JSON.stringify(record));
  const then = new Date(Date.now() - ageMs);
  utimesSync(file, then, then);
}

describe('an unused lock', () => {
  it('is free, is held once taken, and is free again once released', async () => {
    expect(readLock(folder)).toMatchObject({ kind: 'free', next: 1 });
    const lock = take();
    expect(readLock(folder)).toMatchObject({
      kind: 'held',
      record: { pid: process.pid, token: lock.token, socketDir: '/tmp/bailiwick-abcdef' },
    });
    expect(await ownsLock(lock.file, lock.token)).toBe(true);
    await lock.release();
    expect(await ownsLock(lock.file, lock.token)).toBe(false);
    expect(readLock(folder)).toMatchObject({ kind: 'free', next: 2, socketDir: null });
  });

  it('goes to one of two that found it free', () => {
    expect(takeLock(folder, 1, '/tmp/a')).not.toBeNull();
    expect(takeLock(folder, 1, '/tmp/b')).toBeNull();
    expect(readLock(folder)).toMatchObject({ kind: 'held', record: { socketDir: '/tmp/a' } });
  });

  it('leaves one file, readable by its owner alone', async () => {
    await take().release();
    await take().release();
    const third = take();
    expect(readdirSync(folder)).toEqual(['3']);
    expect(JSON.parse(readFileSync(third.file, 'utf8'))).toMatchObject({ pid: process.pid });
  });

  it('cannot be taken by one that slept while others came and went', async () => {
    const seen = readLock(folder); // number 1 is free, says this sleeper
    await take().release();
    const living = take();
    expect(seen.kind === 'free' && takeLock(folder, seen.next, '/tmp/sleeper')).toBeNull();
    expect(await ownsLock(living.file, living.token)).toBe(true);
    expect(readLock(folder)).toMatchObject({ kind: 'held', record: { token: living.token } });
  });
});

describe('a lock on a disk that does not answer', () => {
  it('stops nothing else: its heartbeats wait for the disk, one at a time, and a release for the last of them', async () => {
    const lock = take();
    const record = readFileSync(lock.file, 'utf8');
    const disk = stickFile(lock.file);
    const beat = lock.touch();
    expect(disk.isStuck()).toBe(true);
    expect(lock.touch()).toBe(beat);
    expect(await lock.isHeld()).toBe(true);
    const released = lock.release();
    // The disk has its file again, and then takes what waited for it.
    rmSync(lock.file);
    writeFileSync(lock.file, record);
    disk.free();
    expect(await released).toBe(true);
    await lock.touch();
    expect(readLock(folder)).toMatchObject({ kind: 'free', next: 2 });
  });

  it('is lost once another has taken it meanwhile, and what the disk takes late changes nothing', async () => {
    const lock = take();
    const disk = stickFile(lock.file);
    const beat = lock.touch();
    expect(takeLock(folder, 2, '/tmp/other')).not.toBeNull();
    expect(await lock.isHeld()).toBe(false);
    disk.free();
    await beat;
    expect(readLock(folder)).toMatchObject({ kind: 'held', record: { socketDir: '/tmp/other' } });
  });
});

const onLinux = process.platform === 'linux' ? test : test.skip;

it('belongs to the user of the folder that it is in, though root takes it', () => {
  const isRoot = process.getuid?.() === 0;
  // As a build before this has left it.
  if (isRoot) chownSync(dirname(folder), 65_534, 65_534);
  createLockFolder(folder);
  const { file } = take();
  const { uid, gid } = statSync(dirname(folder));
  expect([folder, file].map((path) => [statSync(path).uid, statSync(path).gid])).toEqual([
    [uid, gid],
    [uid, gid],
  ]);
  expect(uid).toBe(isRoot ? 65_534 : process.getuid?.());
});

it('stays with root where root may give nothing away', () => {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(dirname(folder), 65_534, 65_534);
  const limits = isRoot ? ['setpriv', '--bounding-set', '-chown', '--inh-caps', '-chown'] : [];
  const lock = JSON.stringify(new URL('../../../server/lib/owner-lock.js', import.meta.url).href);
  const text = JSON.stringify(folder);
  const script = `const { createLockFolder, takeLock } = await import(${lock});
    createLockFolder(${text}); console.log(await takeLock(${text}, 1, '').isHeld());`;
  const args = [...limits, process.execPath, '--input-type=module', '-e', script];
  expect(execFileSync('env', args, { encoding: 'utf8' })).toBe('true\n');
});

it('is known to be taken, however many have had it since', async () => {
  const lost = take();
  expect(await lost.isTaken()).toBe(false);
  for (let number = 2; number <= 3; number += 1) {
    const next = takeLock(folder, number, '');
    expect([await lost.isTaken(), await lost.isHeld()]).toEqual([true, false]);
    await next?.release();
  }
});

it('stays with the user who has made it in a folder that root shares with a group', () => {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, 65_534, 65_534);
  const { uid, gid } = statSync(folder);
  createLockFolder(folder);
  const { file } = take();
  expect([folder, file].map((path) => [statSync(path).uid, statSync(path).gid])).toEqual([
    [uid, gid],
    [uid, gid],
  ]);
  expect(uid).toBe(isRoot ? 65_534 : process.getuid?.());
});

describe('a lock that was left behind', () => {
  onLinux('by a dead process is free at once', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('exit', resolve));
    plant({ pid: child.pid });
    expect(readLock(folder)).toEqual({ kind: 'free', next: 2, socketDir: '/tmp/bailiwick-123456', mayLive: false });
  });

  onLinux('by a process whose pid another program has by now is free at once', () => {
    plant({ pid: process.pid, born: '1' });
    expect(readLock(folder)).toMatchObject({ kind: 'free', next: 2 });
  });

  onLinux('by a living process is held, however old', () => {
    plant({}, 10 * OWNER_LIMITS.heartbeatLost);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
  });

  test.each([
    ['before this machine was started', { space: 'another-boot/pid:[1]' }],
    ['in another container', { space: `${identifyProcess().space}0` }],
    ['on a system that says nothing about processes', { born: '', space: '', host: 'another' }],
  ])('%s is judged by its heartbeat', (_, change) => {
    plant({ pid: 1, ...change }, OWNER_LIMITS.heartbeatLost / 2);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
    plant({ pid: 1, ...change }, 2 * OWNER_LIMITS.heartbeatLost);
    expect(readLock(folder)).toMatchObject({ kind: 'free', next: 2 });
  });

  it('is free if its owner has written only that it releases it, and not yet cut off the rest', () => {
    plant({});
    const file = join(folder, '1');
    writeFileSync(file, `released\n${readFileSync(file, 'utf8').slice(9)}`);
    expect(readLock(folder)).toEqual({ kind: 'free', next: 2, socketDir: null, mayLive: false });
  });

  it('by an owner whose clock was ahead is judged by its heartbeat from when it is seen, not when the clock has come there', () => {
    const far = { pid: 1, space: 'another-boot/pid:[1]' };
    plant(far, -3_600_000);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
    const { mtimeMs } = statSync(join(folder, '1'));
    expect(mtimeMs).toBeLessThan(Date.now() + 5_000);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
    expect(statSync(join(folder, '1')).mtimeMs).toBe(mtimeMs);
  });

  it('by copying the folder of a living owner is free at once, and its socket left alone', () => {
    plant({ path: '/elsewhere', inode: 1 });
    expect(readLock(folder)).toEqual({ kind: 'free', next: 2, socketDir: null, mayLive: false });
  });

  onLinux.each([
    ['by another path', { path: '/mounted/elsewhere' }],
    ['on a file system that numbers anew', { inode: 1 }],
  ])('of this folder as it is reached %s is held', (_, change) => {
    plant(change);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
  });

  test.each(['', 'not JSON', '{"pid":"1"}', '[]', 'null'])(
    'with the content %j is judged by its heartbeat',
    (content) => {
      const file = join(folder, '1');
      writeFileSync(file, content);
      expect(readLock(folder)).toMatchObject({ kind: 'held' });
      utimesSync(file, new Date(0), new Date(0));
      expect(readLock(folder)).toEqual({ kind: 'free', next: 2, socketDir: null, mayLive: true });
    },
  );

  it("is no longer its owner's once another has taken it", async () => {
    const sleeper = take();
    expect(takeLock(folder, 2, '/tmp/other')).not.toBeNull();
    expect(await ownsLock(sleeper.file, sleeper.token)).toBe(false);
    expect(await sleeper.isHeld()).toBe(false);
    await sleeper.touch();
    await sleeper.release();
    expect(readLock(folder)).toMatchObject({ kind: 'held', record: { socketDir: '/tmp/other' } });
  });
});
