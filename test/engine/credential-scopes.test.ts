// What a narrowed credential carries, with as many scopes as a policy may declare: they stand in two words of bits.
import { expect, it } from '@jest/globals';
import {
  decide,
  decideRaw,
  heldScopes,
  instantOf,
  type ScopeName,
  scopeSetOf,
  visibility,
  vocabularyOf,
} from '../../engine/index.js';
import { MANY, pathOf, policyOf } from './oracle/worlds.js';
import { load } from './prove/brute.js';

const { scopes } = vocabularyOf({ families: MANY });
const ADA = { provider: 'orcid', subject: 'ada' };
const AT = instantOf(0);
const PLACE = pathOf('/a');
const policy = load({
  ...policyOf(
    [],
    [
      {
        principal: { kind: 'identity', identity: ADA },
        namespace: PLACE,
        scopes: scopeSetOf(scopes),
        inherit: true,
        ...{ notBefore: null, expires: null, reason: null, place: null },
      },
    ],
  ),
  families: MANY,
});

it('is exactly its own scopes, wherever their bits stand', () => {
  expect(scopes.length).toBe(64);
  for (const carried of scopes) {
    const actor = { kind: 'request' as const, identities: [ADA], credentialScopes: scopeSetOf([carried]), namespaceRestrictions: null }; // prettier-ignore
    const allowed = (doors: (scope: ScopeName) => boolean): readonly ScopeName[] => scopes.filter(doors);
    const request = (scope: ScopeName) => ({ kind: 'access' as const, scope, context: PLACE, target: PLACE });
    expect(allowed((scope) => decide(policy, { actor, request: request(scope), at: AT }).decision === 'allow')).toEqual([carried]); // prettier-ignore
    const raw = { ...actor, credentialScopes: [carried] };
    expect(allowed((scope) => decideRaw(policy, { actor: raw, request: request(scope), at: AT }).decision === 'allow')).toEqual([carried]); // prettier-ignore
    const visible = (scope: ScopeName): boolean => {
      const [family = '', action = ''] = scope.split(':');
      const asked = { family, action, context: PLACE, reach: 'subtree' as const };
      return visibility(policy, { actor, request: asked, at: AT }).kind !== 'none';
    };
    expect(allowed(visible)).toEqual([carried]);
    expect(heldScopes(policy, { actor, namespace: PLACE, at: AT }).map(({ scope }) => scope)).toEqual([carried]);
  }
});
