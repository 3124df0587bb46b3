// `expires` (docs/language.md "Guardrails"): every grant that gives an identity of some providers anything has a beginning
// and an end, and no more than so much time between them. It asks this of grants, so each identity is looked at by itself,
// whoever's it is.
import { GROUP_SUFFIX } from '../../model/identity.js';
import { checkGrants } from './by-grant.js';
import { countIdentities } from './counted.js';
import type { Scene } from './counted.js';
import type { Finding, World } from './world.js';

export interface ExpiresRule {
  readonly providers: readonly string[];
  readonly withinMilliseconds: number;
}

/** The identities of the providers, and the groups that they claim: a grant to a group is one to whoever is in it. */
export function sceneOfProviders(world: World, { providers }: ExpiresRule): Scene {
  const { tables } = world.policy;
  const named = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
  const concerned = Uint8Array.from(tables.identities.provider, (row) =>
    named.has(tables.providers[row] ?? '') ? 1 : 0,
  );
  return { ...world, counted: countIdentities(world, concerned) };
}

export function checkExpiry(scene: Scene, { withinMilliseconds }: ExpiresRule): Finding {
  return checkGrants(scene, ({ row, inherit, scopes, from, until }) =>
    // One that is open on either side never ends in time.
    until - from <= withinMilliseconds
      ? null
      : { region: { row, extent: inherit ? 'subtree' : 'exact', except: [] }, scopes },
  );
}
