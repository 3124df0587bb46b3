// The files of a tree as they were committed, written to a folder of our own. They are read object by object, so that no
// attribute, filter or hook of the repository changes, omits or adds one.
import { isUtf8 } from 'node:buffer';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesText, ENGINE_LIMITS } from '../../../engine/index.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';
import { codeOf } from '../policy-fault.js';
import { GitError } from './git-command.js';
import { type GitObjects, mustFind } from './git-objects.js';

/** A file or a folder in a tree. */
export interface TreeEntry {
  readonly mode: string;
  readonly name: string;
  readonly object: string;
}

const MOST = SOURCE_LIMITS.treeEntries;
const MANY = `${String(MOST)} files and folders`;

/** The folder's mode, and those of regular files. All others are links and submodules. */
export const TREE_MODE = '40000';
const FILE_MODES: ReadonlySet<string> = new Set(['100644', '100755', '100664']);

/**
 * Rejects with `GitError` if the tree is not what its name says, or cannot be read, and with `UnfitTreeError` if it has
 * more entries than any folder of a policy.
 */
export async function entriesOf(objects: GitObjects, tree: string): Promise<readonly TreeEntry[]> {
  const bytes = await mustFind(objects, tree, { kind: 'tree', maxBytes: SOURCE_LIMITS.treeBytes });
  const entries: TreeEntry[] = [];
  for (let from = 0; from < bytes.length;) {
    const [space, end] = [bytes.indexOf(' ', from), bytes.indexOf('\0', from)];
    const next = end + 1 + objects.nameBytes;
    const name = bytes.subarray(space + 1, end);
    if (space < from || end < space || next > bytes.length || !isUtf8(name)) throw damaged(tree);
    const mode = bytes.toString('latin1', from, space);
    entries.push({ mode, name: name.toString('utf8'), object: bytes.toString('hex', end + 1, next) });
    // The others are not read: meanwhile nobody else has a turn.
    if (entries.length > MOST) throw new UnfitTreeError(`has a folder with more than ${MANY}: the tree ${tree}`);
    from = next;
  }
  if (new Set(entries.map(({ name }) => name)).size < entries.length) throw damaged(tree);
  return entries;
}

function damaged(tree: string): GitError {
  return new GitError(`has a damaged tree: ${tree}`);
}

export function isFile({ mode }: TreeEntry): boolean {
  return FILE_MODES.has(mode);
}

export interface Checkout {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** Limits on what is written: bytes of one file, and of all of them. */
type WrittenLimits = Pick<typeof ENGINE_LIMITS, 'fileBytes' | 'totalBytes'>;

/**
 * `tree` is the name of an object. Rejects with `GitError` for anything that no policy folder contains, and for more
 * than any does.
 */
export async function checkOut(
  objects: GitObjects,
  tree: string,
  { fileBytes, totalBytes }: WrittenLimits = ENGINE_LIMITS,
): Promise<Checkout> {
  const found = await placesIn(objects, tree);
  const folder = await writable(mkdtemp(join(tmpdir(), 'bailiwick-policy-')));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    let left = totalBytes;
    for (const place of found) {
      left -= await write(objects, folder, place, fileBytes);
      if (left >= 0) continue;
      const upTo = `up to ${shownOf(place.path)}`;
      throw new UnfitTreeError(
        `has more than ${bytesText(totalBytes)} in the files there, ${upTo}: keep the policy in a folder of its own, and name that as \`path\``,
      );
    }
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The tree can be read, and has something that no policy folder contains. */
export class UnfitTreeError extends GitError {}

/**
 * Every file and folder below a tree, each folder before what it holds. Trees that are known are not read again. Rejects
 * with `UnfitTreeError` for anything that no policy folder contains.
 */
export async function placesIn(
  objects: GitObjects,
  tree: string,
  trees: Map<string, readonly TreeEntry[]> = new Map(),
): Promise<readonly Place[]> {
  const walk: Walk = { objects, trees, found: [], nameCharacters: 0 };
  await visit(walk, tree, []);
  return walk.found;
}

interface Walk {
  readonly objects: GitObjects;
  /** A tree may stand in many places. */
  readonly trees: Map<string, readonly TreeEntry[]>;
  /** Each folder comes before what it holds. */
  readonly found: Place[];
  nameCharacters: number;
}

interface Place {
  readonly entry: TreeEntry;
  readonly path: readonly string[];
}

async function visit(walk: Walk, tree: string, above: readonly string[]): Promise<void> {
  if (above.length > SOURCE_LIMITS.treeDepth) {
    throw new UnfitTreeError(`has folders there that are nested deeper than ${String(SOURCE_LIMITS.treeDepth)}`);
  }
  const entries = walk.trees.get(tree) ?? (await entriesOf(walk.objects, tree));
  walk.trees.set(tree, entries);
  walk.nameCharacters += entries.reduce((sum, { name }) => sum + name.length, 0);
  if (walk.nameCharacters > SOURCE_LIMITS.treeBytes) {
    const most = String(SOURCE_LIMITS.treeBytes);
    throw new UnfitTreeError(`has files and folders there whose names have more than ${most} characters together`);
  }
  for (const entry of entries) {
    const path = [...above, entry.name];
    walk.found.push({ entry, path });
    if (walk.found.length > MOST) throw new UnfitTreeError(`has more than ${MANY} there`);
    // Names that git itself would not check out could lead outside the folder.
    if (/^(?:|\.{1,2}|\.git)$|\//i.test(entry.name)) {
      throw new UnfitTreeError(`has a file there that cannot be written: ${shownOf(path)}`);
    }
    if (entry.mode === TREE_MODE) await visit(walk, entry.object, path);
    else if (!isFile(entry)) {
      throw new UnfitTreeError(
        `has something there that is not a file, a symbolic link or a submodule: ${shownOf(path)}`,
      );
    }
  }
}

function shownOf(path: readonly string[]): string {
  return JSON.stringify(path.join('/').slice(0, SOURCE_LIMITS.shownPath));
}

/** How many bytes were written. */
async function write(objects: GitObjects, folder: string, { entry, path }: Place, fileBytes: number): Promise<number> {
  const [to, shown] = [join(folder, ...path), shownOf(path)];
  if (entry.mode === TREE_MODE) {
    await writable(mkdir(to), shown);
    return 0;
  }
  const found = await objects.find(entry.object, fileBytes);
  if (found?.kind !== 'blob') throw new GitError(`lacks the content of ${shown}`);
  const { bytes, size } = found;
  await writable(writeFile(to, bytes ?? '', { flag: 'wx', mode: 0o600 }), shown);
  // For a file that is too large to be read, its size is enough.
  if (bytes === null) await writable(truncate(to, size), shown);
  return bytes?.length ?? 0;
}

/** Two names may be one for the file system of this machine, and its disk may be full. */
async function writable<T>(done: Promise<T>, shown = 'a temporary folder'): Promise<T> {
  try {
    return await done;
  } catch (error) {
    throw new GitError(`has something there that cannot be written here (${codeOf(error)}): ${shown}`, {
      cause: error,
    });
  }
}
