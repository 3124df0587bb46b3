// What is done with a request before its route answers: one list of steps for each kind of access, in the order in which
// they run. A step that refuses throws, and the steps after it do not run.
import { InvariantError } from '../../engine/index.js';
import type { AdminActor } from '../auth/admin-actor.js';
import type { RequestActor } from '../auth/request-actor.js';
import { ApiProblem } from '../problem.js';
import { type Door, pinFresh } from './door.js';
import { openStream, wantsEvents } from './event-stream.js';
import type { EventStream, Exchange, JsonAnswer, JsonFile, Page, PlainText } from './exchange.js';
import { asAnonymous, identify, isBare, limitAddress } from './identify.js';
import { openUpload, readJsonBody, readNoBody } from './request-body.js';
import { checkTarget, type Headers, hostOf } from './request-head.js';
import { readNamedHeaders, readQuery, refuseConditions } from './request-inputs.js';
import type { ActorCall, Call, NamedHeader, Route, Upload } from './route.js';
import { countBody, joinCrowd, takeRoom, takeTurn } from './turns.js';

/** The routes of one path, by method. */
export type RoutesOfPath = ReadonlyMap<string, Route>;

/** A request at a door. The later fields are filled in by the step of that name. */
export interface Passage {
  readonly door: Door;
  readonly exchange: Exchange;
  /** As it was sent, with the query string. */
  readonly target: string;
  /** Null if there is no such path. */
  readonly routes: RoutesOfPath | null;
  /** The route of the path and method; null if there is none. */
  readonly route: Route | null;
  actor: RequestActor | null;
  admin: AdminActor | null;
  query: ReadonlyMap<string, string>;
  headers: ReadonlyMap<NamedHeader, string>;
  body: unknown;
  upload: Upload | null;
}

type Step = (passage: Passage) => Promise<void> | void;

/** `preflight` is a browser's question about CORS, `none` a request that has no route. */
type Kind = Route['access'] | 'preflight' | 'none';

const REQUEST: readonly Step[] = [target, host, route, open];
const INPUTS: readonly Step[] = [query, headers, body];
const ACTOR: readonly Step[] = [...REQUEST, actor, turn, room, ...INPUTS, crowd, auditable];

export const STEPS: Readonly<Record<Kind, readonly Step[]>> = Object.freeze({
  none: [target, host, route],
  // It carries no credential.
  preflight: [target, host, open, addressRate, noBody],
  // Asked as whatever watches over the gateway asks: under any host, without a limit, and while the gateway closes.
  health: [target, route, query, noBody],
  public: [...REQUEST, addressRate, query, noBody],
  status: [...REQUEST, watcher, query, noBody],
  admin: [...REQUEST, admin, turn, ...INPUTS],
  self: ACTOR,
  visibility: ACTOR,
  record: ACTOR,
  command: ACTOR,
  ask: [...REQUEST, actor, turn, room, asker, ...INPUTS, auditable],
});

/** Takes the steps. Waits only for those that have to wait. */
export async function takeSteps(steps: readonly Step[], passage: Passage): Promise<void> {
  for (const step of steps) {
    const waiting = step(passage);
    if (waiting !== undefined) await waiting;
  }
}

/** The target is exact and not too long. */
function target({ target: sent }: Passage): void {
  checkTarget(sent);
}

/** The host is one of ours, and the page that sent the request may do so. */
function host({ door, exchange: { headers: sent } }: Passage): void {
  door.guard(hostOf(sent), sent.get('origin'));
}

/** Exact: no method stands for another, and a path that differs in case, slash or spelling is a different path. */
function route({ exchange, routes, route: chosen }: Passage): void {
  if (routes === null) throw new ApiProblem('route.not_found');
  if (chosen === null) throw new ApiProblem('request.method', { headers: ['Allow', allowedOf(routes).join(', ')] });
  exchange.route = chosen;
}

