// What an operator sees of a gateway of several processes when nobody asks it: that a worker hangs or is missing, and
// that an issuer is back.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { call, callAdmin } from '../support/gateway.js';
import { runCli } from '../support/run-cli.js';
import { type Served, startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { makeIssuerKey, openIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { until } from '../support/until.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: silent-test\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - id: ada\n    identity: orcid:ada\n    namespace: /\n    scopes: [namespace:read]\n',
};

interface Open {
  readonly served: Served;
  readonly dataDir: string;
}

let issuer: TokenIssuer;
let hung: Open;
let paused: Open;
/** Whether processes of `hung` could ask the issuer, before it was there. */
let before: readonly number[];

/** All that takes half a minute begins at once. */
beforeAll(async () => {
  issuer = await openIssuer([(await makeIssuerKey('k1')).jwk]);
  issuer.answerWith((_, response) => void response.writeHead(503).end());
  const oidc = `[{ issuer: "${issuer.url}", audience: bailiwick, provider: orcid, algorithms: [ES256] }]`;
  [hung, paused] = await Promise.all([open(`authentication: { oidc: ${oidc} }\n`), open()]);
  before = await isUp();
  issuer.answerWith(null);
});

afterAll(async () => {
  await issuer.stop();
  await Promise.all([hung, paused].map(({ dataDir }) => rm(dataDir, { recursive: true, force: true })));
});

async function open(settings = ''): Promise<Open> {
  const [dataDir, folder] = [await newDataDir(), await makeFolder({ ...POLICY, 'bailiwick.yaml': settings })];
  const policy = await makeFolder(POLICY);
  const config = ['--config', join(folder, 'bailiwick.yaml')];
  return { dataDir, served: await startServing(dataDir, 'serve', '--workers', '2', '--policy', policy, ...config) };
}

type Line = Readonly<Record<string, unknown>>;

const linesOf = ({ served }: Open): readonly Line[] =>
  served
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);
const said = (of: Open, msg: string): readonly Line[] => linesOf(of).filter((line) => line['msg'] === msg);
const pidsOf = (of: Open): readonly number[] => said(of, 'a worker serves').map(({ pid }) => Number(pid));

const seen = async ({ dataDir }: Open, path: string): Promise<{ readonly status: number; readonly text: string }> =>
  callAdmin(join(dataDir, 'admin.sock'), { path });

/** The values of a series, by what else its labels say. */
async function valuesOf(of: Open, name: string): Promise<ReadonlyMap<string, number>> {
  const { text } = await seen(of, '/metrics');
  const samples = [...text.matchAll(new RegExp(String.raw`^${name}\{(.*)\} (\d+)$`, 'gm'))];
  return new Map(samples.map(([, labels = '', value]) => [labels, Number(value)]));
}

const workersOf = async (of: Open): Promise<readonly (number | undefined)[]> => {
  const values = await valuesOf(of, 'bailiwick_workers');
  return ['answering', 'configured'].map((state) => values.get(`state="${state}"`));
};

const isUp = async (): Promise<readonly number[]> => [...(await valuesOf(hung, 'bailiwick_issuer_up')).values()];

async function untilAnswered({ served, dataDir }: Open): Promise<void> {
  const args = ['keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada', '--data-dir', dataDir];
  const key = (await runCli(args)).stdout.trim();
  const ask = (): ReturnType<typeof call> => call(served.port, { key, body: { family: 'namespace', namespace: '/' } });
  await until(async () => (await Promise.all([ask(), ask(), ask()])).every(({ status }) => status === 200));
}

it('counts no worker that hangs, says so, and replaces it; but not those of which it heard nothing while it was paused', async () => {
  expect(await workersOf(hung)).toEqual([2, 2]);
  const [first = 0, second = 0] = pidsOf(hung);
  const pausedPids = pidsOf(paused);
  for (const pid of pausedPids) process.kill(pid, 'SIGSTOP');
  paused.served.child.kill('SIGSTOP');
  process.kill(first, 'SIGSTOP');
  process.kill(second, 'SIGSTOP');
  await until(async () => (await workersOf(hung))[0] === 0);
  expect((await seen(hung, '/readyz')).status).toBe(503);
  expect(said(hung, 'a worker does not answer').map(({ pid, level }) => [pid, level])).toEqual(
    expect.arrayContaining([first, second].map((pid) => [pid, 'error'])),
  );
  process.kill(second, 'SIGCONT');
  await until(() => said(hung, 'a worker answers again').length === 1);
  expect(await workersOf(hung)).toEqual([1, 2]);
  expect((await seen(hung, '/readyz')).status).toBe(200);
  await until(() => pidsOf(hung).length === 3);
  expect(said(hung, 'a worker does not answer and is killed')).toMatchObject([{ pid: first, seconds: 30 }]);
  expect(said(hung, 'a worker has died and will be replaced')).toMatchObject([{ how: 'SIGKILL' }]);
  expect(await workersOf(hung)).toEqual([2, 2]);
  await untilAnswered(hung);
  paused.served.child.kill('SIGCONT');
  for (const pid of pausedPids) process.kill(pid, 'SIGCONT');
  await untilAnswered(paused);
  expect(await workersOf(paused)).toEqual([2, 2]);
  expect([pidsOf(paused), said(paused, 'a worker does not answer and is killed')]).toEqual([pausedPids, []]);
});

it('shows that an issuer is back although nobody has brought a token', async () => {
  expect(before).toEqual([0, 0, 0]);
  await until(async () => (await isUp()).every((value) => value === 1));
  expect(await isUp()).toHaveLength(3);
});

it('ends in order all the same', async () => {
  for (const { served } of [hung, paused]) served.child.kill('SIGTERM');
  expect(await Promise.all([hung.served.ended, paused.served.ended])).toEqual([0, 0]);
});
