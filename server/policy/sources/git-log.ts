// The commits of a history: a branch from its newest commit back along first parents. Everything is read from objects
// whose names were recomputed, so no commit can be left out or slipped in without changing the name of the newest.
import { type Instant, instantOf } from '../../../engine/index.js';
import { HISTORY_LIMITS, SOURCE_LIMITS } from '../../limits/policy.js';
import { GitError } from './git-command.js';
import { type GitObjects, mustFind } from './git-objects.js';

/** What a commit says about itself. Who made it and when is what its author wrote. */
export interface LoggedCommit {
  readonly name: string;
  readonly tree: string;
  readonly parents: readonly string[];
  /** `Name <address>` */
  readonly author: string;
  /** When it was committed. */
  readonly time: Instant;
  /** The first line of its message. */
  readonly subject: string;
}

export interface CommitLine {
  /** Oldest first. */
  readonly commits: readonly LoggedCommit[];
  /** The commit that the oldest of them follows; null if it follows none, or one that is missing. */
  readonly before: string | null;
  /** As it was requested: neither the line nor what was merged into it has this commit or an ancestor of it. */
  readonly after: string | null;
  /** The parent of the oldest commit that the repository does not have, as in a shallow clone; null if it has all. */
  readonly missing: string | null;
}

export interface LineRequest {
  readonly newest: string;
  /** This commit and its ancestors are left out. */
  readonly after: string | null;
  readonly onCommit?: (read: number) => void;
}

/** The commit and its first parents, as far as they are no ancestors of `after`. */
export async function commitLine(objects: GitObjects, { newest, after, onCommit }: LineRequest): Promise<CommitLine> {
  const commits: LoggedCommit[] = [];
  let next: string | null = newest;
  while (next !== null && next !== after) {
    const commit: LoggedCommit | null = await readLogged(objects, next);
    if (commit === null) break;
    commits.push(commit);
    onCommit?.(commits.length);
    if (commits.length > HISTORY_LIMITS.commits)
      throw new GitError(`has more than ${String(HISTORY_LIMITS.commits)} commits there: name a shorter range`);
    next = commit.parents[0] ?? null;
  }
  if (commits.length === 0 && next !== after) throw new GitError(`lacks the commit ${newest}`);
  if (after !== null && next !== after) return withoutAncestors(objects, commits, { next, after });
  commits.reverse();
  return next === after
    ? { commits, before: next, after, missing: null }
    : { commits, before: null, after, missing: next };
}

/** The other branch was left before its end was met: what it shares with this one is left out. */
async function withoutAncestors(
  objects: GitObjects,
  commits: readonly LoggedCommit[],
  { next, after }: { readonly next: string | null; readonly after: string },
): Promise<CommitLine> {
  const above = new Set([after]);
  for (const name of above) {
    if (above.size > HISTORY_LIMITS.commits)
      throw new GitError(`has more than ${String(HISTORY_LIMITS.commits)} commits before ${after}: name another range`);
    for (const parent of (await readLogged(objects, name))?.parents ?? []) above.add(parent);
  }
  const shared = commits.findIndex(({ name }) => above.has(name));
  const own = (shared < 0 ? [...commits] : commits.slice(0, shared)).reverse();
  return { commits: own, before: commits[shared]?.name ?? null, after, missing: shared < 0 ? next : null };
}

const NAME = '([0-9a-f]{40}|[0-9a-f]{64})';
const HEAD = new RegExp(
  `^tree ${NAME}\\n((?:parent ${NAME}\\n)*)author ([^\\n]*?) (-?\\d{1,14}) [+-]\\d{4}\\ncommitter [^\\n]*? (-?\\d{1,14}) [+-]\\d{4}\\n`,
);

/** Null if the repository does not have it. */
export async function readLogged(objects: GitObjects, name: string): Promise<LoggedCommit | null> {
  const found = await objects.find(name, SOURCE_LIMITS.commitBytes);
  if (found === null) return null;
  const bytes = found.bytes ?? (await mustFind(objects, name, { kind: 'commit', maxBytes: SOURCE_LIMITS.commitBytes }));
  const text = bytes.toString('utf8');
  const match = found.kind === 'commit' ? HEAD.exec(text) : null;
  if (match === null) throw new GitError(`has a damaged commit: ${name}`);
  const [, tree = '', parents = '', , author = '', , committed = '0'] = match;
  const message = text.includes('\n\n') ? text.slice(text.indexOf('\n\n') + 2) : '';
  return {
    ...{ name, tree, author },
    parents: [...parents.matchAll(/^parent (.*)$/gm)].map(([, parent = '']) => parent),
    time: instantWithin(Number(committed) * 1000),
    subject: message.trimStart().split('\n', 1)[0] ?? '',
  };
}

/** Git allows times that RFC 3339 has no form for. */
function instantWithin(milliseconds: number): Instant {
  return instantOf(Math.min(Math.max(milliseconds, EARLIEST), LATEST));
}

const EARLIEST = Date.parse('0000-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59Z');
