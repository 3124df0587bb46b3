// AuthZEN 1.0 (docs/authzen.md): other policy enforcement points ask in the words of that standard. Each question becomes one
// of ours, within the bounds of the key that asks; what has no meaning here is no. Nothing that a caller says about a
// subject or a resource gives a right.
import { decideRaw } from '../../../engine/index.js';
import { boundsOf, decideWithin } from '../../asking/about-others.js';
import type { Fields } from '../../asking/decide-question.js';
import { type ReportedAnswer, toldDecision } from '../../audit/cite.js';
import { makePauses } from '../../lib/in-turns.js';
import { ASK_LIMITS } from '../../limits/http.js';
import type { ActorCall, PublicRoute, Route } from '../route.js';
import { type AuthzenWords, makeWords, type WordsOptions } from './authzen-words.js';
import { evaluationOf, type EvaluationRequest, optionalObject, RequestFault } from './authzen-request.js';
import { holderOf } from './ask-route.js';
import { authzenRoute } from './authzen-route.js';
import { makeSearchRoutes, type SearchOptions } from './authzen-search.js';
import { isObject } from '../../json/strict-json.js';

export interface AuthzenSettings extends Pick<WordsOptions, 'vocabulary'> {
  /** Where clients reach this gateway, without a slash at the end. */
  readonly baseUrl: string;
}

export type AuthzenOptions = AuthzenSettings & WordsOptions & SearchOptions;

const PATHS = Object.freeze({
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
});

export function makeAuthzenRoutes(options: AuthzenOptions): readonly Route[] {
  const words = makeWords(options);
  const { baseUrl } = options;
  const endpoints = Object.entries(PATHS).map(([name, path]) => [name, `${baseUrl}${path}`] as const);
  const metadata = JSON.stringify({ policy_decision_point: baseUrl, ...Object.fromEntries(endpoints) });
  const discovery: PublicRoute = {
    method: 'GET',
    path: '/.well-known/authzen-configuration',
    operationId: 'describeAuthzen',
    summary: 'Say where the endpoints of AuthZEN are',
    speaks: 'authzen',
    access: 'public',
    input: {},
    output: { 200: { type: 'application/json', schema: { type: 'object' } } },
    answer: () => ({ status: 200, json: metadata }),
  };
  const evaluation = authzenRoute(PATHS.access_evaluation_endpoint, 'evaluateAccess', (call, body) =>
    evaluateOne(words, call, body),
  );
  const evaluations = authzenRoute(PATHS.access_evaluations_endpoint, 'evaluateAccesses', (call, body) =>
    evaluateAll(words, call, body),
  );
  return [discovery, evaluation, evaluations, ...makeSearchRoutes(options, words)];
}

interface Evaluated {
  readonly decision: boolean;
  readonly context: object;
  readonly told: ReportedAnswer;
}

async function evaluateOne(words: AuthzenWords, call: ActorCall, body: Fields): Promise<object> {
  const { told, ...answer } = await evaluate(words, call, evaluationOf(body));
  call.told([told]);
  return answer;
}

async function evaluate(words: AuthzenWords, call: ActorCall, asked: EvaluationRequest): Promise<Evaluated> {
  const { policy } = call.pin();
  const context = { snapshot: policy.digest };
  const meant = await words.meaningOf(asked, { policy, gone: call.gone });
  if (meant === null)
    return { decision: false, context, told: { ...words.meaningless('decide'), ...words.named(asked.resource) } };
  const { identity, request } = meant;
  const subject = holderOf(identity);
  const { at } = call;
  const decision = decideWithin(boundsOf(call.actor, policy), { request, at }, () =>
    decideRaw(policy, { actor: subject, request, at }),
  );
  const told = {
    ...toldDecision('decide', { subject, request, policy }, decision),
    ...words.told,
    ...words.named(asked.resource),
  };
  return { decision: decision.decision === 'allow', context, told };
}

/** When a batch ends before its last question. */
const SEMANTICS: ReadonlyMap<unknown, (decision: boolean) => boolean> = new Map([
  ['execute_all', () => false],
  ['deny_on_first_deny', (decision: boolean) => !decision],
  ['permit_on_first_permit', (decision: boolean) => decision],
]);

async function evaluateAll(words: AuthzenWords, call: ActorCall, body: Fields): Promise<object> {
  const ends = SEMANTICS.get(optionalObject(body, 'options')?.['evaluations_semantic'] ?? 'execute_all');
  if (ends === undefined) throw new RequestFault('options.evaluations_semantic must be one of those of AuthZEN 1.0');
  const items: unknown = body['evaluations'] ?? [];
  if (!Array.isArray(items)) throw new RequestFault('evaluations must be an array');
  if (items.length > ASK_LIMITS.evaluations)
    throw new RequestFault(`evaluations may hold at most ${String(ASK_LIMITS.evaluations)}`);
  const defaults = Object.fromEntries(DEFAULTS.map((name) => [name, optionalObject(body, name)]));
  if (items.length === 0) return evaluateOne(words, call, defaults);
  await call.willTell(items.length);
  const told: ReportedAnswer[] = [];
  const evaluations: object[] = [];
  const pause = makePauses(call.gone);
  for (const item of items) {
    await pause();
    const { told: about, ...answer } = await evaluateItem(words, call, { item, defaults });
    if (about !== null) told.push(about);
    evaluations.push(answer);
    if (ends(answer.decision)) break;
  }
  call.told(told);
  return { evaluations };
}

const DEFAULTS = ['subject', 'action', 'resource', 'context'] as const;

/** A question that cannot be read is no, with the reason. The others are answered. */
async function evaluateItem(
  words: AuthzenWords,
  call: ActorCall,
  { item, defaults }: { readonly item: unknown; readonly defaults: Fields },
): Promise<Evaluated | (Omit<Evaluated, 'told'> & { readonly told: null })> {
  try {
    if (!isObject(item)) throw new RequestFault('an evaluation must be an object');
    const own = Object.fromEntries(DEFAULTS.map((name) => [name, item[name] ?? defaults[name]]));
    return await evaluate(words, call, evaluationOf(own));
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error;
    return { decision: false, context: { error: { status: 400, message: error.message } }, told: null };
  }
}
