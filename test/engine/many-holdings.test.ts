// An actor who holds more than anybody usually does: each of many roles, by each of several identities.
import { expect, it } from '@jest/globals';
import { ALL_SCOPES, decide, instantOf, scopeSetOf, visibility } from '../../engine/index.js';
import { pathOf, policyOf } from './oracle/worlds.js';
import { load } from './prove/brute.js';

const ROLES = 3_000;
const IDENTITIES = Array.from({ length: 3 }, (_, index) => ({ provider: 'orcid', subject: `s${String(index)}` }));
const AT = instantOf(0);
const placeOf = (index: number): ReturnType<typeof pathOf> => pathOf(`/a/p${String(index)}`);

it('is given everything that any of the roles gives', () => {
  const roles = Array.from({ length: ROLES }, (_, index) => ({
    name: `role-${String(index)}`,
    description: null,
    members: [
      {
        kind: 'identity' as const,
        identity: IDENTITIES[index % 3] ?? { provider: 'orcid', subject: 's0' },
        place: null,
      },
    ],
    place: null,
  }));
  const grants = roles.map(({ name }, index) => ({
    principal: { kind: 'role' as const, role: name },
    namespace: placeOf(index),
    scopes: scopeSetOf(['resource:read']),
    inherit: true,
    ...{ notBefore: null, expires: null, reason: null, place: null },
  }));
  const policy = load(policyOf(roles, grants));
  const actor = {
    kind: 'request' as const,
    identities: IDENTITIES,
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  };
  const denied = roles.filter((_, index) => {
    const request = {
      kind: 'access' as const,
      scope: 'resource:read' as const,
      context: placeOf(index),
      target: placeOf(index),
    };
    return decide(policy, { actor, request, at: AT }).decision !== 'allow';
  });
  expect(denied).toEqual([]);
  const request = { family: 'resource' as const, context: pathOf('/a'), reach: 'subtree' as const };
  const visible = visibility(policy, { actor, request, at: AT });
  expect(visible).toMatchObject({ kind: 'some', exact: [] });
  expect(visible.kind === 'some' ? visible.subtrees.length : 0).toBe(ROLES);
});
