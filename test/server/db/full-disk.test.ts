// The disk under the embedded store: full while it runs, full or read-only when it starts. Only the statement fails,
// and one line says what is wrong. If this user may mount file systems, these are real ones; otherwise only what needs
// none is tested.
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../server/db/database.js';
import { folderFailure } from '../../../server/db/embedded/folder.js';
import { createLockFolder, readLock, stillOwns, takeLock } from '../../../server/lib/owner-lock.js';
import { storeFailure, toStoreError } from '../../../server/db/failures.js';
import { runCli } from '../../support/run-cli.js';
import { fill, mayMount, mount, unmount } from '../../support/small-disk.js';
import { newDataDir } from '../../support/stores.js';

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

let root: string;
let runtime: string | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bailiwick-disk-'));
  runtime = process.env['TMPDIR'];
  mkdirSync(join(root, 'run'), { mode: 0o700 });
  process.env['TMPDIR'] = join(root, 'run');
});
afterEach(() => {
  if (runtime === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = runtime;
  rmSync(root, { recursive: true, force: true });
});

/** Sockets that were left behind. */
const left = (): readonly string[] => readdirSync(join(root, 'run'));

describe('what the system says of a folder', () => {
  test.each([
    [{ code: 'ENOSPC' }, 'store.full'],
    [{ code: 'EDQUOT' }, 'store.full'],
    [new Error('FATAL:  could not write lock file "postmaster.pid": No space left on device'), 'store.full'],
    [{ code: 'EROFS' }, 'store.folder'],
    [{ code: 'EACCES' }, 'store.folder'],
    [{ code: 'EEXIST' }, 'store.folder'],
  ])('%j is told by %s', (error, code) => {
    expect(folderFailure(error, '/data')).toMatchObject({ code, help: expect.any(String) });
    expect(storeFailure(folderFailure(error, '/data'))).toBe('unavailable');
  });

  it('is not taken for what it is not', () => {
    expect(folderFailure(new Error('could not find a valid checkpoint'), '/data')).toBeNull();
  });
});

describe('a lock', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(root, 'store.lock');
    createLockFolder(folder);
  });

  it('that cannot be released says so, and throws nothing among the events of a thread', async () => {
    const lock = takeLock(folder, 1, '/tmp/bailiwick-abcdef');
    rmSync(join(folder, '1'));
    mkdirSync(join(folder, '1'));
    expect(await lock?.release()).toBe(false);
  });

  it('is lost as soon as the next number is taken, whatever any clock says', async () => {
    const lock = takeLock(folder, 1, '/tmp/bailiwick-abcdef');
    expect(stillOwns(lock?.file ?? '')).toBe(true);
    expect(await lock?.isHeld()).toBe(true);
    writeFileSync(join(folder, '2'), '{}');
    expect(stillOwns(lock?.file ?? '')).toBe(false);
    expect(await lock?.isHeld()).toBe(false);
    rmSync(join(folder, '2'));
    rmSync(join(folder, '1'));
    expect(stillOwns(lock?.file ?? '')).toBe(false);
  });

  it('beats by the clock of the file system, not by that of its owner', async () => {
    const lock = takeLock(folder, 1, '/tmp/bailiwick-abcdef');
    const file = join(folder, '1');
    utimesSync(file, new Date(0), new Date(0));
    const { Date: real } = globalThis;
    // An owner whose clock is a minute behind.
    globalThis.Date = class extends real {
      constructor() {
        super(real.now() - 60_000);
      }
      static override now(): number {
        return real.now() - 60_000;
      }
    } as DateConstructor;
    try {
      await lock?.touch();
    } finally {
      globalThis.Date = real;
    }
    expect(Math.abs(statSync(file).mtimeMs - Date.now())).toBeLessThan(5_000);
    expect(readLock(folder)).toMatchObject({ kind: 'held' });
  });
});

it('a start that fails leaves no socket behind', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  expect(await failure(openDatabase({ kind: 'embedded', dataDir: file }))).toMatchObject({ code: 'store.folder' });
  mkdirSync(join(root, 'data', 'store'), { recursive: true });
  writeFileSync(join(root, 'data', 'store', 'thesis.txt'), 'irreplaceable');
  expect(await failure(openDatabase({ kind: 'embedded', dataDir: join(root, 'data') }))).toMatchObject({
    code: 'store.corrupt',
  });
  expect(left()).toEqual([]);
  expect(readdirSync(join(root, 'data', 'store.lock'))).toHaveLength(1);
});

it('a socket that somebody removed is created again, also for other processes', async () => {
  const dataDir = await newDataDir();
  const socketDir = (): string => {
    const state = readLock(join(realpathSync(dataDir), 'store.lock'));
    return state.kind === 'held' ? state.record.socketDir : 'nobody holds it';
  };
  const db = await openDatabase({ kind: 'embedded', dataDir });
  const before = socketDir();
  rmSync(before, { recursive: true });
  // The lock says where the socket was: another instance gets there only when the owner has noticed.
  const other = await openDatabase({ kind: 'embedded', dataDir });
  await other.ping();
  await db.ping();
  expect(existsSync(socketDir())).toBe(true);
  expect(socketDir()).not.toBe(before);
  await other.close();
  await db.close();
  rmSync(dataDir, { recursive: true, force: true });
  expect(left()).toEqual([]);
});

