// Moves the oldest files of a log to another folder (docs/audit.md "Files"). Each is copied, synced, read again and
// listed before it is removed, so that a crash at any point leaves every event in at least one place, and the next run
// goes on.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Instant, parseInstant } from '../../engine/index.js';
import { codeOf } from '../db/failures.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { ARCHIVE_LIST, type ArchivedFile, readArchiveList, stateOfArchived } from './archived-files.js';
import { readLine } from './chain.js';
import { type FileAccess, makeFolder, syncFolder, takeDrafts, writeWholeFile } from '../lib/whole-file.js';
import { listLogs, type LogFile } from './log-files.js';
import type { HeldLock } from '../lib/owner-lock.js';
import { lockLog } from './own-log.js';

export interface ArchiveOptions {
  /** Made if it does not exist. */
  readonly to: string;
  /** Files whose last event is older than this are moved. */
  readonly before: Instant;
  readonly onMoved: (file: ArchivedFile) => void;
}

/** Whether a file of this name is in the archive with other bytes. */
export class ArchiveConflict extends Error {
  override readonly name = 'ArchiveConflict';
}

/** The archive is the log itself under another name, so that what is removed from the one is lost in the other. */
export class ArchiveIsLog extends Error {
  override readonly name = 'ArchiveIsLog';
}

/** Another process is at it. Two would write the list over one another. */
export class ArchiveBusy extends Error {
  override readonly name = 'ArchiveBusy';
}

/**
 * Moves files from the beginning of each log up to the first one that is too young. The last file with an event stays,
 * since the gateway goes on from it. Whoever calls it has verified the folder. Returns the number of files that stay.
 */
export async function archiveFiles(folder: string, { to, before, onMoved }: ArchiveOptions): Promise<number> {
  await makeFolder(to, 0o700);
  await refuseSame(folder, to);
  const lock = lockLog(folder, ARCHIVE_LIST);
  if (lock === null) throw new ArchiveBusy(folder);
  try {
    // Whoever had the lock before may only have been silent, and must not put an older list in the place of ours: a draft
    // that is made from now on comes too late for `isHeld`.
    await takeDrafts(join(folder, ARCHIVE_LIST));
    return await moveOld(folder, { to, before, onMoved }, lock);
  } finally {
    await lock.release();
  }
}

async function moveOld(
  folder: string,
  { to, before, onMoved }: ArchiveOptions,
  lock: Pick<HeldLock, 'isHeld'>,
): Promise<number> {
  let kept = 0;
  for (const files of (await listLogs(folder)).values()) {
    let moved = 0;
    const end = await lastWithEvent(files);
    for (const file of files.slice(0, end)) {
      const last = await lastInstant(file);
      if (last === null || last >= before) break;
      const archived = await copied(file, to);
      await remove(file, archived, { folder, lock });
      onMoved(archived);
      moved += 1;
    }
    kept += files.length - moved;
  }
  return kept;
}

/** The place of the last file that has an event; 0 if none has. */
async function lastWithEvent(files: readonly LogFile[]): Promise<number> {
  for (const [place, file] of [...files.entries()].reverse()) if ((await lastInstant(file)) !== null) return place;
  return 0;
}

async function copied({ path, log, first }: LogFile, to: string): Promise<ArchivedFile> {
  await refuseSame(path, join(to, basename(path)));
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  const file: ArchivedFile = { log, first, name: basename(path), sha256: digest.digest('hex') };
  if ((await stateOfArchived(to, file)) !== 'same') await copy(path, to, file);
  return file;
}

/** The folder of a log, and the lock of its list. */
interface HeldList {
  readonly folder: string;
  readonly lock: Pick<HeldLock, 'isHeld'>;
}

/** Lists what was copied before it is removed. */
async function remove({ path }: LogFile, file: ArchivedFile, held: HeldList): Promise<void> {
  const { folder, lock } = held;
  if (!(await lock.isHeld())) throw new ArchiveBusy(folder);
  const { files: listed } = await readArchiveList(folder);
  if (!listed.some((one) => one.name === file.name && one.sha256 === file.sha256)) await note(file, path, held);
  await rm(path, { force: true });
  await syncFolder(folder);
}

/** Links and mounts give one place several names, so the names are not compared. */
async function refuseSame(source: string, target: string): Promise<void> {
  const [from, to] = await Promise.all([source, target].map(placeOf));
  if (from !== null && from === to) throw new ArchiveIsLog(target);
}

/** Null if there is nothing of this name. */
async function placeOf(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${String(dev)}:${String(ino)}`;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

async function copy(path: string, to: string, file: ArchivedFile): Promise<void> {
  const place = join(to, file.name);
  if ((await stateOfArchived(to, file)) === 'other') throw new ArchiveConflict(place);
  const part = { ...file, name: `${file.name}.part` };
  await pipeline(createReadStream(path), createWriteStream(join(to, part.name), { mode: 0o600, flush: true }));
  if ((await stateOfArchived(to, part)) !== 'same') throw new ArchiveConflict(join(to, part.name));
  await rename(join(to, part.name), place);
  await syncFolder(to);
}

/** Whole or not at all: a disk that is full takes a part of an appended line without an error. */
async function note({ name, sha256 }: ArchivedFile, log: string, { folder, lock }: HeldList): Promise<void> {
  const check = async (): Promise<void> => {
    if (!(await lock.isHeld())) throw new ArchiveBusy(folder);
  };
  const path = join(folder, ARCHIVE_LIST);
  const { text, access } = await listAt(path, log);
  // A line that somebody wrote may have no end.
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  try {
    await writeWholeFile(path, Buffer.from(`${before}${sha256}  ${name}\n`), { ...access, check });
  } catch (error) {
    // The next owner has taken the draft.
    await check();
    throw error;
  }
}

/** Who may read the list now may read it with the next line. `log`: a file of the log. */
async function listAt(path: string, log: string): Promise<{ readonly text: string; readonly access: FileAccess }> {
  try {
    const { mode, uid, gid } = await stat(path);
    return { text: await readFile(path, 'utf8'), access: { mode: mode & 0o777, uid, gid } };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    // Though root begins it, the user of the log goes on with it. The folder may be one that root shares with a group.
    const owner = await stat(dirname(path));
    const { uid, gid } = owner.uid === 0 ? await stat(log) : owner;
    return { text: '', access: { mode: 0o600, uid, gid } };
  }
}

/** The instant of the last event in a file; null if its last line is no event. */
async function lastInstant({ path }: LogFile): Promise<Instant | null> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(size, AUDIT_LIMITS.lineBytes + 1);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const line = buffer.toString('utf8', 0, bytesRead).split('\n').at(-2);
    const value = line === undefined ? null : (readLine(line)?.value ?? null);
    const time: unknown = value === null ? null : Reflect.get(value, 'time');
    return typeof time === 'string' ? parseInstant(time) : null;
  } finally {
    await file.close();
  }
}
