// The grants that a test's actor holds, with the places where they were written: used to know when answers about an actor can
// change, and to say why a test failed. Never used to decide.
import { compileTables } from '../../compile/compile-tables.js';
import { lineOf } from '../../model/span.js';
import type { GrantRef } from '../../model/decision.js';
import type { Identity } from '../../model/identity.js';
import { type Instant, instantOf, windowOf } from '../../model/instant.js';
import { isWithin, type NamespacePath } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import type { PolicyGrant, PolicySet } from '../../model/policy-set.js';
import { firstFrom, listRows, type RowLists, rowsOf } from '../../model/row-lists.js';
import type { PolicyTables } from '../../model/tables.js';
import { makeMembership, type Membership, withRolesAbove } from '../cells/membership.js';

export interface GrantIndex {
  readonly grants: readonly PolicyGrant[];
  readonly membership: Membership;
  /** Positions in `grants`. */
  readonly byPrincipal: RowLists;
}

export function indexGrants(set: PolicySet): GrantIndex {
  const { tables, grantRows } = compileTables(set);
  const principals = grantRows.map((row) => tables.grants.principal[row] ?? 0);
  const count = tables.roles.name.length + tables.identities.subject.length;
  return { grants: set.grants, membership: makeMembership(tables), byPrincipal: listRows(principals, count) };
}

/** Every grant that one of the identities holds, itself or through roles, whatever its time. */
export function grantsHeldBy(
  { grants, membership, byPrincipal }: GrantIndex,
  identities: readonly Identity[],
): ReadonlySet<PolicyGrant> {
  const named = identities.flatMap((identity) => principalOf(membership.tables, identity) ?? []);
  const held = new Set<PolicyGrant>();
  for (const principal of withRolesAbove(membership, named)) {
    for (const position of rowsOf(byPrincipal, principal)) {
      const grant = grants[position];
      if (grant !== undefined) held.add(grant);
    }
  }
  return held;
}

/** Null for one that the policy does not name. */
function principalOf({ providers, identities, roles }: PolicyTables, { provider, subject }: Identity): number | null {
  const order = (row: number): number =>
    compareTexts(providers[identities.provider[row] ?? 0] ?? '', provider) ||
    compareTexts(identities.subject[row] ?? '', subject);
  const row = firstFrom(identities.subject.length, (at) => order(at) >= 0);
  return row < identities.subject.length && order(row) === 0 ? roles.name.length + row : null;
}

/** A stretch of time in which nothing changes. */
export interface Interval {
  /** Its first instant; null: it has none. */
  readonly from: Instant | null;
  /** Some instant in it. */
  readonly at: Instant;
}

/** The intervals in which answers about `namespace` and what is above it can differ for holders of these grants. */
export function intervalsOf(held: ReadonlySet<PolicyGrant>, namespace: NamespacePath): readonly Interval[] {
  const cuts = new Set<number>();
  for (const grant of held) {
    if (!isWithin(namespace, grant.namespace)) continue;
    const { from, until } = windowOf(grant);
    cuts.add(from).add(until);
  }
  const sorted = [...cuts]
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
    .map(instantOf);
  const first = sorted[0] ?? instantOf(0);
  return [{ from: null, at: instantOf(first - 1) }, ...sorted.map((cut) => ({ from: cut, at: cut }))];
}

export function toGrantRef(grant: PolicyGrant): GrantRef {
  return grant.place === null ? { id: grant.id } : { id: grant.id, file: grant.place.file, line: lineOf(grant.place) };
}
