// GET /api/v1/whoami: the actor as the gateway sees it, without secrets (interfaces.md, HTTP).
import { describeActor } from '../../auth/request-actor.js';
import { selfRoute } from '../route.js';

export const whoami = selfRoute({
  method: 'GET',
  path: '/api/v1/whoami',
  answer: (actor) => ({ status: 200, json: JSON.stringify(describeActor(actor)) }),
});
