// The gateway's own doors without a socket, for commands: actors with keys of their own under one policy, and a short
// way to send requests. Every exchange is checked against the description of the API.
import { afterAll, beforeAll } from '@jest/globals';
import { type Identity, instantOf, type Instant, type Policy } from '../../engine/index.js';
import type { AuditTrail } from '../../server/audit/trail.js';
import { createKey, type NewKey } from '../../server/auth/api-keys.js';
import { type GatewayServices, makeServices } from '../../server/compose.js';
import type { Database } from '../../server/db/database.js';
import type { Outgoing } from '../../server/http/message.js';
import { snapshotOf } from './gateway.js';
import { headerOf, openInProcess } from './in-process.js';

/** Scopes by namespace: `'resource:read resource:write'`. */
export type Grants = Readonly<Record<string, string>>;

export interface CommandDoorsOptions {
  readonly db: Database;
  /** What each actor holds; the name is the subject, too. */
  readonly actors: Readonly<Record<string, Grants>>;
  /** Milliseconds for which answers are kept. */
  readonly idempotency?: number;
  /** Nothing is recorded unless given. */
  readonly audit?: AuditTrail;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
}

export interface Sending {
  readonly body?: unknown;
  /** An entity tag, or the revision in it. */
  readonly ifMatch?: string | number;
  /** An Idempotency-Key: a new one for each request that takes one unless given; null sends none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly gone?: AbortSignal;
}

export interface CommandDoors {
  readonly services: GatewayServices;
  /** `send('ada', 'POST /api/v1/resources', { body })` */
  readonly send: (actor: string, request: string, sending?: Sending) => Promise<Answered>;
  /** A key of an actor that carries less, under a name to send by. */
  readonly narrow: (name: string, actor: string, fields: Partial<NewKey>) => Promise<void>;
  /** Puts another policy into force. */
  readonly decree: (actors: CommandDoorsOptions['actors']) => Policy;
  /** What the clock says from now on; null: what it says by itself. */
  readonly setTime: (at: Instant | null) => void;
  readonly log: readonly object[];
  readonly close: () => Promise<void>;
}

let sent = 0;

export async function openCommandDoors({ db, actors, idempotency, audit }: CommandDoorsOptions): Promise<CommandDoors> {
  let time: Instant | null = null;
  const log: object[] = [];
  const line = (fields: object, message: string): void => {
    log.push({ ...fields, message });
  };
  const services = await makeServices({
    mode: { kind: 'serve', policy: policyFor(actors) },
    db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 0 },
    log: { info: line, warn: line, error: line },
    clock: { now: () => time ?? instantOf(Date.now()) },
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(audit === undefined ? {} : { audit }),
  });
  const ask = openInProcess(services, services.routes);
  const keys = new Map<string, string>();
  const addKey = async (name: string, actor: string, fields: Partial<NewKey>): Promise<void> => {
    const whole = { scopes: null, restrictions: null, expires: null, admin: false };
    const made = await createKey(
      db,
      { actor, identities: [identityOf(actor)], ...whole, ...fields },
      instantOf(Date.now()),
    );
    keys.set(name, made.text);
  };
  for (const actor of Object.keys(actors)) await addKey(actor, actor, {});
  return {
    services,
    log,
    send: async (actor, request, { body, ifMatch, key, headers = {}, gone } = {}) => {
      const [method = '', url = ''] = request.split(' ');
      const takesKey = method === 'POST' && !/\/(?:archive|restore|move|query|count|aggregate)$/.test(url);
      sent += 1;
      const chosen = key === undefined ? (takesKey ? `request-${String(sent)}` : null) : key;
      const outgoing = await ask({
        method,
        url,
        headers: {
          authorization: `Bearer ${keys.get(actor) ?? ''}`,
          'x-request-id': 'the-same-for-all',
          ...(ifMatch === undefined
            ? {}
            : { 'if-match': typeof ifMatch === 'number' ? `"${String(ifMatch)}"` : ifMatch }),
          ...(chosen === null ? {} : { 'idempotency-key': chosen }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(gone === undefined ? {} : { gone }),
      });
      return toAnswered(outgoing);
    },
    narrow: addKey,
    decree: (changed) => services.policies.activate({ policy: policyFor(changed) }, 'test').policy,
    setTime: (at) => {
      time = at;
    },
    close: services.close,
  };
}

/** Doors of a suite that are open while its tests run, with short ways to send. */
export interface SuiteDoors {
  readonly doors: () => CommandDoors;
  /** As `ada` unless another actor is named. */
  readonly send: (request: string, sending?: Sending, actor?: string) => Promise<Answered>;
  /** The id of a record that is created: `make('resources', { namespace: '/a', name: 'r' })`. */
  readonly make: (collection: string, body: object, actor?: string) => Promise<string>;
}

/** In a suite of its own. The namespaces are made first, in this order. */
export function useCommandDoors(
  store: Pick<CommandDoorsOptions, 'db'>,
  actors: CommandDoorsOptions['actors'],
  namespaces: readonly string[] = [],
): SuiteDoors {
  let open: CommandDoors | null = null;
  const doors = (): CommandDoors => {
    if (open === null) throw new Error('the doors are open while tests run, not while they are declared');
    return open;
  };
  const send: SuiteDoors['send'] = (request, sending = {}, actor = 'ada') => doors().send(actor, request, sending);
  beforeAll(async () => {
    open = await openCommandDoors({ db: store.db, actors });
    for (const path of namespaces) await send(`PUT /api/v1/namespaces${path}`, { body: {} });
  });
  afterAll(() => open?.close());
  return {
    doors,
    send,
    make: async (collection, body, actor) => {
      const made = await send(`POST /api/v1/${collection}`, { body }, actor);
      if (made.status !== 201) throw new Error(made.text);
      return String(made.json['id']);
    },
  };
}

function toAnswered(outgoing: Outgoing): Answered {
  const { status, text } = outgoing;
  return {
    status,
    text,
    json: JSON.parse(text) as Answered['json'],
    header: (name) => headerOf(outgoing, name),
  };
}

function identityOf(subject: string): Identity {
  return { provider: 'orcid', subject };
}

function policyFor(actors: CommandDoorsOptions['actors']): Policy {
  return snapshotFor(actors).policy;
}

/** The policy that `openCommandDoors` and `decree` make of the same actors, with its file. */
export function snapshotFor(actors: CommandDoorsOptions['actors']): ReturnType<typeof snapshotOf> {
  return snapshotOf(
    Object.entries(actors).flatMap(([subject, grants]) =>
      Object.entries(grants).map(([namespace, scopes]) => [identityOf(subject), namespace, scopesOf(scopes)] as const),
    ),
  );
}

/** `resource:*`, `*:read` and plain scopes, between spaces. */
function scopesOf(text: string): readonly string[] {
  const families = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];
  return text.split(' ').flatMap((pattern) => {
    const [family = '', action = ''] = pattern.split(':');
    const chosen = family === '*' ? families : [family];
    return chosen.flatMap((one) => (action === '*' ? ['read', 'write'] : [action]).map((verb) => `${one}:${verb}`));
  });
}
