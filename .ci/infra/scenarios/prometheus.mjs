// Prometheus with the files of deploy/, on a gateway that has everything there is to measure: a certificate, a signed statement, a
// replica, an issuer, a candidate in shadow, refusals and a failure of its store. Every query of the dashboard and every alert must find
// data; a comparison of an alert is asked for its value, whatever that is now.
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { fromRoot, prepareStore, startGateway, verb } from '../gateways.mjs';
import { create, page, startLoad } from '../load.mjs';
import { startPostgres, startReplica } from '../postgres.mjs';
import { ask, freePort, ScenarioError } from '../processes.mjs';
import { deployFile, makeCertificate } from '../rolling.mjs';

export const title = 'Prometheus: every query of the dashboard and of the alerts';
export const packages = { prometheus: 'promtool', openssl: 'openssl', postgresql: '/usr/lib/postgresql' };
export const seconds = 240;

const SCRAPED_MS = 12_000;
const AWAY_MS = 4_000;

export async function run(scenario) {
  const { processes, folder } = scenario;
  const rules = fromRoot('deploy/prometheus');
  await processes.run('check-rules', 'promtool', ['check', 'rules', join(rules, 'alerts.yml')]);
  await processes.run('test-rules', 'promtool', ['test', 'rules', join(rules, 'alerts.test.yml')]);

  const { gateway, store, postgres, offer } = await startEverything(scenario);
  const prometheus = await startPrometheus(scenario, gateway);
  const load = startLoad({
    target: gateway,
    keys: store.keys,
    clients: 4,
    pause: 10,
    turns: [page, page, create, denied],
  });
  await sleep(SCRAPED_MS);
  await beRefused(gateway);
  writeFileSync(offer, 'no snapshot');
  await postgres.stop();
  await sleep(AWAY_MS);
  await postgres.start();
  await sleep(SCRAPED_MS);
  await load.stop();

  const scraped = await ask(`${gateway.adminUrl}/metrics`);
  writeFileSync(join(folder, 'metrics.txt'), scraped.text);
  await processes.run('check-metrics', 'sh', ['-c', `promtool check metrics < ${folder}/metrics.txt`]);

  const asked = [...dashboardQueries(), ...alertQueries()];
  const empty = [];
  for (const { where, expr } of asked) if ((await samplesOf(prometheus, expr)) === 0) empty.push(`${where}: ${expr}`);
  const series = scraped.text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  const told = `check rules, test rules and check metrics pass; ${asked.length} queries, ${empty.length} without data${empty.map((one) => `; ${one}`).join('')}; ${series} series`;
  return { isGood: empty.length === 0 && asked.length > 50, told };
}

/** A gateway that has everything. `offer` is the file that its policy comes from. */
async function startEverything(scenario) {
  const { folder } = scenario;
  const postgres = await startPostgres(scenario, { name: 'primary', settings: ['wal_level=replica'] });
  const store = await prepareStore(scenario, postgres.url);
  const replica = await startReplica(scenario, postgres);
  const tls = await makeCertificate(scenario);
  const key = join(folder, 'release.key');
  await verb(scenario, 'key', ['keygen', '-o', key]);
  const publicKey = readFileSync(`${key}.pub`, 'utf8').replaceAll(/-----[^-]+-----|\s/g, '');
  const keyringFile = join(folder, 'keyring.yaml');
  writeFileSync(keyringFile, JSON.stringify({ threshold: 1, keys: [{ name: 'release', publicKey }] }));
  const expires = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');
  const stated = ['--environment', 'test', '--generation', '1', '--expires', expires];
  await verb(scenario, 'statement', ['sign', store.snapshot, '--key', key, ...stated]);
  const gateway = await startGateway(scenario, {
    store,
    settings: {
      databaseReadUrl: replica.url,
      tls,
      snapshot: { requireSignature: true, keyringFile, environment: 'test', poll: '1s' },
      limits: { rate: { unauthenticated: 2 }, concurrency: { perActor: 0 } },
      authentication: { keys: { enabled: true }, oidc: [await startIssuer()] },
    },
  });
  const socket = ['--admin-socket', gateway.adminSocket];
  const [{ snapshot }] = [await verb(scenario, 'served', ['status', ...socket])];
  await verb(scenario, 'candidate', ['shadow', snapshot, ...socket]);
  return {
    gateway: { ...gateway, ca: readFileSync(tls.certFile), servername: 'gateway.example.org' },
    store,
    postgres,
    offer: store.snapshot,
  };
}

