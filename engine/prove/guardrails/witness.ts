// Witnesses of a violated guardrail as reports show them. Similar sightings are joined. Names are listed only once where a report
// would otherwise grow with people times places.
import { groupBy, remember } from '../../model/group.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareLists } from '../../model/order.js';
import { identityText } from '../../model/tables.js';
import { type CitedGrant, type CitedRole, grantRefsWithRole } from '../cells/held-grants.js';
import { makeOrder } from '../cells/identities.js';
import { pathAt } from '../cells/nodes.js';
import { comparePatches, type Region, type ScopesThen, toRegion, toScopesThen } from '../cells/regions.js';
import { STEPS_OF } from './proof-budget.js';
import { joinSightings, makeInterning, type RowNumbers, type Scene, type Sighting, type World } from './scene.js';
import { makeBringers, type WitnessPerson } from './witness-people.js';

/** With the role that the grant is for; absent if the grant names an identity. */
export type WitnessGrant = CitedGrant & Partial<CitedRole>;

/** Cells of a witness's identities, and the grants that give them. */
export interface WitnessCells extends Region, ScopesThen {
  /**
   * More namespaces where the same holds, with the same extent. Absent if there are none. Used only if a counting
   * guardrail would name more than `limits.witnessNames`: identities and grants are then listed once for all places that inherit them.
   */
  readonly alsoAt?: readonly NamespacePath[];
  /** The grants that give the scopes there and then, sorted by id. */
  readonly grants: readonly WitnessGrant[];
}

/** Cells that break a guardrail. For `atLeast`, those of the demanded cells that somebody has. */
export interface Witness extends WitnessCells {
  /** `provider:subject`, sorted. Of a person only the identities that hold some of these cells. */
  readonly identities: readonly string[];
  /**
   * What an actor with one of these identities carries besides: groups that it may be in, or another identity of the person. Absent if
   * the identity alone does it.
   */
  readonly beside?: readonly string[];
  /** Those that have a name in `people`; absent if there are none. */
  readonly people?: readonly WitnessPerson[];
  /**
   * More cells of the same identities, in the order of witnesses. Absent if there are none. Used only if a guardrail that does not
   * count would name more than `limits.witnessNames`: identities are then listed once.
   */
  readonly also?: readonly WitnessCells[];
}

/** Whether the sightings already name people once for all places, or separately for each place. */
type Naming = 'once' | 'place by place';

/** Joins sightings that differ only in their grants or only in their people. Witnesses are in the order of the tree, then time. */
export function toWitnesses(scene: Scene, sightings: readonly Sighting[], naming: Naming): readonly Witness[] {
  const { policy } = scene;
  for (const { people, grants, alsoAt = [] } of sightings)
    scene.spend(STEPS_OF.witness + STEPS_OF.named * (people.length + grants.length + alsoAt.length));
  const same = makeInterning();
  const complete = sightings.flatMap((sighting) => withBeside(scene, sighting));
  const byGrants = joinSightings(complete, ({ grants }) => grants.join());
  const interned = byGrants.map((sighting) => ({ ...sighting, people: same(sighting.people) }));
  const byPeople = joinSightings(interned, ({ people }) => people).toSorted(comparePatches);
  const joined = naming === 'place by place' ? joinPeople(scene, byPeople) : byPeople;
  const bringers = makeBringers(scene, joined);
  const named = joined.map((sighting) => ({ sighting, rows: same(bringers.identitiesOf(sighting)) }));
  const order = makeOrder(
    { count: policy.tables.identities.subject.length, textOf: (identity) => identityText(policy.tables, identity) },
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
        ...(sighting.beside === undefined || sighting.beside.length === 0 ? {} : { beside: sighting.beside }),
        ...(people.length === 0 ? {} : { people }),
        ...toCells(scene, sighting),
        ...(sighting.also === undefined ? {} : { also: sighting.also.map((more) => toCells(scene, more)) }),
      };
    });
}

/** The sighting, once for each group that people must be in for the rule to speak of them. */
function withBeside({ counted }: Scene, sighting: Sighting): readonly Sighting[] {
  const { beside } = counted;
  if (beside === null || sighting.beside !== undefined || sighting.people.length === 0) return [sighting];
  const by = groupBy(sighting.people, (person) => beside(person).join());
  return [...by.values()].map((people) => ({ ...sighting, people, beside: beside(people[0] ?? -1) }));
}

function toCells({ policy: { tables }, nodes }: World, sighting: Sighting): WitnessCells {
  const { region, alsoAt, grants } = sighting;
  return {
    ...toRegion(nodes, region),
    ...(alsoAt === undefined ? {} : { alsoAt: alsoAt.map((row) => pathAt(nodes, row)) }),
    ...toScopesThen(sighting),
    grants: grantRefsWithRole(tables, grants),
  };
}

/**
 * If all sightings together would name more than `limits.witnessNames` grants and people, joins them to one for each set of people,
 * with the others in `also`. Equal sets must be the same object.
 */
function joinPeople({ limits }: World, sightings: readonly Sighting[]): readonly Sighting[] {
  const names = sightings.reduce((sum, { people, grants }) => sum + people.length + grants.length, 0);
  if (names <= limits.witnessNames) return sightings;
  const alike = [...groupBy(sightings, ({ beside = [] }) => beside.join()).values()];
  return alike
    .flatMap((those) => [...groupBy(those, ({ people }) => people).values()])
    .flatMap(([first, ...also]) => (first === undefined ? [] : also.length === 0 ? [first] : [{ ...first, also }]));
}
