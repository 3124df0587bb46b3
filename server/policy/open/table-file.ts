// Tables that a gateway derived from snapshots and keeps as files, so that it opens them sooner the next time. Such a
// file counts only if its hash is the one that the store has for it: what somebody else put there decides nothing. This
// runs on the thread that opens snapshots.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openTableFile, type PackedPolicy, TABLE_LAYOUT, tableParts } from '../../../engine/index.js';
import { codeDigest, engineFolder, programVersion } from '../../lib/version.js';
import { makeFolder, removeDrafts, writeWholeFile } from '../../lib/whole-file.js';
import { codeOf } from '../policy-fault.js';

/** What must be true of the file of one snapshot. */
export interface TableSeal {
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** The table of one snapshot. The seal is what the store has; null if it has none. */
export interface TableToFind {
  readonly folder: string;
  /** That of the snapshot. */
  readonly digest: string;
  readonly seal: TableSeal | null;
}

export type FoundTable =
  | { readonly kind: 'opened'; readonly packed: PackedPolicy }
  /** There is no file. */
  | { readonly kind: 'absent' }
  /** The store has no hash for it. */
  | { readonly kind: 'unknown' }
  /** `reason` continues a sentence about the file. */
  | { readonly kind: 'refused'; readonly reason: string };

/** What is said of a `FoundTable`. */
export type TableUse = Exclude<FoundTable, { kind: 'opened' }> | { readonly kind: 'opened' };

let form: string | null = null;

/**
 * The form of tables that this program makes and opens. No other build of the engine opens them, even of the same
 * version: it may read a snapshot differently, or refuse it.
 */
export function tableForm(): string {
  return (form ??= `${TABLE_LAYOUT}-${programVersion()}-${codeDigest(engineFolder())}`);
}

const NAME = /^[0-9a-f]{64}\..+\.table$/;

/** `digest` is that of the snapshot. */
export function tableFile(folder: string, digest: string): string {
  return join(folder, nameOf(digest));
}

function nameOf(digest: string): string {
  return `${digest.slice(-64)}.${tableForm()}.table`;
}

/** Whether the folder has any tables of this form. */
export function hasTables(folder: string): boolean {
  try {
    const end = `.${tableForm()}.table`;
    return readdirSync(folder).some((name) => name.endsWith(end));
  } catch {
    // Whoever opens a table says why that is not possible.
    return false;
  }
}

/** Nothing of a file is used, or even looked at, before its hash is known to be the right one. */
export function findTable({ folder, digest, seal }: TableToFind): FoundTable {
  const file = openFile(tableFile(folder, digest));
  if (typeof file !== 'number') return file;
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) return refused('is not a regular file');
    if (seal === null) return { kind: 'unknown' };
    if (facts.size !== seal.bytes) return refused(`has ${String(facts.size)} bytes instead of ${String(seal.bytes)}`);
    // Threads share the memory, so nothing is copied after this. The hash is that of what is in it.
    const bytes = new Uint8Array(new SharedArrayBuffer(seal.bytes));
    if (!readInto(bytes, file)) return refused('became shorter while it was read');
    if (createHash('sha256').update(bytes).digest('hex') !== seal.sha256)
      return refused('has another hash than the store has for it');
    const packed = openTableFile(bytes);
    if (packed?.facts.digest !== digest) return refused('is not the table of the snapshot in its name');
    return { kind: 'opened', packed };
  } catch (error) {
    return refused(`cannot be read (${codeOf(error)})`);
  } finally {
    closeSync(file);
  }
}

function refused(reason: string): FoundTable {
  return { kind: 'refused', reason };
}

/** Follows no link, and neither waits for a pipe nor reads from one. */
function openFile(path: string): number | FoundTable {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return refused(code === 'ELOOP' ? 'is a symbolic link' : `cannot be read (${code})`);
  }
}

function readInto(bytes: Uint8Array, file: number): boolean {
  let at = 0;
  while (at < bytes.length) {
    const read = readSync(file, bytes, at, bytes.length - at, at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

export interface WrittenTable extends TableSeal {
  /** Names of other files that are not needed any more and could not be removed. */
  readonly left: readonly string[];
}

/**
 * Writes the table of a policy, after removing those of all snapshots but `kept`: a full disk may have room then.
 * Rejects with a system error.
 */
export async function writeTable(folder: string, packed: PackedPolicy, kept: readonly string[]): Promise<WrittenTable> {
  const parts = tableParts(packed);
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  await makeFolder(folder, 0o700);
  await removeDrafts(folder);
  const left = await removeOthers(folder, new Set([packed.facts.digest, ...kept].map(nameOf)));
  await writeWholeFile(tableFile(folder, packed.facts.digest), parts, 0o600);
  return { bytes: parts.reduce((sum, { length }) => sum + length, 0), sha256: hash.digest('hex'), left };
}

async function removeOthers(folder: string, kept: ReadonlySet<string>): Promise<readonly string[]> {
  const left: string[] = [];
  for (const name of await readdir(folder)) {
    // Another gateway may have removed it just now.
    if (NAME.test(name) && !kept.has(name)) await rm(join(folder, name), { force: true }).catch(() => left.push(name));
  }
  return left;
}
