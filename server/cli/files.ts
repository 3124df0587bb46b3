// Files that the user named: what keeps one from being read, and one written whole or not at all. It is written beside its place,
// synced, then renamed over it, so that neither a crash nor a reader ever meets half of it, and what was there stays until then.
import { randomBytes } from 'node:crypto';
import { open, realpath, rename, stat, unlink, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type PathFault, pathFaultOf, codeOf } from '../policy/path-fault.js';

/** What a failed file operation says to the user; `shown` is the path as they wrote it. */
export function fileFailure(error: unknown, shown: string): CliFailure {
  return pathFailure(pathFaultOf(error), shown);
}

export function pathFailure(fault: PathFault, shown: string): CliFailure {
  const failure = (code: string, what: string, cause?: unknown): CliFailure =>
    new CliFailure(EXIT.usage, { code, message: `\`${shown}\` ${what}` }, cause === undefined ? {} : { cause });
  switch (fault.kind) {
    case 'missing':
      return failure('cli.not_found', 'does not exist');
    case 'not_a_folder':
      return failure('cli.not_a_folder', 'is not a folder');
    case 'unreadable':
      return failure('cli.unreadable', `cannot be read (${fault.code})`, fault.cause);
  }
}

const MODE = 0o644;

export interface WriteTarget {
  /** How the user named the file. */
  readonly shown: string;
  /** Absolute paths that must not be overwritten. */
  readonly protectedFiles: readonly string[];
  /** Permissions, if other than those of a file that anybody may read. */
  readonly mode?: number;
}

/** Writes `bytes` to the absolute `path`; an existing link is followed, its target replaced. Throws `CliFailure`. */
export async function writeWhole(path: string, bytes: Uint8Array, target: WriteTarget): Promise<void> {
  try {
    const place = await placeOf(path, target);
    const draft = join(dirname(place), `.${basename(place)}.${randomBytes(6).toString('hex')}.tmp`);
    try {
      await writeSynced(draft, bytes, target.mode ?? MODE);
      await rename(draft, place);
    } catch (error) {
      await unlink(draft).catch(() => undefined);
      throw error;
    }
    await syncFolder(dirname(place));
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    throw new CliFailure(
      EXIT.usage,
      { code: 'cli.unwritable', message: `\`${target.shown}\` cannot be written (${codeOf(error)})` },
      { cause: error },
    );
  }
}

/** The real path that is replaced. A device, pipe or folder is not: renaming over `/dev/null` would remove it. */
async function placeOf(path: string, target: WriteTarget): Promise<string> {
  const facts = await stat(path).catch(() => null);
  if (facts === null) return join(await realpath(dirname(path)), basename(path));
  if (!facts.isFile()) {
    throw new CliFailure(
      EXIT.usage,
      { code: 'cli.unwritable', message: `\`${target.shown}\` is not a regular file` },
      { help: 'name a file; `-o -` writes to stdout' },
    );
  }
  const place = await realpath(path);
  const sources = await Promise.all(target.protectedFiles.map((file) => realpath(file).catch(() => file)));
  if (sources.includes(place)) {
    throw new CliFailure(EXIT.usage, {
      code: 'cli.unwritable',
      message: `\`${target.shown}\` is a file of the policy and would be overwritten`,
    });
  }
  return place;
}

async function writeSynced(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode);
  try {
    // The umask has narrowed the mode: a snapshot is no secret, and the gateway may run as another user.
    await handle.chmod(mode);
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export interface Replacement {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** How messages name the file. */
  readonly shown: string;
}

/** `path` is absolute. Throws `CliFailure`. */
export async function replaceFile(path: string, { from, to, shown }: Replacement): Promise<void> {
  const [now, facts] = await Promise.all([readFile(path), stat(path)]).catch((error: unknown) => {
    throw fileFailure(error, shown);
  });
  // Two names of one file in the folder: it is as it should be by now.
  if (now.equals(to)) return;
  if (!now.equals(from)) {
    throw new CliFailure(
      EXIT.precondition,
      { code: 'cli.changed', message: `\`${shown}\` was changed meanwhile and was left alone` },
      { help: 'run the command again' },
    );
  }
  await writeWhole(path, to, { shown, protectedFiles: [], mode: facts.mode & 0o777 });
}
