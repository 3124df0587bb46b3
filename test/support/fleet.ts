// A fleet as operators run one: gateways as separate processes that share one external PostgreSQL behind one port, and
// clients that write down what they are told.
import { randomUUID } from 'node:crypto';
import { renameSync, symlinkSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, instantOf } from '../../engine/index.js';
import { createKey, revokeKey } from '../../server/auth/api-keys.js';
import type { Database } from '../../server/db/database.js';
import { storedActivations } from '../../server/policy/store/activations.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { keepSecret } from './canaries.js';
import { call, callAdmin, snapshotOf } from './gateway.js';
import type { TestPostgres } from './postgres.js';
import { type Served, startServing } from './serve-process.js';
import type { Target } from './tcp-balancer.js';
import { makeFolder } from './temp-folder.js';
import { times } from './test-runs.js';

/** Milliseconds: how often a balancer asks whether a gateway is ready. */
const LOOK = 50;

/** The address of the store, which stays when another server takes it over, as a name in DNS would. */
export interface StoreAddress {
  readonly url: string;
  readonly pointTo: (server: TestPostgres) => void;
}

export async function openStoreAddress(server: TestPostgres): Promise<StoreAddress> {
  const folder = await makeFolder();
  const socket = join(folder, '.s.PGSQL.5432');
  const pointTo = ({ url }: TestPostgres): void => {
    symlinkSync(join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432'), `${socket}.next`);
    renameSync(`${socket}.next`, socket);
  };
  pointTo(server);
  return { url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`, pointTo };
}

export interface Member extends Target {
  readonly served: Served;
  readonly admin: number;
  /** Ends as under a supervisor: it is not ready at once, and closes a while later. */
  readonly leave: () => Promise<void>;
}

/** A gateway that is asked all the time whether it is ready. The store is its source. */
export async function openMember(storeUrl: string): Promise<Member> {
  const folder = await makeFolder({
    'bailiwick.yaml': `audit: { folder: audit }\nadminSocket: admin.sock\nshutdown: { notice: 1s }\n`,
  });
  const settings = ['--config', join(folder, 'bailiwick.yaml'), '--admin-listen', '127.0.0.1:0'];
  const served = await startServing(null, 'serve', '--database-url', storeUrl, ...settings);
  const [adminUrl = ''] = served.ready['admin'] as readonly string[];
  const admin = Number(new URL(adminUrl).port);
  let isReady = true;
  const gone = new AbortController();
  const looking = (async (): Promise<void> => {
    while (!gone.signal.aborted) {
      isReady = await callAdmin(admin, { path: '/readyz' }).then(
        ({ status }) => status === 200,
        () => false,
      );
      await sleep(LOOK);
    }
  })();
  return {
    ...{ served, admin, port: served.port, isReady: () => isReady },
    leave: async () => {
      served.child.kill('SIGTERM');
      const status = await served.ended;
      gone.abort();
      await looking;
      if (status !== 0) throw new Error(`a gateway ended with ${String(status)}: ${served.stderr()}`);
    },
  };
}

const ADA: Identity = { provider: 'orcid', subject: 'ada' };

export interface Activated {
  readonly snapshot: string;
  /** What it allows. */
  readonly namespace: string;
  /** When it was recorded, by the monotonic clock. */
  readonly at: number;
}

/** Puts a policy in force as `publish` does: one allows what the next does not, and no two are the same. */
export async function activate(db: Database, index: number): Promise<Activated> {
  const namespace = index % 2 === 0 ? '/a' : '/b';
  const mark = [{ provider: 'orcid', subject: `n${String(index)}` }, '/', ['resource:read']] as const;
  const { policy, bytes } = snapshotOf([[ADA, namespace, ['resource:read', 'resource:write']], mark], 'fleet');
  const at = instantOf(Date.now());
  await storedSnapshots(db).keep({ policy, bytes, labels: 'verified', statement: null, at });
  const why = { statement: null, reason: 'test', askedBy: 'test', at };
  await storedActivations(db).record({ kind: 'activated', policy, ...why });
  return { snapshot: policy.digest, namespace, at: performance.now() };
}

export interface TestKey {
  readonly text: string;
  readonly id: string;
}

export async function makeKey(db: Database): Promise<TestKey> {
  const fields = { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false };
  const { text, key } = await createKey(db, fields, instantOf(Date.now()));
  keepSecret(text);
  return { text, id: key.id };
}

/** Nobody refuses the key before the revocation has begun, and nobody serves what is asked after it was answered. */
export interface Revoked {
  readonly begun: number;
  readonly answered: number;
}

export async function revoke(db: Database, { id }: TestKey): Promise<Revoked> {
  const begun = performance.now();
  await revokeKey(db, { id, now: instantOf(Date.now()) });
  return { begun, answered: performance.now() };
}

export interface Told {
  /** When it was asked, and when the answer was there. */
  readonly at: number;
  readonly until: number;
  readonly does: 'query' | 'create';
  readonly namespace: string;
  readonly key: string;
  /** Null where there was no answer. */
  readonly status: number | null;
  readonly snapshot: string;
  readonly code: string | null;
}

export interface Clients {
  readonly told: readonly Told[];
  readonly stop: () => Promise<void>;
}

/** So many clients, each on a connection that it keeps, ask for what one of the two policies allows. `keyOf` may count turns. */
export function startClients(port: number, count: number, keyOf: (turn: number) => TestKey): Clients {
  const told: Told[] = [];
  let isOver = false;
  const ask = async (agent: Agent, turn: number): Promise<void> => {
    const namespace = turn % 2 === 0 ? '/a' : '/b';
    const does = turn % 5 === 0 ? 'create' : 'query';
    const { text: key } = keyOf(turn);
    const at = performance.now();
    const reply = await call(port, {
      key,
      agent,
      ...(does === 'create' ? creation(namespace) : query(namespace)),
    }).catch(() => null);
    const code = reply?.json?.['code'];
    told.push({
      ...{ at, until: performance.now(), does, namespace, key, status: reply?.status ?? null },
      snapshot: String(reply?.headers['bailiwick-snapshot']),
      code: typeof code === 'string' ? code : null,
    });
  };
  const working = Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let turn = index; !isOver; turn += 1) {
        await ask(agent, turn);
        await sleep(PAUSE);
      }
      agent.destroy();
    }),
  );
  return {
    told,
    stop: async () => {
      isOver = true;
      await working;
    },
  };
}

/** Milliseconds of a client between an answer and its next request. */
const PAUSE = times({ usual: 40, deep: 20 });

function query(namespace: string): object {
  return { body: { family: 'resource', namespace } };
}

function creation(namespace: string): object {
  const headers = { 'idempotency-key': randomUUID() };
  return { path: '/api/v1/resources', headers, body: { namespace, name: 'made' } };
}
