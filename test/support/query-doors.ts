// Ways to send a query, or to ask for one record, and get the answer byte for byte: at the routes' own doors, which is
// everything except the socket and the credential, and over HTTP with keys. Both ways must give the same answer.
import { Agent } from 'node:http';
import {
  type Actor,
  instantOf,
  type Instant,
  type Policy,
  resolveActor,
  type CarriedScopes,
  carriesAll,
  type ScopeSet,
} from '../../engine/index.js';
import { createKey } from '../../server/auth/api-keys.js';
import { actorOf, localActor, type RequestActor } from '../../server/auth/request-actor.js';
import type { Database } from '../../server/db/database.js';
import { readSecrets } from '../../server/db/secrets.js';
import { problemText } from '../../server/http/exchange.js';
import { pathTemplate } from '../../server/http/path-template.js';
import type { NamedHeader, Route } from '../../server/http/route.js';
import type { Active } from '../../server/policy/active/active-policy.js';
import { ApiProblem } from '../../server/problem.js';
import { makeRoutes } from '../../server/http/routes.js';
import { type Call, call, openGateway } from './gateway.js';

/** Who asks, when, and under which policy. */
export interface Asker {
  readonly actor: Actor;
  readonly at: Instant;
  readonly policy: Policy;
  /** `anna` unless given. */
  readonly id?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** At the doors those of the route alone; over HTTP all but the date. */
  readonly headers: Readonly<Record<string, unknown>>;
}

export type Kind = 'query' | 'count' | 'aggregate';
export type Ask = (asker: Asker, kind: Kind, body: unknown) => Promise<Answer>;
/** GET of one record. */
export type Get = (asker: Asker, path: string) => Promise<Answer>;

const NONE: ReadonlyMap<NamedHeader, string> = new Map();
const REQUEST_ID = 'the-same-for-all';
const unasked = (): never => {
  throw new Error('nobody asks for the health here');
};

/** Cursors are sealed as the store's gateway seals them. */
export async function openDoors(db: Database): Promise<Ask> {
  const { cursor } = await readSecrets(db);
  const routes = new Map(makeRoutes({ db, cursorKey: cursor, readiness: unasked }).map((route) => [route.path, route]));
  return async (asker, kind, body) => answerOf(routes.get(pathOf(kind)), asker, { path: pathOf(kind), body });
}

export async function openRecordDoors(db: Database): Promise<Get> {
  const { cursor } = await readSecrets(db);
  const routes = makeRoutes({ db, cursorKey: cursor, readiness: unasked }).filter(({ method }) => method === 'GET');
  return async (asker, path) => {
    const route = routes.find((one) => pathTemplate(one.path).partOf(path) !== null);
    return answerOf(route, asker, { path, body: null });
  };
}

export interface Written {
  readonly method: 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body: object;
  readonly ifMatch?: string | undefined;
  /** An Idempotency-Key. */
  readonly key?: string;
}

/** A command. */
export type Write = (asker: Asker, written: Written) => Promise<Answer>;

export function openWriteDoors(db: Database): Write {
  const routes = makeRoutes({ db, cursorKey: new Uint8Array(32), readiness: unasked }).filter(
    ({ access }) => access === 'command',
  );
  return (asker, { method, path, body, ifMatch, key }) => {
    const route = routes.find((one) => one.method === method && isOf(one.path, path));
    const headers = new Map<NamedHeader, string>();
    if (ifMatch !== undefined) headers.set('if-match', ifMatch);
    if (key !== undefined) headers.set('idempotency-key', key);
    return answerOf(route, asker, { path, body: JSON.parse(JSON.stringify(body)) as unknown, headers });
  };
}

function isOf(template: string, path: string): boolean {
  const { pattern } = pathTemplate(template);
  return typeof pattern === 'string' ? pattern === path : pattern.test(path);
}

interface Sent {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: ReadonlyMap<NamedHeader, string>;
}

