// The whole tree for one identity: in which regions it holds which scopes, and by which grants.
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { ROOT, sortPaths } from '../../model/namespace.js';
import { nearest } from '../../diagnostics/nearest.js';
import { type ScopeName, SCOPES } from '../../model/scope.js';
import { type HeldGrant, makeHeldGrants } from '../cells/chains.js';
import { makeFold } from '../cells/fold.js';
import { grantsOf, holdingsNear, makeRights, type Rights, subtreeRows } from '../cells/holdings.js';
import { makeNodes } from '../cells/nodes.js';
import { walkRights } from '../cells/walk.js';
import { carriers, compareExtents, type Region, scopesOf, toRegion } from '../cells/regions.js';
import { principalsOf } from '../cells/identity-groups.js';

export interface HeldRegion extends Region {
  readonly scopes: readonly ScopeName[];
  /**
   * Grants that give any of the scopes throughout the region, sorted by id. Grants that give them again in parts of it are left
   * out.
   */
  readonly grants: readonly HeldGrant[];
}

/** In path order. A scope is in one region at most of those that hold a namespace; together they are exactly what is held. */
export function whatCan(
  policy: Policy,
  { identity, at }: { readonly identity: Identity; readonly at: Instant },
): readonly HeldRegion[] {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'only a compiled policy names identities');
  const principals = principalsOf(prepared, identity);
  const rights = rightsOf(prepared, principals);
  const { nodes } = rights;
  const row = prepared.identityRows.get(identity.provider)?.get(identity.subject);
  const own = row === undefined ? [] : [row];
  const heldGrants = makeHeldGrants(prepared);
  const rows = subtreeRows(nodes, 0);
  const inForce = holdingsNear(rights, principals, rows).filter((holding) => holding.from <= at && at < holding.until);
  // The question is about one instant, so whatever is in force then is treated as always in force.
  const holdings = inForce.map((holding) => ({ ...holding, from: -Infinity, until: Infinity }));
  const fold = makeFold(
    nodes,
    SCOPES.map((_, bit) => 1 << bit),
  );
  walkRights({ nodes, rows, sides: [holdings] }, (row, [here], [below]) => {
    if (here !== undefined && below !== undefined) fold.visit(row, here, below);
  });
  return [...fold.finish()]
    .sort(
      (a, b) => a.region.row - b.region.row || compareExtents(a.region.extent, b.region.extent) || a.value - b.value,
    )
    .map((patch) => {
      const { row, extent } = patch.region;
      const whole = carriers(nodes, holdings, patch).filter(
        (holding) => holding.row <= row && (extent === 'exact' || holding.inherit),
      );
      const grants = heldGrants(
        own,
        whole.map((holding) => holding.grant).sort((a, b) => a - b),
      );
      return { ...toRegion(nodes, patch.region), scopes: scopesOf(patch.value), grants };
    });
}

/** What the policy does not know of an identity, which then holds nothing; `meant` is what is known and looks like it. */
export interface Unknown {
  readonly part: 'provider' | 'identity';
  readonly meant: string | null;
}

/** Null for an identity that a role or a grant names. */
export function unknownPart(policy: Policy, { provider, subject }: Identity): Unknown | null {
  const prepared = preparedOf(policy);
  if (prepared === null) return null;
  const subjects = prepared.identityRows.get(provider);
  if (subjects === undefined) {
    const isDeclaredGroup =
      provider.endsWith(GROUP_SUFFIX) && prepared.identityRows.has(provider.slice(0, -GROUP_SUFFIX.length));
    if (isDeclaredGroup) return { part: 'identity', meant: null };
    return { part: 'provider', meant: nearest(provider, prepared.identityRows.keys()) };
  }
  if (subjects.has(subject)) return null;
  const folded = subject.toLowerCase();
  const meant = [...subjects.keys()].find((known) => known.toLowerCase() === folded);
  return { part: 'identity', meant: meant === undefined ? null : formatIdentity({ provider, subject: meant }) };
}

/** Uses only the namespaces of these principals' grants as nodes; other grants do not matter to this identity. */
function rightsOf(policy: PreparedPolicy, principals: Int32Array): Rights {
  const all = makeRights(policy, makeNodes());
  const paths = [...principals].flatMap((principal) =>
    Array.from(grantsOf(all, principal), (grant) => policy.paths[policy.tables.grants.namespace[grant] ?? 0] ?? ROOT),
  );
  return makeRights(policy, makeNodes(sortPaths(paths)));
}
