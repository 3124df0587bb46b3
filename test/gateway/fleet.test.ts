// Three gateways on one PostgreSQL behind one port, under load: policies swap, keys are revoked, gateways leave and
// others come, and PostgreSQL restarts and fails over. No answer follows a policy that was replaced more than a second
// ago, and no request fails while the store can be reached.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import {
  type Activated,
  activate,
  type Clients,
  makeKey,
  type Member,
  openMember,
  openStoreAddress,
  revoke,
  type Revoked,
  startClients,
  type StoreAddress,
  type TestKey,
  type Told,
} from '../support/fleet.js';
import { callAdmin } from '../support/gateway.js';
import { findPostgres, runSql, startPostgres, type TestPostgres } from '../support/postgres.js';
import { runCli } from '../support/run-cli.js';
import { type Balancer, startBalancer } from '../support/tcp-balancer.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';

const SECOND = 1_000;
/** Waits that one swap passes through: the store, its notice, each gateway, the balancer, the client. */
const WAITS = 5;
const PULSE = 20;
const ROUNDS = times({ usual: 1, deep: 30 });
const FAILOVERS = times({ usual: 1, deep: 10 });
const CLIENTS = 4;

const withPostgres = findPostgres() === null ? describe.skip : describe;

withPostgres('a fleet of three gateways', () => {
  let primary: TestPostgres;
  let address: StoreAddress;
  let db: Database;
  let front: Balancer;
  const members: Member[] = [];
  const activations: Activated[] = [];
  let key: TestKey;
  /** By its text, when a key was revoked. */
  const revoked = new Map<string, Revoked>();
  let last: TestKey | null = null;

  const swap = async (): Promise<void> => {
    activations.push(await activate(db, activations.length));
  };
  const replaceKey = async (): Promise<void> => {
    const old = key;
    key = await makeKey(db);
    last = old;
    revoked.set(old.text, await revoke(db, old));
  };

  beforeAll(async () => {
    const started = await startPostgres(['wal_retrieve_retry_interval=200ms']);
    if (started === null) throw new Error('there is no account to run PostgreSQL as');
    primary = started;
    address = await openStoreAddress(primary);
    db = await openDatabase({ kind: 'external', url: address.url });
    await migrate(db);
    const lines = ['/a', '/b'].map((namespace) => JSON.stringify({ family: 'namespace', namespace }));
    const folder = await makeFolder({ 'places.jsonl': `${lines.join('\n')}\n` });
    const loaded = await runCli(['load', 'places.jsonl', '--database-url', address.url], { cwd: folder });
    if (loaded.status !== 0) throw new Error(loaded.stderr);
    await swap();
    key = await makeKey(db);
    members.push(...(await Promise.all([1, 2, 3].map(() => openMember(address.url)))));
    front = await startBalancer(members);
  });

  /** The longest that a timer came late: what a busy machine adds to each wait. On an idle one it is a few milliseconds. */
  let late = 0;
  let pulse: NodeJS.Timeout | undefined;
  beforeAll(() => {
    let expected = performance.now() + PULSE;
    pulse = setInterval(() => {
      late = Math.max(late, performance.now() - expected);
      expected = performance.now() + PULSE;
    }, PULSE);
  });

  afterAll(async () => {
    clearInterval(pulse);
    await Promise.all(members.map(({ leave }) => leave()));
    await front.close();
    await db.close();
    await primary.stop();
  });

  /** While something is done to the fleet, clients ask with the newest key, and now and then with the one before. */
  const under = async (work: (clients: Clients) => Promise<void>): Promise<readonly Told[]> => {
    const clients = startClients(front.port, CLIENTS, (turn) => (turn % 7 === 0 && last !== null ? last : key));
    try {
      await work(clients);
    } finally {
      await clients.stop();
    }
    return clients.told;
  };
  /** Until requests are answered that are asked from now on. */
  const answered = async ({ told }: Clients): Promise<void> => {
    const from = performance.now();
    while (told.filter(({ at, status }) => at > from && status === 200).length < 2 * CLIENTS) await sleep(10);
  };

  /** What is wrong with an answer: by a revoked key, by a policy that had been replaced for a second, and what the machine adds to it, when it was asked for, or otherwise than that policy says. */
  const faultOf = ({ at, key: used, does, status, snapshot, namespace }: Told): string | null => {
    if (status !== 200 && status !== 201 && status !== 403) return null;
    if (at > (revoked.get(used)?.answered ?? Infinity)) return 'revoked';
    const by = activations.findIndex((one) => one.snapshot === snapshot);
    const newest = activations.findLastIndex((one) => one.at < at - SECOND - WAITS * late);
    if (by < newest)
      return `of ${String(by)}, and since ${String(at - (activations[by + 1]?.at ?? 0))} ms there is a newer one`;
    const due = activations[by]?.namespace !== namespace ? 403 : does === 'create' ? 201 : 200;
    return status === due ? null : `${String(status)} in place of ${String(due)}`;
  };
  const faults = (told: readonly Told[]): readonly string[] => told.map(faultOf).filter((fault) => fault !== null);
  const isRefusedKey = ({ until, key: used, status }: Told): boolean =>
    (status === 401 || status === 429) && until > (revoked.get(used)?.begun ?? Infinity);
  const failed = (told: readonly Told[]): readonly Told[] =>
    told.filter((one) => ![200, 201, 403].includes(one.status ?? 0) && !isRefusedKey(one));

  it('fails nobody while policies swap, keys are revoked, and each gateway leaves and another comes', async () => {
    const told = await under(async (clients) => {
      for (let turn = 0; turn < ROUNDS * members.length; turn += 1) {
        const index = turn % members.length;
        await swap();
        await replaceKey();
        const next = openMember(address.url);
        await members[index]?.leave();
        members[index] = await next;
        await swap();
        await answered(clients);
      }
    });
    expect(failed(told)).toEqual([]);
    expect(faults(told)).toEqual([]);
    for (const status of [200, 201, 403, 401]) {
      expect(told.filter((one) => one.status === status).length).toBeGreaterThan(3);
    }
    const [first] = members;
    let peers: unknown;
    do {
      await sleep(50);
      peers = (await callAdmin(first?.admin ?? 0)).json?.['peers'];
    } while (!(Array.isArray(peers) && peers.length === 2));
    expect(peers).toMatchObject([{ generation: expect.any(Number) }, { generation: expect.any(Number) }]);
    process.stderr.write(`fleet: ${String(told.length)} answers, ${String(activations.length)} activations\n`);
  });

  it('says that the store is away while PostgreSQL restarts and fails over, and goes on as before', async () => {
    for (let turn = 0; turn < FAILOVERS; turn += 1) {
      const replica = await primary.startReplica();
      // What is acknowledged is on both.
      await runSql(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()');
      const away: Away[] = [];
      const without = async (work: () => Promise<void>): Promise<void> => {
        const from = performance.now();
        await work();
        away.push({ from, until: performance.now() });
      };
      const told = await under(async (clients) => {
        await answered(clients);
        await without(() => primary.restart());
        await untilDone(swap);
        await untilDone(replaceKey);
        await answered(clients);
        await sleep(SECOND);
        await without(async () => {
          await primary.crash();
          await runSql(replica.url, 'SELECT pg_promote()');
          address.pointTo(replica);
        });
        await untilDone(swap);
        await untilDone(replaceKey);
        await answered(clients);
        await sleep(SECOND);
        await swap();
        await answered(clients);
      });
      await primary.stop();
      primary = replica;
      for (const { from, until } of away) {
        const during = failed(told).filter(({ at }) => at < until + SECOND && at > from - SECOND);
        const last = Math.max(...during.map((one) => one.until));
        process.stderr.write(
          `away for ${(until - from).toFixed(0)} ms: ${String(during.length)} failed, the last ${(last - until).toFixed(0)} ms after\n`,
        );
        expect(during.length).toBeGreaterThan(0);
      }
      const isAway = ({ at, until: done, code }: Told): boolean =>
        AWAY.has(code ?? '') && away.some(({ from, until }) => done > from && at < until + SECOND);
      expect(failed(told).filter((one) => !isAway(one))).toEqual([]);
      expect(faults(told)).toEqual([]);
    }
  });
});

interface Away {
  readonly from: number;
  readonly until: number;
}

/** What who asks is told while the store is away. */
const AWAY = new Set(['db.unavailable', 'db.timeout']);

/** Until the store has done it. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch {
      await sleep(20);
    }
  }
}