async function answerOf(
  route: Route | undefined,
  { actor, at, policy, id }: Asker,
  { path, body, headers: named = NONE }: Sent,
): Promise<Answer> {
  if (
    route === undefined ||
    route.access === 'public' ||
    route.access === 'health' ||
    route.access === 'admin' ||
    route.access === 'status'
  ) {
    throw new Error(`there is no route to ${path}`);
  }
  const active: Active = {
    policy,
    generation: 1,
    source: { kind: 'memory' },
    statement: null,
    signers: [],
    askedBy: null,
    reason: 'start',
    labels: 'verified',
    since: at,
  };
  const { signal: gone } = new AbortController();
  const asking = asRequestActor(actor, id);
  const call = {
    requestId: REQUEST_ID,
    upload: null,
    actor: asking,
    at,
    path,
    query: NONE,
    headers: named,
    gone,
    pin: () => active,
    latest: () => active.policy,
    judged: () => undefined,
    toldHeld: () => undefined,
    told: () => undefined,
    willTell: () => Promise.resolve(),
    resolve: () => resolveActor(policy, asking),
    current: () => ({ snapshot: policy.digest, generation: 1, resolved: resolveActor(policy, asking) }),
  };
  try {
    // As the pipeline does.
    const read = route.input.body === undefined ? body : route.input.body.shape.read(body);
    const { status, json, headers = [] } = await route.run({ ...call, body: read });
    const named = headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1]]] : []));
    return { status, text: json, headers: Object.fromEntries(named) as Answer['headers'] };
  } catch (error) {
    // Anything else is a failure of the store or of ours, which no case here may meet.
    if (!(error instanceof ApiProblem)) throw error;
    return { status: error.status, text: problemText(error, REQUEST_ID), headers: {} };
  }
}

export interface HttpDoors {
  readonly ask: Ask;
  readonly get: Get;
  readonly close: () => Promise<void>;
}

/** One gateway for keys and one in local mode, on the same store; one request at a time sets clock and policy for itself. */
export async function openHttpDoors(db: Database): Promise<HttpDoors> {
  let now = instantOf(0);
  const clock = { now: (): Instant => now };
  const served = await openGateway({ db, clock });
  const local = await openGateway({ db, clock, mode: { kind: 'local' } });
  const agent = new Agent({ keepAlive: true });
  const keys = new Map<string, string>();
  const keyOf = async ({ identities, credentialScopes, namespaceRestrictions }: Actor, id: string): Promise<string> => {
    const name = JSON.stringify([identities, credentialScopes, namespaceRestrictions, id]);
    const known = keys.get(name);
    if (known !== undefined) return known;
    const fields = {
      scopes: scopesOf(credentialScopes),
      restrictions: namespaceRestrictions,
      expires: null,
      admin: false,
    };
    const made = await createKey(db, { actor: id, identities, ...fields }, instantOf(-1000));
    keys.set(name, made.text);
    return made.text;
  };
  const send = async ({ actor, at, policy, id = 'anna' }: Asker, sent: Call): Promise<Answer> => {
    const isLocal = actor.kind === 'local';
    const credential = isLocal ? {} : { key: await keyOf(actor, id) };
    now = at;
    if (!isLocal) served.gateway.policies.activate({ policy }, 'test');
    const reply = await call((isLocal ? local : served).port, {
      headers: { 'x-request-id': REQUEST_ID },
      ...credential,
      ...sent,
      agent,
    });
    const { date: _, ...headers } = reply.headers;
    return { status: reply.status, text: reply.text, headers };
  };
  const ask: Ask = (asker, kind, body) => send(asker, { path: pathOf(kind), body });
  const get: Get = (asker, path) => send(asker, { method: 'GET', path });
  const close = async (): Promise<void> => {
    agent.destroy();
    await served.dispose();
    await local.dispose();
  };
  return { ask, get, close };
}

function pathOf(kind: Kind): string {
  return kind === 'query' ? '/api/v1/query' : `/api/v1/query/${kind}`;
}

function asRequestActor(actor: Actor, id = 'anna'): RequestActor {
  if (actor.kind === 'local') return localActor('fingerprint');
  const { identities, credentialScopes, namespaceRestrictions } = actor;
  return actorOf('key', {
    id,
    identities,
    scopes: scopesOf(credentialScopes),
    restrictions: namespaceRestrictions,
    credentialFingerprint: 'fingerprint',
  });
}

export interface ListAnswer {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly page: { readonly size: number; readonly next: string | null };
}

export function asList({ status, text }: Answer): ListAnswer {
  if (status !== 200) throw new Error(`no list: ${String(status)} ${text}`);
  return JSON.parse(text) as ListAnswer;
}

function scopesOf(carried: CarriedScopes): ScopeSet | null {
  return carriesAll(carried) ? null : carried;
}
