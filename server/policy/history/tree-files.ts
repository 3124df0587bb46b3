// The files of a policy folder as a commit has them, in memory. From one tree to the next, only what differs is read.
import { join } from 'node:path';
import { ENGINE_LIMITS } from '../../../engine/compiler.js';
import { InvariantError } from '../../../engine/index.js';
import type { EntryKind, FolderFiles } from '../open/folder-files.js';
import { type FolderReading, readFolder } from '../open/read-folder.js';
import { GitError } from '../sources/git-command.js';
import type { GitObjects } from '../sources/git-objects.js';
import { placesIn, TREE_MODE, type TreeEntry } from '../sources/git-tree.js';

/** Where `readFolder` finds the tree. */
const TREE_ROOT = '/';

type Node = { readonly kind: 'folder'; readonly names: Buffer[] } | { readonly kind: 'file'; readonly object: string };

/**
 * Reads one tree after another. Rejects with `UnfitTreeError` for anything that no policy folder contains, and with another
 * `GitError` if any of it cannot be read.
 */
export function treeReader(objects: GitObjects): (tree: string) => Promise<FolderReading> {
  const filesOf = treeFiles(objects);
  return async (tree) => {
    const failures: unknown[] = [];
    const files = await filesOf(tree);
    const read: FolderFiles['read'] = async (...asked) => {
      try {
        return await files.read(...asked);
      } catch (error) {
        // On a disk, a file that cannot be read is a mistake of the policy. Here it is one of the repository.
        failures.push(error);
        throw error;
      }
    };
    const reading = await readFolder(TREE_ROOT, { ...files, read });
    for (const failure of failures) throw failure;
    if (reading.kind === 'path') throw new InvariantError('a tree is a folder');
    return reading;
  };
}

function treeFiles(objects: GitObjects): (tree: string) => Promise<FolderFiles> {
  let trees: ReadonlyMap<string, readonly TreeEntry[]> = new Map();
  let contents = new Map<string, Uint8Array | 'too_large'>();
  return async (tree) => {
    const known = new Map(trees);
    const places = await placesIn(objects, tree, known);
    // Of the versions before, only what this one shares with them is kept.
    const present = new Set([tree, ...places.map(({ entry }) => entry.object)]);
    trees = new Map([...known].filter(([name]) => present.has(name)));
    contents = new Map([...contents].filter(([name]) => present.has(name)));
    const nodes = new Map<string, Node>([[TREE_ROOT, { kind: 'folder', names: [] }]]);
    for (const { entry, path } of places) {
      const above = nodes.get(join(TREE_ROOT, ...path.slice(0, -1)));
      if (above?.kind === 'folder') above.names.push(Buffer.from(entry.name));
      const isFolder = entry.mode === TREE_MODE;
      const node: Node = isFolder ? { kind: 'folder', names: [] } : { kind: 'file', object: entry.object };
      nodes.set(join(TREE_ROOT, ...path), node);
    }
    const nodeAt = (path: string): Node => {
      const node = nodes.get(path);
      if (node === undefined) throw new GitError(`lacks the file ${path}`);
      return node;
    };
    const kindOf = (path: string): Promise<EntryKind> => Promise.resolve(nodeAt(path)).then(({ kind }) => kind);
    return {
      kindOf,
      ownKindOf: kindOf,
      realPathOf: (path) => Promise.resolve(path),
      namesIn: (folder) => {
        const node = nodeAt(folder);
        return Promise.resolve(node.kind === 'folder' ? node.names : []);
      },
      read: async (path) => {
        const node = nodeAt(path);
        if (node.kind !== 'file') return 'special';
        const read = contents.get(node.object) ?? (await contentOf(objects, node.object));
        contents.set(node.object, read);
        return read;
      },
    };
  };
}

async function contentOf(objects: GitObjects, name: string): Promise<Uint8Array | 'too_large'> {
  const found = await objects.find(name, ENGINE_LIMITS.fileBytes);
  if (found?.kind !== 'blob') throw new GitError(`lacks the file ${name}`);
  // A copy, in memory of its own: it is kept while the policy is.
  return found.bytes === null ? 'too_large' : Uint8Array.from(found.bytes);
}
