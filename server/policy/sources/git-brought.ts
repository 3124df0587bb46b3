// What merges bring: the commits that a merge adds to a line, each with the first merge that brought it.
import { HISTORY_LIMITS } from '../../limits/policy.js';
import { GitError } from './git-command.js';
import { type LoggedCommit, readLogged } from './git-log.js';
import type { GitObjects } from './git-objects.js';

/** Call it for each commit of the line, oldest first. Parents come before their children. */
export type Brought = (commit: LoggedCommit) => Promise<readonly LoggedCommit[]>;

/** `after` and its ancestors were there before. Parents that the repository does not have are left out. */
export function broughtBy(objects: GitObjects, after: string | null): Brought {
  let seen: Set<string> | null = null;
  const own: string[] = [];
  return async ({ name, parents }) => {
    own.push(name);
    if (parents.length < 2) return [];
    seen ??= await ancestorsOf(objects, after);
    for (const one of own.splice(0)) seen.add(one);
    return newAncestors(objects, parents.slice(1), seen);
  };
}

/** Goes down to what was seen, and adds what it meets on the way back. */
async function newAncestors(
  objects: GitObjects,
  heads: readonly string[],
  seen: Set<string>,
): Promise<readonly LoggedCommit[]> {
  const found: LoggedCommit[] = [];
  const stack: { readonly name: string; readonly commit: LoggedCommit | null }[] = [];
  const push = (names: readonly string[]): void => {
    for (const name of [...names].reverse()) if (!seen.has(name)) stack.push({ name, commit: null });
  };
  push(heads);
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top.commit !== null) {
      found.push(top.commit);
      continue;
    }
    if (seen.has(top.name)) continue;
    add(seen, top.name);
    const commit = await readLogged(objects, top.name);
    if (commit === null) continue;
    stack.push({ name: top.name, commit });
    push(commit.parents);
  }
  return found;
}

async function ancestorsOf(objects: GitObjects, newest: string | null): Promise<Set<string>> {
  const above = new Set(newest === null ? [] : [newest]);
  for (const name of above) for (const parent of (await readLogged(objects, name))?.parents ?? []) add(above, parent);
  return above;
}

function add(names: Set<string>, name: string): void {
  names.add(name);
  if (names.size > HISTORY_LIMITS.commits)
    throw new GitError(`has more than ${String(HISTORY_LIMITS.commits)} commits there: name a shorter range`);
}
