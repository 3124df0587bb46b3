// Where two revisions left each other. Commits are read from objects whose names were recomputed: `git merge-base` believes
// grafts and the commit-graph file, and whoever may write those could have what nobody reviewed count as old.
import { HISTORY_LIMITS } from '../../limits/policy.js';
import { GitError } from './git-command.js';
import { type LoggedCommit, readLogged } from './git-log.js';
import type { GitObjects } from './git-objects.js';

/** Whose ancestor a commit is, as bits. Below an ancestor of both, all three are set. */
const [FIRST, SECOND, BELOW] = [1, 2, 4];
const BOTH = FIRST | SECOND;

interface Met {
  readonly commit: LoggedCommit;
  of: number;
}

/**
 * The newest commit that both have: no other one descends from it. Of several such commits, as after merges crosswise, it
 * is the one of the latest time. Null if there is none, or if a commit on the way to it is missing, as in a shallow clone.
 */
export async function forkPoint(
  objects: GitObjects,
  [first, second]: readonly [string, string],
): Promise<string | null> {
  const met = new Map<string, Met>();
  const waiting = new Set<Met>();
  /** False if the commit is missing. */
  const meet = async (name: string, of: number): Promise<boolean> => {
    const commit = met.get(name)?.commit ?? (await readLogged(objects, name));
    if (commit === null) return false;
    const one = met.get(name) ?? { commit, of: 0 };
    if ((one.of & of) === of) return true;
    one.of |= of;
    met.set(name, one);
    waiting.add(one);
    if (met.size > HISTORY_LIMITS.commits)
      throw new GitError(
        `has more than ${String(HISTORY_LIMITS.commits)} commits to search for where these revisions left each other`,
      );
    return true;
  };
  /** False if the way goes on at a commit that is missing. Times make ways short: what is found does not depend on them. */
  const goOn = async (): Promise<boolean> => {
    const one = latestOf(waiting);
    if (one === null) return false;
    waiting.delete(one);
    const of = (one.of & BOTH) === BOTH ? BOTH | BELOW : one.of;
    for (const parent of one.commit.parents) if (!(await meet(parent, of)) && of < BELOW) return false;
    return true;
  };
  const common = (): readonly Met[] => [...met.values()].filter(({ of }) => of === BOTH);
  if (!(await meet(first, FIRST)) || !(await meet(second, SECOND))) return null;
  while ([...waiting].some(({ of }) => of < BELOW)) if (!(await goOn())) return null;
  // One of these may be an ancestor of another one all the same.
  if (common().length > 1) while (await goOn());
  return latestOf(common())?.commit.name ?? null;
}

function latestOf(commits: Iterable<Met>): Met | null {
  let latest: Met | null = null;
  for (const one of commits) if (latest === null || one.commit.time > latest.commit.time) latest = one;
  return latest;
}
