// Where the folder of a policy was at each commit of a line: if it was moved, it is followed to where it came from.
import { compareTexts } from '../../../engine/index.js';
import { HISTORY_LIMITS } from '../../limits/policy.js';
import { type LoggedCommit, readLogged } from '../sources/git-log.js';
import type { GitObjects } from '../sources/git-objects.js';
import { entriesOf, isFile, placesIn, TREE_MODE, UnfitTreeError } from '../sources/git-tree.js';

export interface FolderAt {
  readonly commit: LoggedCommit;
  /** With `/`; empty for the whole tree. */
  readonly path: string;
  /** The name of the folder's tree; null if there is no such folder. */
  readonly tree: string | null;
  /** Where it was before this commit; null if this commit has not moved it. */
  readonly movedFrom: string | null;
}

export interface PathsRequest {
  /** Oldest first. */
  readonly commits: readonly LoggedCommit[];
  /** The commit that the oldest follows. */
  readonly before: string | null;
  /** Of the newest commit. */
  readonly path: string;
  readonly onCommit?: (read: number) => void;
}

/** Oldest first. Each commit is looked at with the one that it follows, from the newest to the oldest. */
export async function folderPaths(
  objects: GitObjects,
  { commits, before, path: newest, onCommit }: PathsRequest,
): Promise<readonly FolderAt[]> {
  const found: FolderAt[] = [];
  const oldest = before === null ? null : await readLogged(objects, before);
  let path = newest;
  let [commit, i] = [commits.at(-1), commits.length - 1];
  let tree = commit === undefined ? null : await treeAt(objects, commit.tree, path);
  while (commit !== undefined) {
    onCommit?.(commits.length - i);
    i -= 1;
    const above: LoggedCommit | undefined = commits[i] ?? (i < 0 ? (oldest ?? undefined) : undefined);
    const follows = above === undefined ? null : await treeAt(objects, above.tree, path);
    const movedFrom: string | null =
      above === undefined || tree === null || tree === follows
        ? null
        : await originOf(objects, { tree, above, follows, commit, path });
    found.push({ commit, path, tree, movedFrom });
    if (i < 0) break;
    path = movedFrom ?? path;
    tree = above === undefined || movedFrom === null ? follows : await treeAt(objects, above.tree, movedFrom);
    commit = above;
  }
  return found.reverse();
}

/** The name of the folder's tree. Null if there is no such folder. */
export async function treeAt(objects: GitObjects, tree: string, path: string): Promise<string | null> {
  let name = tree;
  for (const folder of path.split('/').filter(Boolean)) {
    const entry = (await entriesOf(objects, name)).find((one) => one.name === folder);
    if (entry?.mode !== TREE_MODE) return null;
    name = entry.object;
  }
  return name;
}

interface Arrival {
  readonly commit: LoggedCommit;
  readonly above: LoggedCommit;
  readonly path: string;
  readonly tree: string;
  /** What is at the path in the commit above. */
  readonly follows: string | null;
}

/**
 * Where the commit above has the folder, if this commit moved it: a policy's folder that is gone, the one with most files
 * of the same content. Null if less than half of its files are here.
 */
async function originOf(objects: GitObjects, { commit, above, path, tree, follows }: Arrival): Promise<string | null> {
  if (follows !== null && (await isPolicy(objects, follows))) return null;
  if (!(await isPolicy(objects, tree))) return null;
  const here = new Set((await filesIn(objects, tree)).map(({ object }) => object));
  let best: { readonly path: string; readonly share: number } | null = null;
  for (const candidate of await policiesIn(objects, above.tree)) {
    const now = await treeAt(objects, commit.tree, candidate.path);
    if (candidate.path === path || (now !== null && (await isPolicy(objects, now)))) continue;
    const files = await filesIn(objects, candidate.tree);
    const share = files.filter(({ object }) => here.has(object)).length / files.length;
    if (share >= 0.5 && (best === null || share > best.share)) best = { path: candidate.path, share };
  }
  return best?.path ?? null;
}

const POLICY_FILE = 'policy.yaml';

async function isPolicy(objects: GitObjects, tree: string): Promise<boolean> {
  return (await ifFit(entriesOf(objects, tree))).some((entry) => entry.name === POLICY_FILE && isFile(entry));
}

/** The folders of policies in a tree, sorted by path. */
async function policiesIn(
  objects: GitObjects,
  root: string,
): Promise<readonly { readonly path: string; readonly tree: string }[]> {
  const found: { path: string; tree: string }[] = [];
  const left = [{ path: '', tree: root }];
  for (let seen = 0; seen < HISTORY_LIMITS.searchedFolders; seen += 1) {
    const next = left.pop();
    if (next === undefined) break;
    const entries = await ifFit(entriesOf(objects, next.tree));
    if (entries.some((entry) => entry.name === POLICY_FILE && isFile(entry))) found.push(next);
    for (const { mode, name, object } of entries)
      if (mode === TREE_MODE) left.push({ path: next.path === '' ? name : `${next.path}/${name}`, tree: object });
  }
  return found.sort((a, b) => compareTexts(a.path, b.path));
}

async function filesIn(objects: GitObjects, tree: string): Promise<readonly { readonly object: string }[]> {
  return (await ifFit(placesIn(objects, tree))).filter(({ entry }) => isFile(entry)).map(({ entry }) => entry);
}

/** What else a folder has is no reason not to follow it. One that no policy can have counts as empty. */
async function ifFit<T>(read: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof UnfitTreeError) return [];
    throw error;
  }
}
