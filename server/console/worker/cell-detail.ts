// What stands behind one cell of the picture: who holds what there, and by which grants; or what changed it.
import { type DiffReport, type DiffRow, type HeldGrant, whoCan } from '../../../engine/compiler.js';
import { canonicalize, compareTexts, type Instant, type ScopeName } from '../../../engine/index.js';
import { causeText } from '../../authoring/causes.js';
import type { Picture } from '../map/picture.js';
import type { OpenPolicy } from './policy.js';
import type { CellDetail } from './protocol.js';

/** Holders and causes that a cell lists. */
const LISTED = 100;
/** No policy names this segment: it is longer than names that people write. */
const UNNAMED = '~any-other-namespace-that-no-grant-of-this-policy-names~';

export interface AskedCell {
  readonly picture: Picture;
  readonly at: Instant | null;
  readonly line: number;
  readonly column: number;
  /** For a picture of changes. */
  readonly report: DiffReport | null;
}

export interface AskedChange {
  readonly picture: Picture;
  readonly line: number;
  readonly column: number;
  readonly rows: readonly DiffRow[];
}

export function cellDetail(
  { policy }: OpenPolicy,
  { picture, at, line, column, report }: AskedCell,
): CellDetail | null {
  const place = picture.lineAt(line);
  const count = picture.cell(line, column);
  if (report !== null) return changeDetail({ picture, line, column, rows: [...report.gained, ...report.lost] });
  if (count === null) return null;
  const nothing = { ...count, holders: [], more: 0, causes: [] };
  const names = namesIn(picture, column);
  // Below a namespace, any path that no grant names is as good as every other.
  const below = `${place.path === '/' ? '' : place.path}/${UNNAMED}`;
  const path = canonicalize(place.kind === 'below' ? below : place.path);
  if (place.until - place.from !== 1 || at === null || !path.ok) return nothing;
  const found = new Map<string, { readonly scopes: ScopeName[]; readonly grants: Map<string, HeldGrant> }>();
  count.scopes.forEach((scope, index) => {
    if ((count.counts[0]?.[index] ?? 0) === 0) return;
    for (const { identity, grants } of whoCan(policy, { scope, namespace: path.path, at })) {
      if (!names.has(identity)) continue;
      const known = found.get(identity) ?? { scopes: [], grants: new Map<string, HeldGrant>() };
      known.scopes.push(scope);
      for (const grant of grants) known.grants.set(grant.id, grant);
      found.set(identity, known);
    }
  });
  const holders = Array.from(found, ([identity, { scopes, grants }]) => ({
    identity,
    scopes,
    grants: [...grants.values()],
  }));
  return { ...nothing, holders: holders.slice(0, LISTED), more: Math.max(0, holders.length - LISTED) };
}

/** Of a picture of changes: what made them. It needs neither of the policies. */
export function changeDetail({ picture, line, column, rows }: AskedChange): CellDetail | null {
  const place = picture.lineAt(line);
  const names = namesIn(picture, column);
  const touched = rows.filter(
    (row) =>
      (isWithin(row.namespace, place.path) || isWithin(place.path, row.namespace)) &&
      row.identities.some((identity) => names.has(identity)),
  );
  const count = picture.cell(line, column);
  return count === null ? null : { ...count, holders: [], more: 0, causes: causesOf(touched, { rows, names }) };
}

interface Around {
  /** All of the difference. */
  readonly rows: readonly DiffRow[];
  /** Those of the cell. */
  readonly names: ReadonlySet<string>;
}

function causesOf(touched: readonly DiffRow[], { rows, names }: Around): CellDetail['causes'] {
  const texts = new Set(touched.flatMap((row) => row.causes.map(causeText)).slice(0, LISTED));
  const others = new Map(Array.from(texts, (text): [string, Set<string>] => [text, new Set()]));
  for (const { causes, identities } of rows)
    for (const cause of causes) {
      const found = others.get(causeText(cause));
      if (found !== undefined) for (const identity of identities) if (!names.has(identity)) found.add(identity);
    }
  return Array.from(others, ([text, found]) => ({ text, others: [...found].sort(compareTexts) }));
}

function namesIn(picture: Picture, column: number): ReadonlySet<string> {
  return new Set((picture.columnAt(column)?.identities ?? []).map(picture.nameOf));
}

function isWithin(path: string, above: string): boolean {
  return above === '/' || path === above || path.startsWith(`${above}/`);
}
