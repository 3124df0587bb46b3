// A streaming replica for pages and counts: it answers them, goes away, comes back, and is promoted to a server of its own. No query may
// fail on the way, and a promoted server, which no longer follows, must not be read.
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareStore, startGateway } from '../gateways.mjs';
import { page, startLoad, create } from '../load.mjs';
import { query, startPostgres, startReplica } from '../postgres.mjs';
import { ask } from '../processes.mjs';

export const title = 'a streaming replica, away, back and promoted';
export const packages = { postgresql: '/usr/lib/postgresql' };
export const seconds = 180;

const STEP_MS = 4_000;

export async function run(scenario) {
  const { processes } = scenario;
  const primary = await startPostgres(scenario, { name: 'primary', settings: ['wal_level=replica'] });
  const store = await prepareStore(scenario, primary.url);
  const replica = await startReplica(scenario, primary);
  const gateway = await startGateway(scenario, { store, settings: { databaseReadUrl: replica.url } });
  const isUsed = (wanted) => async () => (await replicaUsed(gateway)) === wanted;
  const load = startLoad({ target: gateway, keys: store.keys, clients: 8, turns: [page, page, page, create] });
  await processes.until(gateway.process, 'the replica is read', isUsed(1));
  const before = await readsOf(replica);
  await sleep(STEP_MS);
  const reads = (await readsOf(replica)) - before;
  await replica.stop();
  await processes.until(gateway.process, 'the lost replica is not read', isUsed(0));
  await sleep(STEP_MS);
  await replica.start();
  await processes.until(gateway.process, 'the replica is read again', isUsed(1));
  await sleep(STEP_MS);
  await query(replica.url, 'SELECT pg_promote()');
  await processes.until(gateway.process, 'the promoted server is not read', isUsed(0));
  await sleep(STEP_MS);
  const usedAtEnd = await replicaUsed(gateway);
  const { answered, lost, how } = await load.stop();
  const told = `${answered + lost} requests, ${lost} lost${lost > 0 ? ` (${how})` : ''}; ${reads} transactions of the replica in the first ${STEP_MS / 1000} s`;
  return { isGood: lost === 0 && answered > 200 && reads > 50 && usedAtEnd === 0, told };
}

async function replicaUsed({ adminUrl }) {
  const answer = await ask(`${adminUrl}/metrics`);
  if (answer === false) return null;
  const value = /^bailiwick_replica_used\{[^}]*\} (\d)$/m.exec(answer.text)?.[1];
  return value === undefined ? null : Number(value);
}

/** Transactions that the server has ended, as its statistics count them. */
async function readsOf({ url }) {
  const [{ ended }] = await query(url, 'SELECT sum(xact_commit)::int AS ended FROM pg_stat_database');
  return ended;
}
