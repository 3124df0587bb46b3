// A gateway of several processes, as operators run it: one port, one log, one policy; workers that die are replaced.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLines } from '../support/audit-log.js';
import { call, callAdmin } from '../support/gateway.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { type Served, startServing, startServingWith } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: serve-test\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - id: ada\n    identity: orcid:ada\n    namespace: /\n    scopes: [namespace:read]\n',
};

let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

type Line = Readonly<Record<string, unknown>>;

function linesOf({ stderr }: Served): readonly Line[] {
  return stderr()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);
}

const said = (served: Served, msg: string): readonly Line[] => linesOf(served).filter((line) => line['msg'] === msg);
const pidsOf = (served: Served): readonly number[] => said(served, 'a worker serves').map(({ pid }) => Number(pid));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function bailiwick(...args: readonly string[]): ReturnType<typeof runCli> {
  return runCli([...args, '--data-dir', dataDir]);
}

async function makeKey(): Promise<string> {
  return (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
}

/** Asks for what the policy from before would not have shown, until so many answers have been compared with it. */
async function compare({ port }: Served, key: string, times: number): Promise<Line> {
  for (;;) {
    await Promise.all(
      Array.from({ length: 4 }, () => call(port, { key, body: { family: 'resource', namespace: '/' } })),
    );
    const { stdout } = await bailiwick('shadow', '--format', 'json');
    const live = (JSON.parse(stdout) as { readonly live: Line & { readonly compared: number } }).live;
    if (live.compared >= times) return live;
  }
}

/** Each on a connection of its own, so that they come to all workers. */
function ask({ port }: Served, key: string, times = 1): Promise<readonly Awaited<ReturnType<typeof call>>[]> {
  return Promise.all(
    Array.from({ length: times }, () => call(port, { key, body: { family: 'namespace', namespace: '/' } })),
  );
}

describe('a gateway with two workers', () => {
  let served: Served;
  let folder: string;
  let key: string;
  beforeAll(async () => {
    folder = await makeFolder(POLICY);
    served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', folder);
    key = await makeKey();
  });

  it('answers on one port by all of them, from one store', async () => {
    expect((await ask(served, key, 8)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    await until(() => said(served, 'request').length === 8);
    expect(new Set(said(served, 'request').map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });

  const shown = async (): Promise<string> => (await callAdmin(join(dataDir, 'admin.sock'), { path: '/metrics' })).text;
  const answered = (text: string): number =>
    Number(/^bailiwick_http_requests_total\{.*"\/api\/v1\/query".*"200".*\} (\d+)$/m.exec(text)?.[1]);

  it('shows what all of them have counted and what each measures, also while one is stuck', async () => {
    const text = await shown();
    expect(answered(text)).toBe(8);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    const measured = (number: number): RegExp =>
      new RegExp(`^process_resident_memory_bytes\\{worker="${String(number)}"\\} \\d+$`, 'm');
    for (const number of [1, 2]) expect(text).toMatch(measured(number));
    const [, second = 0] = pidsOf(served);
    process.kill(second, 'SIGSTOP');
    const from = performance.now();
    expect(answered(await shown())).toBe(8);
    expect(performance.now() - from).toBeLessThan(3_000);
    process.kill(second, 'SIGCONT');
  });

  it('O04 opens no debugger in a worker when it is told to, and leaves other signals to its primary', async () => {
    for (const pid of pidsOf(served))
      for (const signal of ['SIGUSR1', 'SIGTERM', 'SIGINT', 'SIGHUP']) process.kill(pid, signal);
    const answers = await ask(served, key, 8);
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(served.stderr()).not.toMatch(/Debugger listening/i);
    expect(pidsOf(served).every(isAlive)).toBe(true);
  });

  it('takes a new policy over in all of them within a second', async () => {
    await writeFile(
      join(folder, 'grants.yaml'),
      POLICY['grants.yaml'].replace('id: ada', 'id: anew').replace('[', '[resource:read, '),
    );
    served.child.kill('SIGHUP');
    const isReplaced = ({ msg, worker }: Line): boolean => msg === 'the policy was replaced' && worker === undefined;
    await until(() => linesOf(served).some(isReplaced));
    const { snapshot } = linesOf(served).find(isReplaced) ?? {};
    await sleep(1_000);
    const answers = await ask(served, key, 8);
    expect(new Set(answers.map(({ headers }) => headers['bailiwick-snapshot']))).toEqual(new Set([snapshot]));
    expect(snapshot).not.toBe(served.ready['snapshot']);
  });

  it('judges a candidate in all of them, and sums what they find', async () => {
    const before = String(served.ready['snapshot']);
    const { stdout } = await bailiwick('shadow', before, '--format', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ snapshot: before, differs: { gained: 0 }, live: { compared: 0 } });
    const live = await compare(served, key, 8);
    expect(live).toMatchObject({ lost: live['compared'], gained: 0, both: 0, examples: [{ times: live['compared'] }] });
  });

  it('refuses a key in all of them from the moment that it is revoked', async () => {
    const revoked = await makeKey();
    expect((await ask(served, revoked, 4)).map(({ status }) => status)).toEqual(Array(4).fill(200));
    await bailiwick('keys', 'revoke', revoked.split('_')[1] ?? '');
    expect((await ask(served, revoked, 8)).map(({ status }) => status)).toEqual(Array(8).fill(401));
  });

  it('replaces a worker that dies, and goes on meanwhile', async () => {
    const [first = 0, second = 0] = pidsOf(served);
    const before = answered(await shown());
    process.kill(first, 'SIGKILL');
    await until(() => said(served, 'a worker has died and will be replaced').length === 1);
    expect((await ask(served, key, 4)).map(({ status }) => status)).toEqual(Array(4).fill(200));
    await until(() => pidsOf(served).length === 3);
    expect(said(served, 'a worker has died and will be replaced')[0]).toMatchObject({ how: 'SIGKILL', pause: 100 });
    // What one that is gone had counted still counts.
    expect(answered(await shown())).toBe(before + 4);
    process.kill(second, 'SIGKILL');
    await until(() => pidsOf(served).length === 4);
    // The new ones alone are there, and decide by the newest policy.
    const answers = await ask(served, key, 4);
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(200));
    expect(new Set(answers.map(({ headers }) => headers['bailiwick-snapshot'])).size).toBe(1);
  });

  it('leaves no client without an end whose connection was on its way to a worker that dies', async () => {
    const [stuck = 0] = pidsOf(served).slice(-2);
    const before = pidsOf(served).length;
    // What it has answered is in the log, which it cannot write any more.
    const asked = answered(await shown());
    const answeredLines = (): number =>
      said(served, 'request').filter(({ status, worker }) => status === 200 && worker !== undefined).length;
    await until(() => answeredLines() === asked);
    process.kill(stuck, 'SIGSTOP');
    const answers = Promise.allSettled(
      Array.from({ length: 20 }, () => call(served.port, { key, body: { family: 'namespace', namespace: '/' } })),
    );
    // All but the one that the stuck worker was given.
    await until(() => answeredLines() === asked + 19);
    process.kill(stuck, 'SIGKILL');
    const ends = await answers;
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    for (const end of ends) if (end.status === 'fulfilled') expect(end.value.status).toBe(200);
    await until(() => pidsOf(served).length === before + 1);
  });

  it('goes on with the candidate in workers that were started since', async () => {
    const { stdout } = await bailiwick('shadow', '--format', 'json');
    const { compared } = (JSON.parse(stdout) as { readonly live: { readonly compared: number } }).live;
    await compare(served, key, compared + 8);
    expect((await bailiwick('shadow', '--off')).stdout).toBe('there is no candidate\n');
  });

  it('keeps one audit log, to which workers hand what they answer, and ends in order', async () => {
    const { ready } = served;
    // Some arrive before it stops, some while it does. What of them is a query is in the log below, or was not answered.
    const arriving = Promise.allSettled(Array.from({ length: 100 }, () => call(served.port, { method: 'GET' })));
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
    await arriving;
    expect(pidsOf(served).filter(isAlive)).toEqual([]);
    // Those of the admin socket are answered by the primary.
    const answered = said(served, 'request').filter(({ status, worker }) => status === 200 && worker !== undefined);
    const { stdout } = await bailiwick('audit', 'query', '--kind', 'query', '--format', 'json');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    expect(events.map(({ requestId }) => requestId).sort()).toEqual(answered.map(({ requestId }) => requestId).sort());
    expect((await bailiwick('audit', 'verify')).status).toBe(0);
    expect((await readdir(join(dataDir, 'audit'))).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1);
    expect(ready).toMatchObject({ workers: 2 });
  });
});

it('decides by no policy in a new worker that is too old in the others', async () => {
  const folder = await makeFolder(POLICY);
  const settings = await makeFolder({ 'bailiwick.yaml': 'snapshot: { poll: 1s, hardAge: 5s }\n' });
  const config = ['--config', join(settings, 'bailiwick.yaml')];
  const served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', folder, ...config);
  const key = await makeKey();
  const areAll = async (wanted: number): Promise<boolean> =>
    (await ask(served, key, 4)).every(({ status }) => status === wanted);
  await until(() => areAll(200));
  await rm(folder, { recursive: true });
  await until(() => areAll(503));
  for (const pid of pidsOf(served)) {
    const before = pidsOf(served).length;
    process.kill(pid, 'SIGKILL');
    await until(() => pidsOf(served).length > before);
  }
  const answers = await ask(served, key, 4);
  expect(answers.map(({ json }) => json?.['code'])).toEqual(Array(4).fill('snapshot.expired'));
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
});

it('counts what an actor asks of all workers together', async () => {
  const folder = await makeFolder(POLICY);
  const settings = await makeFolder({ 'bailiwick.yaml': 'limits: { rate: { perActor: 1 } }\n' });
  const config = ['--config', join(settings, 'bailiwick.yaml')];
  const served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', folder, ...config);
  const key = await makeKey();
  const statuses: number[] = [];
  // The one after the other comes to the other worker.
  for (const pause of [250, 0]) {
    statuses.push(...(await ask(served, key)).map(({ status }) => status));
    await sleep(pause);
  }
  expect(statuses).toEqual([200, 429]);
  const pids = pidsOf(served);
  served.child.kill('SIGKILL');
  await served.ended;
  // Workers do not outlive their primary.
  await until(() => !pids.some(isAlive));
});

it('records each question that its workers answer, however many come at once', async () => {
  const served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', await makeFolder(POLICY));
  const key = (await bailiwick('keys', 'create', '--actor', 'pep', '--decide')).stdout.trim();
  const question = {
    actor: { identities: ['orcid:ada'] },
    request: { kind: 'access', scope: 'namespace:read', target: '/' },
  };
  const body = { items: Array<object>(1_000).fill(question) };
  const ask = async (): Promise<number> => {
    const { status, json } = await call(served.port, { path: '/api/v1/decide', key, body });
    if (status !== 503) return status;
    await sleep(Number(json?.['retryAfter']) * 1_000);
    return ask();
  };
  expect(await Promise.all(Array.from({ length: 30 }, ask))).toEqual(Array(30).fill(200));
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
  const events = readLines(join(dataDir, 'audit')).map((line) => JSON.parse(line) as Line);
  expect(events.filter(({ operation }) => operation === 'decide')).toHaveLength(30_000);
  expect(events.filter(({ operation }) => operation === 'audit.lost')).toEqual([]);
});

it('ends in order and at once while a worker is being replaced', async () => {
  const served = await startServing(dataDir, 'serve', '--workers', '2', '--policy', await makeFolder(POLICY));
  const { pid = 0 } = served.child;
  const children = (): number =>
    readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').split(' ').length;
  const before = children();
  process.kill(pidsOf(served)[0] ?? 0, 'SIGKILL');
  await until(() => said(served, 'a worker has died and will be replaced').length === 1);
  // The next one is a process, and does not listen to its primary yet.
  await until(() => children() === before);
  const from = performance.now();
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
  expect(performance.now() - from).toBeLessThan(10_000);
  expect(pidsOf(served)).toHaveLength(2);
});

it('tries again where the system gives it no process for a worker, and serves by the other meanwhile', async () => {
  const hook = await makeFolder({
    'cwd.mjs': `import cluster from 'node:cluster';
      if (cluster.isPrimary) process.on('message', (cwd) => cluster.setupPrimary({ cwd }));\n`,
  });
  const flags = [`--import=${join(hook, 'cwd.mjs')}`];
  const served = await startServingWith(
    flags,
    dataDir,
    'serve',
    '--workers',
    '2',
    '--policy',
    await makeFolder(POLICY),
  );
  const key = await makeKey();
  const ways = (): readonly string[] =>
    said(served, 'a worker could not be started and will be tried again').map(({ how }) => String(how));
  served.child.send('/none');
  process.kill(pidsOf(served)[0] ?? 0, 'SIGKILL');
  // It is told of the one by an event, and the other is thrown.
  await until(() => ways().some((how) => how.includes('ENOENT')));
  served.child.send('/dev/null');
  await until(() => ways().some((how) => how.includes('ENOTDIR')));
  expect((await ask(served, key)).map(({ status }) => status)).toEqual([200]);
  served.child.send('/');
  await until(() => pidsOf(served).length === 3);
  served.child.disconnect();
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
});

const IN_WORKER = 'if (process.argv[1].endsWith("/bin/worker.js"))';
const FAILED = '{ kind: "failed", code: "store.connections", message: "the store has no connection left" }';

it.each([
  ['needs somebody', `${IN_WORKER} process.exit(7);`, 6, 'a worker ended before it served (exit status 7)'],
  [
    'is a signal, as where memory is short',
    `${IN_WORKER} process.kill(process.pid, 'SIGKILL');`,
    10,
    'a worker ended before it served (SIGKILL)',
  ],
  [
    'passes by itself',
    `${IN_WORKER} process.send(${FAILED}, () => process.exit(1));`,
    10,
    'the store has no connection left',
  ],
  [
    'is a port that somebody else takes meanwhile',
    `import cluster from 'node:cluster';
     import { createServer } from 'node:net';
     if (cluster.isPrimary) cluster.once('fork', () => createServer().listen(Number(process.env.TAKEN), '127.0.0.1').unref());`,
    10,
    'another process uses the port',
  ],
])('does not start where a worker cannot, and says why: it %s', async (_, code, status, why) => {
  const [folder, hook, port] = [await makeFolder(POLICY), await makeFolder({ 'hook.mjs': code }), await freePort()];
  const ran = await spawnCli(
    [
      ...['serve', '--workers', '2', '--policy', folder, '--data-dir', dataDir],
      ...['--listen', `127.0.0.1:${String(port)}`, '--admin-listen', '127.0.0.1:0'],
    ],
    { env: { NODE_OPTIONS: `--import=${join(hook, 'hook.mjs')}`, TAKEN: String(port) } },
  );
  expect(ran).toMatchObject({ status, stdout: '' });
  expect(ran.stderr).toContain(`the workers cannot be started: ${why}`);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('has what ends a worker as a line of its log, too', async () => {
  const throws = `${IN_WORKER} process.on("message", ({ kind }) => { if (kind === "series") throw new Error("an error of a test"); });`;
  const hook = await makeFolder({ 'hook.mjs': throws });
  const flags = [`--import=${join(hook, 'hook.mjs')}`];
  const policy = await makeFolder(POLICY);
  const served = await startServingWith(flags, dataDir, 'serve', '--workers', '2', '--policy', policy);
  await callAdmin(join(dataDir, 'admin.sock'), { path: '/metrics' });
  await until(() => said(served, 'a worker has died and will be replaced').length === 2);
  const lines = served.stderr().trim().split('\n');
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
  expect(served.stderr()).toContain('"message":"an error of a test"');
  served.child.disconnect();
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
});
