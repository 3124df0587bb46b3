// Whether `to` or `except` of a guardrail names an identity: directly, through a role that it is in (directly or nested), or through its
// provider.
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../../model/identity.js';
import type { Audience } from '../../model/policy-set.js';
import { identityRow } from '../cells/identities.js';
import { withMembersBelow } from '../cells/membership.js';
import { STEPS_OF } from './proof-budget.js';
import type { World } from './scene.js';

interface Named {
  readonly row: (identity: number) => boolean;
  /** For identities that have no row. */
  readonly identity: (identity: Identity) => boolean;
}

/**
 * `ever`: somebody who is in a role for some time counts as being in it. `always`: nobody does whose membership has a window. A rule
 * speaks of whoever is ever in a role that `to` names, and leaves out whoever always is in one that `except` names.
 */
export function makeNamed(
  { policy, membership, everMembership, roleRows, spend }: World,
  { providers, roles, identities }: Audience,
  counts: 'ever' | 'always',
): Named {
  const { tables } = policy;
  const firstIdentity = tables.roles.name.length;
  // Somebody with a group of a provider has signed in there.
  const from = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
  const isFrom = tables.providers.map((provider) => (from.has(provider) ? 1 : 0));
  const byRow = new Uint8Array(tables.identities.provider.map((row) => isFrom[row] ?? 0));
  const rows = roles.flatMap((role) => roleRows.get(role) ?? []);
  const named = withMembersBelow(counts === 'ever' ? everMembership : membership, rows);
  spend(STEPS_OF.member * named.size);
  for (const principal of named) if (principal >= firstIdentity) byRow[principal - firstIdentity] = 1;
  const texts = new Set(identities.map(formatIdentity));
  for (const identity of identities) {
    const row = identityRow(policy, identity);
    if (row !== undefined) byRow[row] = 1;
  }
  return {
    row: (identity) => byRow[identity] === 1,
    identity: (identity) => from.has(identity.provider) || texts.has(formatIdentity(identity)),
  };
}
