// GET /api/v1/permissions: what the actor may do in one namespace, and by which grants. It tells an actor about itself,
// whether the namespace exists or not.
import { heldScopesAs, nearest } from '../../../engine/index.js';
import { PERMISSIONS_SCHEMA } from '../../api/answer-schemas.js';
import { misshapen } from '../message.js';
import { namespaceOfQuery } from '../namespace-in.js';
import { optional, required, selfRoute } from '../route.js';

export const permissions = selfRoute({
  method: 'GET',
  path: '/api/v1/permissions',
  operationId: 'listPermissions',
  summary: 'List the scopes that the actor holds in a namespace',
  query: {
    namespace: required('The namespace to ask about, as a canonical path.', '/labs/optics'),
    scope: optional(
      'The answer is about this scope alone. One that the policy does not know is an error.',
      'resource:write',
    ),
  },
  problems: ['namespace.invalid', 'request.schema', 'audit.unavailable'],
  output: { 200: { type: 'application/json', schema: PERMISSIONS_SCHEMA } },
  answer: ({ query, pin, resolve, at, toldHeld }) => {
    const { policy } = pin();
    const namespace = namespaceOfQuery(query.get('namespace'));
    const wanted = query.get('scope') ?? null;
    if (wanted !== null && !policy.scopes.some((scope) => scope === wanted)) {
      const meant = nearest(wanted, policy.scopes);
      const hint = meant === null ? '' : `; did you mean ${meant}?`;
      throw misshapen(`the query parameter scope is not a scope of the policy${hint}`);
    }
    const held = heldScopesAs(resolve(), { namespace, at }).filter(({ scope }) => wanted === null || scope === wanted);
    toldHeld({ namespace, held });
    const scopes = held.map(({ scope, grants }) => ({ scope, grants: grants.map(({ id }) => id) }));
    return { status: 200, json: JSON.stringify({ namespace, snapshot: policy.digest, scopes }) };
  },
});
