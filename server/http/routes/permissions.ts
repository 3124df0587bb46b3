// GET /api/v1/permissions: what the actor may do in one namespace, and by which grants. It tells an actor about itself,
// whether the namespace exists or not.
import { decideAs, nearest } from '../../../engine/index.js';
import { PERMISSIONS_SCHEMA } from '../../api/answer-schemas.js';
import { mapInTurns } from '../../lib/in-turns.js';
import { misshapen } from '../message.js';
import { namespaceOfQuery } from '../namespace-in.js';
import { optional, required, selfRoute } from '../route.js';
import { makeRoom, withElements } from './ask-route.js';

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
  problems: ['namespace.invalid', 'request.schema', 'request.too_large', 'audit.unavailable'],
  output: { 200: { type: 'application/json', schema: PERMISSIONS_SCHEMA } },
  answer: async ({ query, pin, resolve, at, toldHeld, gone }) => {
    const { policy } = pin();
    const namespace = namespaceOfQuery(query.get('namespace'));
    const wanted = query.get('scope') ?? null;
    if (wanted !== null && !policy.scopes.some((scope) => scope === wanted)) {
      const meant = nearest(wanted, policy.scopes);
      const hint = meant === null ? '' : `; did you mean ${meant}?`;
      throw misshapen(`the query parameter scope is not a scope of the policy${hint}`);
    }
    const [resolved, room] = [resolve(), makeRoom('', TOO_MUCH)];
    const asked = policy.scopes.filter((scope) => wanted === null || scope === wanted);
    const held = await mapInTurns(
      asked,
      (scope) => {
        const request = { kind: 'access', scope, target: namespace } as const;
        const decision = decideAs(resolved, { request, at });
        if (decision.decision === 'deny') return [];
        const grants = decision.grants.map(({ id }) => id);
        return [{ scope, json: room(JSON.stringify({ scope, grants })) }];
      },
      gone,
    );
    const [scopes, texts] = [held.flat().map(({ scope }) => scope), held.flat().map(({ json }) => json)];
    toldHeld({ resolved, namespace, scopes });
    return { status: 200, json: withElements({ namespace, snapshot: policy.digest }, 'scopes', texts) };
  },
});

const TOO_MUCH = 'the answer has more than 16 MiB: ask about one scope';
