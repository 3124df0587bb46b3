// What each commit of a line changed of who holds what: every commit is compared with the last one before it whose policy
// compiles (docs/history.md).
import { emptyPolicy } from '../../../engine/compiler.js';
import { broughtBy } from '../sources/git-brought.js';
import { GitError } from '../sources/git-command.js';
import { type CommitLine, type LoggedCommit, readLogged } from '../sources/git-log.js';
import type { GitObjects } from '../sources/git-objects.js';
import { type FolderAt, folderPaths, treeAt } from './folder-paths.js';
import type { KeptAnswers } from './kept-answers.js';
import type { Changes, CommitOutcome, People } from './outcome.js';
import { makeTrees, type TreeName, type Trees } from './trees.js';

/** What the folder is at a commit. */
interface Found {
  readonly commit: LoggedCommit;
  /** The name of the folder's tree; null if there is none. */
  readonly tree: string | null;
  readonly outcome: CommitOutcome;
}

export interface HistoryStep extends Found {
  /** The commit that it is compared with; null for the beginning, when nobody holds anything. */
  readonly compared: string | null;
  /** Null if nothing changed, or nothing is known of it. */
  readonly changes: Changes | null;
  readonly path: string;
  /** Where the folder was before; null if this commit has not moved it. */
  readonly movedFrom: string | null;
  /** Of a merge: the commits that it brings, parents first. */
  readonly brought: readonly LoggedCommit[];
}

/** A commit that a merge brings, and what it changed by itself. */
export interface BroughtCommit {
  readonly commit: LoggedCommit;
  readonly changes: Changes;
}

export interface HistoryRequest {
  readonly objects: GitObjects;
  readonly line: CommitLine;
  /** The folder of the policy in the newest commit, with `/`; empty for the whole tree. */
  readonly inside: string;
  readonly kept: KeptAnswers;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: HistoryProgress) => void;
}

export interface HistoryProgress {
  /** Of the commits of the line. */
  readonly commits: number;
  /** How many trees were compiled so far. */
  readonly compiled: number;
  /** Null while the folder is being found. */
  readonly commit: LoggedCommit | null;
}

export interface History {
  /** Each commit of the line, oldest first. Ends early if the signal is aborted. */
  readonly steps: () => AsyncGenerator<HistoryStep>;
  /** Each commit of the line and each that it merged, parents first, without what they changed. */
  readonly all: () => AsyncGenerator<Found>;
  /** What the commits that a merge brings changed by themselves; those that changed nothing are left out. */
  readonly partsOf: (step: HistoryStep) => Promise<readonly BroughtCommit[]>;
  /** Who is named in the policy of a commit. */
  readonly peopleOf: (found: Found) => Promise<People>;
}

/** The policy of a tree that compiles. */
interface State {
  readonly commit: string | null;
  readonly tree: TreeName;
  readonly decisions: string;
}

interface Work extends HistoryRequest {
  readonly trees: Trees;
}

export function openHistory(request: HistoryRequest): History {
  const work = { ...request, trees: makeTrees(request.objects, request.kept) };
  return {
    steps: () => stepsOf(work),
    all: () => allOf(work),
    partsOf: (step) => partsOf(work, step),
    peopleOf: async ({ tree, outcome }) => (tree === null ? {} : work.trees.peopleOf(tree, outcome)),
  };
}

async function* stepsOf(work: Work): AsyncGenerator<HistoryStep> {
  const { objects, line, signal } = work;
  const folders = await foldersOf(work);
  const broughtTo = broughtBy(objects, line.after);
  let state = await startOf(work, folders[0]);
  for (const [i, { commit, tree, path, movedFrom }] of folders.entries()) {
    if (signal.aborted) return;
    report(work, i, commit);
    const brought = await broughtTo(commit);
    const outcome = await outcomeOf(work, tree);
    const step = { commit, tree, path, movedFrom, outcome, brought, compared: state?.commit ?? null };
    if (outcome.kind !== 'policy') {
      yield { ...step, changes: null };
      continue;
    }
    const after = { commit: commit.name, tree, decisions: outcome.decisions };
    // What the oldest commit of a shallow clone changed, only its parent could say.
    const changes = state === null ? null : await changesOf(work, state, after);
    state = after;
    yield { ...step, changes };
  }
}

