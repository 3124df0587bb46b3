// Requests to explain and small policies to explain them by, shared by the tests of answers and of edits.
import fc from 'fast-check';
import {
  ALL_SCOPES,
  decideRaw,
  type Identity,
  type Instant,
  scopeNames,
  type ScopeSet,
} from '../../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import type { ExplainRequest } from '../../../engine/prove/explain/explain.js';
import { anyInstant, anyPath, anyScope, IDENTITIES, pathOf, policyOf, STRANGER } from '../oracle/worlds.js';
import { oracleDecide } from '../oracle/oracle.js';
import { load } from './brute.js';

export const ADA: Identity = { provider: 'github', subject: 'ada' };
/** Of a provider that no world declares, and of a group claim of each kind of provider. */
const OUTSIDERS: readonly Identity[] = [
  { provider: 'visitor', subject: 'eve' },
  { provider: 'visitor-group', subject: 'crew' },
  { provider: 'orcid-group', subject: 'crew' },
  { provider: 'a-group-group', subject: 'nobody can name it' },
];
export const EVERYONE = [...IDENTITIES, STRANGER, ...OUTSIDERS];
export const someone = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...IDENTITIES, STRANGER) },
  { weight: 1, arbitrary: fc.constantFrom(...OUTSIDERS) },
);

const someScopes = fc.uniqueArray(anyScope, { maxLength: 4 });
export const explainRequest: fc.Arbitrary<ExplainRequest> = fc
  .record({
    identities: fc.uniqueArray(someone, { maxLength: 2 }),
    credentialScopes: fc.option(someScopes, { freq: 2 }),
    namespaceRestrictions: fc.option(
      fc.array(fc.oneof({ weight: 6, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant('//') }), {
        maxLength: 2,
      }),
      { freq: 2 },
    ),
    scope: fc.oneof({ weight: 12, arbitrary: anyScope }, { weight: 1, arbitrary: fc.constant('resource:delete') }),
    target: fc.oneof({ weight: 12, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant('/A') }),
    context: anyPath,
    here: fc.boolean(),
    at: anyInstant,
  })
  .map(({ here, ...request }) => (here ? { ...request, context: request.target } : request));

export function decideAs(set: PolicySet, request: ExplainRequest): ReturnType<typeof decideRaw> {
  const { identities, credentialScopes, namespaceRestrictions, scope, context, target, at } = request;
  const actor = { kind: 'request', identities, credentialScopes, namespaceRestrictions } as const;
  return decideRaw(load(set), { actor, request: { kind: 'access', scope, context, target }, at });
}

/** A crew that Ada is in may read and write at `/a` until 10, she herself may read there; below it neither. */
export const CREW_AND_ADA = policyOf(
  [{ name: 'crew', description: null, members: [{ kind: 'identity', identity: ADA, place: null }], place: null }],
  [
    {
      principal: { kind: 'role', role: 'crew' },
      namespace: pathOf('/a'),
      scopes: 48 as ScopeSet,
      inherit: false,
      notBefore: null,
      expires: 10 as Instant,
      reason: null,
      place: null,
    },
    {
      principal: { kind: 'identity', identity: ADA },
      namespace: pathOf('/a'),
      scopes: 16 as ScopeSet,
      inherit: false,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    },
  ],
);
export const ASKING = {
  credentialScopes: null,
  namespaceRestrictions: null,
  scope: 'resource:read',
  context: '/a/b',
  target: '/a/b',
  at: 0 as Instant,
};

/** As somebody who holds a grant, at or below its namespace. */
export function aimed(set: PolicySet, asked: ExplainRequest, aim: number): ExplainRequest {
  const grant = set.grants[aim % Math.max(1, set.grants.length)];
  if (grant === undefined) return asked;
  const target = aim % 3 > 0 ? grant.namespace : `${grant.namespace === '/' ? '' : grant.namespace}/z`;
  const [scope = asked.scope] = scopeNames(grant.scopes);
  const holder = IDENTITIES.find((identity) => holdsIt(set, grant, identity));
  const identities = holder === undefined ? asked.identities : [holder, ...asked.identities.slice(0, aim % 2)];
  const free = aim % 5 > 0 ? { credentialScopes: null, namespaceRestrictions: null } : {};
  return { ...asked, ...free, identities, scope, target, context: target };
}

function holdsIt(set: PolicySet, grant: PolicyGrant, identity: (typeof IDENTITIES)[number]): boolean {
  const actor = { kind: 'request', identities: [identity], credentialScopes: ALL_SCOPES } as const;
  const [scope] = scopeNames(grant.scopes);
  if (scope === undefined) return false;
  const request = { kind: 'access', scope, context: grant.namespace, target: grant.namespace } as const;
  return [-1, 5, 15, 25].some(
    (at) => oracleDecide(set, { actor: { ...actor, namespaceRestrictions: null }, request, at }).decision === 'allow',
  );
}