if (!mayMount()) {
  process.stderr.write('this user may not mount file systems: full and read-only disks are not tested\n');
  test.skip('a disk of its own (this user may not mount any)', () => undefined);
} else {
  describe('a disk of its own', () => {
    let disk: string;
    beforeEach(async () => {
      disk = join(root, 'disk');
      mkdirSync(disk);
      if (!mount(disk, 'size=160m')) throw new Error('the disk cannot be mounted');
      const template = await newDataDir();
      execFileSync('cp', ['-a', join(template, 'store'), disk]);
      rmSync(template, { recursive: true, force: true });
    });
    afterEach(() => {
      unmount(disk);
    });

    it('that is full makes requests fail until there is room, and they go on', async () => {
      const db = await openDatabase({ kind: 'embedded', dataDir: disk });
      await db.knex.raw('CREATE TABLE bulk (text text)');
      const giveRoom = fill(disk);
      const write = (): Promise<unknown> =>
        failure(
          Promise.resolve(db.knex.raw('INSERT INTO bulk SELECT md5(n::text) FROM generate_series(1, 200000) AS n')),
        );
      for (let times = 0; times < 3; times += 1) {
        const error = await write();
        expect(storeFailure(error)).toBe('unavailable');
        expect(toStoreError(error)?.code).toBe('store.full');
      }
      giveRoom();
      const end = Date.now() + 30_000;
      let last = await failure(db.ping());
      while (last !== 'no failure' && Date.now() < end) {
        await sleep(200);
        last = await failure(db.ping());
      }
      expect(last).toBe('no failure');
      await db.knex.raw("INSERT INTO bulk VALUES ('room')");
      await db.close();
    });

    it('that fills up under a load is named, with what is lost (nothing) and what to do', async () => {
      fill(disk);
      truncateSync(join(disk, 'filling'), statSync(join(disk, 'filling')).size - 2 ** 23);
      const line = (n: number): string =>
        `{"family":"resource","namespace":"/a","name":"r${String(n)}","properties":{"text":"${'x'.repeat(1_000)}"}}\n`;
      const dataset = join(root, 'records.jsonl');
      writeFileSync(dataset, Array.from({ length: 40_000 }, (_, n) => line(n)).join(''));
      const { status, stderr } = await runCli(['load', dataset, '--data-dir', disk]);
      expect(status).toBe(6);
      expect(stderr).toMatch(/^error: the disk of the store is full \(SQLSTATE 53100(?:: [^()]+)?\)$/m);
      expect(stderr).not.toContain('COMMIT');
      expect(stderr).toContain('  help: free space on its disk: nothing that was stored is lost, ');
      expect(stderr).toContain('; then run it again: it continues where it stopped\n');
    });

    it('that is full at the start is reported in a line, with nothing left behind', async () => {
      fill(disk);
      expect(await failure(openDatabase({ kind: 'embedded', dataDir: disk }))).toMatchObject({
        name: 'StoreError',
        code: 'store.full',
      });
      const policy = join(root, 'policy');
      mkdirSync(policy);
      writeFileSync(join(policy, 'policy.yaml'), 'bailiwick: 1\nname: full\nproviders: { orcid: {} }\n');
      const at = ['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--data-dir', disk];
      expect(await runCli(['serve', '--policy', policy, ...at])).toMatchObject({ status: 10, stdout: '' });
      expect(left()).toEqual([]);
    });

    it('that is too small for a new store is reported in a line, with nothing left behind', async () => {
      const small = join(root, 'small');
      mkdirSync(small);
      expect(mount(small, 'size=8m')).toBe(true);
      expect(await failure(openDatabase({ kind: 'embedded', dataDir: join(small, 'data') }))).toMatchObject({
        name: 'StoreError',
        code: 'store.full',
        message: expect.stringMatching(/cannot be used: a new store needs 64 MiB, and its disk has less$/),
      });
      expect(left()).toEqual([]);
      expect(readdirSync(join(small, 'data'))).toEqual(['store.lock']);
      unmount(small);
    });

    it('that is read-only is reported in a line, with nothing created', async () => {
      execFileSync('mount', ['-o', 'remount,ro', disk]);
      const error = await failure(openDatabase({ kind: 'embedded', dataDir: disk }));
      expect(error).toMatchObject({ name: 'StoreError', code: 'store.folder' });
      expect(error).toHaveProperty('message', expect.stringContaining('read-only'));
      expect(await failure(openDatabase({ kind: 'embedded', dataDir: join(disk, 'new') }))).toMatchObject({
        code: 'store.folder',
      });
      expect(existsSync(join(disk, 'store.lock'))).toBe(false);
      expect(left()).toEqual([]);
    });
  });
}
