// Which of the commits that a merge brings gave or took what the merge changed: those that changed some of it the same way by
// themselves. Nobody gets credit for what only the merge itself does.
import type { DiffRow } from '../../../engine/compiler.js';
import { isWithin, type NamespacePath } from '../../../engine/index.js';
import type { LoggedCommit } from '../sources/git-log.js';
import type { BroughtCommit } from './history.js';
import type { Changes } from './outcome.js';
import { isCauseOf } from './select-changes.js';

/** A part of what changed, and who did it. All of them have some of it; none if it was the merge alone. */
export interface Credit {
  readonly by: readonly LoggedCommit[];
  readonly changes: Changes;
}

/** Together they are the changes: a row whose identities have different commits becomes several. */
export function creditsOf(changes: Changes, parts: readonly BroughtCommit[]): readonly Credit[] {
  const groups = new Map<string, { by: readonly LoggedCommit[]; gained: DiffRow[]; lost: DiffRow[]; pairs: Pairs }>();
  const groupOf = (by: readonly LoggedCommit[]): { gained: DiffRow[]; lost: DiffRow[]; pairs: Pairs } => {
    const key = by.map(({ name }) => name).join(' ');
    const group = groups.get(key) ?? { by, gained: [], lost: [], pairs: { added: [], removed: [] } };
    groups.set(key, group);
    return group;
  };
  for (const change of ['gained', 'lost'] as const)
    for (const row of changes[change])
      for (const [by, identities] of identitiesByCommits(row, parts, change))
        groupOf(by)[change].push(narrowed(row, identities));
  for (const change of ['added', 'removed'] as const)
    for (const pair of changes.exclusive[change]) {
      const does = (part: BroughtCommit): boolean =>
        part.changes.exclusive[change].some((one) => one.join() === pair.join());
      groupOf(authorsOf(parts.filter(does))).pairs[change].push(pair);
    }
  return [...groups.values()].map(({ by, gained, lost, pairs }) => ({
    by,
    changes: { gained, lost, exclusive: pairs },
  }));
}

interface Pairs {
  readonly added: Changes['exclusive']['added'][number][];
  readonly removed: Changes['exclusive']['removed'][number][];
}

function identitiesByCommits(
  row: DiffRow,
  parts: readonly BroughtCommit[],
  change: 'gained' | 'lost',
): Iterable<readonly [by: readonly LoggedCommit[], identities: string[]]> {
  const near = parts.flatMap((part) => {
    const theirs = part.changes[change].filter((one) => meet(row, one)).flatMap(({ identities }) => identities);
    return theirs.length === 0 ? [] : [{ part, identities: new Set(theirs) }];
  });
  const groups = new Map<string, readonly [readonly LoggedCommit[], string[]]>();
  for (const identity of row.identities) {
    const by = authorsOf(near.filter(({ identities }) => identities.has(identity)).map(({ part }) => part));
    const key = by.map(({ name }) => name).join(' ');
    const group = groups.get(key) ?? ([by, []] as const);
    group[1].push(identity);
    groups.set(key, group);
  }
  return groups.values();
}

/** What a merge among them brings, others have done. */
function authorsOf(parts: readonly BroughtCommit[]): readonly LoggedCommit[] {
  const commits = parts.map(({ commit }) => commit);
  const own = commits.filter(({ parents }) => parents.length < 2);
  return own.length > 0 ? own : commits;
}

function narrowed(row: DiffRow, identities: readonly string[]): DiffRow {
  if (identities.length === row.identities.length) return row;
  const theirs = new Set(identities);
  return { ...row, identities, causes: row.causes.filter((cause) => isCauseOf(cause, theirs)) };
}

type Place = Pick<DiffRow, 'namespace' | 'extent' | 'except'>;
type Cells = Place & Pick<DiffRow, 'scopes' | 'from' | 'until'>;

/** Whether two rows have a scope at a place and time in common. */
export function meet(a: Cells, b: Cells): boolean {
  return (
    isBefore(a.from, b.until) &&
    isBefore(b.from, a.until) &&
    a.scopes.some((one) => b.scopes.includes(one)) &&
    meetAt(a, b)
  );
}

/** Null is open. */
function isBefore(from: DiffRow['from'], until: DiffRow['until']): boolean {
  return from === null || until === null || from < until;
}

function meetAt(a: Place, b: Place): boolean {
  if (!isWithin(a.namespace, b.namespace) && !isWithin(b.namespace, a.namespace)) return false;
  const [upper, lower] = isWithin(b.namespace, a.namespace) ? [a, b] : [b, a];
  if (covers(upper, lower.namespace) && covers(lower, lower.namespace)) return true;
  if (upper.extent === 'exact' || lower.extent === 'exact') return false;
  // Exceptions below it leave something: they are few, and a namespace may have any number of others below it.
  return ![...(upper.except ?? []), ...(lower.except ?? [])].some((root) => isWithin(lower.namespace, root));
}

function covers({ namespace, extent, except = [] }: Place, path: NamespacePath): boolean {
  if (path === namespace) return extent !== 'below';
  return extent !== 'exact' && isWithin(path, namespace) && !except.some((root) => isWithin(path, root));
}
