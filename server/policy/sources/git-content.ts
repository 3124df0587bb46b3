// What is at a path of a commit: a policy folder, written to a folder of our own, or a snapshot with the statement beside
// it.
import { STATEMENT_LIMITS } from '../../../engine/index.js';
import { piecesInTurns } from '../../lib/in-turns.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { statementPathOf } from '../../signing/statement-file.js';
import { GitError } from './git-command.js';
import { type GitObjects, mustFind } from './git-objects.js';
import { checkOut, entriesOf, isFile, TREE_MODE, type TreeEntry } from './git-tree.js';
import type { Offer } from './source.js';

/** The policy at a path of a tree; empty for the tree itself. Null if nothing is there. */
export async function contentAt(
  objects: GitObjects,
  tree: string,
  path: string,
): Promise<Pick<Offer, 'content' | 'statement' | 'release'> | null> {
  const shown = statementPathOf(path);
  const { name, beside, entry } = await placeAt(objects, tree, path);
  if (entry === null) return null;
  if (entry.mode === TREE_MODE) {
    const { folder, remove } = await checkOut(objects, entry.object);
    const statement = { shown, read: () => Promise.resolve(null) };
    return { content: { kind: 'folder', path: folder }, statement, release: remove };
  }
  const bytes = await bytesOf(objects, { ...entry, name }, POLICY_LIMITS.snapshotBytes);
  const stated = entryOf(beside, statementPathOf(name));
  const text = stated === null ? null : await bytesOf(objects, stated, STATEMENT_LIMITS.fileBytes);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of piecesInTurns(bytes)) parts.push(new Uint8Array(piece));
  return { content: { kind: 'parts', parts }, statement: { shown, read: () => Promise.resolve(text) } };
}

/** Whether anything is at a path of a tree. */
export async function isAt(objects: GitObjects, tree: string, path: string): Promise<boolean> {
  return (await placeAt(objects, tree, path)).entry !== null;
}

interface PlaceAt {
  readonly name: string;
  /** What is in the same folder. */
  readonly beside: readonly TreeEntry[];
  readonly entry: Pick<TreeEntry, 'mode' | 'object'> | null;
}

async function placeAt(objects: GitObjects, tree: string, path: string): Promise<PlaceAt> {
  const folders = path.split('/');
  const name = folders.pop() ?? '';
  const beside = await entriesAt(objects, tree, folders);
  return { name, beside, entry: name === '' ? { mode: TREE_MODE, object: tree } : entryOf(beside, name) };
}

/** Empty if there is no such folder. */
async function entriesAt(objects: GitObjects, tree: string, folders: readonly string[]): Promise<readonly TreeEntry[]> {
  let entries = await entriesOf(objects, tree);
  for (const folder of folders) {
    const entry = entryOf(entries, folder);
    entries = entry?.mode === TREE_MODE ? await entriesOf(objects, entry.object) : [];
  }
  return entries;
}

function entryOf(entries: readonly TreeEntry[], name: string): TreeEntry | null {
  return entries.find((entry) => entry.name === name) ?? null;
}

function bytesOf(objects: GitObjects, entry: TreeEntry, maxBytes: number): Promise<Buffer> {
  if (!isFile(entry)) throw new GitError(`has something there that is not a file: ${JSON.stringify(entry.name)}`);
  return mustFind(objects, entry.object, { kind: 'blob', maxBytes });
}
