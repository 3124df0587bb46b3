// GET /api/v1/whoami: the actor as the gateway sees it, without secrets.
import { ACTOR_SCHEMA } from '../../api/answer-schemas.js';
import { describeActor } from '../../auth/request-actor.js';
import { selfRoute } from '../route.js';

export const whoami = selfRoute({
  method: 'GET',
  path: '/api/v1/whoami',
  operationId: 'whoami',
  summary: 'Show who the caller is',
  output: { 200: { type: 'application/json', schema: ACTOR_SCHEMA } },
  answer: ({ actor, latest }) => ({ status: 200, json: JSON.stringify(describeActor(actor, latest())) }),
});
