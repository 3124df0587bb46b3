// What stands behind one cell of the picture: who holds what there, and by which grants; or what changed it.
import { type DiffReport, type HeldGrant, whoCan } from '../../../engine/compiler.js';
import { canonicalize, type Instant, type ScopeName, SCOPES } from '../../../engine/index.js';
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

export function cellDetail({ policy }: OpenPolicy, { picture, at, line, column, report }: AskedCell): CellDetail {
  const count = picture.cell(line, column);
  const nothing = { ...count, holders: [], more: 0, causes: [] };
  const place = picture.lineAt(line);
  const names = new Set((picture.columnAt(column)?.identities ?? []).map(picture.nameOf));
  if (report !== null) {
    const rows = [...report.gained, ...report.lost].filter(
      (row) =>
        (isWithin(row.namespace, place.path) || isWithin(place.path, row.namespace)) &&
        row.identities.some((identity) => names.has(identity)),
    );
    return { ...nothing, causes: [...new Set(rows.flatMap(({ causes }) => causes))].slice(0, LISTED) };
  }
  // Below a namespace, any path that no grant names is as good as every other.
  const below = `${place.path === '/' ? '' : place.path}/${UNNAMED}`;
  const path = canonicalize(place.kind === 'below' ? below : place.path);
  if (place.until - place.from !== 1 || at === null || !path.ok) return nothing;
  const found = new Map<string, { readonly scopes: ScopeName[]; readonly grants: Map<string, HeldGrant> }>();
  SCOPES.forEach((scope, index) => {
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

function isWithin(path: string, above: string): boolean {
  return above === '/' || path === above || path.startsWith(`${above}/`);
}
