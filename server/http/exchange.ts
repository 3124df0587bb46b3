// One request on its way to an answer: what is known about it so far, and the answers that it can end in. Every answer,
// including a refusal, carries the policy's digest, a request id and the headers that keep it out of caches.
import type { Instant } from '../../engine/index.js';
import type { Judged, ReportedAnswer, ReportedHoldings } from '../audit/cite.js';
import type { ShownIds } from '../audit/listed.js';
import type { Place } from '../audit/room.js';
import type { AdminActor, MonitorActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Active } from '../policy/active/active-policy.js';
import { holdsCredential, maskCredentials } from '../lib/mask.js';
import { type ApiProblem, PROBLEMS_PATH } from '../problem.js';
import type { TraceSpan } from '../telemetry/trace.js';
import { HTTP_LIMITS } from '../limits/http.js';
import type { Incoming, Outgoing, Pour } from './message.js';
import type { Headers } from './request-head.js';
import type { Route } from './route.js';

export interface Exchange {
  readonly incoming: Incoming;
  readonly headers: Headers;
  /** Made by the gateway. Everything done for the request is logged and recorded under this id. */
  readonly requestId: string;
  /** The client's own id, if it sent a valid one. The answer bears it. */
  readonly clientId: string | null;
  /** Its span in the trace that it belongs to. */
  readonly span: TraceSpan;
  /** The time of the request. The clock is read only once. */
  readonly at: Instant;
  /** The client's address; null for a Unix socket, or if there is no socket at all. */
  readonly address: string | null;
  /** What is left of each limit that the request counted against. */
  readonly quotas: Quota[];
  /** In milliseconds of the process, for durations. */
  readonly startedAt: number;
  /** The authenticated actor; null until there is one. */
  actor: RequestActor | AdminActor | MonitorActor | null;
  /** Ends the actor's turn; null unless the request is being worked on. */
  leave: (() => void) | null;
  /** The room of its events in the audit log; null if it has none. */
  place: Place | null;
  /** The pinned policy; null until it is pinned, and never replaced after that. */
  active: Active | null;
  /** The question to the policy, for the audit log; null until there is one. */
  judged: Judged | null;
  /** The rights that the answer lists, for the audit log. */
  held: ReportedHoldings | null;
  /** What the answer reveals about others, or the feed about records, for the audit log. */
  told: readonly ReportedAnswer[];
  /** When a read was decided, for the metrics; null until then. */
  decided: DecisionTimes | null;
  /** The route of its path and method; null until it is known. */
  route: Route | null;
}

/** When a decision began and when it ended, in milliseconds of the process. */
export interface DecisionTimes {
  readonly began: number;
  readonly ended: number;
}

/** A limit in requests a second, and how many more may be sent now. */
export interface Quota {
  readonly policy: string;
  readonly quota: number;
  readonly left: number;
}

/** The records that an answer shows. */
export interface ShownRecords {
  readonly items: number;
  /** Which ones, unless the request named them. */
  readonly ids?: ShownIds;
  /** The digest of the visible set that they come from. */
  readonly visibility?: string;
}

/** What a route answers: a JSON text. */
export interface JsonAnswer {
  readonly status: number;
  readonly json: string;
  /** In addition to the usual headers: name, value, name, value. */
  readonly headers?: readonly string[];
  /** For the audit log. */
  readonly shown?: ShownRecords;
}

/** An answer that goes on for as long as its client stays: server-sent events. */
export interface EventStream {
  readonly status: 200;
  readonly pour: Pour;
}

/** An answer that may be too large to be held: it is read as its client takes it. */
export interface JsonFile {
  readonly status: 200;
  readonly bytes: number;
  readonly pour: Pour;
}

