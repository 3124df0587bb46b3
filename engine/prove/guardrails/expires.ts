// `expires` (design 3.4): every grant that gives an identity of some providers anything has a beginning and an end, and no
// more than so much time between them.
import { type Holding, holdingOf } from '../cells/holdings.js';
import type { Finding, Sighting, World } from './world.js';

export function checkExpiry(
  world: World,
  rule: { readonly providers: readonly string[]; readonly withinMilliseconds: number },
): Finding {
  const { policy, rights } = world;
  const { tables } = policy;
  const providers = new Set(rule.providers);
  const concerned = Uint8Array.from(tables.identities.provider, (row) =>
    providers.has(tables.providers[row] ?? '') ? 1 : 0,
  );
  const reaching = principalsReaching(world, concerned);
  const sightings: Sighting[] = [];
  for (let grant = 0; grant < tables.grants.id.length; grant += 1) {
    const principal = tables.grants.principal[grant] ?? 0;
    const holding = holdingOf(rights, grant);
    if (reaching[principal] !== 1 || endsInTime(holding, rule.withinMilliseconds)) continue;
    const identities = world.reach(principal).filter((identity) => concerned[identity] === 1);
    const region = { row: holding.row, extent: holding.inherit ? 'subtree' : 'exact', except: [] } as const;
    sightings.push({
      identities,
      region,
      scopes: holding.scopes,
      from: holding.from,
      until: holding.until,
      grants: [grant],
    });
  }
  return { sightings, repair: sightings.flatMap((sighting) => sighting.grants) };
}

/** A grant that is never in force gives nothing; one that is open on either side never ends in time. */
function endsInTime({ from, until }: Holding, within: number): boolean {
  return !(from < until) || until - from <= within;
}

/** 1 for each principal with grants that one of these identities is or is in. */
function principalsReaching({ policy }: World, identities: Uint8Array): Uint8Array {
  const { tables, holders } = policy;
  const concerned = new Uint8Array(holders.count);
  holders.classOf.forEach((holder, identity) => {
    if (holder >= 0 && identities[identity] === 1) concerned[holder] = 1;
  });
  const reaching = new Uint8Array(tables.roles.name.length + tables.identities.subject.length);
  for (let holder = 0; holder < holders.count; holder += 1) {
    if (concerned[holder] !== 1) continue;
    for (const principal of holders.principals.subarray(holders.start[holder], holders.start[holder + 1]))
      reaching[principal] = 1;
  }
  return reaching;
}
