// Lists everyone who holds a scope in a namespace, with the grants that carry it.
import { findGrants } from '../../evaluate/find-grants.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import { addTo } from '../../model/group.js';
import type { Instant } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareTexts } from '../../model/order.js';
import type { ScopeName } from '../../model/scope.js';
import { countPrincipals, identityText } from '../../model/tables.js';
import { type HeldGrant, makeHeldGrants } from '../cells/held-grants.js';
import { makeReach } from '../cells/identities.js';

export interface WhoCanRequest {
  readonly scope: ScopeName;
  /** Any path; a grant need not name it. */
  readonly namespace: NamespacePath;
  readonly at: Instant;
}

export interface Holder {
  /** `provider:subject` */
  readonly identity: string;
  /** All grants that carry the scope, sorted by id; never empty. */
  readonly grants: readonly HeldGrant[];
}

/** Every identity for which an access there passes steps 3 and 4, sorted by code point. */
export function whoCan(policy: Policy, { scope, namespace, at }: WhoCanRequest): readonly Holder[] {
  const prepared = compiledOf(policy);
  const everyone = new Int32Array(countPrincipals(prepared.tables)).map((_, row) => row);
  const reach = makeReach(prepared);
  const held = new Map<number, number[]>();
  for (const grant of findGrants(policy, everyone, { target: namespace, scope, at })) {
    for (const identity of reach(prepared.tables.grants.principal[grant] ?? 0)) addTo(held, identity, grant);
  }
  const heldGrants = makeHeldGrants(prepared);
  return [...held]
    .map(([identity, grants]) => ({
      identity: identityText(prepared.tables, identity),
      grants: heldGrants([identity], grants),
    }))
    .sort((a, b) => compareTexts(a.identity, b.identity));
}
