// `separate` (docs/language.md "Guardrails"): scopes that no person may hold beside each other at or below a namespace, for
// every person, every node, and all time.
import { ALL_SCOPES } from '../../model/scope.js';
import { makeFold } from '../cells/fold.js';
import { type Cluster, clustersOf, type Concerned } from './grant-clusters.js';
import { regionUnder } from './never.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { separationRepair } from './separation-repair.js';
import { mapTimeline } from '../../model/timeline.js';
import { walkRights } from '../cells/walk.js';
import { carriers } from '../cells/regions.js';
import type { Scene } from './counted.js';
import type { Finding, Sighting, World } from './world.js';

export interface SeparateRule {
  /** Row of the node at and below which it counts. */
  readonly under: number;
  /** Scopes of which no two may be held in one cell unless one side has both. */
  readonly sides: readonly number[];
}

export function checkSeparate(scene: Scene, rule: SeparateRule): Finding {
  const { nodes } = scene;
  const broken = (held: number): number => heldOfSeveral(rule.sides, held);
  const breaks = Uint8Array.from({ length: ALL_SCOPES + 1 }, (_, scopes) => (broken(scopes) === 0 ? 0 : 1));
  const space = { nodes, under: rule.under, breaks };
  const sightings: Sighting[] = [];
  const clusters: Cluster[] = [];
  for (const cluster of clustersOf(space, concernedBy(scene, rule))) {
    const found = sightingsOf(scene, cluster, broken);
    if (found.length === 0) continue;
    clusters.push(cluster);
    for (const sighting of found) sightings.push(sighting);
  }
  return { sightings, repair: separationRepair(scene, rule.sides, clusters) };
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
function concernedBy({ policy, nodes, rights, counted }: Scene, { under, sides }: SeparateRule): Concerned {
  const { grants, roles, identities } = policy.tables;
  const scopes = sides.reduce((all, side) => all | side, 0);
  const principals = new Uint8Array(roles.name.length + identities.subject.length);
  const holdings: Holding[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(rights, grant);
    if ((holding.scopes & scopes) === 0 || holding.from >= holding.until) continue;
    if (regionUnder(nodes, holding, under) === null) continue;
    holdings.push(holding);
    principals[grants.principal[grant] ?? 0] = 1;
  }
  holdings.sort((a, b) => a.row - b.row || a.grant - b.grant);
  return {
    holdings,
    principals: Int32Array.from(holdings, (holding) => grants.principal[holding.grant] ?? 0),
    groups: counted.groupsNear(principals),
    identitiesOf: counted.reach,
  };
}

function sightingsOf(
  { nodes }: World,
  { holdings, rows, identities }: Cluster,
  broken: (held: number) => number,
): readonly Sighting[] {
  // Folds all scopes together, because a witness has to show both sides.
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
