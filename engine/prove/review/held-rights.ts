// Every right that anybody holds from an instant on, in the unit that a reviewer can decide: one identity, one grant, one stretch of
// time, and all the ways in which the identity holds the grant. Each cell that is held from then on is in exactly the rights of the
// grants that give it (docs/access-review.md "What a row is").
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { addTo, groupBy, remember } from '../../model/group.js';
import type { Identity } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import { isWithin, type NamespacePath } from '../../model/namespace.js';
import { statedRow } from '../../model/narrow-members.js';
import { compareNumbers, compareTexts } from '../../model/order.js';
import type { ScopeName } from '../../model/scope.js';
import { commonScopes, NO_SCOPES, scopeNames, type ScopeSet, scopeSetOf } from '../../model/scope-set.js';
import { type Piece, piecesOf, SOMETHING, unionOf } from '../../model/timeline.js';
import { type ChainLink, type CitedGrant, grantRefs, linkOf, narrowedLinks } from '../cells/held-grants.js';
import { type Holding, holdingsIn, makeRights, namedPaths, type NodeRights } from '../cells/holdings.js';
import { identityRow, principalsOfClass } from '../cells/identities.js';
import { edgesAbove, edgesOfMember, makeMembership } from '../cells/membership.js';
import { endOf, makeNodes, pathAt } from '../cells/nodes.js';
import { openOr } from '../cells/regions.js';
import { identityText } from '../../model/tables.js';

/** Which rights are selected. Null means all; an empty list means none. */
export interface RightsSelection {
  /** Rights that end at or before it are left out. */
  readonly at: Instant;
  readonly under: NamespacePath;
  readonly identities: readonly Identity[] | null;
  readonly scopes: readonly ScopeName[] | null;
}

/** One identity holds the scopes of one grant throughout a region and a stretch of time. */
export interface HeldRight {
  /** `provider:subject` */
  readonly identity: string;
  /** The region of the grant, as far as it is selected. */
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree';
  readonly scopes: readonly ScopeName[];
  /** Null means open. */
  readonly from: Instant | null;
  readonly until: Instant | null;
  /** `namespace` is where the grant is bound. */
  readonly grant: CitedGrant & { readonly namespace: NamespacePath };
  /**
   * The ways in which the identity holds the grant, shortest first: for each role that lists the identity, a shortest chain of
   * memberships to the role of the grant. An empty way means that the grant names the identity. Never empty.
   */
  readonly ways: readonly (readonly ChainLink[])[];
}

/** Sorted by identity, namespace, grant and time. Null if there are more than `most`. */
export function heldRights(policy: Policy, selection: RightsSelection, most: number): readonly HeldRight[] | null {
  const prepared = compiledOf(policy);
  const { tables, holders } = prepared;
  const rights = makeRights(prepared, makeNodes(namedPaths(prepared), [selection.under]));
  const ofClass = remember((holder: number) => classRights(rights, selection, holder));
  const waysOf = makeWays(prepared);
  const rows =
    selection.identities === null
      ? [...tables.identities.subject.keys()]
      : [...new Set(selection.identities.flatMap((identity) => identityRow(prepared, identity) ?? []))];
  const found: HeldRight[] = [];
  for (const row of rows) {
    const held = ofClass(holders.classOf[row] ?? -1);
    if (found.length + held.length > most) return null;
    const identity = identityText(tables, row);
    for (const { right, holdings } of held) found.push({ identity, ...right, ways: waysOf(row, holdings) });
  }
  const place = new Map(rights.nodes.paths.map((path, row) => [path, row]));
  const placeOf = ({ namespace }: HeldRight): number => place.get(namespace) ?? 0;
  return found.sort(
    (a, b) =>
      compareTexts(a.identity, b.identity) ||
      placeOf(a) - placeOf(b) ||
      compareTexts(a.grant.id, b.grant.id) ||
      compareNumbers(a.from ?? -Infinity, b.from ?? -Infinity),
  );
}

