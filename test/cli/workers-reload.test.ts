// Files that an operator replaces while a gateway of several processes runs: its certificate and the list of revoked
// credentials take effect in each worker, both when the gateway is told and when nobody tells it. A bad file does not
// stop a worker that serves.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { WORKER_LIMITS } from '../../server/limits/workers.js';
import { issue, type Issued, makeAuthority } from '../support/certificates.js';
import { runCli } from '../support/run-cli.js';
import { type Served, startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: reload-test\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - id: ada\n    identity: orcid:ada\n    namespace: /\n    scopes: [namespace:read]\n',
};

let dataDir: string;
let folder: string;
let authority: Issued;
let served: Served;

beforeAll(async () => {
  [dataDir, folder] = [await newDataDir(), await makeFolder({ 'revoked.txt': '' })];
  authority = await makeAuthority(folder);
  const files = await issue(folder, 'server', { authority });
  const tls = `tls: { certFile: ${files.certFile}, keyFile: ${files.keyFile} }\n`;
  const revocations = `authentication: { revocationsFile: ${join(folder, 'revoked.txt')} }\n`;
  const [settings, policy] = [await makeFolder({ 'bailiwick.yaml': tls + revocations }), await makeFolder(POLICY)];
  const config = ['--config', join(settings, 'bailiwick.yaml')];
  served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', policy, ...config);
});

afterAll(async () => {
  served.child.kill('SIGTERM');
  await served.ended;
  await rm(dataDir, { recursive: true, force: true });
});

async function makeKey(): Promise<string> {
  const args = ['keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada', '--data-dir', dataDir];
  return (await runCli(args)).stdout.trim();
}

interface Answer {
  readonly status: number | undefined;
  readonly json: Readonly<Record<string, unknown>>;
  /** Fingerprint of the one by which it came. */
  readonly certificate: string;
}

let asks = 0;

/** Who the key is, on a connection of its own. */
async function ask(key: string): Promise<Answer> {
  asks += 1;
  const asked = request({
    ...{ host: '127.0.0.1', port: served.port, path: '/api/v1/whoami', agent: false },
    ...{ headers: { authorization: `Bearer ${key}` }, rejectUnauthorized: false },
  }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  if (!(answer.socket instanceof TLSSocket)) throw new TypeError('an answer in clear text');
  const certificate = answer.socket.getPeerCertificate().fingerprint256;
  const parsed = JSON.parse(await text(answer)) as Answer['json'];
  return { status: answer.statusCode, json: parsed, certificate };
}

/** Each on a connection of its own, so that they come to all workers. */
const askAll = (key: string): Promise<readonly Answer[]> => Promise.all(Array.from({ length: 4 }, () => ask(key)));

/** By which of them the last requests were answered, as the log has it once all of them are in it. */
async function lastWorkers(requests: number): Promise<ReadonlySet<unknown>> {
  while (said('request').length < asks) await sleep(20);
  return new Set(
    said('request')
      .slice(-requests)
      .map(({ worker }) => worker),
  );
}

function said(msg: string): readonly Readonly<Record<string, unknown>>[] {
  return served
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter((line) => line['msg'] === msg);
}

/** Until all answer as wanted, or the time is over. */
async function untilAll(key: string, end: number, isWanted: (answer: Answer) => boolean): Promise<void> {
  while (!(await askAll(key)).every(isWanted) && performance.now() < end) await sleep(250);
}

/** As tools replace a file that write with care. */
async function revoke(fingerprint: unknown): Promise<void> {
  const path = join(folder, 'revoked.txt');
  await writeFile(`${path}.new`, `${String(fingerprint)} # lost\n`);
  await rename(`${path}.new`, path);
}

async function renew(): Promise<string> {
  const { certFile } = await issue(folder, 'server', { authority });
  return new X509Certificate(await readFile(certFile)).fingerprint256;
}

describe('what is replaced on disk counts in each worker', () => {
  it.each<[when: string, signal: NodeJS.Signals | null, within: number]>([
    ['when the gateway is told by SIGHUP', 'SIGHUP', 5_000],
    ['when nobody tells it', null, 15_000],
  ])('%s', async (_when, signal, within) => {
    const [kept, lost] = [await makeKey(), await makeKey()];
    const [before] = await askAll(lost);
    expect(before?.status).toBe(200);
    const certificate = await renew();
    expect(before?.certificate).not.toBe(certificate);
    await revoke(before?.json['credentialFingerprint']);
    const end = performance.now() + within;
    if (signal !== null) served.child.kill(signal);
    await untilAll(lost, end, ({ status }) => status === 401);
    await untilAll(kept, end, (answer) => answer.certificate === certificate);
    // All of them, and not one falls back.
    const [refused, answered] = [await askAll(lost), await askAll(kept)];
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(answered.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set([...refused, ...answered].map((answer) => answer.certificate))).toEqual(new Set([certificate]));
    expect(await lastWorkers(4)).toEqual(new Set([1, 2]));
    expect(said('reading files again')).toHaveLength(1);
  });
});

it('goes on with the workers that serve while another cannot be replaced, and replaces it once it can', async () => {
  const key = await makeKey();
  const [{ pid, worker } = {}] = said('a worker serves');
  const list = join(folder, 'revoked.txt');
  await rename(list, `${list}.away`);
  process.kill(Number(pid), 'SIGKILL');
  while (said('a worker has died and will be replaced').length === 0) await sleep(10);
  const failures = (): readonly Readonly<Record<string, unknown>>[] =>
    said('a worker could not be started and will be tried again');
  // More often than one would try of which nobody serves. A signal spares the pause before the next.
  for (let failed = 1; failed <= WORKER_LIMITS.starts + 1; failed += 1) {
    while (failures().length < failed) {
      expect((await ask(key)).status).toBe(200);
      await sleep(100);
    }
    served.child.kill('SIGHUP');
  }
  const message = 'authentication.revocationsFile: the file does not exist';
  expect(failures().at(-1)).toMatchObject({ worker, message });
  await rename(`${list}.away`, list);
  while (said('a worker serves').length < 3) {
    served.child.kill('SIGHUP');
    await sleep(200);
  }
  await askAll(key);
  expect(await lastWorkers(4)).toEqual(new Set([1, 2]));
});

it('gives a worker that is replaced the certificate in use, and not the expired one that all others refuse', async () => {
  const key = await makeKey();
  const [before] = await askAll(key);
  await issue(folder, 'server', { authority, days: -1 });
  served.child.kill('SIGHUP');
  const refusedBy = (): ReadonlySet<unknown> =>
    new Set(
      said('the TLS certificate was not renewed, and the one in use stays')
        .filter(({ reason }) => String(reason).includes(' expired at '))
        .map(({ worker }) => worker),
    );
  while (refusedBy().size < 3) await sleep(20);
  const serving = said('a worker serves');
  process.kill(Number(serving.at(-1)?.['pid']), 'SIGKILL');
  while (said('a worker serves').length === serving.length) await sleep(20);
  const answers = await askAll(key);
  expect(await lastWorkers(4)).toEqual(new Set([1, 2]));
  expect(new Set(answers.map(({ certificate }) => certificate))).toEqual(new Set([before?.certificate]));
});
