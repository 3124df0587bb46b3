// `expires` (docs/language.md "Guardrails"): grants to identities of some providers, and to groups that these claim, must end. Each by
// itself must be short enough. Unless the rule says `each: true`, what an identity holds by grants that follow each other without a break
// must be, too.
import { commonScopes } from '../../model/scope-set.js';
import { groupBy } from '../../model/group.js';
import { mapTimeline, NOTHING, piecesOf, scopesIn, SOMETHING, type Timeline, unionOf } from '../../model/timeline.js';
import { eachScope, foldRights } from '../cells/fold.js';
import { carryingGrants, compareHoldings, type Holding, holdingOf, outermost } from '../cells/holdings.js';
import { groupsNear } from '../cells/identities.js';
import type { CellPatch } from '../cells/regions.js';
import { checkGrants } from './grant-rules.js';
import type { GuardrailFinding, RowNumbers, RuleOf, Scene, Sighting } from './scene.js';
import { countPrincipals } from '../../model/tables.js';

export function checkExpires(scene: Scene, { withinMilliseconds, each }: RuleOf<'expires'>): GuardrailFinding {
  const { notBefore, expires } = scene.policy.tables.grants;
  const alone = checkGrants(scene, (grant) => {
    if ((expires[grant] ?? 0) - (notBefore[grant] ?? 0) <= withinMilliseconds) return null;
    const { row, inherit, scopes } = holdingOf(scene, grant);
    return { region: { row, extent: inherit ? 'subtree' : 'exact', except: [] }, scopes };
  });
  if (each) return alone;
  const following = checkFollowing(scene, withinMilliseconds);
  return {
    sightings: [...alone.sightings, ...following.sightings],
    repair: [...alone.repair, ...following.repair].sort((a, b) => a - b),
  };
}

/** What identities that hold the same grants hold, if none of these grants is too long by itself. */
interface Series {
  readonly holdings: readonly Holding[];
  readonly people: RowNumbers;
}

function checkFollowing(scene: Scene, within: number): GuardrailFinding {
  const series = seriesOf(scene, within);
  const broken = series.map((one) => ({ ...one, patches: longIn(scene, one.holdings, within) }));
  const sightings = broken.flatMap(({ holdings, people, patches }) =>
    patches.map((patch): Sighting => ({ ...patch, people, grants: carryingGrants(scene.nodes, holdings, patch) })),
  );
  const candidates = new Set(sightings.flatMap(({ grants }) => [...grants]));
  return { sightings, repair: candidates.size === 0 ? [] : repairOf(scene, series, { candidates, within }) };
}

/** Only where grants follow each other anywhere. Grants that are too long by themselves have been reported. */
function seriesOf(scene: Scene, within: number): readonly Series[] {
  const { grants } = scene.policy.tables;
  const short: Holding[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const [from, until] = [grants.notBefore[grant] ?? 0, grants.expires[grant] ?? 0];
    if (from < until && until - from <= within) short.push(holdingOf(scene, grant));
  }
  const byPrincipal = groupBy(short.sort(compareHoldings), ({ grant }) => grants.principal[grant] ?? 0);
  const matters = new Uint8Array(countPrincipals(scene.policy.tables));
  for (const principal of byPrincipal.keys()) matters[principal] = 1;
  return groupsNear(scene.policy, matters, scene.counted.parties()).flatMap(({ principals, parties }) => {
    const holdings = principals.flatMap((principal) => byPrincipal.get(principal) ?? []).sort(compareHoldings);
    const all = unionOf(holdings.map(({ from, until }) => ({ from, until, value: SOMETHING })));
    return piecesOf(all).some((piece) => piece.until - piece.from > within) ? [{ holdings, people: parties }] : [];
  });
}

/** Where something is held for too long without a break. */
function longIn(scene: Scene, holdings: readonly Holding[], within: number): readonly CellPatch[] {
  scene.spend(holdings.length);
  const places = outermost(scene.nodes, holdings);
  return foldRights({ nodes: scene.nodes, places, sides: [holdings] }, 'each', ([held = NOTHING]) => {
    scene.spend(held.starts.length * eachScope(scopesIn(held)).length);
    return longOf(held, within);
  });
}

function longOf(held: Timeline, within: number): Timeline {
  const pieces = eachScope(scopesIn(held)).flatMap((scope) =>
    piecesOf(mapTimeline(held, (scopes) => commonScopes(scopes, scope))).filter(
      ({ from, until }) => until - from > within,
    ),
  );
  return pieces.length === 0 ? NOTHING : unionOf(pieces);
}

/** Takes away all grants that are part of it, then puts back each that makes nothing too long. */
function repairOf(
  scene: Scene,
  series: readonly Series[],
  { candidates, within }: { readonly candidates: ReadonlySet<number>; readonly within: number },
): readonly number[] {
  const kept = series.map(({ holdings }) => holdings.filter(({ grant }) => !candidates.has(grant)));
  const removed: number[] = [];
  for (const grant of [...candidates].sort((a, b) => a - b)) {
    const holding = holdingOf(scene, grant);
    const concerned = series.flatMap(({ holdings }, i) => (holdings.some((one) => one.grant === grant) ? [i] : []));
    const more = concerned.map((i) => [...(kept[i] ?? []), holding].sort(compareHoldings));
    if (more.some((holdings) => longIn(scene, holdings, within).length > 0)) removed.push(grant);
    else concerned.forEach((i, k) => (kept[i] = more[k] ?? []));
  }
  return removed;
}
