// Gateways of the scenarios: the compiled command line with a settings file each, the policy and the records that ship, and keys of two
// people of that policy.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PEOPLE } from '../../fixtures/demo/people.mjs';
import { ask, freePort } from './processes.mjs';

export const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const CLI = fromRoot('dist/server/bin/bailiwick.js');

/** A verb of the command line to its end, with the object that it printed. */
export async function verb({ processes }, name, args) {
  const text = await processes.run(`${name}-${args[0]}`, process.execPath, [
    '--no-warnings',
    CLI,
    ...args,
    '--format',
    'json',
  ]);
  return JSON.parse(text);
}

/**
 * Makes the store ready for gateways: tables, records, and keys. `url` is that of a database; `settings` go into the settings file.
 * Gives what `startGateway` and `startLoad` take.
 */
export async function prepareStore(scenario, url, name = 'prepare') {
  const { folder } = scenario;
  const snapshot = join(folder, 'snapshot.json');
  await verb(scenario, name, ['compile', fromRoot('policies'), '-o', snapshot]);
  const store = ['--database-url', url];
  await verb(scenario, name, ['migrate', ...store]);
  await verb(scenario, name, ['load', fromRoot('fixtures/records/facility.jsonl'), ...store]);
  const keys = {};
  for (const { name: person, identities } of PEOPLE) {
    const flags = identities.flatMap((identity) => ['--identity', identity]);
    const made = await verb(scenario, `${name}-${person}`, ['keys', 'create', '--actor', person, ...flags, ...store]);
    keys[person] = made.key;
  }
  return { url, snapshot, keys };
}

/** A gateway that is ready, unless that is not awaited. `settings` are those of the file beside addresses, store and policy, as an object. */
export async function startGateway(scenario, { store, name = 'gateway', settings = {}, isAwaited = true }) {
  const { folder, processes } = scenario;
  const [port, adminPort] = [await freePort(), await freePort()];
  const home = join(folder, name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = join(home, 'bailiwick.yaml');
  const all = {
    listen: `127.0.0.1:${port}`,
    adminListen: `127.0.0.1:${adminPort}`,
    adminSocket: join(home, 'admin.sock'),
    audit: { folder: join(home, 'audit') },
    databaseUrl: store.url,
    policy: store.snapshot,
    trustProxy: ['127.0.0.1'],
    limits: { concurrency: { perActor: 0 } },
    ...settings,
  };
  writeFileSync(file, JSON.stringify(all), { mode: 0o600 });
  const gateway = {
    name,
    adminSocket: all.adminSocket,
    port,
    adminPort,
    file,
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    process: null,
    start: async () => {
      gateway.process = processes.start(name, process.execPath, ['--no-warnings', CLI, 'serve', '--config', file]);
      if (isAwaited) await processes.until(gateway.process, `${name} is ready`, () => isReady(gateway));
    },
    /** In order: SIGTERM, and its exit status. */
    stop: () => gateway.process.stop(),
  };
  await gateway.start();
  return gateway;
}

export async function isReady({ adminUrl }) {
  const answer = await ask(`${adminUrl}/readyz`);
  return answer !== false && answer.status === 200;
}
