// Snapshots that the log refers to. They are kept beside it as `snapshots/<hex>.json` in the audit folder, named after
// the digest of their bytes, so that every decision can be made again.
import { access, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSnapshot, type Policy } from '../../engine/index.js';
import { codeOf } from '../db/failures.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import { makeFolder, removeDrafts, writeWholeFile } from '../lib/whole-file.js';

const HEX = /^sha256:([0-9a-f]{64})$/;

/** Null if the text is not the digest of a snapshot. */
export function pathOfSnapshot(folder: string, digest: string): string | null {
  const hex = HEX.exec(digest)?.[1];
  return hex === undefined ? null : join(folder, 'snapshots', `${hex}.json`);
}

/** Keeps a snapshot. It is on the disk when this resolves. Call this before the first event that names the snapshot. */
export async function keepSnapshot(folder: string, digest: string, bytes: Uint8Array): Promise<void> {
  const path = pathOfSnapshot(folder, digest);
  if (path === null) throw new TypeError('not the digest of a snapshot');
  if (await isKept(path)) return;
  const snapshots = join(folder, 'snapshots');
  await makeFolder(snapshots, 0o700);
  await removeDrafts(snapshots);
  await writeWholeFile(path, bytes, 0o600);
}

/** A snapshot that was changed since counts as damaged. */
export type KeptSnapshot =
  { readonly kind: 'read'; readonly policy: Policy } | { readonly kind: 'missing' | 'damaged' };

export async function readSnapshot(folder: string, digest: string): Promise<KeptSnapshot> {
  const path = pathOfSnapshot(folder, digest);
  if (path === null || !(await isKept(path))) return { kind: 'missing' };
  if ((await stat(path)).size > POLICY_LIMITS.snapshotBytes) return { kind: 'damaged' };
  const loaded = loadSnapshot(await readFile(path));
  return loaded.ok && loaded.policy.digest === digest ? { kind: 'read', policy: loaded.policy } : { kind: 'damaged' };
}

/** The size of a kept snapshot; null if there is none, or one with more bytes than any snapshot has. */
export async function keptSize(folder: string, digest: string): Promise<number | null> {
  const path = pathOfSnapshot(folder, digest);
  if (path === null || !(await isKept(path))) return null;
  const { size } = await stat(path);
  return size > POLICY_LIMITS.snapshotBytes ? null : size;
}

/** So many bytes of it from there on, not verified; null if it does not have them. */
export async function keptPart(
  folder: string,
  digest: string,
  { at, length }: { readonly at: number; readonly length: number },
): Promise<Uint8Array | null> {
  const path = pathOfSnapshot(folder, digest);
  if (path === null || !(await isKept(path))) return null;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    return bytesRead === length ? buffer : null;
  } finally {
    await file.close();
  }
}

export async function isKept(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
