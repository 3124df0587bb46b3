// Steps 3 and 4 (docs/meaning.md "Decisions"): the grants that an actor holds at a namespace or above it, found in one walk
// down the trie.
import type { GrantRef } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import type { ScopeSet } from '../model/scope.js';
import type { PolicyTables } from '../model/tables.js';
import { childRow, type PreparedPolicy } from './prepare.js';

export interface Wanted {
  readonly target: NamespacePath;
  /** Grants that carry any of these. */
  readonly scopes: ScopeSet;
  readonly at: Instant;
}

/** Rows of the grants in force that count at the target, sorted, so by id. */
export function findGrants(policy: PreparedPolicy, principals: Int32Array, wanted: Wanted): number[] {
  const found: number[] = [];
  if (principals.length === 0) return found;
  const { target } = wanted;
  // One place and one segment for the whole walk: this runs for every decision.
  const place: Place = { row: 0, isTarget: target.length === 1, wanted, found };
  const segment = { path: target, start: 1, end: 1 };
  addGrantsAt(policy, principals, place);
  while (segment.start < target.length) {
    const slash = target.indexOf('/', segment.start);
    segment.end = slash < 0 ? target.length : slash;
    place.row = childRow(policy, place.row, segment);
    if (place.row < 0) break;
    place.isTarget = segment.end === target.length;
    addGrantsAt(policy, principals, place);
    segment.start = segment.end + 1;
  }
  return found.length < 2 ? found : found.sort((a, b) => a - b);
}

interface Place {
  row: number;
  isTarget: boolean;
  readonly wanted: Wanted;
  readonly found: number[];
}

/** Both lists are sorted by principal; each of the shorter one is looked up in what is left of the other. */
function addGrantsAt(policy: PreparedPolicy, principals: Int32Array, place: Place): void {
  if (((policy.scopesAt[place.row] ?? 0) & place.wanted.scopes) === 0) return;
  const { start, rows } = policy.byNamespace;
  const column = policy.principalAt;
  const to = start[place.row + 1] ?? 0;
  let next = start[place.row] ?? 0;
  if (to - next <= principals.length) {
    for (let from = 0; next < to; next += 1) {
      const principal = column[next] ?? 0;
      from = lowerBound(principals, principal, { from, to: principals.length });
      if (principals[from] === principal) addIfCounts(policy, rows[next] ?? 0, place);
    }
    return;
  }
  for (const principal of principals) {
    next = lowerBound(column, principal, { from: next, to });
    for (; next < to && column[next] === principal; next += 1) addIfCounts(policy, rows[next] ?? 0, place);
    if (next === to) return;
  }
}

function addIfCounts(policy: PreparedPolicy, grant: number, place: Place): void {
  const { grants } = policy.tables;
  if (!place.isTarget && grants.inherit[grant] === 0) return;
  if (((grants.scopes[grant] ?? 0) & place.wanted.scopes) !== 0 && isInForce(policy.tables, grant, place.wanted.at)) {
    place.found.push(grant);
  }
}

/** `notBefore <= at < expires` (docs/meaning.md "Time"). */
export function isInForce(tables: PolicyTables, grant: number, at: Instant): boolean {
  return (tables.grants.notBefore[grant] ?? 0) <= at && at < (tables.grants.expires[grant] ?? 0);
}

/** The first index between `from` and `to` whose value in the sorted column is at least `value`, or `to`. */
export function lowerBound(
  column: Int32Array,
  value: number,
  range: { readonly from: number; readonly to: number },
): number {
  let low = range.from;
  let high = range.to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] ?? 0) >= value) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function grantRefs(tables: PolicyTables, grants: readonly number[]): readonly GrantRef[] {
  return grants.map((grant) => {
    const id = tables.grants.id[grant] ?? '';
    const file = tables.files[(tables.grants.file[grant] ?? 0) - 1];
    return file === undefined ? { id } : { id, file, line: tables.grants.line[grant] ?? 0 };
  });
}
