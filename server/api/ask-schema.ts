// What services ask about others (docs/asking.md), and what they are answered. Each question is read by
// decide-question.ts, which reports the faults of all of them.
import {
  type Actor,
  ALL_SCOPES,
  canonicalize,
  isScopeName,
  type NamespacePath,
  pathFaultText,
  type Policy,
  type RawActor,
  type RawRequest,
  type ScopeName,
  scopeSetOf,
} from '../../engine/index.js';
import { decodeActor, type Question, QuestionFault, fields, readQuestion } from '../asking/decide-question.js';
import { isObject, pointerTo } from '../json/strict-json.js';
import { KEY_LIMITS, TOKEN_LIMITS } from '../limits/credentials.js';
import { ASK_LIMITS } from '../limits/http.js';
import { ApiProblem, type InputFault, inputProblem } from '../problem.js';
import { digest, identity, scope } from './answer-schemas.js';
import { type BodyShape, bodyShape } from './body-shape.js';
import { instant } from './record-schema.js';
import { meantText } from './shape-fault.js';
import { closed, schema, text, type TypeOf, whole } from './schema.js';

/** Entries of each list of a subject: as many as a credential may have, the identities with those of its groups. */
const MOST = Object.freeze({
  identities: KEY_LIMITS.identities + TOKEN_LIMITS.groups,
  credentialScopes: KEY_LIMITS.scopes,
  namespaceRestrictions: KEY_LIMITS.restrictions,
});

export const SUBJECT = schema({
  title: 'Subject',
  description:
    'The subject of the question. Without `credentialScopes` every scope of the policy, without `namespaceRestrictions` everywhere.',
  ...closed(['identities'], {
    identities: { type: 'array', maxItems: MOST.identities, items: { anyOf: [text, identity] } },
    credentialScopes: { type: 'array', maxItems: MOST.credentialScopes, items: scope },
    namespaceRestrictions: { type: ['array', 'null'], maxItems: MOST.namespaceRestrictions, items: text },
  }),
});

const ACCESS = schema({
  title: 'AccessQuestion',
  description: 'Without `context`, it is the target.',
  ...closed(['kind', 'scope', 'target'], { kind: { const: 'access' }, scope: text, context: text, target: text }),
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
    ...closed(['items'], {
      items: { type: 'array', minItems: 1, maxItems: ASK_LIMITS.questions, items: { type: 'object' } },
    }),
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
            ...closed(['decision', 'step'], {
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
            }),
          },
        ],
      },
    },
  }),
});

/** Throws a problem with the fault of an actor at `/actor`. */
export function readSubject(actor: unknown, { scopes }: Pick<Policy, 'scopes'>): Actor {
  try {
    checkActor(actor);
    return canonicalActor(decodeActor(actor, scopes));
  } catch (error) {
    if (!(error instanceof QuestionFault)) throw error;
    throw inputProblem('request.schema', error.pointer, error.message);
  }
}

/** What holds for services that ask, beside what holds for every question. */
function checkActor(actor: unknown): void {
  if (actor === 'local') throw new QuestionFault('/actor', NO_LOCAL);
  if (!isObject(actor)) return;
  for (const [name, most] of Object.entries(MOST)) {
    const list = actor[name];
    if (Array.isArray(list) && list.length > most)
      throw new QuestionFault(pointerTo('/actor', name), `must have at most ${String(most)} elements`);
  }
}

function canonicalActor(actor: RawActor): Actor {
  if (actor.kind === 'local') throw new QuestionFault('/actor', NO_LOCAL);
  const { identities, credentialScopes, namespaceRestrictions } = actor;
  const paths = namespaceRestrictions?.map((text, index) =>
    namespaceAt(pointerTo('/actor/namespaceRestrictions', index), text),
  );
  const scopes = credentialScopes === null ? ALL_SCOPES : scopeSetOf(credentialScopes.filter(isScopeName));
  return { kind: 'request', identities, credentialScopes: scopes, namespaceRestrictions: paths ?? null };
}

function namespaceAt(pointer: string, text: string): NamespacePath {
  const read = canonicalize(text);
  if (read.ok) return read.path;
  throw new QuestionFault(pointer, `is not a namespace: ${pathFaultText(read.fault)}`);
}

/** Throws a problem with the first fault of each question. */
export function readQuestions(items: readonly unknown[], { scopes }: Pick<Policy, 'scopes'>): readonly Question[] {
  return readEach(items, (item) => readOne(item, scopes));
}

/** The same for accesses that are to be explained: each part has to be a scope of the policy or a namespace. */
export function readAccessQuestions(
  items: readonly unknown[],
  { scopes }: Pick<Policy, 'scopes'>,
): readonly AccessQuestion[] {
  return readEach(items, (item) => {
    const { actor, request } = readOne(item, scopes);
    if (request.kind !== 'access') throw new QuestionFault('/request/kind', ONLY_ACCESS);
    if (actor.kind === 'local') throw new QuestionFault('/actor', NO_LOCAL);
    if (!scopes.some((known) => known === request.scope))
      throw new QuestionFault('/request/scope', meantText('is not a scope of the policy', request.scope, scopes));
    namespaceAt('/request/target', request.target);
    namespaceAt('/request/context', request.context ?? request.target);
    canonicalActor(actor);
    return { actor, request };
  });
}

interface AccessQuestion {
  readonly actor: Extract<RawActor, { readonly kind: 'request' }>;
  readonly request: Extract<RawRequest, { readonly kind: 'access' }>;
}

function readEach<Read>(items: readonly unknown[], read: (item: unknown) => Read): readonly Read[] {
  const errors: InputFault[] = [];
  const questions = items.flatMap((item, index): readonly Read[] => {
    try {
      return [read(item)];
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

function readOne(item: unknown, scopes: readonly ScopeName[]): Question {
  const question = fields(item, '', ['actor', 'request']);
  checkActor(question['actor']);
  return readQuestion(question, scopes);
}

const ONLY_ACCESS =
  'must be `access`: a creation needs `namespace:write` at the parent, a copy `resource:read` at the source and `resource:write` at the destination';
const NO_LOCAL = 'must be an object with `identities`: a gateway that others ask knows no local actor';
