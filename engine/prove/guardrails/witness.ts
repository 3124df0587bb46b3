// Witnesses of a violated guardrail as outsiders read them: what is alike is joined, and names are
// told once where a report would else grow with people times places.
import { grantRefs } from '../cells/grant-refs.js';
import type { GrantRef } from '../../model/decision.js';
import type { Instant } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareNumbers, compareLists } from '../../model/order.js';
import { unionOfRows } from '../../model/row-lists.js';
import type { ScopeName } from '../../model/scope.js';
import { compareExtents, type Extent, openOr, scopesOf, toRegion } from '../cells/regions.js';
import { pathAt } from '../cells/nodes.js';
import type { Scene } from './counted.js';
import type { RowNumbers, Sighting, World } from './world.js';
import { makeBringers, type WitnessPerson } from './witness-people.js';

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
  /** `provider:subject`, sorted; of a person those that bring what the witness is about. */
  readonly identities: readonly string[];
  /** Those of them who have a name in `people`; absent if there are none. */
  readonly people?: readonly WitnessPerson[];
  /**
   * More cells of the same identities, in the order of witnesses; absent if there are none. Only where another guardrail would
   * name more than `limits.witnessNames`: then identities are told once.
   */
  readonly also?: readonly WitnessCells[];
}

/** Joins more of what is alike; the numbers of two lists of identities are equal if the lists are. */
export type JoinSightings = (
  world: World,
  sightings: readonly Sighting[],
  numberOf: (identities: RowNumbers) => number,
) => readonly Sighting[];

/** Sightings that differ in their grants or in whom they name alone are joined; the order is that of the tree, then time. */
export function toWitnesses(
  scene: Scene,
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
    const known = texts.get(number) ?? scene.texts(identities);
    texts.set(number, known);
    return known;
  };
  const joined = join(scene, byIdentities.toSorted(compareSightings), numberOf);
  const bringers = makeBringers(scene, joined);
  return joined
    .map((sighting) => ({
      sighting,
      witness: toWitness(scene, sighting, {
        identities: textsOf(bringers.identitiesOf(sighting)),
        people: bringers.peopleOf(sighting),
      }),
    }))
    .sort(
      (a, b) => compareSightings(a.sighting, b.sighting) || compareLists(a.witness.identities, b.witness.identities),
    )
    .map(({ witness }) => witness);
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

function compareSightings(a: Sighting, b: Sighting): number {
  return (
    a.region.row - b.region.row ||
    compareExtents(a.region.extent, b.region.extent) ||
    compareNumbers(a.from, b.from) ||
    compareNumbers(a.until, b.until) ||
    a.scopes - b.scopes
  );
}

function toWitness(
  world: World,
  sighting: Sighting,
  { identities, people }: { readonly identities: readonly string[]; readonly people: readonly WitnessPerson[] },
): Witness {
  const also = sighting.also?.map((more) => toCells(world, more));
  return {
    identities,
    ...(people.length === 0 ? {} : { people }),
    ...toCells(world, sighting),
    ...(also === undefined ? {} : { also }),
  };
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

/**
 * One sighting for each set of identities, with all others of theirs in `also`, if each by itself would name more than
 * `limits.witnessNames` grants and identities. `numberOf` is equal for equal identities.
 */
export function joinIdentities(
  { limits }: World,
  sightings: readonly Sighting[],
  numberOf: (identities: RowNumbers) => number,
): readonly Sighting[] {
  const names = sightings.reduce((sum, { identities, grants }) => sum + identities.length + grants.length, 0);
  if (names <= limits.witnessNames) return sightings;
  const groups = new Map<number, Sighting[]>();
  for (const sighting of sightings) {
    const number = numberOf(sighting.identities);
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [sighting]);
    else group.push(sighting);
  }
  return [...groups.values()].flatMap(([first, ...also]) =>
    first === undefined ? [] : also.length === 0 ? [first] : [{ ...first, also }],
  );
}
