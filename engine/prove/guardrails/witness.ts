// Witnesses of a violated guardrail as outsiders read them: what is alike is joined, and names are
// told once where a report would else grow with people times places.
import type { GrantRef } from '../../model/decision.js';
import { groupBy, remember } from '../../model/group.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareLists } from '../../model/order.js';
import { grantRefs } from '../cells/held-grants.js';
import { identityText, makeOrder } from '../cells/identities.js';
import { pathAt } from '../cells/nodes.js';
import { comparePatches, type Region, type ScopesThen, toRegion, toScopesThen } from '../cells/regions.js';
import { joinSightings, makeInterning, type RowNumbers, type Scene, type Sighting, type World } from './scene.js';
import { makeBringers, type WitnessPerson } from './witness-people.js';

/** Cells of a witness's identities, and the grants that give them. */
export interface WitnessCells extends Region, ScopesThen {
  /**
   * More namespaces where the same is so, each exactly; absent if there are none. Only where a guardrail that counts names
   * more than `limits.witnessNames`: then identities and grants are told once for all places that inherit them.
   */
  readonly alsoAt?: readonly NamespacePath[];
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

/** Whether people are named once already, however many places there are, or place by place. */
type Naming = 'once' | 'place by place';

/** Sightings that differ in their grants or in whom they name alone are joined; the order is that of the tree, then time. */
export function toWitnesses(scene: Scene, sightings: readonly Sighting[], naming: Naming): readonly Witness[] {
  const { policy } = scene;
  const same = makeInterning();
  const byGrants = joinSightings(sightings, ({ grants }) => grants.join());
  const interned = byGrants.map((sighting) => ({ ...sighting, people: same(sighting.people) }));
  const byPeople = joinSightings(interned, ({ people }) => people).toSorted(comparePatches);
  const joined = naming === 'place by place' ? joinPeople(scene, byPeople) : byPeople;
  const bringers = makeBringers(scene, joined);
  const named = joined.map((sighting) => ({ sighting, rows: same(bringers.identitiesOf(sighting)) }));
  const order = makeOrder(
    { count: policy.tables.identities.subject.length, textOf: (identity) => identityText(policy, identity) },
    named.map(({ rows }) => rows),
  );
  const textsOf = remember((rows: RowNumbers) => order(rows).map(({ text }) => text));
  return named
    .map(({ sighting, rows }) => ({ sighting, identities: textsOf(rows) }))
    .sort((a, b) => comparePatches(a.sighting, b.sighting) || compareLists(a.identities, b.identities))
    .map(({ sighting, identities }) => {
      const people = bringers.peopleOf(sighting);
      return {
        identities,
        ...(people.length === 0 ? {} : { people }),
        ...toCells(scene, sighting),
        ...(sighting.also === undefined ? {} : { also: sighting.also.map((more) => toCells(scene, more)) }),
      };
    });
}

function toCells({ policy, nodes }: World, sighting: Sighting): WitnessCells {
  const { region, alsoAt, grants } = sighting;
  return {
    ...toRegion(nodes, region),
    ...(alsoAt === undefined ? {} : { alsoAt: alsoAt.map((row) => pathAt(nodes, row)) }),
    ...toScopesThen(sighting),
    grants: grantRefs(policy.tables, grants),
  };
}

/**
 * One sighting for each set of people, with all others of theirs in `also`, if each by itself would name more than
 * `limits.witnessNames` grants and people. Equal sets must be the same object.
 */
function joinPeople({ limits }: World, sightings: readonly Sighting[]): readonly Sighting[] {
  const names = sightings.reduce((sum, { people, grants }) => sum + people.length + grants.length, 0);
  if (names <= limits.witnessNames) return sightings;
  return [...groupBy(sightings, ({ people }) => people).values()].flatMap(([first, ...also]) =>
    first === undefined ? [] : also.length === 0 ? [first] : [{ ...first, also }],
  );
}
