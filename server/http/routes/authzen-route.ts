// A route of the AuthZEN API: it accepts any JSON object, and reports faults as that standard prescribes.
import { bodyShape } from '../../api/body-shape.js';
import type { Fields } from '../../asking/decide-question.js';
import { type ActorCall, type ActorRoute, jsonBody } from '../route.js';
import { askRoute } from './ask-route.js';
import { faultProblem, RequestFault } from './authzen-request.js';

const BODY = jsonBody(bodyShape<Fields>({ type: 'object' }), {
  subject: { type: 'orcid', id: '0000-0002-1825-0097' },
  action: { name: 'resource:read' },
  resource: { type: 'namespace', id: '/beamlines/amx' },
});

export function authzenRoute(
  path: string,
  operationId: string,
  run: (call: ActorCall, body: Fields) => Promise<object>,
): ActorRoute {
  return askRoute({
    path,
    operationId,
    summary: 'Answer a question of AuthZEN about others',
    speaks: 'authzen',
    body: BODY,
    schema: { type: 'object' },
    answer: async (call, body) => {
      try {
        return await run(call, body);
      } catch (error) {
        throw error instanceof RequestFault ? faultProblem(error) : error;
      }
    },
  });
}
