// The policy of local execution (docs/meaning.md "Local mode"): no grant is needed. The relation of target and context
// and the limits of the credential still apply.
import { type Policy, makePolicy, UNRESTRICTED } from './policy.js';

/**
 * SHA-256 of the string `["bailiwick.unrestricted",1]`: the rule never changes, so its name never does. A test computes
 * it again.
 */
const DIGEST = 'sha256:61cd13cbcc25276921902c64d6c58c531dca382f9f0fae8aa11bd4ad2f479b98';

export function unrestrictedPolicy(): Policy {
  return makeUnrestricted([]);
}

/** The same rule, for the scopes of another policy: what no grant and nobody is needed for there. */
export function unrestrictedLike({ families }: Policy): Policy {
  return makeUnrestricted(families);
}

function makeUnrestricted(families: Policy['families']): Policy {
  const counts = { identities: 0, roles: 0, grants: 0, namespaces: 0 };
  const facts = {
    name: 'unrestricted',
    digest: DIGEST,
    decisions: DIGEST,
    format: 3,
    counts,
    families,
    providers: [],
    checks: null,
  };
  return makePolicy({ kind: 'unrestricted', ...facts }, UNRESTRICTED);
}
