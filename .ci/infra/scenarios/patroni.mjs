// Patroni with etcd and synchronous replication: three servers, of which the leader is killed while clients write. Nothing that was
// acknowledged may be lost, and writes go on by themselves. HAProxy leads the gateway to the leader, as Patroni's own documents advise.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareStore, startGateway } from '../gateways.mjs';
import { create, page, startLoad } from '../load.mjs';
import { answers, newestPostgres, ownedFolder, postgresAccount, query } from '../postgres.mjs';
import { ask, freePort } from '../processes.mjs';

export const title = 'Patroni: the leader is killed under writes';
export const packages = {
  patroni: 'patroni',
  'etcd-server': 'etcd',
  haproxy: 'haproxy',
  postgresql: '/usr/lib/postgresql',
};
export const seconds = 300;

const NODES = ['node-1', 'node-2', 'node-3'];
const BEFORE_MS = 5_000;
const AFTER_MS = 8_000;
/** Seconds: how long a leader may be silent. Patroni takes no less. */
const TTL = 20;

export async function run(scenario) {
  const { processes } = scenario;
  const etcd = await startEtcd(scenario);
  const nodes = [];
  for (const name of NODES) nodes.push(await startNode(scenario, { name, etcd }));
  const leader = await processes.until(null, 'there is a leader', () => leaderOf(nodes), 120_000);
  await processes.until(null, 'a synchronous replica follows', () => hasSynchronous(leader), 90_000);
  const url = await startRouter(scenario, nodes);
  const store = await prepareStore(scenario, url);
  const gateway = await startGateway(scenario, { store });

  const load = startLoad({ target: gateway, keys: store.keys, clients: 8, pause: 5, turns: [create, create, page] });
  await sleep(BEFORE_MS);
  const killedAt = performance.now();
  const before = load.written().length;
  leader.kill();
  const next = await processes.until(
    null,
    'there is another leader',
    () => leaderOf(nodes.filter((node) => node !== leader)),
    90_000,
  );
  const acknowledged = load.written().length;
  await processes.until(gateway.process, 'writes go on', () => load.written().length > acknowledged + 10, 60_000);
  const silent = ((performance.now() - killedAt) / 1000).toFixed(0);
  await sleep(AFTER_MS);
  const { written, lost, how } = await load.stop();
  const stored = await query(next.url, 'SELECT id::text FROM bailiwick.records WHERE id = ANY($1::uuid[])', [written]);
  const missing = written.length - stored.length;
  const told =
    `${written.length} creates acknowledged (${before} before the kill), ${missing} of them lost; ` +
    `writes went on after ${silent} s; ${lost} requests refused in between (${how})`;
  return { isGood: missing === 0 && before > 50 && written.length > before + 50, told };
}

async function startEtcd({ folder, processes }) {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const here = ['--listen-client-urls', url, '--advertise-client-urls', url];
  const peers = [
    '--listen-peer-urls',
    peerUrl,
    '--initial-advertise-peer-urls',
    peerUrl,
    '--initial-cluster',
    `default=${peerUrl}`,
  ];
  const etcd = processes.start('etcd', 'etcd', ['--data-dir', join(folder, 'etcd'), ...here, ...peers]);
  await processes.until(etcd, 'etcd answers', async () => (await ask(`${url}/health`)) !== false);
  return `127.0.0.1:${port}`;
}

async function startNode({ folder, processes }, { name, etcd }) {
  const account = postgresAccount();
  const home = ownedFolder(join(folder, name));
  const [port, restPort] = [await freePort(), await freePort()];
  const trust = ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'];
  const user = { username: 'postgres' };
  const settings = {
    scope: 'bailiwick',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: etcd },
    bootstrap: {
      dcs: { ttl: TTL, loop_wait: 2, retry_timeout: 3, synchronous_mode: true, postgresql: { use_pg_rewind: false } },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { auth: 'trust' }],
      pg_hba: trust,
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(home, 'data'),
      bin_dir: newestPostgres(),
      pgpass: join(home, 'pgpass'),
      pg_hba: trust,
      authentication: { superuser: user, replication: user },
      parameters: { unix_socket_directories: home, max_connections: 60, shared_buffers: '64MB' },
    },
  };
  const file = join(home, 'patroni.yaml');
  // JSON is YAML, too.
  writeFileSync(file, JSON.stringify(settings));
  const env = { HOME: home, LC_ALL: 'C.UTF-8' };
  const patroni = processes.start(name, 'patroni', [file], { account, cwd: home, env });
  return {
    name,
    port,
    restPort,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    /** As a power cut does: Patroni and the server of the same moment. */
    kill: () => {
      patroni.kill('SIGKILL');
      killServer(join(home, 'data'));
    },
  };
}

/** The server's first process and all of its children, of which some would go on for a moment. */
function killServer(data) {
  const [line] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  const children = readFileSync(`/proc/${line}/task/${line}/children`, 'utf8').trim().split(' ');
  for (const pid of [line, ...children].filter((one) => one !== '')) process.kill(Number(pid), 'SIGKILL');
}

/** The one that Patroni calls the primary and that answers, or false. */
async function leaderOf(nodes) {
  for (const node of nodes) {
    const told = await ask(`http://127.0.0.1:${node.restPort}/primary`);
    if (told !== false && told.status === 200 && (await answers(node.url))) return node;
  }
  return false;
}

async function hasSynchronous({ url }) {
  return (await query(url, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).length > 0;
}

/** The URL of whoever is the leader. */
async function startRouter({ folder, processes }, nodes) {
  const port = await freePort();
  const file = join(folder, 'router.cfg');
  const lines = [
    'defaults',
    '    mode tcp',
    '    timeout connect 2s',
    '    timeout client 1h',
    '    timeout server 1h',
    'listen leader',
    `    bind 127.0.0.1:${port}`,
    '    option httpchk GET /primary',
    '    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map(({ name, port: at, restPort }) => `    server ${name} 127.0.0.1:${at} check port ${restPort}`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const router = processes.start('router', 'haproxy', ['-db', '-f', file]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await processes.until(router, 'the router leads to the leader', () => answers(url));
  return url;
}