/** The settings of an issuer that publishes a key. It lives as long as this process. */
async function startIssuer() {
  const { subtle } = globalThis.crypto;
  const { publicKey } = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const jwk = { ...(await subtle.exportKey('jwk', publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const keys = JSON.stringify({ keys: [jwk] });
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(keys));
  server.listen(await freePort(), '127.0.0.1').unref();
  await new Promise((resolve) => server.once('listening', resolve));
  const issuer = `http://127.0.0.1:${server.address().port}/`;
  return { issuer, audience: 'bailiwick', provider: 'orcid', algorithms: ['ES256'], jwksUrl: `${issuer}jwks` };
}

/** Ben has no right at the root of the beamlines. */
function denied({ ben }) {
  const body = { family: 'process-run', namespace: '/beamlines/amx/optics', reach: 'exact' };
  return { kind: 'denied', key: ben, path: '/api/v1/query', body, status: 403 };
}

/** More wrong keys than an address may show. */
async function beRefused(gateway) {
  const stranger = () => ({ kind: 'stranger', key: 'bwk_wrong', path: '/api/v1/query', body: {}, status: 401 });
  const load = startLoad({ target: gateway, keys: {}, clients: 2, turns: [stranger] });
  await sleep(1_000);
  await load.stop();
}

/** The address of a Prometheus that has scraped the gateway. */
async function startPrometheus({ folder, processes }, { adminPort }) {
  const port = await freePort();
  const file = join(folder, 'prometheus.yml');
  const text = deployFile('prometheus/prometheus.yml', [
    ['127.0.0.1:8081', `127.0.0.1:${adminPort}`],
    ['scrape_interval: 15s, evaluation_interval: 15s', 'scrape_interval: 1s, evaluation_interval: 1s'],
    ['alerts.yml', fromRoot('deploy/prometheus/alerts.yml')],
  ]);
  writeFileSync(file, text);
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/tsdb`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const prometheus = processes.start('prometheus', 'prometheus', args);
  const url = `http://127.0.0.1:${port}`;
  await processes.until(
    prometheus,
    'the gateway is scraped',
    async () => (await samplesOf(url, 'bailiwick_ready')) > 0,
  );
  return url;
}

async function samplesOf(url, expr) {
  const answer = await ask(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`);
  if (answer === false || answer.status === 503) return 0;
  const { status, data, error } = JSON.parse(answer.text);
  if (status !== 'success') throw new ScenarioError(`Prometheus refuses ${expr}: ${error}`);
  return data.result.length;
}

/** As Prometheus gets them from Grafana. */
function dashboardQueries() {
  const { panels, annotations } = JSON.parse(readFileSync(fromRoot('deploy/grafana/bailiwick.json'), 'utf8'));
  const filledIn = (expr) => expr.replaceAll(/\$__(?:rate_)?interval/g, '1m').replaceAll(/\$\w+/g, '.*');
  return [
    ...panels.flatMap(({ title: where, targets = [] }) => targets.map(({ expr }) => ({ where, expr: filledIn(expr) }))),
    ...annotations.list.map(({ expr }) => ({ where: 'annotations', expr: withValues(filledIn(expr)) })),
  ];
}

function alertQueries() {
  const { groups } = parse(readFileSync(fromRoot('deploy/prometheus/alerts.yml'), 'utf8'));
  return groups.flatMap(({ rules }) => rules.map(({ alert: where, expr }) => ({ where, expr: withValues(expr) })));
}

const COMPARISONS = new Set(['Eql', 'Neq', 'Gtr', 'Gte', 'Lss', 'Lte']);

/** The same with `bool` behind each comparison: it then gives 0 where it would give nothing. */
function withValues(expr) {
  const ends = [];
  parser.parse(expr).iterate({
    enter: ({ name, to, node }) => {
      if (COMPARISONS.has(name) && node.parent?.name === 'BinaryExpr') ends.push(to);
    },
  });
  return ends.toReversed().reduce((text, at) => `${text.slice(0, at)} bool${text.slice(at)}`, expr);
}
