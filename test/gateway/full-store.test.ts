// The disk of the store fills up under a gateway with workers: it says so and is not ready, its queries are answered, and
// it finds room by itself, with nobody who writes. If this user may mount file systems; otherwise this is not tested.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { POOL_LIMITS } from '../../server/limits/store.js';
import { keepSecret } from '../support/canaries.js';
import { call, callAdmin, type Reply } from '../support/gateway.js';
import { findPostgres, runSql, startPostgres, type TestPostgres, unprivilegedAccount } from '../support/postgres.js';
import { runCli } from '../support/run-cli.js';
import { startServing } from '../support/serve-process.js';
import { fill, mayMount, mount, unmount } from '../support/small-disk.js';
import { newDataDir } from '../support/stores.js';
import { until } from '../support/until.js';

const POLICY = 'bailiwick: 1\nname: full\nproviders:\n  orcid: {}\n';
const GRANTS = 'grants:\n  - { id: ana, identity: "orcid:ana", namespace: /, scopes: ["resource:*"] }\n';

const available = mayMount();
if (!available) process.stderr.write('this user may not mount file systems: a full store is not tested\n');

(available ? describe : describe.skip)('a gateway whose store has a full disk', () => {
  let root = '';
  let disk = '';
  let server: TestPostgres | null = null;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'bailiwick-full-'));
    disk = join(root, 'disk');
    mkdirSync(disk);
    mkdirSync(join(root, 'policy'));
    writeFileSync(join(root, 'policy/policy.yaml'), POLICY);
    writeFileSync(join(root, 'policy/grants.yaml'), GRANTS);
    chmodSync(root, 0o711);
  });
  afterEach(async () => {
    await server?.stop();
    server = null;
    unmount(disk);
    rmSync(root, { recursive: true, force: true });
  });

  const embedded = async (): Promise<string> => {
    expect(mount(disk, 'size=160m,mode=0700')).toBe(true);
    const template = await newDataDir();
    execFileSync('cp', ['-a', join(template, 'store'), disk]);
    rmSync(template, { recursive: true, force: true });
    return `dataDir: ${disk}`;
  };

  /** Its database is in a tablespace on the disk. */
  const external = async (): Promise<string> => {
    const account = unprivilegedAccount();
    const owner = account === 'none' ? '' : `,uid=${String(account.uid)},gid=${String(account.gid)}`;
    expect(mount(disk, `size=40m,mode=0700${owner}`)).toBe(true);
    server = await startPostgres();
    const url = server?.urlOf('small') ?? '';
    await runSql(
      server?.url ?? '',
      `CREATE TABLESPACE small LOCATION '${disk}'`,
      'CREATE DATABASE small TABLESPACE small',
    );
    expect((await runCli(['migrate', '--database-url', url])).status).toBe(0);
    return `databaseUrl: ${url}\ndatabase: { statementTimeout: 60s }`;
  };

  type Case = readonly [name: string, open: () => Promise<string>, log: 'beside the tables' | 'elsewhere'];
  const stores: readonly Case[] = [
    ['the embedded store', embedded, 'beside the tables'],
    ...(findPostgres() === null ? [] : ([['PostgreSQL', external, 'elsewhere']] as const)),
  ];

  it.each(stores)('is not ready until there is room: %s', async (_, open, log) => {
    const config = join(root, 'bailiwick.yaml');
    const [socket, audit] = [join(root, 'admin.sock'), join(root, 'audit')];
    writeFileSync(
      config,
      `${await open()}\npolicy: ${join(root, 'policy')}\naudit: { folder: ${audit} }\nadminSocket: ${socket}\nworkers: 2\n`,
    );
    const key = (
      await runCli(['keys', 'create', '--actor', 'ana', '--identity', 'orcid:ana', '--config', config])
    ).stdout.trim();
    keepSecret(key);
    const served = await startServing(null, 'serve', '--config', config);
    let sent = 0;
    const write = (): Promise<Reply> => {
      sent += 1;
      return call(served.port, {
        path: '/api/v1/resources',
        key,
        headers: { 'idempotency-key': `key-${String(sent)}` },
        body: { namespace: '/', name: `r${String(sent)}`, properties: { text: randomBytes(10_000).toString('hex') } },
      });
    };
    const health = async (): Promise<unknown> => (await callAdmin(socket, { path: '/readyz' })).json?.['checks'];
    /** On connections of their own, so that they come to all workers. */
    const ofWorkers = async (): Promise<ReadonlySet<number>> => {
      const answers = Array.from({ length: 6 }, () => call(served.port, { method: 'GET', path: '/readyz' }));
      return new Set((await Promise.all(answers)).map(({ status }) => status));
    };
    const lines = (): readonly string[] => served.stderr().match(/^.*"msg":"the disk of the store .*$/gm) ?? [];

    await until(async () => (await write()).status === 201);
    await until(async () => JSON.stringify(await health()).includes('"store":"ok"'));
    const giveRoom = fill(disk);
    await until(async () => (await write()).status === 503);
    await until(async () => JSON.stringify(await health()).includes('"store":"failed"'));
    const { json: status } = await callAdmin(socket);
    expect(status).toMatchObject({ ready: false, store: { ok: false } });
    await until(async () => /full/.test(JSON.stringify((await callAdmin(socket)).json?.['store'])));
    await until(async () => !(await ofWorkers()).has(200));
    // A server that cannot write its log stops.
    const read = await call(served.port, { key, body: { family: 'resource', namespace: '/' } });
    expect(log === 'elsewhere' ? [200] : [200, 503]).toContain(read.status);

    // Nobody writes any more: it stays full because the gateways look.
    for (const end = performance.now() + 2 * POOL_LIMITS.fullDiskQuiet; performance.now() < end;) {
      expect(await health()).toMatchObject({ store: 'failed' });
      await sleep(100);
    }
    giveRoom();
    await until(async () => JSON.stringify(await health()).includes('"store":"ok"'));
    await until(async () => !(await ofWorkers()).has(503));
    await until(async () => (await write()).status === 201);
    expect((await callAdmin(socket)).json).toMatchObject({ ready: true, store: { ok: true, fault: null } });
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
    // Once by each process.
    const [full, over] = ['the disk of the store is full: ', 'has room again'].map((text) =>
      lines().filter((line) => line.includes(text)),
    );
    if (log === 'elsewhere') expect([full?.length, over?.length]).toEqual([3, 3]);
    const told = /"code":"store\.full".*"reason":"the disk of the store is full \(SQLSTATE 53100/;
    // A server that has stopped is found by its folder, if that is sooner than a write that fails.
    const stopped = /"code":"store\.full".*"reason":"the data folder .* no space left on its disk"/;
    expect([told, ...(log === 'elsewhere' ? [] : [stopped])].some((one) => one.test(lines()[0] ?? ''))).toBe(true);
  });
});
