// Rules that a grant breaks by itself: each such grant is a witness by itself, and the repair is all of them.
import type { RowRegion } from '../cells/regions.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import type { Scene } from './counted.js';
import type { Finding, Sighting } from './world.js';

/** Where a grant breaks a rule for everybody who holds it, and by which scopes; null if it keeps the rule. */
export type JudgeGrant = (holding: Holding) => { readonly region: RowRegion; readonly scopes: number } | null;

/** Grants that are never in force give nothing, and are passed over. */
export function checkGrants({ policy, rights, counted }: Scene, judge: JudgeGrant): Finding {
  const { grants } = policy.tables;
  const sightings: Sighting[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(rights, grant);
    const { from, until } = holding;
    const broken = from < until ? judge(holding) : null;
    const identities = broken === null ? [] : counted.reach(grants.principal[grant] ?? 0);
    if (broken === null || identities.length === 0) continue;
    sightings.push({ identities, ...broken, from, until, grants: [grant] });
  }
  return { sightings, repair: sightings.flatMap((sighting) => sighting.grants) };
}
