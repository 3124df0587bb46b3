// What nobody holds alone, and somebody holds together with a group: the rest of `separate` (docs/meaning.md "Actors"). Two identities
// are enough to hold two sides, so every actor that breaks the rule has a pair that does. Only pairs whose grants meet are examined.
import { addTo, groupBy } from '../../model/group.js';
import { sortTexts } from '../../model/order.js';
import { firstFrom } from '../../model/row-lists.js';
import { NO_SCOPES, type ScopeSet, scopesWithout, unionScopes, uniteScopes } from '../../model/scope-set.js';
import { combine, isNothing, mapTimeline, NOTHING } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import { carryingGrants, type Holding, outermost, type RowRange } from '../cells/holdings.js';
import { type HolderClass } from '../cells/identities.js';
import { rowsAbove } from '../cells/nodes.js';
import type { CellPatch } from '../cells/regions.js';
import type { Cluster, Concerned } from './grant-clusters.js';
import { humanOf } from './counted.js';
import { STEPS_OF } from './proof-budget.js';
import type { Scene, Sighting, World } from './scene.js';
import type { Beside, Speech } from './speech.js';
import { identityText } from '../../model/tables.js';

export interface Together {
  readonly sightings: readonly Sighting[];
  /** The pairs that hold two sides somewhere, and be it that one of them alone does. */
  readonly clusters: readonly Cluster[];
}

interface Pair {
  readonly person: number;
  readonly beside: Beside;
}

export function heldTogether(
  scene: Scene,
  concerned: Concerned,
  { speech, broken }: { readonly speech: Speech; readonly broken: (held: ScopeSet) => ScopeSet },
): Together {
  const { nodes, people, spend } = scene;
  const { groups, breaks } = concerned;
  if (!mayJoin(scene)) return { sightings: [], clusters: [] };
  const isJoiner = (party: number): boolean =>
    people.isGroup(party) || people.ofIdentity.get(party)?.own.some(scene.actors.isListed) === true;
  const near = makeNear(concerned);
  const sightings: Sighting[] = [];
  const clusters: Cluster[] = [];
  const pairOf = makePairs(scene, speech);
  groups.forEach((joining, at) => {
    const joiners = joining.parties.filter(isJoiner);
    if (joiners.length === 0) return;
    const { places, own, partners } = near(joining);
    for (const [other, positions] of partners) {
      const group = groups[other];
      // Of two groups of joiners, each pair is met from both sides.
      if (group === undefined || other === at) continue;
      spend(STEPS_OF.meeting + own.length + positions.length);
      const held = uniteScopes(
        [...own, ...positions].map((position) => concerned.holdings[position]?.scopes ?? NO_SCOPES),
      );
      if (!breaks(held)) continue;
      const sides = [holdingsAt(concerned, positions), holdingsAt(concerned, own)];
      const { patches, isBroken } = meet({ nodes, places, sides }, { broken, spend });
      if (!isBroken) continue;
      const pairs = joiners.flatMap((joiner) => {
        spend(group.parties.length * STEPS_OF.pair);
        return group.parties.flatMap((party) =>
          isJoiner(party) && party > joiner ? [] : (pairOf(party, joiner) ?? []),
        );
      });
      if (pairs.length === 0) continue;
      const all = holdingsAt(
        concerned,
        [...new Set([...own, ...positions])].sort((a, b) => a - b),
      );
      clusters.push({ holdings: all, rows: places[0] ?? { from: 0, until: 0 }, people: [...group.parties] });
      for (const alike of groupBy(pairs, ({ beside }) => beside.join()).values()) {
        const those = [...new Set(alike.map(({ person }) => person))].sort((a, b) => a - b);
        for (const patch of patches) {
          const beside = alike[0]?.beside ?? [];
          sightings.push({ ...patch, people: those, beside, grants: carryingGrants(nodes, all, patch) });
        }
      }
    }
  });
  return { sightings, clusters };
}

