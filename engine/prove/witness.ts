// Witnesses of a violated guardrail as outsiders read them (interfaces.md, Witness), and the world they are found in: one
// policy over its own nodes and those that its guardrails speak of.
import { grantRefs } from '../evaluate/find-grants.js';
import type { PreparedPolicy } from '../evaluate/prepare.js';
import type { EngineLimits } from '../limits.js';
import type { GrantRef } from '../model/decision.js';
import { type Instant, instantOf } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import { compareTexts } from '../model/order.js';
import { sortedRows } from '../model/row-lists.js';
import { type ScopeName, SCOPES } from '../model/scope.js';
import type { Extent, RowRegion } from './cells.js';
import { makeReach, makeTexts } from './holders-near.js';
import { firstAt, type Holding, makeRights, namedPaths, type Rights } from './holdings.js';
import { type Membership, makeMembership } from './membership.js';
import { endOf, makeNodes, type Nodes, pathAt, rowsAbove } from './nodes.js';

/** Cells of a witness's identities, and the grants that give them. */
export interface WitnessCells {
  readonly namespace: NamespacePath;
  readonly extent: Extent;
  /** Subtrees that are left out; absent if there are none. */
  readonly except?: readonly NamespacePath[];
  /**
   * More namespaces where the same is so, each exactly; absent if there are none. Only where a guardrail that counts names
   * more than `limits.witnessNames`: then identities and grants are told once for all places that inherit them.
   */
  readonly alsoAt?: readonly NamespacePath[];
  readonly scopes: readonly ScopeName[];
  /** Null is open. */
  readonly from: Instant | null;
  readonly until: Instant | null;
  /** The grants that give the scopes there and then, sorted by id. */
  readonly grants: readonly GrantRef[];
}

/** Cells that break a guardrail, or for `atLeast` what there is of the cells that it demands. */
export interface Witness extends WitnessCells {
  /** `provider:subject`, sorted. */
  readonly identities: readonly string[];
  /**
   * More cells of the same identities, in the order of witnesses; absent if there are none. Only where another guardrail would
   * name more than `limits.witnessNames`: then identities are told once.
   */
  readonly also?: readonly WitnessCells[];
}

export type RowNumbers = readonly number[] | Int32Array;

/** A witness in rows and numbers. */
export interface Sighting {
  /** Rows, sorted. */
  readonly identities: RowNumbers;
  readonly region: RowRegion;
  /** More rows where the same is so, sorted. */
  readonly alsoAt?: readonly number[];
  readonly scopes: number;
  readonly from: number;
  readonly until: number;
  readonly grants: readonly number[];
  /** More of the same identities. */
  readonly also?: readonly Sighting[];
}

export interface Finding {
  readonly sightings: readonly Sighting[];
  /** Rows of grants, sorted. */
  readonly repair: readonly number[];
}

/** What every kind of guardrail is checked against. */
export interface World {
  readonly policy: PreparedPolicy;
  readonly limits: EngineLimits;
  readonly nodes: Nodes;
  readonly rights: Rights;
  readonly membership: Membership;
  readonly reach: (principal: number) => Int32Array;
  /** Identities as texts, sorted. */
  readonly texts: (identities: RowNumbers) => readonly string[];
}

/** `more` are namespaces that need a row of their own though no grant names them. */
export function makeWorld(policy: PreparedPolicy, more: Iterable<NamespacePath>, limits: EngineLimits): World {
  const nodes = makeNodes([...namedPaths(policy), ...more]);
  return {
    policy,
    limits,
    nodes,
    rights: makeRights(policy, nodes),
    membership: makeMembership(policy.tables),
    reach: makeReach(policy),
    texts: makeTexts(policy),
  };
}

/** Those of the holdings (sorted by node) that give any of the scopes somewhere in a region and a stretch of time. */
export function carriers(
  nodes: Nodes,
  holdings: readonly Holding[],
  place: { readonly region: RowRegion; readonly from: number; readonly until: number; readonly value: number },
): readonly Holding[] {
  const { row, extent, except } = place.region;
  const end = extent === 'exact' ? row + 1 : endOf(nodes, row);
  const found: Holding[] = [];
  const take = (holding: Holding): void => {
    const overlaps = holding.from < place.until && place.from < holding.until && holding.from < holding.until;
    if (overlaps && (holding.scopes & place.value) !== 0) found.push(holding);
  };
  for (const above of rowsAbove(nodes, row)) {
    for (let i = firstAt(holdings, above); holdings[i]?.row === above; i += 1) {
      const holding = holdings[i];
      if (holding?.inherit === true) take(holding);
    }
  }
  // What is left out is in path order, as the holdings are: both are passed over once, and what lies inside is skipped.
  let passed = 0;
  for (let i = firstAt(holdings, row); i < holdings.length;) {
    const holding = holdings[i];
    if (holding === undefined || holding.row >= end) break;
    let left = except[passed];
    for (; left !== undefined && endOf(nodes, left) <= holding.row; left = except[passed]) passed += 1;
    if (left !== undefined && left <= holding.row) {
      i = firstAt(holdings, endOf(nodes, left));
      continue;
    }
    if (holding.row !== row || extent !== 'below' || holding.inherit) take(holding);
    i += 1;
  }
  return found;
}

/** Joins more of what is alike; the numbers of two lists of identities are equal if the lists are. */
export type JoinSightings = (
  world: World,
  sightings: readonly Sighting[],
  numberOf: (identities: RowNumbers) => number,
) => readonly Sighting[];

