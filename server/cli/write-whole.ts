// One file, whole or not at all: written beside its place, synced, then renamed over it, so that neither a crash nor a reader
// ever meets half of it, and what was there stays until then.
import { randomBytes } from 'node:crypto';
import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { codeOf } from '../policy/path-fault.js';

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
