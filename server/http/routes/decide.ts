// POST /api/v1/decide: whether others may do something, for keys with the right to ask (docs/asking.md). One policy and
// one instant decide all questions of a request.
import { type Decision, decideRaw, formatInstant } from '../../../engine/index.js';
import { boundsOf, decideWithin } from '../../asking/about-others.js';
import { DECIDE_SHAPE, type DecideBody, DECIDED_SCHEMA, readQuestions } from '../../api/ask-schema.js';
import { toldDecision } from '../../audit/cite.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import type { ActorRoute, BodyInput } from '../route.js';

export const QUESTIONS: BodyInput<DecideBody> = {
  types: ['application/json'],
  shape: DECIDE_SHAPE,
  example: {
    items: [
      {
        actor: { identities: ['orcid:0000-0002-1825-0097'] },
        request: { kind: 'access', scope: 'resource:read', target: '/beamlines/amx' },
      },
    ],
  },
  maxBytes: HTTP_LIMITS.bodyBytes,
};

export const decide: ActorRoute = {
  method: 'POST',
  path: '/api/v1/decide',
  operationId: 'decide',
  summary: 'Decide whether others may do something',
  access: 'ask',
  input: { body: QUESTIONS },
  output: { 200: { type: 'application/json', schema: DECIDED_SCHEMA } },
  run: ({ actor: asker, body, pin, at, told }) => {
    if (!DECIDE_SHAPE.isRead(body)) throw new TypeError('a body that was not read with the shape of its route');
    const { policy } = pin();
    const questions = readQuestions(body.items, policy);
    const bounds = boundsOf(asker, policy);
    const answers = questions.map(({ actor: subject, request }) => {
      const decision = decideWithin(bounds, { request, at }, () => decideRaw(policy, { actor: subject, request, at }));
      return { subject, request, decision };
    });
    told(answers.map((one) => toldDecision('decide', { ...one, policy }, one.decision)));
    const results = answers.map(({ decision }) => resultOf(decision));
    const answer = { snapshot: policy.digest, at: formatInstant(at), results };
    return Promise.resolve({ status: 200, json: JSON.stringify(answer) });
  },
};

function resultOf(decision: Decision): object {
  if (decision.decision === 'deny') return decision;
  return { decision: 'allow', grants: decision.grants.map(({ id }) => id) };
}
