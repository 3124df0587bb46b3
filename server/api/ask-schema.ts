// What services ask about others (docs/asking.md), and what they are answered. Each question is read by
// decide-question.ts, which reports the faults of all of them.
import {
  type Actor,
  ALL_SCOPES,
  canonicalize,
  isScopeName,
  pathFaultText,
  type Policy,
  type RawActor,
  scopeSetOf,
} from '../../engine/index.js';
import { decodeActor, type Question, QuestionFault, fields, readQuestion } from '../asking/decide-question.js';
import { isObject } from '../json/strict-json.js';
import { pointerTo } from '../json/strict-json.js';
import { ASK_LIMITS } from '../limits/http.js';
import { ApiProblem, type InputFault } from '../problem.js';
import { digest, identity, scope } from './answer-schemas.js';
import { type BodyShape, bodyShape } from './body-shape.js';
import { instant } from './record-schema.js';
import { schema, type TypeOf, whole } from './schema.js';

const text = schema({ type: 'string' });

export const SUBJECT = schema({
  title: 'Subject',
  description:
    'The subject of the question. Without `credentialScopes` every scope of the policy, without `namespaceRestrictions` everywhere.',
  type: 'object',
  required: ['identities'],
  properties: {
    identities: {
      type: 'array',
      items: { anyOf: [text, identity] },
    },
    credentialScopes: { type: 'array', items: scope },
    namespaceRestrictions: { type: ['array', 'null'], items: text },
  },
  additionalProperties: false,
});

const ACCESS = schema({
  title: 'AccessQuestion',
  description: 'Without `context`, it is the target.',
  type: 'object',
  required: ['kind', 'scope', 'target'],
  properties: { kind: { const: 'access' }, scope: text, context: text, target: text },
  additionalProperties: false,
});

const CREATE = schema({ title: 'CreateQuestion', ...whole({ kind: { const: 'create-namespace' }, namespace: text }) });
const COPY = schema({ title: 'CopyQuestion', ...whole({ kind: { const: 'copy' }, source: text, destination: text }) });

const DECIDE_BODY = schema({
  title: 'Questions',
  ...whole({
    items: {
      type: 'array',
      minItems: 1,
      maxItems: ASK_LIMITS.questions,
      items: { title: 'Question', ...whole({ actor: SUBJECT, request: { anyOf: [ACCESS, CREATE, COPY] } }) },
    },
  }),
});

export type DecideBody = TypeOf<typeof DECIDE_BODY>;

export const DECIDE_SHAPE: BodyShape<DecideBody> = {
  ...bodyShape<DecideBody>({
    type: 'object',
    required: ['items'],
    properties: { items: { type: 'array', minItems: 1, maxItems: ASK_LIMITS.questions, items: { type: 'object' } } },
    additionalProperties: false,
  }),
  document: DECIDE_BODY,
};

export const step = schema({
  title: 'Step',
  enum: [
    ...(['canonicalize', 'unknown_scope', 'restriction', 'no_matching_grant', 'credential_scope'] as const),
    ...(['target_relationship', 'source_read', 'destination_write', 'exclusive'] as const),
  ],
});

export const DECIDED_SCHEMA = schema({
  title: 'Decisions',
  ...whole({
    snapshot: digest,
    at: instant,
    results: {
      description: 'In the order of the questions.',
      type: 'array',
      items: {
        anyOf: [
          whole({ decision: { const: 'allow' }, grants: { type: 'array', items: text } }),
          {
            type: 'object',
            required: ['decision', 'step'],
            properties: {
              decision: { const: 'deny' },
              step,
              cause: step,
              identities: {
                description: 'Of `exclusive`: the two that nobody may have at once.',
                type: 'array',
                minItems: 2,
                maxItems: 2,
                items: text,
              },
            },
            additionalProperties: false,
          },
        ],
      },
    },
  }),
});

/** Throws a problem with the fault of an actor at `/actor`. */
export function readSubject(actor: unknown, { scopes }: Pick<Policy, 'scopes'>): Actor {
  try {
    if (actor === 'local') throw new QuestionFault('/actor', NO_LOCAL);
    return canonicalActor(decodeActor(actor, scopes));
  } catch (error) {
    if (!(error instanceof QuestionFault)) throw error;
    const { pointer, message } = error;
    throw new ApiProblem('request.schema', { errors: [{ pointer, code: 'request.schema', message }] });
  }
}

function canonicalActor(actor: RawActor): Actor {
  if (actor.kind === 'local') throw new QuestionFault('/actor', NO_LOCAL);
  const { identities, credentialScopes, namespaceRestrictions } = actor;
  const paths = namespaceRestrictions?.map((text, index) => {
    const read = canonicalize(text);
    if (read.ok) return read.path;
    throw new QuestionFault(
      pointerTo('/actor/namespaceRestrictions', index),
      `is not a namespace: ${pathFaultText(read.fault)}`,
    );
  });
  const scopes = credentialScopes === null ? ALL_SCOPES : scopeSetOf(credentialScopes.filter(isScopeName));
  return { kind: 'request', identities, credentialScopes: scopes, namespaceRestrictions: paths ?? null };
}

/** Throws a problem with the first fault of each question. With `only`, questions of other kinds are faults, too. */
export function readQuestions(
  items: readonly unknown[],
  { scopes }: Pick<Policy, 'scopes'>,
  only?: 'access',
): readonly Question[] {
  const errors: InputFault[] = [];
  const questions = items.flatMap((item, index): readonly Question[] => {
    try {
      if (isObject(item) && item['actor'] === 'local') throw new QuestionFault('/actor', NO_LOCAL);
      const question = readQuestion(fields(item, '', ['actor', 'request']), scopes);
      if (only !== undefined && question.request.kind !== only) throw new QuestionFault('/request/kind', ONLY_ACCESS);
      return [question];
    } catch (error) {
      if (!(error instanceof QuestionFault)) throw error;
      const pointer = `${pointerTo('/items', index)}${error.pointer}`;
      if (errors.length < ASK_LIMITS.errors) errors.push({ pointer, code: 'request.schema', message: error.message });
      return [];
    }
  });
  if (errors.length > 0) throw new ApiProblem('request.schema', { errors });
  return questions;
}

const ONLY_ACCESS =
  'must be `access`: a creation needs `namespace:write` at the parent, a copy `resource:read` at the source and `resource:write` at the destination';
const NO_LOCAL = 'must be an object with `identities`: a gateway that others ask knows no local actor';
