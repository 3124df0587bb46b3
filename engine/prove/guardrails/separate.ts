// `separate` (design 3.4): scopes that no identity may hold beside each other at or below a namespace, for every identity,
// every node, and all time.
import { ALL_SCOPES } from '../../model/scope.js';
import { makeFold } from '../cells/fold.js';
import { type Cluster, clustersOf, type Concerned } from './grant-clusters.js';
import { regionUnder } from './never.js';
import { groupsNear } from '../cells/identity-groups.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { separationRepair } from './separation-repair.js';
import { mapTimeline } from '../cells/timeline.js';
import { walkRights } from '../cells/walk.js';
import { carriers } from '../cells/regions.js';
import type { Finding, Sighting, World } from './world.js';

export interface SeparateRule {
  /** Row of the node at and below which it counts. */
  readonly under: number;
  /** Scopes of which no two may be held in one cell unless one side has both. */
  readonly sides: readonly number[];
  /** 1 for identities that it leaves out. */
  readonly exempt: Uint8Array;
}

export function checkSeparate(world: World, rule: SeparateRule): Finding {
  const { nodes } = world;
  const broken = (held: number): number => heldOfSeveral(rule.sides, held);
  const breaks = Uint8Array.from({ length: ALL_SCOPES + 1 }, (_, scopes) => (broken(scopes) === 0 ? 0 : 1));
  const space = { nodes, under: rule.under, breaks };
  const sightings: Sighting[] = [];
  const clusters: Cluster[] = [];
  for (const cluster of clustersOf(space, concernedBy(world, rule))) {
    const found = sightingsOf(world, cluster, broken);
    if (found.length === 0) continue;
    clusters.push(cluster);
    for (const sighting of found) sightings.push(sighting);
  }
  return { sightings, repair: separationRepair(world, rule.sides, clusters) };
}

/** The held scopes of those sides that are held beside another side; a scope of two sides is held of both. */
function heldOfSeveral(sides: readonly number[], held: number): number {
  let touched = 0;
  let scopes = 0;
  for (const side of sides) {
    if ((side & held) === 0) continue;
    touched += 1;
    scopes |= side & held;
  }
  return touched < 2 ? 0 : scopes;
}

/** The grants that give a scope of some side where the rule counts, and who has them. */
function concernedBy(world: World, { under, sides, exempt }: SeparateRule): Concerned {
  const { grants, roles, identities } = world.policy.tables;
  const scopes = sides.reduce((all, side) => all | side, 0);
  const principals = new Uint8Array(roles.name.length + identities.subject.length);
  const holdings: Holding[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(world.rights, grant);
    if ((holding.scopes & scopes) === 0 || holding.from >= holding.until) continue;
    if (regionUnder(world, holding, under) === null) continue;
    holdings.push(holding);
    principals[grants.principal[grant] ?? 0] = 1;
  }
  holdings.sort((a, b) => a.row - b.row || a.grant - b.grant);
  const counts = (identity: number): boolean => exempt[identity] !== 1;
  // One list for all grants of a principal.
  const known = new Map<number, Int32Array>();
  return {
    holdings,
    principals: Int32Array.from(holdings, (holding) => grants.principal[holding.grant] ?? 0),
    groups: groupsNear(world.policy, { principals, counts }),
    identitiesOf: (principal) => {
      const found = known.get(principal) ?? world.reach(principal).filter(counts);
      known.set(principal, found);
      return found;
    },
  };
}

function sightingsOf(
  { nodes }: World,
  { holdings, rows, identities }: Cluster,
  broken: (held: number) => number,
): readonly Sighting[] {
  // Not scope by scope: a witness is to show both sides.
  const fold = makeFold(nodes, [ALL_SCOPES]);
  walkRights({ nodes, rows, sides: [holdings] }, (row, [at], [below]) => {
    if (at !== undefined && below !== undefined) fold.visit(row, mapTimeline(at, broken), mapTimeline(below, broken));
  });
  return fold.finish().map((patch) => {
    const { region, from, until, value } = patch;
    const grants = carriers(nodes, holdings, patch).map((holding) => holding.grant);
    return { identities, region, from, until, scopes: value, grants: grants.sort((a, b) => a - b) };
  });
}
