// A route of the AuthZEN API: it accepts any JSON object, and reports faults as that standard prescribes.
import { bodyShape } from '../../api/body-shape.js';
import type { Fields } from '../../asking/decide-question.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import type { JsonAnswer } from '../exchange.js';
import type { ActorCall, ActorRoute, BodyInput } from '../route.js';
import { faultProblem, RequestFault } from './authzen-request.js';

const SHAPE = bodyShape<Fields>({ type: 'object' });

const BODY: BodyInput<Fields> = {
  types: ['application/json'],
  shape: SHAPE,
  example: {
    subject: { type: 'orcid', id: '0000-0002-1825-0097' },
    action: { name: 'resource:read' },
    resource: { type: 'namespace', id: '/beamlines/amx' },
  },
  maxBytes: HTTP_LIMITS.bodyBytes,
};

export const AUTHZEN_OUTPUT = Object.freeze({ 200: { type: 'application/json', schema: { type: 'object' } } });

export function authzenRoute(
  path: string,
  operationId: string,
  run: (call: ActorCall, body: Fields) => Promise<JsonAnswer>,
): ActorRoute {
  return {
    method: 'POST',
    path,
    operationId,
    summary: 'Answer a question of AuthZEN about others',
    speaks: 'authzen',
    access: 'ask',
    input: { body: BODY },
    output: AUTHZEN_OUTPUT,
    run: async (call) => {
      if (!SHAPE.isRead(call.body)) throw new TypeError('a body that was not read with the shape of its route');
      try {
        return await run(call, call.body);
      } catch (error) {
        throw error instanceof RequestFault ? faultProblem(error) : error;
      }
    },
  };
}
