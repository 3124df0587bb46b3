// The order of work of design 6, once and for every route: request line, credential, rate limit, body, then the route itself
// (schema, policy pinned once, decision, SQL, projection), then the answer. Whatever is thrown on the way ends in one place.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '../auth/authenticate.js';
import { toStoreProblem } from './store-problem.js';
import { HTTP_LIMITS } from '../limits.js';
import type { Clock, IdSource, Logger } from '../ports.js';
import type { ActivePolicy } from '../policy/active-policy.js';
import { ApiProblem } from '../problem.js';
import {
  type Answer,
  chooseRequestId,
  type Exchange,
  type Page,
  sendAnswer,
  sendProblem,
  type Surroundings,
} from './exchange.js';
import type { HostGuard } from './host-guard.js';
import { addressName, type RateLimiter } from './rate-limit.js';
import { discardBody, readJsonBody, readNoBody, RequestAborted } from './request-body.js';
import { checkHeaders, checkTarget } from './request-line.js';
import type { Route } from './route.js';

export interface Gatekeeper {
  readonly authenticator: Authenticator;
  readonly policies: ActivePolicy;
  readonly hostGuard: HostGuard;
  readonly limiters: Limiters;
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly log: Logger;
  readonly floodNotice: () => void;
  readonly around: Surroundings;
}

export interface Limiters {
  readonly perActor: RateLimiter;
  readonly perAddress: RateLimiter;
  readonly unauthenticated: RateLimiter;
}

/** Does one request. `routes` are those of the path, by method; none where there is no such path. Never rejects. */
export async function serveRequest(
  keeper: Gatekeeper,
  routes: ReadonlyMap<string, Route> | null,
  message: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const exchange = openExchange(keeper, message.request, message.response);
  try {
    const answer = await work(keeper, routes, exchange);
    sendAnswer(exchange, answer, keeper.around);
    logAnswer(keeper.log, exchange, answer.status);
  } catch (error) {
    fail(keeper, exchange, error);
  }
}

/** Answers a request that the router itself could not read: its path is none of ours. */
export function serveUnroutable(
  keeper: Gatekeeper,
  message: { readonly request: IncomingMessage; readonly response: ServerResponse },
  error: unknown,
): void {
  fail(
    keeper,
    openExchange(keeper, message.request, message.response),
    new ApiProblem('route.not_found', { cause: error }),
  );
}

/** Says that requests are refused for their rate, at most once a second: a line for each would fill the log in a flood. */
export function makeFloodNotice(log: Logger): () => void {
  let refused = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  return () => {
    refused += 1;
    if (performance.now() - saidAt < FLOOD_NOTICE_INTERVAL) return;
    log.warn({ refused }, 'requests refused for their rate since the last such line');
    refused = 0;
    saidAt = performance.now();
  };
}

const FLOOD_NOTICE_INTERVAL = 1_000;