async function* allOf(work: Work): AsyncGenerator<Found> {
  const { objects, line, signal } = work;
  const broughtTo = broughtBy(objects, line.after);
  for (const [i, { commit, tree, path, movedFrom }] of (await foldersOf(work)).entries()) {
    report(work, i, commit);
    for (const one of await broughtTo(commit)) {
      if (signal.aborted) return;
      const found = await folderAt(work, one, [path, movedFrom]);
      yield { commit: one, tree: found, outcome: await outcomeOf(work, found) };
    }
    if (signal.aborted) return;
    yield { commit, tree, outcome: await outcomeOf(work, tree) };
  }
}

async function partsOf(work: Work, { brought, path, movedFrom }: HistoryStep): Promise<readonly BroughtCommit[]> {
  const parts: BroughtCommit[] = [];
  for (const commit of brought) {
    if (work.signal.aborted) break;
    const tree = await folderAt(work, commit, [path, movedFrom]);
    const [parent = null] = commit.parents;
    const above = parent === null ? null : await readLogged(work.objects, parent);
    if (above !== null && (await folderAt(work, above, [path, movedFrom])) === tree) continue;
    const outcome = await outcomeOf(work, tree);
    if (outcome.kind !== 'policy') continue;
    const before = await lastPolicy(work, parent, [path, movedFrom]);
    if (before === null) continue;
    const changes = await changesOf(work, before, { commit: commit.name, tree, decisions: outcome.decisions });
    if (changes !== null) parts.push({ commit, changes });
  }
  return parts;
}

function report({ trees, onProgress }: Work, done: number, commit: LoggedCommit): void {
  onProgress?.({ commits: done + 1, compiled: trees.compiled(), commit });
}

/** A folder that no commit has is a mistake of the caller. */
async function foldersOf({ objects, line, inside, onProgress }: Work): Promise<readonly FolderAt[]> {
  const folders = await folderPaths(objects, {
    ...{ commits: line.commits, before: line.before, path: inside },
    onCommit: (commits) => onProgress?.({ commits, compiled: 0, commit: null }),
  });
  if (folders.length > 0 && folders.every(({ tree }) => tree === null))
    throw new GitError(`has no folder \`${inside}\` in any of these commits`);
  return folders;
}

const ABSENT: CommitOutcome = Object.freeze({ kind: 'absent' });

async function outcomeOf({ trees }: Work, tree: TreeName): Promise<CommitOutcome> {
  return tree === null ? ABSENT : trees.outcomeOf(tree);
}

async function changesOf({ trees }: Work, before: State, after: State): Promise<Changes | null> {
  return before.decisions === after.decisions ? null : trees.changesOf(before.tree, after.tree);
}

/** The folder of a commit that is not in the line: at the first of these paths that there is. */
async function folderAt(
  { objects }: Work,
  { tree }: LoggedCommit,
  paths: readonly (string | null)[],
): Promise<string | null> {
  for (const path of paths) {
    const found = path === null ? null : await treeAt(objects, tree, path);
    if (found !== null) return found;
  }
  return null;
}

/** What is in force before the first commit. Null if that is not known. */
function startOf(work: Work, first: FolderAt | undefined): Promise<State | null> {
  const { line, inside } = work;
  if (line.missing !== null) return Promise.resolve(null);
  return lastPolicy(work, line.before, [first?.movedFrom ?? first?.path ?? inside]);
}

/** The last policy that compiles, from this commit back. Null if the repository does not have what came before. */
async function lastPolicy(work: Work, newest: string | null, paths: readonly (string | null)[]): Promise<State | null> {
  for (let next = newest; next !== null;) {
    const commit = await readLogged(work.objects, next);
    if (commit === null) return null;
    const tree = await folderAt(work, commit, paths);
    const outcome = await outcomeOf(work, tree);
    if (outcome.kind === 'policy') return { commit: commit.name, tree, decisions: outcome.decisions };
    next = commit.parents[0] ?? null;
  }
  return { commit: null, tree: null, decisions: emptyPolicy().decisions };
}
