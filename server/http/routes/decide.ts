// POST /api/v1/decide: whether others may do something, for keys with the right to ask (docs/asking.md). One policy and
// one instant decide all questions of a request.
import { type Decision, decideRaw, formatInstant } from '../../../engine/index.js';
import { boundsOf, decideWithin } from '../../asking/about-others.js';
import { DECIDE_SHAPE, DECIDED_SCHEMA, readQuestions } from '../../api/ask-schema.js';
import { toldDecision } from '../../audit/cite.js';
import { jsonBody } from '../route.js';
import { askRoute } from './ask-route.js';

export const QUESTIONS = jsonBody(DECIDE_SHAPE, {
  items: [
    {
      actor: { identities: ['orcid:0000-0002-1825-0097'] },
      request: { kind: 'access', scope: 'resource:read', target: '/beamlines/amx' },
    },
  ],
});

export const decide = askRoute({
  path: '/api/v1/decide',
  operationId: 'decide',
  summary: 'Decide whether others may do something',
  body: QUESTIONS,
  schema: DECIDED_SCHEMA,
  answer: ({ actor: asker, pin, at, told }, { items }) => {
    const { policy } = pin();
    const bounds = boundsOf(asker, policy);
    const answers = readQuestions(items, policy).map(({ actor: subject, request }) => {
      const decision = decideWithin(bounds, { request, at }, () => decideRaw(policy, { actor: subject, request, at }));
      return { subject, request, decision };
    });
    told(answers.map((one) => toldDecision('decide', { ...one, policy }, one.decision)));
    const results = answers.map(({ decision }) => resultOf(decision));
    return { snapshot: policy.digest, at: formatInstant(at), results };
  },
});

function resultOf(decision: Decision): object {
  if (decision.decision === 'deny') return decision;
  return { decision: 'allow', grants: decision.grants.map(({ id }) => id) };
}
