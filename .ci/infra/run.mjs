// `make test-infra`: bailiwick beside the real programs that operators put around it. One scenario a file, everything on loopback, each
// bounded in time. What is missing is installed by apt where this runs as root; otherwise it is named, and the run fails.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { makeProcesses, ScenarioError } from './processes.mjs';

const SCENARIOS = {
  nginx: () => import('./scenarios/nginx.mjs'),
  haproxy: () => import('./scenarios/haproxy.mjs'),
  caddy: () => import('./scenarios/caddy.mjs'),
  'audit-disk': () => import('./scenarios/audit-disk.mjs'),
  glewlwyd: () => import('./scenarios/glewlwyd.mjs'),
  prometheus: () => import('./scenarios/prometheus.mjs'),
  versions: () => import('./scenarios/versions.mjs'),
  clients: () => import('./scenarios/clients.mjs'),
  container: () => import('./scenarios/container.mjs'),
  pgbouncer: () => import('./scenarios/pgbouncer.mjs'),
  replica: () => import('./scenarios/replica.mjs'),
  patroni: () => import('./scenarios/patroni.mjs'),
};
const TABLE = '.run/infra.md';
const APT_MS = 600_000;

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(SCENARIOS);
const unknown = names.filter((name) => !Object.hasOwn(SCENARIOS, name));
if (unknown.length > 0) {
  console.error(`there is no scenario ${unknown.join(', ')}; there are ${Object.keys(SCENARIOS).join(', ')}`);
  process.exit(2);
}

const scenarios = [];
for (const name of names) scenarios.push({ name, ...(await SCENARIOS[name]()) });
install(scenarios);
const rows = [];
for (const scenario of scenarios) rows.push(...(await judge(scenario)));
const table = [
  '| Scenario | Result | What happened | Seconds |',
  '|---|---|---|---|',
  ...rows.map(({ title, isGood, told, took }) => `| ${title} | ${said(isGood)} | ${told} | ${took} |`),
].join('\n');
mkdirSync('.run', { recursive: true });
const when = new Date().toISOString().slice(0, 10);
writeFileSync(TABLE, `${when}, Node ${process.versions.node}, ${availableParallelism()} cores\n\n${table}\n`);
console.log(`\n${table}`);
process.exitCode = rows.every(({ isGood }) => isGood !== false) ? 0 : 1;

/** A scenario names, for each package, a program or a path that shows that it is there. */
function install(all) {
  const needs = new Map(all.flatMap(({ packages }) => Object.entries(packages)));
  const missing = () => [...needs].filter(([, sign]) => !isThere(sign)).map(([name]) => name);
  let absent = missing();
  if (absent.length > 0 && process.getuid() === 0 && isThere('apt-get')) {
    console.error(`installing ${absent.join(', ')}`);
    const options = {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: APT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...absent];
    if (spawnSync('apt-get', install, options).status !== 0) {
      spawnSync('apt-get', ['update', '-qq'], options);
      spawnSync('apt-get', install, options);
    }
    absent = missing();
  }
  if (absent.length === 0) return;
  console.error(`missing: ${absent.join(', ')}; install them (Debian's names), or run this as root where apt is`);
  process.exit(1);
}

function isThere(sign) {
  if (sign.startsWith('/')) return existsSync(sign);
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, sign), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** One row, or the several that a scenario gives. Its folder stays where something failed. */
async function judge({ name, title, seconds, run }) {
  const folder = mkdtempSync(join(tmpdir(), `bailiwick-${name}-`), { mode: 0o755 });
  // Other accounts, such as that of PostgreSQL, have folders in it.
  spawnSync('chmod', ['755', folder]);
  const processes = makeProcesses(folder);
  process.once('exit', processes.endAll);
  const began = performance.now();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new ScenarioError(`not done within ${seconds} s`)), seconds * 1000);
  });
  console.error(`${title} …`);
  let results;
  try {
    const given = await Promise.race([run({ folder, processes }), late]);
    results = Array.isArray(given) ? given : [given];
  } catch (error) {
    results = [
      { isGood: false, told: oneLine(error instanceof ScenarioError ? error.message : (error.stack ?? String(error))) },
    ];
  }
  clearTimeout(timer);
  await processes.stopAll();
  process.off('exit', processes.endAll);
  const isGood = results.every((result) => result.isGood !== false);
  if (isGood) rmSync(folder, { recursive: true, force: true });
  else console.error(`${title}: the logs are in ${folder}`);
  const took = ((performance.now() - began) / 1000).toFixed(0);
  for (const { isGood: ok, told, title: own = title } of results) console.error(`${own}: ${said(ok)}, ${told}`);
  return results.map((result) => ({ title, took, ...result }));
}

/** Null is for what cannot be tried on this machine. */
function said(isGood) {
  return isGood === null ? 'not run' : isGood ? 'passed' : 'FAILED';
}

/** As a cell of a table. */
function oneLine(text) {
  return text.replaceAll(/\s*\n\s*/g, ' / ').replaceAll('|', '\\|');
}
