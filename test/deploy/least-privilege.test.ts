// The roles of deploy/postgresql on a real PostgreSQL: a gateway does all that it does with the few rights of its role, and no
// more than that.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { keepSecret } from '../support/canaries.js';
import { call, callAdmin, type Reply } from '../support/gateway.js';
import { findPostgres, runSql, startPostgres, type TestPostgres } from '../support/postgres.js';
import { RIGHTS } from '../../server/db/rights.js';
import { fromRoot } from '../support/root.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { type Served, startServing } from '../support/serve-process.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const statementsOf = (name: string): readonly string[] =>
  readFileSync(fromRoot(`deploy/postgresql/${name}`), 'utf8')
    .replaceAll(/^--.*\n/gm, '')
    .split(';\n')
    .filter((statement) => statement.trim() !== '');

const POLICY = (namespace: string): Readonly<Record<string, string>> => ({
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n',
  'grants/all.yaml': `grants:\n  - { id: ana, identity: "orcid:ana", namespace: ${namespace}, scopes: ["resource:*", "resource-template:*", "namespace:*"] }\n`,
});

const available = findPostgres() !== null;
if (!available) process.stdout.write('no PostgreSQL on this machine: the rights of roles are not tested\n');

(available ? describe : describe.skip)('the role of a gateway', () => {
  let server: TestPostgres | null = null;
  let served: Served | null = null;
  let cwd = '';
  let key = '';
  const urlOf = (role: string, database = 'bailiwick'): string =>
    (server?.urlOf(database) ?? '').replace('postgres@', `${role}@`);
  const as = async (role: string, ...args: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await runCli(args, { cwd, env: { DATABASE_URL: urlOf(role) } });
    expect([args[0], status, stderr]).toEqual([args[0], 0, expect.not.stringContaining('error')]);
    return stdout.trim();
  };

  const serve = (url = urlOf('bailiwick_gateway')): Promise<Served> => {
    const settings = ['--config', join(cwd, 'bailiwick.yaml'), '--policy', join(cwd, 'first.json')];
    return startServing(null, 'serve', '--database-url', url, ...settings);
  };

  beforeAll(async () => {
    server = await startPostgres();
    const policies = Object.entries({ first: POLICY('/'), second: POLICY('/labs') });
    cwd = await makeFolder({
      'bailiwick.yaml': 'audit: { folder: audit }\nadminSocket: admin.sock\nlimits: { idempotency: 1s }\n',
      ...Object.fromEntries(
        policies.flatMap(([name, files]) => Object.entries(files).map(([path, text]) => [`${name}/${path}`, text])),
      ),
    });
    for (const [name] of policies)
      expect((await runCli(['compile', name, '-o', `${name}.json`], { cwd })).status).toBe(0);
    await runSql(server?.urlOf('postgres') ?? '', ...statementsOf('roles.sql'));
    await as('bailiwick_owner', 'migrate');
    await runSql(urlOf('bailiwick_owner'), ...statementsOf('grants.sql'));
    key = await as('bailiwick_gateway', 'keys', 'create', '--actor', 'ana', '--identity', 'orcid:ana');
    keepSecret(key);
    served = await serve();
  }, 120_000);

  afterAll(async () => {
    served?.child.kill('SIGKILL');
    await served?.ended;
    await server?.stop();
  });

  let sent = 0;
  const ask = (method: string, path: string, body?: object, headers: object = {}): Promise<Reply> => {
    sent += 1;
    const creates = method === 'POST' && !/query|archive|restore|move/.test(path);
    const idempotency = creates ? { 'idempotency-key': `key-${String(sent)}` } : {};
    return call(served?.port ?? 0, {
      method,
      path,
      key,
      headers: { ...idempotency, ...headers },
      ...(body && { body }),
    });
  };

  it('is enough for all that a gateway does', async () => {
    for (const path of ['/labs', '/labs/optics'])
      expect((await ask('PUT', `/api/v1/namespaces${path}`, {})).status).toBe(201);
    const made = await ask('POST', '/api/v1/resources', { namespace: '/labs/optics', name: 'lens' });
    expect(made.status).toBe(201);
    const id = String(made.json?.['id']);
    const again = { namespace: '/labs/optics', name: 'mirror' };
    for (const status of [201, 201]) {
      expect((await ask('POST', '/api/v1/resources', again, { 'idempotency-key': 'twice' })).status).toBe(status);
    }
    await sleep(1_100);
    // Answers that are no longer kept are removed by the next ones.
    expect((await ask('POST', '/api/v1/resources', again, { 'idempotency-key': 'twice' })).status).toBe(201);
    const copied = await ask('POST', `/api/v1/resources/${id}/copies`, { destination: '/labs' });
    expect(copied.status).toBe(201);
    const change = { name: 'lens 2' };
    expect((await ask('PATCH', `/api/v1/resources/${id}`, change, { 'if-match': '"1"' })).status).toBe(200);
    expect((await ask('POST', `/api/v1/resources/${id}/archive`, undefined, { 'if-match': '"2"' })).status).toBe(200);
    expect((await ask('POST', `/api/v1/resources/${id}/restore`, undefined, { 'if-match': '"3"' })).status).toBe(200);
    const query = { family: 'resource', namespace: '/labs', reach: 'subtree' };
    expect((await ask('POST', '/api/v1/query', query)).json?.['items']).toHaveLength(4);
    expect((await ask('POST', '/api/v1/query/count', query)).status).toBe(200);
  }, 60_000);

  it('is enough for what others refer to: templates, unique names, moves, and deletions for good', async () => {
    const fields = { namespace: '/', name: 'sample', version: '1', schema: {}, uniqueName: true };
    const template = String((await ask('POST', '/api/v1/resource-templates', fields)).json?.['id']);
    const byName = await ask('PUT', '/api/v1/resources/by-name?namespace=%2Flabs&name=a', { template });
    const path = `/api/v1/resources/${String(byName.json?.['id'])}`;
    const move = { method: 'POST', path: `${path}/move`, body: { namespace: '/labs/optics' }, ifMatch: '"1"' };
    const make = { method: 'POST', path: '/api/v1/resources', body: { namespace: '/labs', name: 'b', template } };
    const statuses = [
      byName,
      await ask('POST', '/api/v1/batch', { commands: [move, make] }),
      await ask('POST', `/api/v1/resource-templates/${template}/move`, { namespace: '/labs' }, { 'if-match': '"1"' }),
      await ask('POST', `${path}/archive`, undefined, { 'if-match': '"2"' }),
      await ask('DELETE', path, undefined, { 'if-match': '"3"' }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([201, 200, 200, 200, 200]);
  }, 60_000);

  // All tables may be read, one more of which only migrations use.
  it('has exactly the rights that the program knows', async () => {
    const client = new pg.Client({ connectionString: urlOf('bailiwick_owner') });
    await client.connect();
    const { rows } = await client.query<{ right: string }>(
      `SELECT privilege_type || ' on ' || table_name AS right FROM information_schema.role_table_grants
        WHERE grantee = 'bailiwick_gateway' AND table_name <> 'schema_migrations_lock'`,
    );
    await client.end();
    const known = [...RIGHTS].flatMap(([table, rights]) => rights.map((right) => `${right} on ${table}`));
    expect(rows.map(({ right }) => right).sort()).toEqual(known.sort());
  });

  it('is enough for admins: policies are stored, swapped and swapped back, keys made and revoked', async () => {
    const socket = join(cwd, 'admin.sock');
    const body = readFileSync(join(cwd, 'second.json'), 'utf8');
    const stored = await callAdmin(socket, { method: 'POST', path: '/admin/v1/snapshots', body });
    expect(stored.status).toBe(201);
    const activate = `/admin/v1/snapshots/${String(stored.json?.['snapshot'])}/activate`;
    expect((await callAdmin(socket, { method: 'POST', path: activate, body: { reason: 'test' } })).status).toBe(200);
    const rollback = { method: 'POST', path: '/admin/v1/rollback', body: { reason: 'test' } };
    expect((await callAdmin(socket, rollback)).status).toBe(200);
    const id = key.split('_')[1] ?? '';
    expect((await callAdmin(socket, { path: '/admin/v1/keys' })).status).toBe(200);
    expect(await as('bailiwick_gateway', 'keys', 'revoke', id)).toMatch(/^revoked /);
    expect((await ask('GET', '/api/v1/whoami')).status).toBe(401);
  }, 60_000);

  it('brings every event to the audit log, and leaves nothing about rights in the log', async () => {
    const client = new pg.Client({ connectionString: urlOf('bailiwick_owner') });
    await client.connect();
    const waiting = async (): Promise<unknown> =>
      (await client.query<{ n: string }>('SELECT count(*) AS n FROM bailiwick.audit_outbox')).rows[0]?.n;
    while ((await waiting()) !== '0') await sleep(20);
    await client.end();
    served?.child.kill('SIGTERM');
    expect(await served?.ended).toBe(0);
    expect(served?.stderr()).not.toMatch(/permission denied|42501|"level":"error"/);
    expect(await as('bailiwick_gateway', 'audit', 'verify', join(cwd, 'audit'))).toMatch(/intact/);
  }, 60_000);

  it('is named as lacking a right that is taken from a running gateway, also where none of its statements work', async () => {
    const running = (served = await serve());
    const fault = async (): Promise<unknown> => {
      const { json } = await callAdmin(join(cwd, 'admin.sock'), { path: '/admin/v1/status' });
      return Reflect.get(Object(json?.['store']), 'fault');
    };
    const readiness = async (): Promise<number> =>
      (await call(running.port, { method: 'GET', path: '/readyz' })).status;
    expect(await readiness()).toBe(200);
    const taken = {
      'SELECT on records': 'SELECT ON bailiwick.records',
      'INSERT on records': 'INSERT ON bailiwick.records',
      'SELECT on api_keys': 'SELECT ON bailiwick.api_keys',
      'USAGE on schema bailiwick': 'USAGE ON SCHEMA bailiwick',
    };
    for (const [right, privilege] of Object.entries(taken)) {
      const before = running.stderr().length;
      const said = (text: string) => () => running.stderr().slice(before).includes(text);
      await runSql(urlOf('bailiwick_owner'), `REVOKE ${privilege} FROM bailiwick_gateway`);
      await until(said(`"missing":["${right}"]`), running.stderr);
      expect(await fault()).toBe(`the database user lacks rights: ${right}`);
      await until(async () => (await readiness()) === 503);
      await runSql(urlOf('bailiwick_owner'), ...statementsOf('grants.sql'));
      await until(said('has all rights that requests need again'), running.stderr);
      await until(async () => (await fault()) === null);
      await until(async () => (await readiness()) === 200);
    }
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  }, 60_000);

  it('is refused at the start if a right is missing, by its name, or all of them', async () => {
    const start = (): Promise<CliRun> =>
      runCli(['serve', '--config', 'bailiwick.yaml', '--policy', 'first.json', '--listen', '127.0.0.1:0'], {
        cwd,
        env: { DATABASE_URL: urlOf('bailiwick_gateway') },
      });
    await runSql(
      urlOf('bailiwick_owner'),
      'REVOKE INSERT ON bailiwick.records, bailiwick.api_keys FROM bailiwick_gateway',
      'REVOKE SELECT ON bailiwick.schema_migrations FROM bailiwick_gateway',
    );
    const refused = await start();
    expect([refused.status, refused.stderr]).toEqual([6, expect.stringContaining('grants.sql')]);
    expect(refused.stderr).toMatch(/INSERT on records.*SELECT on schema_migrations/);
    expect(refused.stderr).not.toContain('api_keys');
    // A table that this release adds is made by `migrate`, and cannot be granted before that.
    const newest = 'name = (SELECT max(name) FROM bailiwick.applied)';
    await runSql(
      urlOf('bailiwick_owner'),
      'GRANT SELECT ON bailiwick.schema_migrations TO bailiwick_gateway',
      'CREATE TABLE bailiwick.applied AS SELECT * FROM bailiwick.schema_migrations',
      `DELETE FROM bailiwick.schema_migrations WHERE ${newest}`,
    );
    const older = await start();
    expect([older.status, older.stderr]).toEqual([6, expect.stringContaining('run `bailiwick migrate`')]);
    await runSql(
      urlOf('bailiwick_owner'),
      `INSERT INTO bailiwick.schema_migrations SELECT * FROM bailiwick.applied WHERE ${newest}`,
      'DROP TABLE bailiwick.applied',
    );
    await runSql(urlOf('bailiwick_owner'), 'REVOKE USAGE ON SCHEMA bailiwick FROM bailiwick_gateway');
    const closed = await start();
    expect([closed.status, closed.stderr]).toEqual([6, expect.stringContaining('grants.sql')]);
    expect(closed.stderr).toMatch(/permission denied for schema bailiwick/);
    expect(closed.stderr).not.toMatch(/password/);
    await runSql(urlOf('bailiwick_owner'), ...statementsOf('grants.sql'));
  }, 60_000);

  it('is that of a store that its owner has backed up, and that was restored, as docs/operating.md says', async () => {
    const page = readFileSync(fromRoot('docs/operating.md'), 'utf8');
    const [section = ''] = /^## Back up and restore$.*?^\*\*Embedded store/ms.exec(page) ?? [];
    const [backUp = '', restore = ''] = [...section.matchAll(/^```text\n(.*?)^```/gms)].map(([, lines = '']) => lines);
    const place = new URL(server?.url ?? '');
    const env = {
      ...{ ...process.env, PATH: [findPostgres(), process.env['PATH']].join(delimiter) },
      ...{ OWNER_URL: urlOf('bailiwick_owner'), PGUSER: 'postgres', PGDATABASE: 'postgres' },
      ...{ PGHOST: place.searchParams.get('host') ?? '', PGPORT: place.port },
    };
    for (const lines of [backUp, restore])
      await promisify(execFile)('sh', ['-ec', lines.replace('/var/lib/bailiwick/audit', 'audit')], { cwd, env });
    expect(existsSync(join(cwd, 'audit.backup'))).toBe(true);

    const url = urlOf('bailiwick_gateway', 'bailiwick_restored');
    served = await serve(url);
    const made = await runCli(['keys', 'create', '--actor', 'ana', '--identity', 'orcid:ana'], {
      cwd,
      env: { DATABASE_URL: url },
    });
    key = made.stdout.trim();
    keepSecret(key);
    expect((await ask('PUT', '/api/v1/namespaces/labs', {})).status).toBe(200);
    expect((await ask('PUT', '/api/v1/namespaces/restored', {})).status).toBe(201);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
    await expect(runSql(url, 'CREATE TEMPORARY TABLE more (id int)')).rejects.toMatchObject({ code: '42501' });
  }, 60_000);

  it.each([
    'CREATE TABLE bailiwick.more (id int)',
    'ALTER TABLE bailiwick.records DISABLE TRIGGER ALL',
    'DROP TABLE bailiwick.records',
    'TRUNCATE bailiwick.records',
    'DELETE FROM bailiwick.api_keys',
    'DELETE FROM bailiwick.activations',
    'UPDATE bailiwick.activations SET reason = reason',
    'UPDATE bailiwick.secrets SET value = value',
    'DELETE FROM bailiwick.audit_heads',
    'DELETE FROM bailiwick.schema_migrations',
    'CREATE SCHEMA more',
    'CREATE TEMPORARY TABLE more (id int)',
  ])('is not enough for this: %s', async (statement) => {
    await expect(runSql(urlOf('bailiwick_gateway'), statement)).rejects.toMatchObject({ code: '42501' });
  });
});
