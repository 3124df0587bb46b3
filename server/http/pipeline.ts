// The order of work, the same for every route: target and headers, route, credential, rate, turn, body, then the route
// itself (plan, policy pinned once, decision, SQL, projection), then the answer. Whatever is thrown on the way ends in
// one place. Nothing here knows about sockets.
import type { Instant } from '../../engine/index.js';
import type { Registry } from '../auth/authenticator.js';
import type { AdminActor, MonitorActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { ActorResolver } from '../auth/resolved-actors.js';
import type { Active, ActivePolicy } from '../policy/active/active-policy.js';
import { type AgeLimits, isOverdue, undecidedBecause } from '../policy/active/staleness.js';
import type { Clock, IdSource } from '../lib/ports.js';
import { ApiProblem } from '../problem.js';
import {
  type Answer,
  clientIdOf,
  unlessKnown,
  type EventStream,
  type Exchange,
  type Page,
  type PlainText,
  type Reply,
  toPreflight,
  problemText,
  toRefusal,
  toReply,
  toStream,
} from './exchange.js';
import { type BeginSpan, readTraceParent } from '../telemetry/trace.js';
import type { ClientAddress } from './client-address.js';
import type { Cors } from './cors.js';
import type { HostGuard } from './host-guard.js';
import { type Incoming, type Outgoing, RequestAborted } from './message.js';
import { asAnonymous, countedAs, evidenceOf, identify, isBare, limitAddress, type Limiters } from './identify.js';
import { openUpload, readJsonBody, readNoBody } from './request-body.js';
import { checkTarget, type Headers, hostOf, readHeaders } from './request-head.js';
import { readNamedHeaders, readQuery } from './request-inputs.js';
import type { RequestAudit } from './request-audit.js';
import type { RequestObserver } from './request-observer.js';
import type { ActorCall, ActorRoute, Call, HealthRoute, Live, Moment, Route } from './route.js';
import type { LiveComparison } from '../shadow/live-comparison.js';
import type { Shares, Strangers } from './shares.js';
import { toStoreProblem } from './store-problem.js';

/** What every request needs, whichever door it comes through. */
export interface Services {
  readonly actors: Registry<RequestActor>;
  /** Who reads without a credential; null if everybody needs one. */
  readonly anonymous: RequestActor | null;
  readonly admins: Registry<AdminActor>;
  /** Who may see what runs here: admins and monitoring. */
  readonly watchers: Registry<AdminActor | MonitorActor>;
  readonly policies: ActivePolicy;
  readonly ages: AgeLimits;
  readonly resolveActor: ActorResolver;
  readonly limiters: Limiters;
  readonly clientAddress: ClientAddress;
  readonly shares: Readonly<Record<'actors' | 'admins' | 'anonymous', Shares>> & { readonly strangers: Strangers };
  /** Places for streams, which an actor takes in addition to its turns. */
  readonly streams: Readonly<Record<'actors' | 'anonymous', Pick<Shares, 'enter'>>>;
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly beginSpan: BeginSpan;
  readonly observer: RequestObserver;
  readonly audit: RequestAudit;
  readonly shadow: Pick<LiveComparison, 'note'>;
}

/** One way in: a listener, or calls within the process. */
export interface Door {
  readonly services: Services;
  readonly guard: HostGuard;
  /** Whether everybody who reaches this door may see what runs here. */
  readonly showsStatus: boolean;
  /** Of its own address. Defaults to `http`. */
  readonly scheme?: 'http' | 'https';
  /** Web pages that may send requests. */
  readonly cors: Cors;
  readonly isClosing: () => boolean;
}

/** The routes of one path, by method. */
export type RoutesOfPath = ReadonlyMap<string, Route>;

/** Handles one request. `routes` are the routes of its path; null if there is no such path. Never rejects. */
export async function serve(door: Door, routes: RoutesOfPath | null, incoming: Incoming): Promise<Outgoing> {
  const { exchange, fault } = openExchange(door, incoming, [...(routes?.values() ?? [])][0]?.speaks);
  try {
    if (fault !== null) throw fault;
    const preflight = readPreflight(door, routes, exchange);
    if (preflight !== null) {
      door.services.observer.answered(exchange, 204);
      return finish(door, exchange, toPreflight(exchange, preflight, digestOf(door)));
    }
    const made = await work(door, routes, exchange);
    if ('pour' in made) {
      door.services.observer.answered(exchange, made.status);
      door.services.audit.answered(exchange, { status: made.status, json: '', shown: { items: 0 } });
      return finish(door, exchange, withCors(door, exchange, toStream(exchange, made, digestOf(door))));
    }
    const answer = unlessKnown(exchange, made);
    const reply = withCors(door, exchange, toReply(exchange, answer, digestOf(door)));
    checkRoom(door, exchange, reply.bytes);
    door.services.observer.answered(exchange, answer.status);
    door.services.audit.answered(exchange, answer);
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

/** The share of the actor, and the name that it is counted under; null if there is no actor. */
function shareOf({ services }: Door, exchange: Exchange): readonly [shares: Shares, name: string] | null {
  const { actor } = exchange;
  if (actor === null) return null;
  const { actors, admins, anonymous } = services.shares;
  const shares = !('credentialScopes' in actor) ? admins : actor.kind === 'anonymous' ? anonymous : actors;
  return [shares, countedAs(actor, exchange)];
}

async function takeTurn(door: Door, exchange: Exchange): Promise<void> {
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  exchange.leave = (await shares?.enter(name, exchange.incoming)) ?? null;
}

/**
 * Checked once the size of the answer is known: in the meantime other requests may have made answers that nobody reads.
 * What may have been changed is done, so whoever changed it is told, whatever the size.
 */
function checkRoom(door: Door, exchange: Exchange, bytes: number): void {
  const access = exchange.route?.access;
  if (access === 'command' || access === 'admin') return;
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  shares?.checkRoom(name, bytes);
}

/** Counts the bytes before the turn ends. Otherwise the next request could begin before they are counted. */
function finish(door: Door, exchange: Exchange, { status, headers, text, bytes, pour }: Reply): Outgoing {
  const { peer } = exchange.incoming;
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  const taken = shares === null ? door.services.shares.strangers.hold(peer, bytes) : shares.hold(name, bytes);
  exchange.leave?.();
  // A stranger who was refused has to connect again, so that refusals do not keep connections.
  const isStranger = shares === null || exchange.actor?.kind === 'anonymous';
  const isLast = isStranger && !peer.isKnown && (status === 401 || status === 429);
  return { status, headers, text, bytes, isLast, taken, ...(pour === undefined ? {} : { pour }) };
}

function digestOf({ services }: Door): string {
  return services.policies.current().policy.digest;
}

interface Opened {
  readonly exchange: Exchange;
  readonly fault: ApiProblem | null;
}

function openExchange({ services }: Door, incoming: Incoming, speaks?: Route['speaks']): Opened {
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
    active: null,
    judged: null,
    held: null,
    told: [],
    decided: null,
    route: null,
  };
  return { exchange, fault };
}

const METHODS = Object.freeze(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** A browser's preflight. It is checked like any request, except that it carries no credential. */
function readPreflight(door: Door, routes: RoutesOfPath | null, exchange: Exchange): readonly string[] | null {
  const { incoming, headers } = exchange;
  const asked = {
    method: incoming.method,
    origin: headers.get('origin'),
    wanted: headers.get('access-control-request-method'),
  };
  // A page can read that there is no such route, if its browser may ask.
  const allowed = door.cors.preflightFor(asked, routes === null ? METHODS : allowedOf(routes));
  if (allowed === null) return null;
  checkTarget(incoming.url ?? '');
  door.guard(hostOf(headers), asked.origin);
  if (door.isClosing()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
  limitAddress(door.services, exchange);
  readNoBody(headers);
  return allowed;
}

function withCors({ cors, services }: Door, { headers }: Exchange, reply: Reply): Reply {
  // What is read without a credential is never the answer to somebody who brings one, whatever a cache may do.
  const varies = services.anonymous === null ? [] : ['Vary', 'Authorization'];
  const more = [...varies, ...cors.headersFor(headers.get('origin'))];
  return more.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...more] };
}

async function work(
  door: Door,
  routes: RoutesOfPath | null,
  exchange: Exchange,
): Promise<Answer | Page | PlainText | EventStream> {
  const { services, guard } = door;
  const { incoming, headers } = exchange;
  const target = incoming.url ?? '';
  checkTarget(target);
  const health = healthRoute(routes, incoming.method);
  if (health !== null) {
    exchange.route = health;
    readQuery(target, health.input.query);
    readNoBody(headers);
    return health.answer();
  }
  guard(hostOf(headers), headers.get('origin'));
  const route = chooseRoute(routes, incoming.method);
  exchange.route = route;
  if (door.isClosing()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
  if (route.access === 'public') {
    limitAddress(services, exchange);
    const query = readQuery(target, route.input.query);
    readNoBody(headers);
    return route.answer({ query, address: addressOf(door, headers) });
  }
  if (route.access === 'status') {
    // A credential that is presented must be valid, even where none is needed.
    if (door.showsStatus && isBare(exchange)) limitAddress(services, exchange);
    else await identify(services.watchers, services, exchange);
    readQuery(target, route.input.query);
    readNoBody(headers);
    return route.answer({ at: exchange.at });
  }
  if (route.access === 'admin') {
    const actor = await identify(services.admins, services, exchange);
    await takeTurn(door, exchange);
    return route.run(await callOf(route, { actor, target }, door, exchange));
  }
  const actor = asAnonymous(services, route, exchange) ?? (await identify(services.actors, services, exchange));
  if (route.access === 'ask' && !actor.mayAsk) throw new ApiProblem('authz.asker');
  await takeTurn(door, exchange);
  const call = await callOf(route, { actor, target }, door, exchange);
  services.audit.check(route.access);
  const asked: ActorCall = {
    ...call,
    judged: (judged, times) => {
      call.judged(judged, times);
      services.shadow.note({ actor, at: exchange.at, judged, snapshot: exchange.active?.policy.digest ?? '' });
    },
    toldHeld: (held) => {
      exchange.held = held;
    },
    told: (answers) => {
      exchange.told = answers;
    },
    resolve: () => services.resolveActor(call.pin().policy, actor),
    current: () => {
      const { policy } = pinFresh(services, exchange.at);
      return { snapshot: policy.digest, resolved: services.resolveActor(policy, actor) };
    },
  };
  return wantsEvents(exchange, route) ? openStream(door, exchange, { route, asked }) : route.run(asked);
}

/** A proxy that ends TLS says so. Whoever says so falsely is shown an address that does not work, and nobody else is. */
function addressOf({ scheme = 'http' }: Door, headers: Headers): string {
  const isForwarded = /^https(?:,|$)/i.test(headers.get('x-forwarded-proto') ?? '');
  return `${isForwarded ? 'https' : scheme}://${hostOf(headers)}`;
}

/** Only a client that names the type gets events, so `*`/`*` keeps getting JSON. */
function wantsEvents({ headers, incoming }: Exchange, { stream }: ActorRoute): boolean {
  if (stream === undefined || incoming.method !== 'GET') return false;
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    return type === 'text/event-stream' && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one));
  });
}