/** Sightings that differ in their grants or in whom they name alone are joined; the order is that of the tree, then time. */
export function toWitnesses(
  world: World,
  sightings: readonly Sighting[],
  join: JoinSightings = (_, all) => all,
): readonly Witness[] {
  const byGrants = joinBy(
    sightings,
    ({ grants }) => grants.join(),
    (first, alike) => ({
      ...first,
      identities: unionOfRows(alike.map(({ identities }) => identities)),
    }),
  );
  const numberOf = makeNumbering();
  const byIdentities = joinBy(
    byGrants,
    ({ identities }) => String(numberOf(identities)),
    (first, alike) => ({
      ...first,
      grants: [...unionOfRows(alike.map(({ grants }) => grants))],
    }),
  );
  const texts = new Map<number, readonly string[]>();
  const textsOf = (identities: RowNumbers): readonly string[] => {
    const number = numberOf(identities);
    const known = texts.get(number) ?? world.texts(identities);
    texts.set(number, known);
    return known;
  };
  return join(world, byIdentities.toSorted(compareSightings), numberOf)
    .map((sighting) => ({ sighting, witness: toWitness(world, sighting, textsOf(sighting.identities)) }))
    .sort(
      (a, b) => compareSightings(a.sighting, b.sighting) || compareLists(a.witness.identities, b.witness.identities),
    )
    .map(({ witness }) => witness);
}

/** Sorted, without repetitions. */
export function unionOfRows(lists: readonly RowNumbers[]): Int32Array {
  const all = sortedRows(lists);
  return all.filter((row, i) => i === 0 || row !== all[i - 1]);
}

/** Equal numbers for lists of the same rows; a list that many sightings share is read once. */
function makeNumbering(): (identities: RowNumbers) => number {
  const byList = new Map<RowNumbers, number>();
  const byContent = new Map<string, number>();
  return (identities) => {
    const known = byList.get(identities);
    if (known !== undefined) return known;
    const content = identities.join();
    const number = byContent.get(content) ?? byContent.size;
    byContent.set(content, number);
    byList.set(identities, number);
    return number;
  };
}

/** Sightings of one place, one stretch of time and the same scopes that also agree in a key become one. */
function joinBy(
  sightings: readonly Sighting[],
  keyOf: (sighting: Sighting) => string,
  join: (first: Sighting, alike: readonly Sighting[]) => Sighting,
): readonly Sighting[] {
  const groups = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const { region, alsoAt = [], scopes, from, until } = sighting;
    const place = `${String(region.row)} ${region.extent} ${region.except.join()} ${alsoAt.join()} ${String(scopes)} ${String(from)} ${String(until)}`;
    const key = `${place} ${keyOf(sighting)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sighting]);
    else group.push(sighting);
  }
  return [...groups.values()].flatMap((alike) => {
    const [first] = alike;
    return first === undefined ? [] : [alike.length === 1 ? first : join(first, alike)];
  });
}

const EXTENT_ORDER: ReadonlyMap<Extent, number> = new Map<Extent, number>([
  ['subtree', 0],
  ['exact', 1],
  ['below', 2],
]);

function compareSightings(a: Sighting, b: Sighting): number {
  return (
    a.region.row - b.region.row ||
    compareExtents(a.region.extent, b.region.extent) ||
    compareNumbers(a.from, b.from) ||
    compareNumbers(a.until, b.until) ||
    a.scopes - b.scopes
  );
}

/** The subtree first, then the namespace alone, then what is below it. */
export function compareExtents(a: Extent, b: Extent): number {
  return (EXTENT_ORDER.get(a) ?? 0) - (EXTENT_ORDER.get(b) ?? 0);
}

/** Infinities included, whose difference is no number. */
export function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareLists(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const order = compareTexts(a[i] ?? '', b[i] ?? '');
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function toWitness(world: World, sighting: Sighting, identities: readonly string[]): Witness {
  const also = sighting.also?.map((more) => toCells(world, more));
  return { identities, ...toCells(world, sighting), ...(also === undefined ? {} : { also }) };
}

function toCells({ policy, nodes }: World, sighting: Sighting): WitnessCells {
  const { region, alsoAt, scopes, from, until, grants } = sighting;
  return {
    ...toRegion(nodes, region),
    ...(alsoAt === undefined ? {} : { alsoAt: alsoAt.map((row) => pathAt(nodes, row)) }),
    scopes: scopesOf(scopes),
    from: openOr(from),
    until: openOr(until),
    grants: grantRefs(policy.tables, grants),
  };
}

/** Scopes of bits, in the order of code points. */
export function scopesOf(bits: number): readonly ScopeName[] {
  return SCOPES.filter((_, bit) => (bits & (1 << bit)) !== 0).sort();
}

export function openOr(instant: number): Instant | null {
  return Number.isFinite(instant) ? instantOf(instant) : null;
}

/** A region as outsiders read it (interfaces.md, Cells). */
export interface Region {
  readonly namespace: NamespacePath;
  readonly extent: Extent;
  readonly except?: readonly NamespacePath[];
}

export function toRegion(nodes: Nodes, { row, extent, except }: RowRegion): Region {
  const region = { namespace: pathAt(nodes, row), extent };
  return except.length === 0 ? region : { ...region, except: except.map((left) => pathAt(nodes, left)) };
}
