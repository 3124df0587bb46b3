// Steps 3 and 4 of a decision (docs/meaning.md "Decisions") as the table answers them: is a scope held at a place? Nothing is
// allocated.
import type { DecisionTable } from './columns.js';

export const SCOPE_BITS = 10;

/** Whether a grant of the principal carries one of the scopes at the place, in force now. */
export function isHeldBy(table: DecisionTable, principal: number, wanted: Wanted): boolean {
  const { place, scopes } = wanted;
  const rights = rightsAt(table, principal, place);
  if ((rights & scopes) !== 0) return true;
  return (rights & (scopes << SCOPE_BITS)) !== 0 && nextGrant(table, wanted, lastGrant(table, principal, place)) >= 0;
}

/** All of the scopes that grants of the principal carry at the place, in force now. */
export function heldBy(table: DecisionTable, principal: number, { place, scopes, at }: Wanted): number {
  const rights = rightsAt(table, principal, place);
  let held = rights & scopes;
  // Scopes that are held at some time: each grant that is in force answers for all that it carries.
  let open = (rights >>> SCOPE_BITS) & scopes & ~held;
  let from = open === 0 ? -1 : lastGrant(table, principal, place);
  while (open !== 0 && from >= 0) {
    const i = nextGrant(table, { place, scopes: open, at }, from);
    if (i < 0) break;
    held |= (table.grantScopes[table.listGrant[i] ?? 0] ?? 0) & open;
    open &= ~held;
    from = table.listOuter[i] ?? -1;
  }
  return held;
}

/** The last step at or before the place. */
function rightsAt({ stepPlace, stepRights, stepStart }: DecisionTable, principal: number, place: number): number {
  const from = stepStart[principal] ?? 0;
  const end = lowerBound(stepPlace, place + 1, { from, to: stepStart[principal + 1] ?? 0 });
  return end === from ? 0 : (stepRights[end - 1] ?? 0);
}

/** What is asked of the table. */
export interface Wanted {
  readonly place: number;
  /** Any of these. */
  readonly scopes: number;
  readonly at: number;
}

/** Where the search for the principal's grants at a place begins: its last one at a row up to there, or -1. */
export function lastGrant({ listNamespace, listStart }: DecisionTable, principal: number, place: number): number {
  const from = listStart[principal] ?? 0;
  const end = lowerBound(listNamespace, (place >> 1) + 1, { from, to: listStart[principal + 1] ?? 0 });
  return end === from ? -1 : end - 1;
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

/** The first index of `listGrant`, from `from` outwards, whose grant is among the wanted; -1 after the last. */
export function nextGrant(table: DecisionTable, { place, scopes, at }: Wanted, from: number): number {
  const { grantScopes, inherit, listGrant, listNamespace, listOuter, subtreeEnd } = table;
  const row = place >> 1;
  for (let i = from; i >= 0; i = listOuter[i] ?? -1) {
    const namespace = listNamespace[i] ?? 0;
    if (row >= (subtreeEnd[namespace] ?? 0)) continue;
    const grant = listGrant[i] ?? 0;
    if (((grantScopes[grant] ?? 0) & scopes) === 0) continue;
    if (inherit[grant] === 0 && place !== 2 * namespace) continue;
    if (isInForce(table, grant, at)) return i;
  }
  return -1;
}

/** Whether one of them is inherited there, so that it also reaches everything below. */
export function isInheritedAt(table: DecisionTable, principal: number, wanted: Wanted): boolean {
  // Below its own namespace only what is inherited counts, and a place below stands for all that is there.
  let i = nextGrant(table, wanted, lastGrant(table, principal, wanted.place));
  while (i >= 0 && table.inherit[table.listGrant[i] ?? 0] === 0) i = nextGrant(table, wanted, table.listOuter[i] ?? -1);
  return i >= 0;
}

/** `notBefore <= at < expires` (docs/meaning.md "Time"). */
export function isInForce(table: DecisionTable, grant: number, at: number): boolean {
  const { windowFrom, windowGrant, windowUntil } = table;
  const i = lowerBound(windowGrant, grant, { from: 0, to: windowGrant.length });
  if (windowGrant[i] !== grant) return at < Infinity;
  return (windowFrom[i] ?? 0) <= at && at < (windowUntil[i] ?? 0);
}
