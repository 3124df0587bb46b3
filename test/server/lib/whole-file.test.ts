// Files and folders that are on the disk when their writer says so, and what a crash leaves of them.
import { mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ownLog } from '../../../server/audit/own-log.js';
import { keepSnapshot } from '../../../server/audit/snapshots.js';
import { makeFolder, writeWholeFile } from '../../../server/lib/whole-file.js';
import { FILE_LIMITS } from '../../../server/limits/store.js';
import { makeFolder as tempFolder } from '../../support/temp-folder.js';

const onLinux = process.platform === 'linux' ? it : it.skip;

/** What is synced to the disk during the work, by its path. */
async function syncedBy(work: () => Promise<unknown>): Promise<readonly string[]> {
  const one = await open('/', 'r');
  const handles = Object.getPrototypeOf(one) as FileHandle;
  await one.close();
  const sync = Reflect.get<FileHandle, 'sync'>(handles, 'sync');
  const synced: string[] = [];
  handles.sync = function (this: FileHandle): Promise<void> {
    synced.push(readlinkSync(`/proc/self/fd/${String(this.fd)}`));
    return sync.call(this);
  };
  try {
    await work();
  } finally {
    handles.sync = sync;
  }
  return synced;
}

/** As a crash leaves them: one an hour ago, one just now, and what somebody else has put there. */
function leaveDrafts(folder: string, name: string): void {
  for (const [draft, age] of [
    [`.${name}.0123456789ab.tmp`, FILE_LIMITS.draftAge + 1_000],
    [`.${name}.ba9876543210.tmp`, 0],
    [`.${name}.tmp`, FILE_LIMITS.draftAge + 1_000],
  ] as const) {
    const at = new Date(Date.now() - age);
    writeFileSync(join(folder, draft), 'half');
    utimesSync(join(folder, draft), at, at);
  }
}

const leftIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.tmp'))
    .sort();

onLinux('a new folder is on the disk with each new parent, and one that exists is not synced again', async () => {
  const top = await tempFolder();
  const folder = join(top, 'a', 'b', 'c');
  expect(await syncedBy(() => makeFolder(folder, 0o700))).toEqual([top, join(top, 'a'), join(top, 'a', 'b')]);
  expect(await syncedBy(() => makeFolder(folder, 0o700))).toEqual([]);
});

onLinux('the folders of the audit log are on the disk', async () => {
  const top = await tempFolder();
  const owned: Awaited<ReturnType<typeof ownLog>>[] = [];
  const folder = join(top, 'data', 'audit');
  expect(await syncedBy(async () => owned.push(await ownLog(folder)))).toEqual([top, join(top, 'data')]);
  const digest = `sha256:${'a'.repeat(64)}`;
  expect(await syncedBy(() => keepSnapshot(folder, digest, Buffer.from('{}')))).toContain(folder);
  await owned[0]?.release();
});

it('what crashes have left of a file goes with the next one of its name, and nothing else does', async () => {
  const folder = await tempFolder();
  leaveDrafts(folder, 'report.json');
  leaveDrafts(folder, 'other.json');
  await writeWholeFile(join(folder, 'report.json'), Buffer.from('whole'), 0o600);
  expect(readFileSync(join(folder, 'report.json'), 'utf8')).toBe('whole');
  expect(leftIn(folder)).toEqual(
    [
      ['.report.json.ba9876543210.tmp', '.report.json.tmp'],
      ['.other.json.0123456789ab.tmp', '.other.json.ba9876543210.tmp', '.other.json.tmp'],
    ]
      .flat()
      .sort(),
  );
});

it('a draft is as old as its file system says, whose clock may be behind', async () => {
  const folder = await tempFolder();
  leaveDrafts(folder, 'report.json');
  const { now } = Date;
  Date.now = () => now() + 2 * FILE_LIMITS.draftAge;
  try {
    await writeWholeFile(join(folder, 'report.json'), Buffer.from('whole'), 0o600);
  } finally {
    Date.now = now;
  }
  expect(leftIn(folder)).toEqual(['.report.json.ba9876543210.tmp', '.report.json.tmp']);
});

it('in the folders of the audit log they go whatever they are of', async () => {
  const folder = await tempFolder();
  const snapshots = join(folder, 'snapshots');
  mkdirSync(snapshots);
  for (const [at, name] of [
    [folder, 'lost.place'],
    [snapshots, `${'b'.repeat(64)}.json`],
  ] as const)
    leaveDrafts(at, name);
  const owned = await ownLog(folder);
  await owned.release();
  await keepSnapshot(folder, `sha256:${'a'.repeat(64)}`, Buffer.from('{}'));
  expect([leftIn(folder), leftIn(snapshots)]).toEqual([
    ['.lost.place.ba9876543210.tmp', '.lost.place.tmp'],
    [`.${'b'.repeat(64)}.json.ba9876543210.tmp`, `.${'b'.repeat(64)}.json.tmp`],
  ]);
});