/** Whether there are any groups, or people of whose identities some actor has only a part. */
export function mayJoin({ people, actors }: World): boolean {
  return people.groupsOf.size > 0 || people.named.some(({ own }) => own.some(actors.isListed));
}

/** The actor that carries both, if the rule speaks of one. */
function makePairs(scene: Scene, speech: Speech): (party: number, joiner: number) => Pair | null {
  const { people, counted, policy } = scene;
  const pair = (person: number, other: number, more: Beside | null): Pair | null =>
    more === null ? null : { person, beside: sortTexts([identityText(policy.tables, other), ...more]) };
  return (party, joiner) => {
    if (people.isGroup(party) && people.isGroup(joiner))
      return pair(party, joiner, speech.anyoneBeside([party, joiner]));
    const [own, other] = people.isGroup(party) ? [joiner, party] : [party, joiner];
    const human = humanOf(scene, own);
    if (!people.isGroup(other) && human !== humanOf(scene, other)) return null;
    return pair(own, other, speech.beside(human, [...counted.identitiesOf(own), other]));
  };
}

function holdingsAt({ holdings }: Concerned, positions: ArrayLike<number>): readonly Holding[] {
  return Array.from(positions, (position) => holdings[position]).filter((holding) => holding !== undefined);
}

/** Where both hold together what neither does alone, and whether they hold it at all. */
function meet(
  { nodes, places, sides }: Parameters<typeof foldRights>[0],
  { broken, spend }: { readonly broken: (held: ScopeSet) => ScopeSet; readonly spend: Scene['spend'] },
): { readonly patches: readonly CellPatch[]; readonly isBroken: boolean } {
  let isBroken = false;
  const patches = foldRights({ nodes, places, sides }, 'all', ([one = NOTHING, other = NOTHING]) => {
    spend(one.starts.length + other.starts.length);
    isBroken ||= !isNothing(mapTimeline(combine(one, other, unionScopes), broken));
    return combine(one, other, (a, b) => scopesWithout(broken(unionScopes(a, b)), unionScopes(broken(a), broken(b))));
  });
  return { patches, isBroken };
}

interface Near {
  /** Where the grants of the group count, and the rule too. */
  readonly places: readonly RowRange[];
  /** Positions of the group's own holdings. */
  readonly own: readonly number[];
  /** By position in the groups, those that hold something in these places: positions of holdings, sorted. */
  readonly partners: ReadonlyMap<number, readonly number[]>;
}

/** Finds who holds something where a group does. */
function makeNear({ nodes, under, holdings, principals, groups }: Concerned): (group: HolderClass) => Near {
  const rowAt = Int32Array.from(holdings, ({ row }) => row);
  const firstAt = (row: number): number => firstFrom(rowAt.length, (i) => (rowAt[i] ?? Infinity) >= row);
  const byPrincipal = groupBy(holdings.keys(), (position) => principals[position] ?? 0);
  const groupsOf = new Map<number, number[]>();
  groups.forEach(({ principals: those }, at) => {
    for (const principal of those) addTo(groupsOf, principal, at);
  });
  return (group) => {
    const own = [...new Set(group.principals.flatMap((principal) => byPrincipal.get(principal) ?? []))].sort(
      (a, b) => a - b,
    );
    const places = outermost(
      nodes,
      holdingsOf(own).map((holding) => ({ ...holding, row: Math.max(holding.row, under) })),
    );
    const found = new Set<number>();
    for (const { from, until } of places) {
      for (let i = firstAt(from); i < firstAt(until); i += 1) found.add(i);
      for (const row of rowsAbove(nodes, from))
        for (let i = firstAt(row); i < firstAt(row + 1); i += 1) if (holdings[i]?.inherit === true) found.add(i);
    }
    const partners = new Map<number, number[]>();
    for (const position of [...found].sort((a, b) => a - b))
      for (const other of groupsOf.get(principals[position] ?? -1) ?? []) addTo(partners, other, position);
    return { places, own, partners };
  };
  function holdingsOf(positions: readonly number[]): readonly Holding[] {
    return positions.flatMap((position) => holdings[position] ?? []);
  }
}
