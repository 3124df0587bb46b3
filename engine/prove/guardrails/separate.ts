// `separate` (docs/language.md "Guardrails"): scopes that no person may hold together at or below a namespace. It is checked for every
// person, every node, and all time.
import { groupBy, remember } from '../../model/group.js';
import {
  commonScopes,
  haveCommon,
  NO_SCOPES,
  type ScopeSet,
  scopesWithout,
  unionScopes,
  uniteScopes,
} from '../../model/scope-set.js';
import { countPrincipals } from '../../model/tables.js';
import { during, either, mapTimeline, NOTHING, scopesDuring, type Timeline } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import { carryingGrants, compareHoldings, type Holding, holdingOf } from '../cells/holdings.js';
import { groupsNear, type Party } from '../cells/identities.js';
import { type Cluster, clustersOf } from './grant-clusters.js';
import { regionUnder } from './grant-rules.js';
import { STEPS_OF } from './proof-budget.js';
import type { GuardrailFinding, RuleOf, Scene, Sighting, World } from './scene.js';
import { makeSpeech } from './speech.js';
import { heldTogether, mayJoin } from './together.js';
import { endOf, type Nodes, rowsAbove } from '../cells/nodes.js';

/** No two sides may be held together in one cell. */
export function checkSeparate(scene: Scene, { under, sides, ...parties }: RuleOf<'separate'>): GuardrailFinding {
  const { nodes, policy, counted } = scene;
  const { grants, identities } = policy.tables;
  const broken = remember((held: ScopeSet): ScopeSet => heldOfSeveral(sides, held));
  const breaks = (held: ScopeSet): boolean => broken(held) !== NO_SCOPES;
  const node = nodes.rowOf.get(under) ?? 0;
  const holdings = concernedBy(scene, { under: node, scopes: uniteScopes(sides) });
  const principals = Int32Array.from(holdings, (holding) => grants.principal[holding.grant] ?? 0);
  const given = new Array<ScopeSet>(countPrincipals(policy.tables)).fill(NO_SCOPES);
  holdings.forEach(({ scopes }, i) => {
    const principal = principals[i] ?? 0;
    given[principal] = unionScopes(given[principal] ?? NO_SCOPES, scopes);
  });
  scene.spend(STEPS_OF.grouping * (grants.id.length + identities.subject.length));
  // Whoever holds only one side anywhere breaks the rule at most together with somebody else.
  const mayMeet = mayJoin(scene) ? counted.parties() : partiesThatHold(scene, given, breaks);
  const matters = Uint8Array.from(given, (scopes) => (scopes === NO_SCOPES ? 0 : 1));
  const groups = groupsNear(policy, matters, mayMeet);
  const concerned = { nodes, under: node, breaks, holdings, principals, groups, reach: counted.reach };
  const clusters = clustersOf(concerned);
  const found = clusters.map((cluster) => ({ cluster, sightings: sightingsOf(scene, cluster, broken) }));
  const together = heldTogether(scene, concerned, { speech: makeSpeech(scene, parties), broken });
  return {
    sightings: [...found.flatMap(({ sightings }) => sightings), ...together.sightings],
    repair: separationRepair(scene, sides, [
      ...found.flatMap(({ cluster, sightings }) => (sightings.length === 0 ? [] : [cluster])),
      ...together.clusters,
    ]),
  };
}

/** The parties that hold scopes by which the rule may be broken, wherever and whenever. `given` has what each principal gives. */
function* partiesThatHold(
  { policy, counted }: Scene,
  given: readonly ScopeSet[],
  breaks: (held: ScopeSet) => boolean,
): Iterable<Party> {
  const { classOf, count, principals, start } = policy.holders;
  const held = new Array<ScopeSet>(count).fill(NO_SCOPES);
  for (let holder = 0; holder < count; holder += 1) {
    let scopes: ScopeSet = NO_SCOPES;
    for (let i = start[holder] ?? 0; i < (start[holder + 1] ?? 0); i += 1)
      scopes = unionScopes(scopes, given[principals[i] ?? -1] ?? NO_SCOPES);
    held[holder] = scopes;
  }
  for (const party of counted.parties()) {
    let scopes: ScopeSet = NO_SCOPES;
    for (let i = 0; i < party.identities.length; i += 1)
      scopes = unionScopes(scopes, held[classOf[party.identities[i] ?? -1] ?? -1] ?? NO_SCOPES);
    if (breaks(scopes)) yield party;
  }
}

/** The held scopes of all sides that are held together with another side. A scope that is in two sides counts for both. */
function heldOfSeveral(sides: readonly ScopeSet[], held: ScopeSet): ScopeSet {
  const touched = sides.filter((side) => haveCommon(side, held));
  return touched.length < 2 ? NO_SCOPES : uniteScopes(touched.map((side) => commonScopes(side, held)));
}

/** The grants that give any of the scopes where the rule counts. */
function concernedBy(
  scene: Scene,
  { under, scopes }: { readonly under: number; readonly scopes: ScopeSet },
): readonly Holding[] {
  const { grants } = scene.policy.tables;
  const concerned: Holding[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    if (!haveCommon(grants.scopes[grant] ?? NO_SCOPES, scopes)) continue;
    const holding = holdingOf(scene, grant);
    if (holding.from < holding.until && regionUnder(scene.nodes, holding, under) !== null) concerned.push(holding);
  }
  return concerned.sort(compareHoldings);
}

