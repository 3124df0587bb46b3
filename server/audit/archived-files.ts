// The list of files that were moved away: `archived.sha256` in the audit folder, in the form of sha256sum, so that
// `sha256sum -c` checks it, too (docs/audit.md "Files").
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '../db/failures.js';
import { textIn } from '../lib/text-in.js';
import { parseLogFileName } from './log-files.js';

export interface ArchivedFile {
  readonly log: string;
  /** The number of its first event. */
  readonly first: number;
  readonly name: string;
  readonly sha256: string;
}

export const ARCHIVE_LIST = 'archived.sha256';
const LINE = /^([0-9a-f]{64}) [ *](.+)$/;

/** Lines that name no file of a log are given back as `others`. */
export async function readArchiveList(
  folder: string,
): Promise<{ readonly files: readonly ArchivedFile[]; readonly others: readonly string[] }> {
  const files: ArchivedFile[] = [];
  const others: string[] = [];
  for (const line of (await textIn(join(folder, ARCHIVE_LIST))).split('\n')) {
    if (line === '') continue;
    const [, sha256 = '', path = ''] = LINE.exec(line) ?? [];
    const name = path.slice(path.lastIndexOf('/') + 1);
    const named = parseLogFileName(name);
    if (named === null) others.push(line);
    else files.push({ ...named, name, sha256 });
  }
  return { files, others };
}

/** Null if the file is not in the folder. */
export async function stateOfArchived(
  folder: string,
  { name, sha256 }: ArchivedFile,
): Promise<'same' | 'other' | null> {
  const path = join(folder, name);
  try {
    await access(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  return digest.digest('hex') === sha256 ? 'same' : 'other';
}
