// POST /api/v1/decide: whether others may do something, for keys with the right to ask (docs/asking.md). One policy and
// one instant decide all questions of a request.
import { type Decision, decideRaw, formatInstant } from '../../../engine/index.js';
import { boundsOf, decideWithin } from '../../asking/about-others.js';
import { DECIDE_SHAPE, DECIDED_SCHEMA, readQuestions } from '../../api/ask-schema.js';
import { toldDecision } from '../../audit/cite.js';
import { jsonBody } from '../route.js';
import { mapInTurns } from '../../lib/in-turns.js';
import { askRoute, makeRoom, withElements } from './ask-route.js';

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
  answer: async ({ actor: asker, pin, at, told, willTell, gone }, { items }) => {
    await willTell(items.length);
    const { policy } = pin();
    const [bounds, room] = [boundsOf(asker, policy), makeRoom()];
    const answers = await mapInTurns(
      readQuestions(items, policy),
      ({ actor: subject, request }) => {
        const decide = (): Decision => decideRaw(policy, { actor: subject, request, at });
        const decision = decideWithin(bounds, { request, at }, decide);
        const result = room(JSON.stringify(resultOf(decision)));
        return { result, event: toldDecision('decide', { subject, request, policy }, decision) };
      },
      gone,
    );
    told(answers.map(({ event }) => event));
    const facts = { snapshot: policy.digest, at: formatInstant(at) };
    return withElements(
      facts,
      'results',
      answers.map(({ result }) => result),
    );
  },
});

function resultOf(decision: Decision): object {
  if (decision.decision === 'deny') return decision;
  return { decision: 'allow', grants: decision.grants.map(({ id }) => id) };
}
