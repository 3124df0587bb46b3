// One request and its answer: what is known of it as the work goes on, and the only two ways out (an answer, a problem). Every
// answer, also of a refusal, carries the policy's digest, a request id and the headers that keep it out of caches (design 6).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Instant, Policy } from '../../engine/index.js';
import type { RequestActor } from '../auth/request-actor.js';
import { type ApiProblem, PROBLEMS_PATH } from '../problem.js';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The clock, read once. */
  readonly at: Instant;
  /** For durations, in milliseconds. */
  readonly startedAt: number;
  /** Whether the client waits for leave to send its body. */
  awaitsLeave: boolean;
  actor: RequestActor | null;
  /** The policy once it is pinned; nothing replaces it then. */
  policy: Policy | null;
}

/** What a route answers: a JSON text. */
export interface Answer {
  readonly status: number;
  readonly json: string;
  /** Beside the usual: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** An HTML document that needs nothing but itself. */
export interface Page {
  readonly status: number;
  readonly html: string;
}

export interface Surroundings {
  /** Digest of the policy in force, for answers that pinned none. */
  readonly currentDigest: () => string;
  readonly isDraining: () => boolean;
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The client's id if it is one, else a fresh one (interfaces.md, Problems). */
export function chooseRequestId(given: string | string[] | undefined, fresh: () => string): string {
  return typeof given === 'string' && CLIENT_REQUEST_ID.test(given) ? given : fresh();
}

export function sendAnswer(exchange: Exchange, answer: Answer | Page, around: Surroundings): void {
  const { status } = answer;
  if ('html' in answer) {
    send(
      exchange,
      { status, text: answer.html, contentType: 'text/html; charset=utf-8', headers: PAGE_HEADERS },
      around,
    );
  } else {
    const { json, headers = [] } = answer;
    send(exchange, { status, text: json, contentType: 'application/json', headers }, around);
  }
}

/** A page loads nothing and runs nothing, whatever should ever get into it. */
const PAGE_HEADERS = Object.freeze(['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'"]);

export function sendProblem(exchange: Exchange, problem: ApiProblem, around: Surroundings): void {
  const text = problemText(problem, exchange.requestId);
  send(exchange, { status: problem.status, text, contentType: PROBLEM_TYPE, headers: problemHeaders(problem) }, around);
}

export const PROBLEM_TYPE = 'application/problem+json';

/** RFC 9457, with nothing in it but the fixed text of the code and what the problem says may be shown. */
export function problemText(problem: ApiProblem, requestId: string): string {
  const { step, errors, retryAfter } = problem.detail;
  return JSON.stringify({
    type: `${PROBLEMS_PATH}#${problem.code}`,
    title: problem.title,
    status: problem.status,
    code: problem.code,
    requestId,
    step,
    errors,
    retryAfter,
  });
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

interface Outgoing {
  readonly status: number;
  readonly text: string;
  readonly contentType: string;
  readonly headers: readonly string[];
}

function send(exchange: Exchange, outgoing: Outgoing, around: Surroundings): void {
  const { response, policy, requestId, awaitsLeave } = exchange;
  const head = [
    'Content-Type',
    outgoing.contentType,
    'Content-Length',
    String(Buffer.byteLength(outgoing.text)),
    ...answerHeaders(policy?.digest ?? around.currentDigest(), requestId),
    ...outgoing.headers,
  ];
  // After a refusal, a client without leave may send its body or not: only a new connection is clear about where it ends.
  if (awaitsLeave || around.isDraining()) head.push('Connection', 'close');
  response.writeHead(outgoing.status, head);
  // As a text, which Node writes together with the head.
  response.end(outgoing.text);
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
