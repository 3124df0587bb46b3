// One request on its way to an answer: what is known of it as the work goes on, and the answers that it can end in. Each of
// them, also a refusal, carries the policy's digest, a request id and the headers that keep it out of caches.
import type { Instant } from '../../engine/index.js';
import type { Judged } from '../audit/cite.js';
import type { AdminActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Active } from '../policy/active-policy.js';
import { type ApiProblem, PROBLEMS_PATH } from '../problem.js';
import type { Span } from '../trace.js';
import type { Incoming, Outgoing } from './message.js';
import type { Headers } from './request-head.js';
import type { Route } from './route.js';

export interface Exchange {
  readonly incoming: Incoming;
  readonly headers: Headers;
  /** Made here. What the gateway does for the request is done under this one. */
  readonly requestId: string;
  /** The client's own, where it is a valid one: its answer bears it. */
  readonly clientId: string | null;
  /** Its part of the trace that it belongs to. */
  readonly span: Span;
  /** The clock, read once. */
  readonly at: Instant;
  /** Where it comes from; null for a Unix socket, and where there is no socket at all. */
  readonly address: string | null;
  /** What is still left of the limits that it was counted against. */
  readonly quotas: Quota[];
  /** For durations, in milliseconds. */
  readonly startedAt: number;
  /** Who was authenticated, once somebody was. */
  actor: RequestActor | AdminActor | null;
  /** Ends the turn of its actor, while it is at work. */
  leave: (() => void) | null;
  /** The policy once it is pinned; nothing replaces it then. */
  active: Active | null;
  /** What was asked of the policy, once it was: for the audit log. */
  judged: Judged | null;
  /** Of a request to read, once it was decided: for the metrics. */
  decided: DecisionTimes | null;
  /** Of its path and method, once that is known. */
  route: Route | null;
}

/** When a decision was begun and when it was made, in milliseconds of the process. */
export interface DecisionTimes {
  readonly began: number;
  readonly ended: number;
}

/** So many requests a second, and how many may go on now. */
export interface Quota {
  readonly policy: string;
  readonly quota: number;
  readonly left: number;
}

/** What a route answers: a JSON text. */
export interface Answer {
  readonly status: number;
  readonly json: string;
  /** Beside the usual: name, value, name, value. */
  readonly headers?: readonly string[];
  /** How many records it shows, and the digest of the visible set that they are of, for the audit log. */
  readonly shown?: { readonly items: number; readonly visibility?: string };
}

/** An HTML document that needs nothing but itself. */
export interface Page {
  readonly status: number;
  readonly html: string;
}

/** For programs that read another format than JSON. */
export interface PlainText {
  readonly status: number;
  readonly text: string;
  /** The whole `Content-Type`. */
  readonly type: string;
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The id that a client gave its request, if it is a valid one. */
export function clientIdOf(headers: Headers): string | null {
  const given = headers.get('x-request-id');
  return given !== undefined && CLIENT_REQUEST_ID.test(given) ? given : null;
}

/** An answer that nobody is accountable for yet. */
export type Reply = Omit<Outgoing, 'taken'>;

export function toReply(exchange: Exchange, answer: Answer | Page | PlainText, currentDigest: string): Reply {
  const { status } = answer;
  if ('text' in answer) return make(exchange, { ...answer, headers: [] }, currentDigest);
  return 'html' in answer
    ? make(
        exchange,
        { status, text: answer.html, type: 'text/html; charset=utf-8', headers: PAGE_HEADERS },
        currentDigest,
      )
    : make(
        exchange,
        { status, text: answer.json, type: 'application/json', headers: answer.headers ?? [] },
        currentDigest,
      );
}

/** A page loads nothing and runs nothing, whatever should ever get into it. */
const PAGE_HEADERS = Object.freeze(['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'"]);

/** To a browser that asks what a web page may send. */
export function toPreflight({ clientId, requestId }: Exchange, headers: readonly string[], digest: string): Reply {
  return { status: 204, headers: [...answerHeaders(digest, clientId ?? requestId), ...headers], text: '', bytes: 0 };
}

export function toRefusal(exchange: Exchange, problem: ApiProblem, currentDigest: string): Reply {
  const text = problemText(problem, exchange.clientId ?? exchange.requestId);
  return make(
    exchange,
    {
      status: problem.status,
      text,
      type: PROBLEM_TYPE,
      headers: problemHeaders(problem),
      snapshot: problem.detail.snapshot,
    },
    currentDigest,
  );
}

export const PROBLEM_TYPE = 'application/problem+json';

/** RFC 9457, with nothing in it but the fixed text of the code and what the problem says may be shown. */
export function problemText(problem: ApiProblem, requestId: string): string {
  const { step, because, errors, retryAfter, command } = problem.detail;
  return JSON.stringify({
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
  });
}

/** Where there are limits; a refusal for one of them says by itself which. */
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

/** RFC 6750. */
const CHALLENGES: ReadonlyMap<string, string> = new Map([
  ['auth.required', 'Bearer realm="bailiwick"'],
  ['auth.invalid', 'Bearer realm="bailiwick", error="invalid_token"'],
]);

interface Content {
  readonly status: number;
  readonly text: string;
  readonly type: string;
  readonly headers: readonly string[];
  /** The pinned one, or the current, unless given. */
  readonly snapshot?: string | undefined;
}

function make(exchange: Exchange, { status, text, type, headers, snapshot }: Content, currentDigest: string): Reply {
  const { active, requestId, clientId } = exchange;
  const bytes = Buffer.byteLength(text);
  return {
    status,
    headers: [
      'Content-Type',
      type,
      'Content-Length',
      String(bytes),
      ...answerHeaders(snapshot ?? active?.policy.digest ?? currentDigest, clientId ?? requestId),
      ...(headers.includes('RateLimit') ? [] : quotaHeaders(exchange.quotas)),
      ...headers,
    ],
    text,
    bytes,
  };
}

/** The headers of every answer of this listener. */
export function answerHeaders(snapshot: string, requestId: string): readonly string[] {
  return [
    'Bailiwick-Snapshot',
    snapshot,
    'X-Request-Id',
    requestId,
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
  ];
}
