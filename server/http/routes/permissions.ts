// GET /api/v1/permissions: what the actor may do in one namespace, and by which grants. It tells an actor about itself,
// whether the namespace exists or not.
import { canonicalize, heldScopesAs, pathFaultText } from '../../../engine/index.js';
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
    },
  },
  problems: ['namespace.invalid'],
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
    const held = heldScopesAs(resolve(), { namespace, at });
    toldHeld({ namespace, held });
    const scopes = held.map(({ scope, grants }) => ({ scope, grants: grants.map(({ id }) => id) }));
    const body = { namespace, snapshot: policy.digest, scopes, known: policy.scopes };
    return Promise.resolve({ status: 200, json: JSON.stringify(body) });
  },
};
