// From a visible set to a condition on the column that holds a row's namespace, as parts that each door puts together in
// its own library's way: fixed SQL, the column, and values to bind. No text from outside is ever part of the SQL.
//
// The condition states its collation: a subtree is a range of strings only if strings are compared byte by byte, and most
// databases do not (docs/sql.md). It is true exactly where a decision about the row's namespace would be
// `allow`: text that is not a canonical path is never visible, and a row without a namespace is not either.
import type { NamespacePath, Visibility } from '../../engine/index.js';

export type Hole =
  | { readonly kind: 'column' }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'texts'; readonly value: readonly string[] };

/** The hole at an index stands between the string at that index and the next one. */
interface Template {
  readonly strings: readonly string[];
  readonly holes: readonly Hole[];
}

/** A value in place of a column: for an INSERT, whose row does not exist yet. */
export interface BoundValue {
  readonly value: string;
}

/** Half-open ranges of strings in byte order, sorted and disjoint: `lo[i] <= path < hi[i]`. */
export interface PathRanges {
  readonly lo: readonly string[];
  readonly hi: readonly string[];
}

/** Up to here each subtree is a range of its own in the SQL, which an index serves. */
const SEPARATE_RANGES = 100;

/** What no canonical path has: see `canonicalize`. Neither backslashes nor question marks, which some libraries would read. */
const NOT_CANONICAL = '[^a-z0-9._~/-]|//|./$|/[.]{1,2}(/|$)|^([^/]|$)|[^/]{64}|(/[^/]*){33}';
const LONGEST = 1024;
const PATH = /^\/(?:[a-z0-9._~-]+(?:\/[a-z0-9._~-]+)*)?$/;

const COLUMN: Hole = { kind: 'column' };
/** The cast makes `citext` and its like compare as what they hold. PostgreSQL drops both words where the column has them. */
const P = sql`CAST(${COLUMN} AS text) COLLATE "C"`;
const CANONICAL = sql`octet_length(${P}) <= ${fixed(String(LONGEST))} AND ${P} !~ ${fixed(`'${NOT_CANONICAL}'`)}`;
const NOTHING = sql`FALSE`;

/** The condition that a row is in the set. `none` is FALSE, never an empty list. */
export function predicate(set: Visibility): Template {
  const { exact, subtrees } = rootsOf(set);
  if (exact.length + subtrees.length === 0) return NOTHING;
  if (subtrees.includes('/')) return sql`(${CANONICAL})`;
  const points = sql`${P} = ANY(${texts([...exact, ...subtrees])})`;
  if (subtrees.length === 0) return sql`(${points})`;
  const below =
    subtrees.length > SEPARATE_RANGES ? hasRoot(subtrees) : subtrees.map((root) => isBelow(root)).reduce(or);
  return sql`((${points} OR ${below}) AND ${CANONICAL})`;
}

/** The ranges that the set's paths fill, for a join: see docs/sql.md "Thousands of roots". */
export function pathRanges(set: Visibility): PathRanges {
  const { exact, subtrees } = rootsOf(set);
  // Nothing but the path itself sorts from it up to itself with the lowest character behind it.
  const point = (path: string): readonly [string, string] => [path, `${path}\u0001`];
  const ranges = subtrees.includes('/')
    ? [['/', '0'] as const]
    : [...[...exact, ...subtrees].map(point), ...subtrees.map((root) => rangeBelow(root))];
  ranges.sort(([a], [b]) => (a < b ? -1 : 1));
  return { lo: ranges.map(([lo]) => lo), hi: ranges.map(([, hi]) => hi) };
}

/** `0` is the character after the slash, so these are the paths that begin with the root and a slash. */
function rangeBelow(root: string): readonly [string, string] {
  return [`${root}/`, `${root}0`];
}

function isBelow(root: string): Template {
  const [lo, hi] = rangeBelow(root);
  return sql`${P} >= ${text(lo)} AND ${P} < ${text(hi)}`;
}

/** For each depth that a root has: whether the row's path, cut to that depth, is one of the roots. Each is one hashed look-up. */
function hasRoot(roots: readonly string[]): Template {
  const depths = [...new Set(roots.map((root) => root.split('/').length))].sort((a, b) => a - b);
  return depths
    .map((depth) => {
      const parts = sql`(string_to_array(${P}, '/'))[1:${fixed(String(depth))}]`;
      const ofDepth = roots.filter((root) => root.split('/').length === depth);
      return sql`array_to_string(${parts}, '/') COLLATE "C" IN (SELECT unnest(${texts(ofDepth)}))`;
    })
    .reduce(or);
}

interface Roots {
  readonly exact: readonly string[];
  readonly subtrees: readonly string[];
}

/** Without types anything may come: what is not a visible set of canonical paths is an error, never a wider condition. */
function rootsOf(set: Visibility): Roots {
  switch (set.kind) {
    case 'none':
      return { exact: [], subtrees: [] };
    case 'all':
      return { exact: [], subtrees: ['/'] };
    case 'some':
      if (set.exact.length + set.subtrees.length === 0) throw new TypeError('a set that is empty has the kind `none`');
      return { exact: paths(set.exact), subtrees: paths(set.subtrees) };
    default:
      throw new TypeError('the set must be what `visibility` returned');
  }
}

function paths(list: readonly NamespacePath[]): readonly string[] {
  for (const path of list)
    if (typeof path !== 'string' || !PATH.test(path)) throw new TypeError('a set holds canonical paths only');
  return list;
}

function text(value: string): Template {
  return { strings: ['CAST(', ' AS text)'], holes: [{ kind: 'text', value }] };
}

function texts(value: readonly string[]): Template {
  return { strings: ['CAST(', ' AS text[])'], holes: [{ kind: 'texts', value }] };
}

function fixed(words: string): Template {
  return { strings: [words], holes: [] };
}

function or(left: Template, right: Template): Template {
  return sql`${left} OR ${right}`;
}

function sql(parts: TemplateStringsArray, ...inner: readonly (Hole | Template)[]): Template {
  const strings: string[] = [];
  const holes: Hole[] = [];
  let open = parts[0] ?? '';
  for (const [i, part] of inner.entries()) {
    const own: Template = 'kind' in part ? { strings: ['', ''], holes: [part] } : part;
    const [first = '', ...rest] = own.strings;
    const last = rest.pop();
    // A template without holes joins what stands before it and behind it.
    if (last !== undefined) strings.push(open + first, ...rest);
    open = (last ?? open + first) + (parts[i + 1] ?? '');
    holes.push(...own.holes);
  }
  strings.push(open);
  return { strings, holes };
}

/** `schema.table.column` as PostgreSQL reads it, each name quoted. */
export function quoteNames(dotted: string): string {
  const names = dotted.split('.');
  if (names.some((name) => name === '' || name.includes('\0')))
    throw new TypeError(`\`${dotted}\` does not name a column`);
  return names.map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
}

/** The SQL of a CHECK constraint for a column of canonical paths; every condition of `visibleWhere` asks the same. */
export function pathCheck(column: string): string {
  return fill(CANONICAL, { words: (words) => words, hole: () => quoteNames(column) }).join('');
}

/** For doors whose library takes strings and values apart: what stands in each hole, the column as SQL. */
export function fill<Part>(
  { strings, holes }: Template,
  make: { readonly words: (sql: string) => Part; readonly hole: (hole: Hole) => Part },
): readonly Part[] {
  return strings.flatMap((words, i) => {
    const hole = holes[i];
    return hole === undefined ? [make.words(words)] : [make.words(words), make.hole(hole)];
  });
}