/** What is selected of the holdings of these principals, by node. */
export function selectedHoldings(
  rights: NodeRights,
  principals: Iterable<number>,
  { at, under, scopes }: Pick<RightsSelection, 'at' | 'under' | 'scopes'>,
): readonly Holding[] {
  const row = rights.nodes.rowOf.get(under) ?? 0;
  const places = [{ from: row, until: endOf(rights.nodes, row) }];
  const wanted = scopes === null ? null : scopeSetOf(scopes);
  return holdingsIn(rights, principals, places).flatMap((holding) => {
    const selected: ScopeSet = wanted === null ? holding.scopes : commonScopes(holding.scopes, wanted);
    const isLater = holding.until > at && holding.from < holding.until;
    return isLater && selected !== NO_SCOPES ? [{ ...holding, scopes: selected }] : [];
  });
}

interface ClassRight {
  readonly right: Omit<HeldRight, 'identity' | 'ways'>;
  readonly holdings: readonly Holding[];
}

/** The rights of a class of identities, which hold the same grants. */
function classRights(
  rights: NodeRights & { readonly policy: PreparedPolicy },
  selection: RightsSelection,
  holder: number,
): readonly ClassRight[] {
  const { policy, nodes } = rights;
  const holdings = selectedHoldings(rights, principalsOfClass(policy, holder), selection);
  const byGrant = groupBy(holdings, ({ grant }) => statedRow(policy.tables, grant));
  return [...byGrant].flatMap(([stated, alike]) => {
    const [first] = alike;
    const [grant] = grantRefs(policy.tables, [stated]);
    if (first === undefined || grant === undefined) return [];
    const bound = pathAt(nodes, first.row);
    const isInside = isWithin(bound, selection.under);
    const right = {
      namespace: isInside ? bound : selection.under,
      extent: first.inherit ? ('subtree' as const) : ('exact' as const),
      scopes: scopeNames(first.scopes),
      grant: { ...grant, namespace: bound },
    };
    // Windows of memberships that follow each other or overlap are one stretch.
    const pieces = piecesOf(unionOf(alike.map(({ from, until }) => ({ from, until, value: SOMETHING }))));
    return pieces.map((piece) => ({
      right: { ...right, from: openOr(piece.from), until: openOr(piece.until) },
      holdings: alike.filter((holding) => isDuring(holding, piece)),
    }));
  });
}

function isDuring(holding: Holding, { from, until }: Piece): boolean {
  return holding.from < until && from < holding.until;
}

type WaysOf = (identity: number, holdings: readonly Holding[]) => HeldRight['ways'];

function makeWays({ tables }: PreparedPolicy): WaysOf {
  const membership = makeMembership(tables);
  const { grants, members, roles } = tables;
  const edgesFrom = remember((role: number) => edgesAbove(membership, [role]));
  /** From a role to a principal; null if none leads there. */
  const chain = (role: number, principal: number): readonly ChainLink[] | null => {
    const edges = edgesFrom(role);
    const links: ChainLink[] = [];
    // The first edge to a role comes from the principal that was reached first, so no chain is shorter.
    for (let at = principal; at !== role;) {
      const [edge] = edges.get(at) ?? [];
      if (edge === undefined) return null;
      links.push(linkOf(tables, edge));
      at = members.member[edge] ?? role;
    }
    return links.reverse();
  };
  /** By principal: the edges of an identity from which it is reached. */
  const leadingOf = (own: number): ReadonlyMap<number, readonly number[]> => {
    const leading = new Map<number, number[]>();
    for (const edge of edgesOfMember(membership, own)) {
      const role = members.role[edge] ?? 0;
      addTo(leading, role, edge);
      for (const above of edgesFrom(role).keys()) if (above !== role) addTo(leading, above, edge);
    }
    return leading;
  };
  let last: { readonly own: number; readonly leading: ReadonlyMap<number, readonly number[]> } | null = null;
  return (identity, holdings) => {
    const own = roles.name.length + identity;
    // All rights of an identity are asked for one after another.
    if (last?.own !== own) last = { own, leading: leadingOf(own) };
    const { leading } = last;
    const ways = holdings.flatMap(({ grant }) => {
      const principal = grants.principal[grant] ?? 0;
      const end = narrowedLinks(tables, grant);
      if (principal === own) return [end];
      return (leading.get(principal) ?? []).flatMap((edge) => {
        const between = chain(members.role[edge] ?? 0, principal);
        return between === null ? [] : [[linkOf(tables, edge), ...between, ...end]];
      });
    });
    return ways.sort((a, b) => a.length - b.length);
  };
}
