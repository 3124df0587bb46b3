// `separate` (docs/language.md "Guardrails"): scopes that no person may hold together at or below a namespace. It is checked for every
// person, every node, and all time.
import { remember } from '../../model/group.js';
import { commonScopes, haveCommon, NO_SCOPES, type ScopeSet, uniteScopes } from '../../model/scope-set.js';
import { countPrincipals } from '../../model/tables.js';
import { mapTimeline, NOTHING } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import { carryingGrants, compareHoldings, type Holding, holdingOf } from '../cells/holdings.js';
import { groupsNear } from '../cells/identities.js';
import { type Cluster, clustersOf } from './grant-clusters.js';
import { regionUnder } from './grant-rules.js';
import { STEPS_OF } from './proof-budget.js';
import type { Finding, RuleOf, Scene, Sighting } from './scene.js';
import { separationRepair } from './separation-repair.js';
import { makeSpeech } from './speech.js';
import { heldTogether } from './together.js';

/** No two sides may be held together in one cell. */
export function checkSeparate(scene: Scene, { under, sides, ...parties }: RuleOf<'separate'>): Finding {
  const { nodes, policy, counted } = scene;
  const { grants, identities } = policy.tables;
  const broken = remember((held: ScopeSet): ScopeSet => heldOfSeveral(sides, held));
  const breaks = (held: ScopeSet): boolean => broken(held) !== NO_SCOPES;
  const node = nodes.rowOf.get(under) ?? 0;
  const holdings = concernedBy(scene, { under: node, scopes: uniteScopes(sides) });
  const principals = Int32Array.from(holdings, (holding) => grants.principal[holding.grant] ?? 0);
  const matters = new Uint8Array(countPrincipals(policy.tables));
  for (const principal of principals) matters[principal] = 1;
  scene.spend(STEPS_OF.grouping * (grants.id.length + identities.subject.length));
  const groups = groupsNear(policy, matters, counted.parties());
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
  return [...scene.policy.tables.grants.id.keys()]
    .filter((grant) => haveCommon(scene.policy.tables.grants.scopes[grant] ?? NO_SCOPES, scopes))
    .map((grant) => holdingOf(scene, grant))
    .filter((holding) => holding.from < holding.until && regionUnder(scene.nodes, holding, under) !== null)
    .sort(compareHoldings);
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