async function work(
  keeper: Gatekeeper,
  routes: ReadonlyMap<string, Route> | null,
  exchange: Exchange,
): Promise<Answer | Page> {
  const { request } = exchange;
  checkTarget(request);
  const { host, origin } = checkHeaders(request);
  keeper.hostGuard(host, origin);
  const route = chooseRoute(routes, request);
  if (keeper.around.isDraining()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
  if (route.access === 'public') {
    limit(keeper.limiters.perAddress, 'address', addressOf(request));
    readNoBody(request);
    return route.answer();
  }
  const actor = await identify(keeper, exchange);
  const body = await readBody(route, exchange);
  const pinPolicy = (): NonNullable<Exchange['policy']> => (exchange.policy ??= keeper.policies.current().policy);
  return route.run({ actor, at: exchange.at, path: request.url ?? '', pinPolicy }, body);
}

function openExchange(keeper: Gatekeeper, request: IncomingMessage, response: ServerResponse): Exchange {
  return {
    request,
    response,
    requestId: chooseRequestId(request.headers['x-request-id'], keeper.nextId),
    at: keeper.clock.now(),
    startedAt: performance.now(),
    awaitsLeave: request.headers.expect?.toLowerCase() === '100-continue',
    actor: null,
    policy: null,
  };
}

/** Exact: no method stands for another, and what differs in case, slash or spelling is another path. */
function chooseRoute(routes: ReadonlyMap<string, Route> | null, request: IncomingMessage): Route {
  if (routes === null) throw new ApiProblem('route.not_found');
  const route = routes.get(request.method ?? '');
  if (route === undefined) {
    throw new ApiProblem('request.method', { headers: ['Allow', [...routes.keys()].join(', ')] });
  }
  // After method and path, so that an unknown path is that and nothing else.
  if (request.url?.includes('?') === true) {
    throw new ApiProblem('request.schema', {
      errors: [{ pointer: '', code: 'request.schema', message: 'this route takes no query string' }],
    });
  }
  return route;
}

async function identify(keeper: Gatekeeper, exchange: Exchange): Promise<NonNullable<Exchange['actor']>> {
  const { authenticator, limiters } = keeper;
  const address = addressOf(exchange.request);
  try {
    exchange.actor = await authenticator.authenticate(exchange.request.headers.authorization, exchange.at);
  } catch (error) {
    // Only failures are counted here, so nobody is locked out by others who fail from the same address.
    if (error instanceof ApiProblem && error.status === 401)
      limit(limiters.unauthenticated, 'unauthenticated', address);
    throw error;
  }
  limit(limiters.perAddress, 'address', address);
  limit(limiters.perActor, 'actor', exchange.actor.id);
  return exchange.actor;
}

const addressOf = (request: IncomingMessage): string => addressName(request.socket.remoteAddress);

function limit(limiter: RateLimiter, policy: string, name: string): void {
  const wait = limiter.take(name);
  if (wait === 0) return;
  const headers = [
    'RateLimit-Policy',
    `"${policy}";q=${String(limiter.quota)};w=1`,
    'RateLimit',
    `"${policy}";r=0;t=${String(wait)}`,
  ];
  throw new ApiProblem('limit.rate', { retryAfter: wait, headers });
}

async function readBody(route: Route, exchange: Exchange): Promise<unknown> {
  if (route.body === 'none') return readNoBody(exchange.request);
  return readJsonBody(exchange.request, () => {
    if (!exchange.awaitsLeave) return;
    exchange.awaitsLeave = false;
    exchange.response.writeContinue();
  });
}

function fail(keeper: Gatekeeper, exchange: Exchange, error: unknown): void {
  if (error instanceof RequestAborted || exchange.response.destroyed) {
    keeper.log.info({ requestId: exchange.requestId }, 'the client went away');
    return;
  }
  const problem = toProblem(error);
  discardBody(exchange.request);
  sendProblem(exchange, problem, keeper.around);
  if (problem.code === 'limit.rate') keeper.floodNotice();
  else logAnswer(keeper.log, exchange, problem.status, problem);
}

/** Everything that is no refusal of ours, nor the store's, is a fault of ours. */
function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return toStoreProblem(error) ?? new ApiProblem('internal', { cause: error });
}

/** One line for each request. */
function logAnswer(log: Logger, exchange: Exchange, status: number, problem: ApiProblem | null = null): void {
  const { request, requestId, actor, policy, startedAt } = exchange;
  const fields = {
    requestId,
    method: request.method,
    path: pathForLog(request.url),
    status,
    milliseconds: Math.round((performance.now() - startedAt) * 1000) / 1000,
    ...(actor === null ? {} : { actor: actor.id }),
    ...(policy === null ? {} : { snapshot: policy.digest }),
    ...(problem === null ? {} : { code: problem.code }),
    ...(problem?.detail.step === undefined ? {} : { step: problem.detail.step }),
    ...(problem?.detail.reason === undefined ? {} : { reason: problem.detail.reason }),
    ...(problem?.detail.cause === undefined ? {} : { error: problem.detail.cause }),
  };
  if (status >= 500) log.error(fields, 'request');
  else log.info(fields, 'request');
}

/** Without query string, which may hold what somebody took for the place of a secret. */
function pathForLog(url: string | undefined): string {
  return (url ?? '').split(/[?#]/, 1)[0]?.slice(0, HTTP_LIMITS.loggedPathCharacters) ?? '';
}
