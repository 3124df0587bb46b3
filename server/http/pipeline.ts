// A request from its target to its answer. Nothing here knows about sockets: Express finds the route (app.ts), and Node's
// messages are translated in http-message.ts. In order:
//   1. headers: read strictly, each at most once (request-head.ts); a span begins
//   2. steps: those of the kind of access, as listed in steps.ts: target, host, credential (auth/), rate, turn (shares.ts),
//      query parameters, body, and the turn of those without a credential. A browser's preflight has its own
//   3. route: plan, policy pinned once, decision, rows (route.ts). No route gets rows before the decision
//   4. answer: exchange.ts makes it, whether a result or a refusal. Its bytes are counted before the turn ends
//   5. observers: metrics, log and audit get the outcome once
// Whatever is thrown on the way ends in `fail`.
import { readTraceParent } from '../telemetry/trace.js';
import { ApiProblem } from '../problem.js';
import type { Door } from './door.js';
import {
  clientIdOf,
  type Exchange,
  type Reply,
  toFile,
  toPreflight,
  toRefusal,
  toReply,
  toStream,
  unlessKnown,
} from './exchange.js';
import { type Incoming, type Outgoing, type Pour, RequestAborted } from './message.js';
import { limitRefused } from './identify.js';
import { readHeaders } from './request-head.js';
import type { Route } from './route.js';
import { allowedOf, answerOf, type Passage, type RoutesOfPath, STEPS, takeSteps } from './steps.js';
import { toProblem } from './to-problem.js';
import { checkRoom, finish } from './turns.js';

/** Handles one request. `routes` are the routes of its path; null if there is no such path. Never rejects. */
export async function serve(door: Door, routes: RoutesOfPath | null, incoming: Incoming): Promise<Outgoing> {
  const { observer, audit } = door.services;
  const { exchange, fault } = openExchange(door, incoming, [...(routes?.values() ?? [])][0]?.speaks);
  try {
    if (fault !== null) throw fault;
    const passage = passageOf(door, routes, exchange);
    const preflight = preflightOf(passage);
    if (preflight !== null) {
      await takeSteps(STEPS.preflight, passage);
      observer.answered(exchange, 204);
      return finish(door, exchange, toPreflight(exchange, preflight, digestOf(door)));
    }
    await takeSteps(STEPS[passage.route?.access ?? 'none'], passage);
    const made = await answerOf(passage);
    if ('pour' in made) {
      observer.answered(exchange, made.status);
      audit.answered(exchange, { status: made.status, json: '', shown: { items: 0 } });
      const poured = { ...made, pour: reported(door, exchange, made.pour) };
      const reply =
        'bytes' in poured ? toFile(exchange, poured, digestOf(door)) : toStream(exchange, poured, digestOf(door));
      return finish(door, exchange, withCors(door, exchange, reply));
    }
    const answer = unlessKnown(exchange, made);
    const reply = withCors(door, exchange, toReply(exchange, answer, digestOf(door)));
    checkRoom(door, exchange, reply.bytes);
    observer.answered(exchange, answer.status);
    audit.answered(exchange, answer);
    return finish(door, exchange, reply);
  } catch (error) {
    return finish(door, exchange, fail(door, exchange, error));
  }
}

/** Answers a request whose path the router itself could not read: no route has such a path. */
export function refuseUnroutable(door: Door, incoming: Incoming, error: unknown): Outgoing {
  const { exchange } = openExchange(door, incoming);
  return finish(door, exchange, fail(door, exchange, new ApiProblem('route.not_found', { cause: error })));
}

function digestOf({ services }: Door): string {
  return services.policies.current().policy.digest;
}

function openExchange(
  { services }: Door,
  incoming: Incoming,
  speaks?: Route['speaks'],
): { readonly exchange: Exchange; readonly fault: ApiProblem | null } {
  const { headers, fault } = readHeaders(incoming.rawHeaders);
  const exchange: Exchange = {
    incoming,
    headers,
    requestId: services.nextId(),
    address: services.clientAddress(incoming.peer.address, headers.get('x-forwarded-for')),
    quotas: [],
    clientId: clientIdOf(headers, speaks),
    span: services.beginSpan(readTraceParent(headers.get('traceparent'), headers.get('tracestate'))),
    at: services.clock.now(),
    startedAt: performance.now(),
    actor: null,
    leave: null,
    place: null,
    active: null,
    judged: null,
    held: null,
    told: [],
    decided: null,
    route: null,
  };
  return { exchange, fault };
}

function passageOf(door: Door, routes: RoutesOfPath | null, exchange: Exchange): Passage {
  const { method = '', url = '' } = exchange.incoming;
  return {
    door,
    exchange,
    target: url,
    routes,
    route: routes?.get(method === 'HEAD' ? 'GET' : method) ?? null,
    actor: null,
    admin: null,
    query: NONE,
    headers: NONE,
    body: null,
    upload: null,
  };
}

const NONE = new Map<never, string>();
const METHODS = Object.freeze(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** What a browser's preflight may be followed by; null if the request is no preflight. */
function preflightOf({ door, exchange, routes }: Passage): readonly string[] | null {
  const { incoming, headers } = exchange;
  const asked = {
    method: incoming.method,
    origin: headers.get('origin'),
    wanted: headers.get('access-control-request-method'),
  };
  // A page can read that there is no such route, if its browser may ask.
  return door.cors.preflightFor(asked, routes === null ? METHODS : allowedOf(routes));
}

function withCors({ cors, services }: Door, { headers }: Exchange, reply: Reply): Reply {
  // What is read without a credential is never the answer to somebody who brings one, whatever a cache may do.
  const varies = services.anonymous === null ? [] : ['Vary', 'Authorization'];
  const more = [...varies, ...cors.headersFor(headers.get('origin'))];
  return more.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...more] };
}

/** Makes a refusal even if nobody reads it, so that every request ends in the same way. */
function fail(door: Door, exchange: Exchange, error: unknown): Reply {
  const { observer, audit } = door.services;
  const problem = limitRefused(door.services, exchange, toProblem(error));
  const isAborted = error instanceof RequestAborted;
  const isGone = isAborted || exchange.incoming.gone.aborted;
  // A fault of ours is reported whether or not somebody waits for the answer.
  const isHeard = !isGone || problem.code === 'internal';
  if (isHeard) observer.answered(exchange, problem.status, problem);
  else observer.abandoned(exchange);
  // So is a refusal recorded: who tries keys must not leave no trace by hanging up first. What the store fails at
  // because its statement was cancelled is no refusal.
  if (isHeard || (!isAborted && problem.status < 500)) audit.refused(exchange, problem);
  return withCors(door, exchange, toRefusal(exchange, problem, digestOf(door)));
}

/** What fails once the head of an answer is sent can only be reported. */
function reported({ services }: Door, exchange: Exchange, pour: Pour): Pour {
  return async (sink) => {
    try {
      await pour(sink);
    } catch (error) {
      const problem = toProblem(error);
      if (!(error instanceof RequestAborted)) services.observer.answered(exchange, problem.status, problem);
      throw error;
    }
  };
}
