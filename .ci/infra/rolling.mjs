// Two gateways on one PostgreSQL behind a proxy. Both are restarted, one after the other, while clients ask and write. No request may be
// lost, and what was acknowledged must be in the store.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromRoot, prepareStore, startGateway } from './gateways.mjs';
import { page, startLoad } from './load.mjs';
import { query, startPostgres } from './postgres.mjs';
import { freePort, ScenarioError } from './processes.mjs';

export const SITE = 'gateway.example.org';
/** Longer than the slowest of the proxies needs to notice. */
const NOTICE = '6s';
const BEFORE_AND_AFTER = 3_000;

/** Restarts both gateways behind the proxy, one after the other. For `startProxy` see `startSite`. */
export async function rollingRestart(scenario, startProxy) {
  const { gateways, target, store, postgres } = await startSite(scenario, startProxy);
  const load = startLoad({ target, keys: store.keys });
  await sleep(BEFORE_AND_AFTER);
  for (const gateway of gateways) {
    const status = await gateway.stop();
    if (status !== 0) throw new ScenarioError(`${gateway.name} ended with ${status} and not with 0`);
    await gateway.start();
    await sleep(BEFORE_AND_AFTER);
  }
  const { answered, lost, how, written } = await load.stop();
  const [{ stored }] = await query(
    postgres.url,
    'SELECT count(*)::int AS stored FROM bailiwick.records WHERE name = $1',
    ['made under load'],
  );
  const told = `${answered + lost} requests, ${lost} lost${lost > 0 ? ` (${how})` : ''}; ${written.length} creates acknowledged, ${stored} stored`;
  return { isGood: lost === 0 && stored === written.length && answered > 200, told };
}

/** `startProxy` gets the scenario with `port`, `gateways` and `tls`, and gives the process of a proxy. */
export async function startSite(scenario, startProxy) {
  const { processes } = scenario;
  const postgres = await startPostgres(scenario);
  const store = await prepareStore(scenario, postgres.url);
  const settings = { shutdown: { notice: NOTICE, deadline: '20s' } };
  const gateways = [];
  for (const name of ['gateway-1', 'gateway-2']) gateways.push(await startGateway(scenario, { store, name, settings }));
  const port = await freePort();
  const tls = await makeCertificate(scenario);
  const proxy = await startProxy({ ...scenario, port, gateways, tls });
  const target = { port, ca: readFileSync(tls.certFile), servername: SITE };
  await processes.until(proxy, 'the proxy answers', () => passes(target, store));
  return { gateways, target, store, postgres };
}

async function passes(target, store) {
  const load = startLoad({ target, keys: store.keys, clients: 1, turns: [page] });
  await sleep(200);
  const { answered, lost } = await load.stop();
  return answered > 0 && lost === 0;
}

export async function makeCertificate({ folder, processes }) {
  const [keyFile, certFile] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  const subject = ['-subj', `/CN=${SITE}`, '-addext', `subjectAltName=DNS:${SITE}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await processes.run('openssl', 'openssl', [
    'req',
    '-x509',
    ...key,
    '-keyout',
    keyFile,
    '-out',
    certFile,
    '-days',
    '2',
    ...subject,
  ]);
  return { keyFile, certFile };
}

/** A file of deploy/ with some of its texts replaced. Each must be there: a file that has changed is not the one that was meant. */
export function deployFile(path, replacements) {
  let text = readFileSync(fromRoot(`deploy/${path}`), 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new ScenarioError(`deploy/${path} does not have ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  return text;
}
