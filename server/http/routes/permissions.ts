// GET /api/v1/permissions: what the actor may do in one namespace, and by which grants. It tells an actor about itself,
// whether the namespace exists or not.
import { canonicalize, heldScopesAs, nearest, pathFaultText } from '../../../engine/index.js';
import { PERMISSIONS_SCHEMA } from '../../api/answer-schemas.js';
import { ApiProblem } from '../../problem.js';
import type { ActorRoute } from '../route.js';

export const permissions: ActorRoute = {
  method: 'GET',
  path: '/api/v1/permissions',
  operationId: 'listPermissions',
  summary: 'List the scopes that the actor holds in a namespace',
  access: 'self',
  input: {
    query: {
      namespace: {
        required: true,
        pattern: /^/,
        description: 'The namespace to ask about, as a canonical path.',
        example: '/labs/optics',
      },
      scope: {
        required: false,
        pattern: /^/,
        description: 'The answer is about this scope alone. One that the policy does not know is an error.',
        example: 'resource:write',
      },
    },
  },
  problems: ['namespace.invalid', 'request.schema', 'audit.unavailable'],
  output: { 200: { type: 'application/json', schema: PERMISSIONS_SCHEMA } },
  run: ({ query, pin, resolve, at, toldHeld }) => {
    const { policy } = pin();
    const named = canonicalize(query.get('namespace'));
    if (!named.ok) {
      const message = `the query parameter namespace is not that of a namespace: ${pathFaultText(named.fault)}`;
      const errors = [{ pointer: '', code: 'namespace.invalid', message } as const];
      return Promise.reject(new ApiProblem('namespace.invalid', { errors }));
    }
    const namespace = named.path;
    const wanted = query.get('scope') ?? null;
    if (wanted !== null && !policy.scopes.some((scope) => scope === wanted)) {
      const meant = nearest(wanted, policy.scopes);
      const hint = meant === null ? '' : `; did you mean ${meant}?`;
      const message = `the query parameter scope is not a scope of the policy${hint}`;
      return Promise.reject(
        new ApiProblem('request.schema', { errors: [{ pointer: '', code: 'request.schema', message }] }),
      );
    }
    const held = heldScopesAs(resolve(), { namespace, at }).filter(({ scope }) => wanted === null || scope === wanted);
    toldHeld({ namespace, held });
    const scopes = held.map(({ scope, grants }) => ({ scope, grants: grants.map(({ id }) => id) }));
    const body = { namespace, snapshot: policy.digest, scopes };
    return Promise.resolve({ status: 200, json: JSON.stringify(body) });
  },
};