/** Node leaves out the body of an answer to HEAD. */
export function allowedOf(routes: RoutesOfPath): readonly string[] {
  return [...routes.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

function open({ door }: Passage): void {
  if (door.isClosing()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
}

function addressRate({ door, exchange }: Passage): void {
  limitAddress(door.services, exchange);
}

async function actor(passage: Passage): Promise<void> {
  const { door, exchange } = passage;
  const { services } = door;
  passage.actor =
    asAnonymous(services, routeOf(passage), exchange) ?? (await identify(services.actors, services, exchange));
}

async function admin(passage: Passage): Promise<void> {
  const { services } = passage.door;
  passage.admin = await identify(services.admins, services, passage.exchange);
}

/** A credential that is presented must be valid, even where none is needed. */
async function watcher({ door, exchange }: Passage): Promise<void> {
  const { services, showsStatus } = door;
  if (showsStatus && isBare(exchange)) limitAddress(services, exchange);
  else await identify(services.watchers, services, exchange);
}

function asker(passage: Passage): void {
  if (!filled(passage.actor, 'actor').mayAsk) throw new ApiProblem('authz.asker');
}

function turn({ door, exchange }: Passage): Promise<void> {
  return takeTurn(door, exchange);
}

/** For one event. A request that has more of them says so. */
function room({ door, exchange }: Passage): Promise<void> | void {
  return takeRoom(door, exchange, 1);
}

function query(passage: Passage): void {
  passage.query = readQuery(passage.target, routeOf(passage).input.query);
}

function headers(passage: Passage): void {
  const { access, input } = routeOf(passage);
  const { headers: sent } = passage.exchange;
  passage.headers = readNamedHeaders(sent, input.headers, input.optional);
  if (access === 'command') refuseConditions(sent, input);
}

function noBody({ exchange }: Passage): void {
  readNoBody(exchange.headers);
}

function body(passage: Passage): Promise<void> | void {
  const { input } = routeOf(passage);
  const { incoming, headers: sent } = passage.exchange;
  if (input.upload !== undefined) passage.upload = openUpload(incoming, sent, input.upload);
  if (input.body !== undefined) return readBody(passage, input.body);
  if (passage.upload === null) readNoBody(sent);
}

async function readBody(passage: Passage, input: NonNullable<Route['input']['body']>): Promise<void> {
  const { door, exchange } = passage;
  const onBytes = countBody(door, exchange);
  const incoming = { readBody: (most: number) => exchange.incoming.readBody(most, onBytes) };
  passage.body = await readJsonBody(incoming, exchange.headers, input);
}

function crowd({ door, exchange }: Passage): Promise<void> | void {
  return joinCrowd(door, exchange);
}

/** What has to be recorded is not done while it cannot be. */
function auditable(passage: Passage): void {
  passage.door.services.audit.check(routeOf(passage).access);
}

/** The answer of the route, once all steps have passed. */
export function answerOf(
  passage: Passage,
): Promise<JsonAnswer | EventStream | JsonFile | PlainText> | JsonAnswer | Page | Promise<JsonAnswer> {
  const { door, exchange, query: parameters } = passage;
  const chosen = routeOf(passage);
  switch (chosen.access) {
    case 'health':
      return chosen.answer();
    case 'public':
      return chosen.answer({ query: parameters, address: addressOf(door, exchange.headers) });
    case 'status':
      return chosen.answer({ at: exchange.at });
    case 'admin':
      return chosen.run(callOf(passage, filled(passage.admin, 'admin')));
    default: {
      const call = actorCallOf(passage, filled(passage.actor, 'actor'));
      return wantsEvents(exchange, chosen)
        ? openStream(door, exchange, { route: chosen, asked: call })
        : chosen.run(call);
    }
  }
}

/** A proxy that ends TLS says so. Whoever says so falsely is shown an address that does not work, and nobody else is. */
function addressOf({ scheme = 'http' }: Door, sent: Headers): string {
  const isForwarded = /^https(?:,|$)/i.test(sent.get('x-forwarded-proto') ?? '');
  return `${isForwarded ? 'https' : scheme}://${hostOf(sent)}`;
}

function callOf<Actor>(passage: Passage, caller: Actor): Call<Actor> {
  const { exchange, target: sent } = passage;
  const { services } = passage.door;
  const { incoming, at, requestId } = exchange;
  const mark = sent.indexOf('?');
  return {
    requestId,
    actor: caller,
    at,
    path: mark < 0 ? sent : sent.slice(0, mark),
    query: passage.query,
    headers: passage.headers,
    body: passage.body,
    upload: passage.upload,
    gone: incoming.gone,
    pin: () => (exchange.active ??= pinFresh(services, at)),
    latest: () => services.policies.state().active.policy,
    judged: (judged, times) => {
      exchange.judged = judged;
      exchange.decided = times ?? null;
    },
  };
}

function actorCallOf(passage: Passage, caller: RequestActor): ActorCall {
  const { exchange } = passage;
  const { services } = passage.door;
  const call = callOf(passage, caller);
  return {
    ...call,
    judged: (judged, times) => {
      call.judged(judged, times);
      const snapshot = exchange.active?.policy.digest ?? '';
      services.shadow.note({ actor: caller, at: exchange.at, judged, snapshot });
    },
    toldHeld: (held) => {
      services.audit.check('visibility');
      exchange.held = held;
    },
    told: (answers) => {
      exchange.told = answers;
    },
    willTell: async (count) => {
      if (count <= 1) return;
      await takeRoom(passage.door, exchange, count);
      services.audit.check('ask');
    },
    resolve: () => services.resolveActor(call.pin().policy, caller),
    current: () => {
      const { policy, generation } = pinFresh(services, exchange.at);
      return { snapshot: policy.digest, generation, resolved: services.resolveActor(policy, caller) };
    },
  };
}

function routeOf({ route: chosen }: Passage): Route {
  return filled(chosen, 'route');
}

/** What an earlier step of the list has filled in. */
function filled<Value>(value: Value | null, step: string): Value {
  if (value === null) throw new InvariantError(`a list of steps without \`${step}\``);
  return value;
}
