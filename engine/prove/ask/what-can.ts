// What somebody holds anywhere by one identity or by several together: its regions, with their scopes and grants.
import { compiledOf, type Policy, preparedOf } from '../../evaluate/policy.js';
import { formatIdentity, type Identity, isProviderOf } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import { type NamespacePath, ROOT, sortPaths } from '../../model/namespace.js';
import { nearest } from '../../diagnostics/nearest.js';
import type { ScopeName } from '../../model/scope.js';
import { scopeNames } from '../../model/scope-set.js';
import { NOTHING } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import { type HeldGrant, makeHeldGrants } from '../cells/held-grants.js';
import { carriers, grantsOf, heldAt, holdingsIn, makeRights } from '../cells/holdings.js';
import { identityRow, principalsOf } from '../cells/identities.js';
import { makeNodes } from '../cells/nodes.js';
import { comparePatches, type Region, toRegion } from '../cells/regions.js';

export interface HeldRegion extends Region {
  readonly scopes: readonly ScopeName[];
  /**
   * Grants that give any of the scopes throughout the region, sorted by id. Grants that give them again in parts of it are left
   * out.
   */
  readonly grants: readonly HeldGrant[];
}

/** In path order. Each scope at a namespace is in at most one region, and together the regions are exactly what is held. */
export function whatCan(
  policy: Policy,
  { identities, at }: { readonly identities: readonly Identity[]; readonly at: Instant },
): readonly HeldRegion[] {
  const prepared = compiledOf(policy);
  const principals = new Set(identities.flatMap((identity) => [...principalsOf(prepared, identity)]));
  // Other grants do not matter to these identities, so their namespaces do not become nodes.
  const paths = [...principals].flatMap((principal) =>
    Array.from(
      grantsOf(prepared, principal),
      (grant) => prepared.paths[prepared.tables.grants.namespace[grant] ?? 0] ?? ROOT,
    ),
  );
  const nodes = makeNodes(sortPaths(paths));
  const places = [{ from: 0, until: nodes.paths.length }];
  const holdings = heldAt(holdingsIn(makeRights(prepared, nodes), principals, places), at);
  const patches = foldRights({ nodes, places, sides: [holdings] }, 'each', ([held = NOTHING]) => held);
  const own = identities.flatMap((identity) => identityRow(prepared, identity) ?? []);
  const heldGrants = makeHeldGrants(prepared);
  return patches.toSorted(comparePatches).map((patch) => {
    const { region } = patch;
    const whole = carriers(nodes, holdings, patch).filter(
      (holding) => holding.row <= region.row && (region.extent === 'exact' || holding.inherit),
    );
    const rows = whole.map(({ grant }) => grant).sort((a, b) => a - b);
    const grants = heldGrants(own, rows);
    return { ...toRegion(nodes, region), scopes: scopeNames(patch.scopes), grants };
  });
}

/** The part of an identity that the policy does not know; such an identity holds nothing. `meant` is a known one that looks like it. */
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
    if (isProviderOf(prepared.identityRows, provider)) return { part: 'identity', meant: null };
    return { part: 'provider', meant: nearest(provider, prepared.identityRows.keys()) };
  }
  if (subjects.has(subject)) return null;
  const folded = subject.toLowerCase();
  const meant = [...subjects.keys()].find((known) => known.toLowerCase() === folded);
  return { part: 'identity', meant: meant === undefined ? null : formatIdentity({ provider, subject: meant }) };
}

// Recognizes a namespace that the policy does not mention. An answer about it is exact, but the question may contain a mistake.

/** Null if a grant names the namespace or one below it. `meant` is a known namespace with a similar name. */
export function unknownPlace(policy: Policy, path: NamespacePath): { readonly meant: string | null } | null {
  const prepared = preparedOf(policy);
  if (prepared === null || prepared.paths.includes(path)) return null;
  return { meant: nearest(path, prepared.paths) };
}