interface Opening {
  readonly route: ActorRoute;
  readonly asked: ActorCall;
}

/**
 * The stream has its place until it ends, and its actor's turn only until it begins. What its client has yet to read
 * counts as that of other answers does.
 */
async function openStream(door: Door, exchange: Exchange, { route, asked }: Opening): Promise<EventStream> {
  const { services } = door;
  const { actor } = asked;
  const places = actor.kind === 'anonymous' ? services.streams.anonymous : services.streams.actors;
  const name = countedAs(actor, exchange);
  const shares = actor.kind === 'anonymous' ? services.shares.anonymous : services.shares.actors;
  const leave = await places.enter(name, exchange.incoming);
  try {
    if (route.stream === undefined) throw new TypeError('a route without a stream');
    const { status, pour } = await route.stream(asked, liveOf(door, exchange, asked));
    return {
      status,
      pour: async (sink) => {
        try {
          await pour({
            send: async (text) => {
              const taken = shares.hold(name, Buffer.byteLength(text));
              try {
                await sink.send(text);
              } finally {
                taken();
              }
            },
          });
        } finally {
          leave();
        }
      },
    };
  } catch (error) {
    leave();
    throw error;
  }
}

function liveOf(door: Door, exchange: Exchange, { actor }: ActorCall): Live {
  const { services } = door;
  return {
    lastEventId: exchange.headers.get('last-event-id') ?? null,
    again: async (): Promise<Moment> => {
      if (door.isClosing()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
      const at = services.clock.now();
      const now =
        actor.kind === 'anonymous' ? actor : await services.actors.credentialOf(evidenceOf(exchange)).authenticate(at);
      // What was sealed for one actor is never shown to another.
      if (now.id !== actor.id) throw new ApiProblem('auth.invalid', { reason: 'the credential is another actor now' });
      services.audit.check('visibility');
      const active = pinFresh(services, at);
      return { at, active, resolved: services.resolveActor(active.policy, now) };
    },
    shown: ({ at, active }, told) => {
      const then = { ...exchange, at, active, judged: null, held: null, told };
      services.audit.answered(then, { status: 200, json: '' });
    },
    problemOf: (error) => {
      const problem = toProblem(error);
      if (problem.code === 'internal') services.observer.answered(exchange, problem.status, problem);
      const text = problemText(problem, exchange.clientId ?? exchange.requestId);
      return { text, retryAfter: problem.detail.retryAfter ?? null };
    },
  };
}

/** A check of health may be asked with HEAD. Node leaves out the body of the answer. */
function healthRoute(routes: RoutesOfPath | null, method = ''): HealthRoute | null {
  const route = routes?.get(method === 'HEAD' ? 'GET' : method);
  return route?.access === 'health' ? route : null;
}

/** Exact: no method stands for another, and a path that differs in case, slash or spelling is a different path. */
function chooseRoute(routes: RoutesOfPath | null, method = ''): Exclude<Route, HealthRoute> {
  if (routes === null) throw new ApiProblem('route.not_found');
  const route = routes.get(method === 'HEAD' ? 'GET' : method);
  if (route === undefined || route.access === 'health') {
    throw new ApiProblem('request.method', { headers: ['Allow', allowedOf(routes).join(', ')] });
  }
  return route;
}

/** Node leaves out the body of an answer to HEAD. */
function allowedOf(routes: RoutesOfPath): readonly string[] {
  return [...routes.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

interface Known<Actor> {
  readonly actor: Actor;
  readonly target: string;
}

async function callOf<Actor>(
  { input }: Route,
  { actor, target }: Known<Actor>,
  { services }: Door,
  exchange: Exchange,
): Promise<Call<Actor>> {
  const { incoming, headers, at, requestId } = exchange;
  const query = readQuery(target, input.query);
  const named = readNamedHeaders(headers, input.headers, input.optional);
  const upload = input.upload === undefined ? null : openUpload(incoming, headers, input.upload);
  if (input.body === undefined && upload === null) readNoBody(headers);
  const body = input.body === undefined ? null : await readJsonBody(incoming, headers, input.body);
  const mark = target.indexOf('?');
  return {
    requestId,
    actor,
    at,
    path: mark < 0 ? target : target.slice(0, mark),
    query,
    headers: named,
    body,
    upload,
    gone: incoming.gone,
    pin: () => (exchange.active ??= pinFresh(services, at)),
    latest: () => services.policies.state().active.policy,
    judged: (judged, times) => {
      exchange.judged = judged;
      exchange.decided = times ?? null;
    },
  };
}

/** Pins the policy. Refuses if nobody can tell whether it is still in force. */
function pinFresh({ policies, ages }: Services, at: Instant): Active {
  const state = policies.state();
  if (isOverdue(state)) throw new ApiProblem('snapshot.unavailable', { retryAfter: 1 });
  const reason = undecidedBecause(state, ages, at);
  if (reason !== null) throw new ApiProblem('snapshot.expired', { title: capitalized(reason), retryAfter: 5 });
  return state.active;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Makes a refusal even if nobody reads it, so that every request ends in the same way. */
function fail(door: Door, exchange: Exchange, error: unknown): Reply {
  const { observer, audit } = door.services;
  const problem = toProblem(error);
  const isGone = error instanceof RequestAborted || exchange.incoming.gone.aborted;
  // A fault of ours is reported whether or not somebody waits for the answer.
  if (isGone && problem.code !== 'internal') observer.abandoned(exchange);
  else {
    observer.answered(exchange, problem.status, problem);
    audit.refused(exchange, problem);
  }
  return withCors(door, exchange, toRefusal(exchange, problem, digestOf(door)));
}

/** Any error other than a refusal of ours or a failure of the store is a bug of ours. */
function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  // Nobody gets this answer, and it must not be logged as a bug of ours.
  if (error instanceof RequestAborted) return new ApiProblem('request.malformed', { cause: error });
  return toStoreProblem(error) ?? new ApiProblem('internal', { cause: error });
}
