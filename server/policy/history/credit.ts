// Which of the commits that a merge brings gave or took what the merge changed: those that changed some of it the same way by
// themselves. Nobody gets credit for what only the merge itself does.
import type { DiffRow } from '../../../engine/compiler.js';
import { compareTexts, isWithin, type NamespacePath } from '../../../engine/index.js';
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
  for (const change of ['gained', 'lost'] as const) {
    const near = parts.map((part) => ({ part, meeting: rowsNear(part.changes[change]) }));
    for (const row of changes[change])
      for (const [by, identities] of identitiesByCommits(row, near))
        groupOf(by)[change].push(narrowed(row, identities));
  }
  for (const change of ['added', 'removed'] as const) {
    const theirs = new Map(parts.map((part) => [part, new Set(part.changes.exclusive[change].map(String))]));
    for (const pair of changes.exclusive[change])
      groupOf(authorsOf(parts.filter((part) => theirs.get(part)?.has(String(pair)) === true))).pairs[change].push(pair);
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

/** Finds the rows that have a cell in common with another one: they are at its namespace, above it or below it. */
function rowsNear(rows: readonly DiffRow[]): (row: DiffRow) => readonly DiffRow[] {
  const at = new Map<string, DiffRow[]>();
  for (const row of rows) {
    const there = at.get(row.namespace);
    if (there === undefined) at.set(row.namespace, [row]);
    else there.push(row);
  }
  // Of sorted texts, those that begin with one text follow each other.
  const sorted = [...at.keys()].map((path) => ({ path, text: subtreeText(path) }));
  sorted.sort((a, b) => compareTexts(a.text, b.text));
  return (row) => {
    const own = subtreeText(row.namespace);
    const paths: string[] = [];
    for (let cut = own.indexOf('/'); cut >= 0; cut = own.indexOf('/', cut + 1))
      paths.push(cut === 0 ? '/' : own.slice(0, cut));
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareTexts(sorted[middle]?.text ?? '', own) > 0) high = middle;
      else low = middle + 1;
    }
    for (; sorted[low]?.text.startsWith(own) === true; low += 1) paths.push(sorted[low]?.path ?? '');
    return paths.flatMap((path) => at.get(path) ?? []).filter((one) => meet(row, one));
  };
}

/** With a slash at its end, so that it begins the texts of all that is below it, and of nothing else. */
function subtreeText(path: string): string {
  return path === '/' ? path : `${path}/`;
}

function identitiesByCommits(
  row: DiffRow,
  parts: readonly { readonly part: BroughtCommit; readonly meeting: (row: DiffRow) => readonly DiffRow[] }[],
): Iterable<readonly [by: readonly LoggedCommit[], identities: string[]]> {
  const near = parts.flatMap(({ part, meeting }) => {
    const theirs = meeting(row).flatMap(({ identities }) => identities);
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
