// `never` (design 3.4): scopes that no identity may hold at or below a namespace at any time.
import type { RowRegion } from '../cells/regions.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { endOf } from '../cells/nodes.js';
import type { Finding, Sighting, World } from './world.js';

export interface NeverRule {
  /** Row of the node at and below which it counts. */
  readonly under: number;
  readonly scopes: number;
  /** 1 for identities that it leaves out. */
  readonly exempt: Uint8Array;
}

/**
 * Each grant that gives a forbidden scope breaks the rule by itself, so it is a witness by itself, and the repair is all of
 * them.
 */
export function checkNever(world: World, rule: NeverRule): Finding {
  const { grants } = world.policy.tables;
  const counts = (identity: number): boolean => rule.exempt[identity] !== 1;
  const sightings: Sighting[] = [];
  // Those who hold by a principal are the same for each of its grants.
  const concerned = new Map<number, Int32Array>();
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    const holding = holdingOf(world.rights, grant);
    const { from, until, scopes } = holding;
    const region = regionUnder(world, holding, rule.under);
    if (region === null || (scopes & rule.scopes) === 0 || from >= until) continue;
    const principal = grants.principal[grant] ?? 0;
    const identities = concerned.get(principal) ?? world.reach(principal).filter(counts);
    concerned.set(principal, identities);
    if (identities.length === 0) continue;
    sightings.push({ identities, region, scopes: scopes & rule.scopes, from, until, grants: [grant] });
  }
  return { sightings, repair: sightings.flatMap((sighting) => sighting.grants) };
}

/** Where a grant counts at or below a namespace; null if nowhere. */
export function regionUnder({ nodes }: World, { row, inherit }: Holding, under: number): RowRegion | null {
  if (under <= row && row < endOf(nodes, under)) return { row, extent: inherit ? 'subtree' : 'exact', except: [] };
  const above = row < under && under < endOf(nodes, row);
  return above && inherit ? { row: under, extent: 'subtree', except: [] } : null;
}