function sightingsOf(
  { nodes, spend }: Scene,
  { holdings, rows, people }: Cluster,
  broken: (held: ScopeSet) => ScopeSet,
): readonly Sighting[] {
  // Folds all scopes together, because a witness has to show both sides.
  spend(STEPS_OF.cluster);
  const patches = foldRights({ nodes, places: [rows], sides: [holdings] }, 'all', ([held = NOTHING]) => {
    spend(held.starts.length);
    return mapTimeline(held, broken);
  });
  return patches.map((patch) => ({ ...patch, people, grants: carryingGrants(nodes, holdings, patch) }));
}

// The repair of `separate`: an inclusion-minimal set of grants without which no identity holds scopes of two sides in one place at one
// time. Grants only conflict within a cluster, so the search stays within clusters.

/**
 * The sorted rows of the grants to remove. Grants that conflict with few others are kept, so that the set is small. If two grants
 * conflict only with each other, the one that more people have, or that counts in more places, is kept: the exception goes, not the
 * rule.
 */
function separationRepair(world: World, sides: readonly ScopeSet[], clusters: readonly Cluster[]): readonly number[] {
  const { nodes } = world;
  const candidates = [...candidatesOf(sides, clusters).values()].sort(
    (a, b) =>
      a.conflicts - b.conflicts ||
      peopleOf(world, b.holding) - peopleOf(world, a.holding) ||
      placesOf(nodes, b.holding) - placesOf(nodes, a.holding) ||
      a.holding.grant - b.holding.grant,
  );
  const kept = clusters.map(() => new Map<number, Kept>());
  const concerned = uniteScopes(sides);
  const removed: number[] = [];
  for (const { holding, side, places } of candidates) {
    const rows = rowsAbove(nodes, holding.row);
    const conflicts = (place: number): boolean => {
      const scopes = kept[place];
      return scopes !== undefined && haveCommon(scopesBeside(scopes, holding, rows), scopesWithout(concerned, side));
    };
    if (side === NO_SCOPES || places.some(conflicts)) removed.push(holding.grant);
    else for (const place of places) keep(kept[place], holding, rows);
  }
  return removed.sort((a, b) => a - b);
}

function peopleOf({ policy, reach }: World, { grant }: Holding): number {
  return reach(policy.tables.grants.principal[grant] ?? 0).length;
}

function placesOf(nodes: Nodes, { row, inherit }: Holding): number {
  return inherit ? endOf(nodes, row) - row : 0;
}

interface Candidate {
  readonly holding: Holding;
  /** The side whose scopes it gives; 0 if it breaks the rule by itself. */
  readonly side: ScopeSet;
  /** Indexes of the clusters that it is in. */
  readonly places: number[];
  /** How many grants of other sides it meets there. This is only an estimate, because time is ignored. */
  conflicts: number;
}

function candidatesOf(sides: readonly ScopeSet[], clusters: readonly Cluster[]): ReadonlyMap<number, Candidate> {
  const candidates = new Map<number, Candidate>();
  clusters.forEach(({ holdings }, place) => {
    const meeting = holdings.map((holding) => {
      const touched = sides.filter((side) => haveCommon(side, holding.scopes));
      const candidate = candidates.get(holding.grant) ?? {
        holding,
        side: touched.length === 1 ? (touched[0] ?? NO_SCOPES) : NO_SCOPES,
        places: [],
        conflicts: 0,
      };
      candidates.set(holding.grant, candidate);
      candidate.places.push(place);
      return candidate;
    });
    const bySide = groupBy(meeting, ({ side }) => side);
    for (const candidate of meeting) candidate.conflicts += meeting.length - (bySide.get(candidate.side)?.length ?? 0);
  });
  return candidates;
}

/** The scopes over time of the grants that are kept, for one node of a cluster. */
interface Kept {
  /** Of the kept grants bound there. */
  readonly at: Timeline;
  /** Of the kept grants bound there that inherit. */
  readonly passed: Timeline;
  /** Of the kept grants bound there or below. */
  readonly inside: Timeline;
}

const NONE: Kept = { at: NOTHING, passed: NOTHING, inside: NOTHING };

/** The scopes that kept grants give in any place where this grant would count, while it is in force. */
function scopesBeside(kept: ReadonlyMap<number, Kept>, holding: Holding, above: readonly number[]): ScopeSet {
  const here = kept.get(holding.row) ?? NONE;
  return uniteScopes([
    scopesDuring(holding.inherit ? here.inside : here.at, holding),
    ...above.map((row) => scopesDuring(kept.get(row)?.passed ?? NOTHING, holding)),
  ]);
}

function keep(kept: Map<number, Kept> | undefined, holding: Holding, above: readonly number[]): void {
  const given = during({ ...holding, value: holding.scopes });
  const { at, passed, inside } = kept?.get(holding.row) ?? NONE;
  kept?.set(holding.row, {
    at: either(at, given),
    passed: holding.inherit ? either(passed, given) : passed,
    inside: either(inside, given),
  });
  for (const row of above) {
    const known = kept?.get(row) ?? NONE;
    kept?.set(row, { ...known, inside: either(known.inside, given) });
  }
}
