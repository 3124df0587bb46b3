// What the tests of a policy say must be allowed, as needs: a policy that loses a right by which one of them passes would not pass its own
// tests.
import { formatIdentity } from '../../model/identity.js';
import { type Instant, instantOf } from '../../model/instant.js';
import type { PolicySet } from '../../model/policy-set.js';
import { knowsScope, vocabularyOf } from '../../model/vocabulary.js';
import { makeNeeds, type Need } from './needs.js';
import type { Rights } from './rights.js';

export function promisedBy(set: PolicySet, rights: Rights): readonly Need[] {
  const vocabulary = vocabularyOf(set);
  const needs = makeNeeds(rights);
  // One instant of each interval.
  const always: readonly Instant[] = [instantOf((rights.cuts[0] ?? 0) - 1), ...rights.cuts];
  for (const { identities, at, allow, sees } of set.tests) {
    const who = identities.map(formatIdentity);
    const seen = sees.flatMap(({ family, namespaces }) => {
      const scope = `${family}:read`;
      return knowsScope(vocabulary, scope) ? namespaces.map((namespace) => ({ scope, namespace })) : [];
    });
    for (const instant of at === null ? always : [at])
      for (const { scope, namespace } of [...allow, ...seen]) needs.addAccess(who, { scope, namespace, at: instant });
  }
  return needs.all();
}