/** An HTML document that needs nothing but itself. */
export interface Page {
  readonly status: number;
  readonly html: string;
  /** In place of those that let a page do nothing at all: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** For programs that read a format other than JSON. */
export interface PlainText {
  readonly status: number;
  readonly text: string;
  /** The complete `Content-Type`. */
  readonly type: string;
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** AuthZEN wants any printable id back. */
const ECHOED_ID = /^[\x20-\x7e]+$/;

/** The id that a client gave its request, if it is a valid one. */
export function clientIdOf(headers: Headers, speaks?: Route['speaks']): string | null {
  const given = headers.get('x-request-id');
  if (given === undefined || holdsCredential(given)) return null;
  const isEchoed = speaks === 'authzen' && given.length <= HTTP_LIMITS.echoedIdCharacters && ECHOED_ID.test(given);
  return isEchoed || CLIENT_REQUEST_ID.test(given) ? given : null;
}

/**
 * The answer, or 304 without its text if the client already has it. Only reads of one record have an `ETag`, and 304
 * is said after the same decision and the same look at the store.
 */
export function unlessKnown(
  { route, headers }: Exchange,
  answer: JsonAnswer | Page | PlainText,
): JsonAnswer | Page | PlainText {
  const known = headers.get('if-none-match');
  if (known === undefined || route?.method !== 'GET' || answer.status !== 200 || !('json' in answer)) return answer;
  const [name, etag] = answer.headers ?? [];
  if (name !== 'ETag' || etag === undefined) return answer;
  const isKnown = known === '*' || [...known.matchAll(ENTITY_TAGS)].some(([tag]) => tag === etag);
  return isKnown ? { ...answer, status: 304, json: '' } : answer;
}

/** Compared without `W/`, as RFC 9110 has it for this header. */
const ENTITY_TAGS = /"[\x21\x23-\x7e]*"/g;

/** An answer that is not yet counted against anybody. */
export type Reply = Omit<Outgoing, 'taken' | 'isLast'>;

export function toReply(exchange: Exchange, answer: JsonAnswer | Page | PlainText, currentDigest: string): Reply {
  const { status } = answer;
  if (status === 304 && 'json' in answer) {
    const headers = headersOf(exchange, currentDigest, { own: answer.headers ?? [] });
    return { status, headers, text: '', bytes: 0 };
  }
  const [type, text, own = []] =
    'text' in answer
      ? [answer.type, answer.text]
      : 'html' in answer
        ? ['text/html; charset=utf-8', answer.html, answer.headers ?? PAGE_HEADERS]
        : ['application/json', answer.json, answer.headers];
  return whole(exchange, currentDigest, { status, type, text, own });
}

/** Keeps a page from loading or running anything, whatever its text might contain. */
const PAGE_HEADERS = Object.freeze(['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'"]);

/** The head of a stream. Nobody on the way may store it, change it or hold it back. */
export function toStream(exchange: Exchange, { status, pour }: EventStream, currentDigest: string): Reply {
  const own = ['X-Accel-Buffering', 'no', 'Connection', 'close'];
  const headers = headersOf(exchange, currentDigest, { content: ['Content-Type', 'text/event-stream'], own }).map(
    (text) => (text === 'no-store' ? 'no-store, no-transform' : text),
  );
  return { status, headers, text: '', bytes: 0, pour };
}

/**
 * The head of a file, and the file unless only the head was asked for. Its length tells the client whether it has all of
 * it. The actor's turn lasts until then.
 */
export function toFile(exchange: Exchange, { status, bytes, pour }: JsonFile, currentDigest: string): Reply {
  const content = ['Content-Type', 'application/json', 'Content-Length', String(bytes)];
  const head = { status, headers: headersOf(exchange, currentDigest, { content }), text: '', bytes: 0 };
  if (exchange.incoming.method === 'HEAD') return head;
  const { leave } = exchange;
  exchange.leave = null;
  return { ...head, pour: (sink) => pour(sink).finally(() => leave?.()) };
}

/** Answers a browser's preflight. */
export function toPreflight({ clientId, requestId }: Exchange, headers: readonly string[], digest: string): Reply {
  return { status: 204, headers: [...answerHeaders(digest, clientId ?? requestId), ...headers], text: '', bytes: 0 };
}

export function toRefusal(exchange: Exchange, problem: ApiProblem, currentDigest: string): Reply {
  if (exchange.route?.speaks === 'authzen') return toAuthzenRefusal(exchange, problem, currentDigest);
  return whole(exchange, currentDigest, {
    status: problem.status,
    type: PROBLEM_TYPE,
    text: problemText(problem, exchange.clientId ?? exchange.requestId),
    own: [...problemHeaders(problem), ...invitation(exchange, problem)],
    snapshot: problem.detail.snapshot,
  });
}

/** As AuthZEN has it: the body is a string, and a request that cannot be read is 400 whatever is wrong with it. */
function toAuthzenRefusal(exchange: Exchange, problem: ApiProblem, currentDigest: string): Reply {
  const { errors = [], snapshot } = problem.detail;
  const places = errors.map(({ pointer, message }) => (pointer === '' ? message : `${pointer} ${message}`));
  return whole(exchange, currentDigest, {
    status: problem.status === 413 || problem.status === 415 ? 400 : problem.status,
    type: 'application/json',
    text: maskCredentials(JSON.stringify([`${problem.code}: ${problem.title}`, ...places].join('; '))),
    own: problemHeaders(problem),
    snapshot,
  });
}

export const PROBLEM_TYPE = 'application/problem+json';

/**
 * The body of a problem (RFC 9457). It holds only the fixed text of the code and what the problem says may be shown.
 */
export function problemText(problem: ApiProblem, requestId: string): string {
  const { step, because, errors, retryAfter, command, outcome } = problem.detail;
  const text = JSON.stringify({
    type: `${PROBLEMS_PATH}#${problem.code}`,
    title: problem.title,
    status: problem.status,
    code: problem.code,
    requestId,
    step,
    cause: because,
    errors,
    retryAfter,
    command,
    outcome,
  });
  return maskCredentials(text);
}

/** The remaining quotas, if there are limits. A refusal for a limit names that limit in headers of its own. */
function quotaHeaders(quotas: readonly Quota[]): readonly string[] {
  if (quotas.length === 0) return [];
  const policies = quotas.map(({ policy, quota }) => `"${policy}";q=${String(quota)};w=1`);
  const left = quotas.map(({ policy, left: rest }) => `"${policy}";r=${String(rest)};t=1`);
  return ['RateLimit-Policy', policies.join(', '), 'RateLimit', left.join(', ')];
}

function problemHeaders(problem: ApiProblem): readonly string[] {
  const { headers = [], retryAfter } = problem.detail;
  const challenge = CHALLENGES.get(problem.code);
  return [
    ...headers,
    ...(challenge === undefined ? [] : ['WWW-Authenticate', challenge]),
    ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
  ];
}

const CHALLENGE = 'Bearer realm="bailiwick"';

/** `WWW-Authenticate` by problem code (RFC 6750). */
const CHALLENGES: ReadonlyMap<string, string> = new Map([
  ['auth.required', CHALLENGE],
  ['auth.invalid', `${CHALLENGE}, error="invalid_token"`],
]);

/** Tells an anonymous caller that a credential may give access to what was refused (RFC 9110, 11.6.1). */
function invitation({ actor }: Exchange, { status }: ApiProblem): readonly string[] {
  const isRefused = actor?.kind === 'anonymous' && (status === 403 || status === 404);
  return isRefused ? ['WWW-Authenticate', CHALLENGE] : [];
}

interface Head {
  /** What the answer is: these come first. */
  readonly content?: readonly string[];
  readonly own?: readonly string[];
  /** Defaults to the digest of the pinned policy, or else of the current one. */
  readonly snapshot?: string | undefined;
}

function headersOf(
  exchange: Exchange,
  currentDigest: string,
  { content = [], own = [], snapshot }: Head,
): readonly string[] {
  const { active, requestId, clientId, quotas } = exchange;
  return [
    ...content,
    ...answerHeaders(snapshot ?? active?.policy.digest ?? currentDigest, clientId ?? requestId),
    ...(own.includes('RateLimit') ? [] : quotaHeaders(quotas)),
    ...own,
  ];
}

interface Whole extends Omit<Head, 'content'> {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

function whole(exchange: Exchange, currentDigest: string, { status, type, text, ...head }: Whole): Reply {
  const bytes = Buffer.byteLength(text);
  const content = ['Content-Type', type, 'Content-Length', String(bytes)];
  return { status, headers: headersOf(exchange, currentDigest, { ...head, content }), text, bytes };
}

/** The headers of every answer of this listener. */
export function answerHeaders(snapshot: string, requestId: string): readonly string[] {
  return [
    ...['Bailiwick-Snapshot', snapshot, 'X-Request-Id', requestId],
    ...['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
  ];
}
