// PgBouncer between a gateway and its PostgreSQL. With session pooling everything works; with transaction pooling a gateway must not
// start, and must say why.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareStore, startGateway } from '../gateways.mjs';
import { startLoad } from '../load.mjs';
import { answers, postgresAccount, ownedFolder, startPostgres } from '../postgres.mjs';
import { freePort, ScenarioError } from '../processes.mjs';

export const title = 'PgBouncer';
export const packages = { pgbouncer: 'pgbouncer', postgresql: '/usr/lib/postgresql' };
export const seconds = 180;

const LOAD_MS = 5_000;
const REFUSAL_MS = 30_000;

export async function run(scenario) {
  const postgres = await startPostgres(scenario);
  const store = await prepareStore(scenario, postgres.url);
  return [await inSessionMode(scenario, { postgres, store }), await inTransactionMode(scenario, { postgres, store })];
}

async function inSessionMode(scenario, { postgres, store }) {
  const url = await startPooler(scenario, { postgres, mode: 'session' });
  const gateway = await startGateway(scenario, { store: { ...store, url }, name: 'gateway-session' });
  const load = startLoad({ target: gateway, keys: store.keys, clients: 8 });
  await sleep(LOAD_MS);
  const { answered, lost, how } = await load.stop();
  const status = await gateway.stop();
  const told = `${answered + lost} requests, ${lost} lost${lost > 0 ? ` (${how})` : ''}; exit status ${status}`;
  return { title: 'PgBouncer, session pooling', isGood: lost === 0 && answered > 100 && status === 0, told };
}

async function inTransactionMode(scenario, { postgres, store }) {
  const { processes } = scenario;
  const url = await startPooler(scenario, { postgres, mode: 'transaction' });
  const title = 'PgBouncer, transaction pooling';
  const gateway = await startGateway(scenario, {
    store: { ...store, url },
    name: 'gateway-transaction',
    isAwaited: false,
  });
  const end = Date.now() + REFUSAL_MS;
  while (!gateway.process.isOver && Date.now() < end) await sleep(100);
  if (!gateway.process.isOver) {
    return { title, isGood: false, told: `the gateway was still running after ${REFUSAL_MS / 1000} s` };
  }
  const said = readFileSync(gateway.process.log, 'utf8').trim();
  const status = await gateway.process.ended;
  const isRefused = status !== 0 && /transaction/.test(said) && /session/.test(said);
  if (!isRefused) throw new ScenarioError(`ended with ${status} and said: ${said}`);
  await processes.stopAll();
  return { title, isGood: true, told: `refused at the start, exit status ${status}` };
}

/** The URL of the pooler. */
async function startPooler({ folder, processes }, { postgres, mode }) {
  const name = `pgbouncer-${mode}`;
  const home = ownedFolder(join(folder, name));
  const port = await freePort();
  const file = join(home, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${postgres.port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 40',
  ];
  // With `any`, PgBouncer needs to be told who connects to the server.
  lines[1] += ' user=postgres';
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  const one = processes.start(name, 'pgbouncer', [file], { account: postgresAccount(), cwd: home });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await processes.until(one, `${name} answers`, () => answers(url));
  return url;
}
