// A store that fails while a command uses it: exit 6, a code of the store, what to do, and nothing of SQL or of stored
// values. A gateway ends with a status to try again where that may pass. On a real PostgreSQL, if there is one.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { findPostgres, runSql, startPostgres, type TestPostgres } from '../support/postgres.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const LINE = '{"family":"resource","namespace":"/labs/canary-value","name":"lens"}\n';
const POLICY = 'bailiwick: 1\nname: fails\nproviders:\n  orcid: {}\n';
const SETTINGS =
  'policy: policy\nlisten: 127.0.0.1:0\nadminListen: none\nadminSocket: none\naudit: { folder: audit }\n';
const SECRETIVE = /canary-value|insert|select|create table|records|api_keys|permission denied|bug of bailiwick/i;
const CREATE_KEY = ['keys', 'create', '--actor', 'canary-value', '--identity', 'orcid:a'];

const available = findPostgres() !== null;
if (!available)
  process.stdout.write('no PostgreSQL on this machine: failures of the store during commands are not tested\n');

(available ? describe : describe.skip)('a store that fails during a command', () => {
  let server: TestPostgres | null = null;
  let cwd = '';

  beforeAll(async () => {
    server = await startPostgres();
    cwd = await makeFolder({ 'records.jsonl': LINE, 'serve.yaml': SETTINGS, 'policy/policy.yaml': POLICY });
    await sql(
      'postgres',
      'CREATE DATABASE whole',
      'CREATE DATABASE reading',
      'CREATE DATABASE fresh',
      'CREATE ROLE clerk LOGIN',
    );
    for (const database of ['whole', 'reading']) expect((await run(['migrate'], urlOf(database))).status).toBe(0);
    await sql('postgres', 'ALTER DATABASE reading SET default_transaction_read_only = on');
    await sql('postgres', 'CREATE DATABASE frozen', 'ALTER DATABASE frozen SET default_transaction_read_only = on');
    // May look, so that it is found to be migrated, but not write.
    await sql(
      'whole',
      'GRANT USAGE ON SCHEMA bailiwick TO clerk',
      'GRANT SELECT ON ALL TABLES IN SCHEMA bailiwick TO clerk',
    );
  });

  afterAll(async () => {
    await server?.stop();
  });

  const urlOf = (database: string): string => server?.urlOf(database) ?? '';
  const asClerk = (database: string): string => urlOf(database).replace('postgres@', 'clerk@');
  const sql = (database: string, ...statements: readonly string[]): Promise<void> =>
    runSql(urlOf(database), ...statements);
  const run = (args: readonly string[], url: string, env: object = {}): ReturnType<typeof runCli> =>
    runCli([...args], { cwd, env: { DATABASE_URL: url, ...env } });

  test.each([
    ['load', ['load', 'records.jsonl'], () => asClerk('whole'), 'store.rights'],
    ['migrate', ['migrate'], () => asClerk('fresh'), 'store.rights'],
    ['keys create', CREATE_KEY, () => asClerk('whole'), 'store.rights'],
    ['load', ['load', 'records.jsonl'], () => urlOf('reading'), 'store.read_only'],
    ['migrate', ['migrate'], () => urlOf('frozen'), 'store.read_only'],
    ['keys create', CREATE_KEY, () => urlOf('reading'), 'store.read_only'],
  ])('%s (%j) is told in words of ours', async (verb, args, url, code) => {
    const json = await run([...args, '--format', 'json'], url(), { BAILIWICK_DEBUG: '1' });
    const fields = verb === 'load' ? { ok: false } : {};
    const error = { code, message: expect.any(String) };
    expect([json.status, JSON.parse(json.stdout)]).toEqual([6, { ...fields, error }]);
    expect(json.stdout + json.stderr).not.toMatch(SECRETIVE);
    const text = await run(args, url());
    expect([text.status, text.stdout]).toEqual([6, '']);
    expect(text.stderr).toMatch(/^store: [^\n]+\nerror: [^\n]+ \(SQLSTATE [0-9A-Z]{5}\)\n {2}help: [^\n]+\n$/);
    expect(text.stderr).not.toMatch(SECRETIVE);
  });

  test('serve may be started again where its store takes no writes: that may have become a standby, and another is the primary', async () => {
    const env = { DATABASE_URL: urlOf('reading') };
    const { status, stdout, stderr } = await spawnCli(['serve', '--config', 'serve.yaml', '--format', 'json'], {
      cwd,
      env,
    });
    const error = { code: 'store.read_only', message: expect.stringContaining('SQLSTATE 25006') };
    expect([status, JSON.parse(stdout)]).toEqual([10, { error }]);
    expect(stderr).not.toMatch(SECRETIVE);
  });

  test('serve may be started again where the disk of its store is full, and another command waits for somebody', async () => {
    await sql('postgres', 'CREATE DATABASE crowded');
    expect((await run(['migrate'], urlOf('crowded'))).status).toBe(0);
    await sql(
      'crowded',
      `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$`,
      ...['snapshots', 'api_keys'].map(
        (table) => `CREATE TRIGGER crowded BEFORE INSERT ON bailiwick.${table} EXECUTE FUNCTION no_room()`,
      ),
    );
    const env = { DATABASE_URL: urlOf('crowded') };
    const ran = await spawnCli(['serve', '--config', 'serve.yaml', '--format', 'json'], { cwd, env });
    const error = { code: 'store.full', message: 'the disk of the store is full (SQLSTATE 53100: no room)' };
    expect([ran.status, JSON.parse(ran.stdout)]).toEqual([10, { error }]);
    const key = await run([...CREATE_KEY, '--format', 'json'], urlOf('crowded'));
    expect([key.status, JSON.parse(key.stdout)]).toEqual([6, { error }]);
  });

  test('a connection ended during load says to run it again, which goes on', async () => {
    const blocker = new pg.Client({ connectionString: urlOf('whole') });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE bailiwick.records IN ACCESS EXCLUSIVE MODE');
    const loading = run(['load', 'records.jsonl'], urlOf('whole'));
    try {
      let ended = 0;
      for (let waited = 0; ended === 0 && waited < 500; waited += 1) {
        // A transaction sees the activity of its beginning otherwise.
        await blocker.query('SELECT pg_stat_clear_snapshot(), pg_sleep(0.05)');
        const { rowCount } = await blocker.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = 'whole' AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'`,
        );
        ended = rowCount ?? 0;
      }
      expect(ended).toBe(1);
    } finally {
      await blocker.end();
    }
    const { status, stderr } = await loading;
    expect([status, stderr]).toEqual([10, expect.stringContaining('run it again: it continues where it stopped')]);
    expect(stderr).not.toMatch(SECRETIVE);
    expect((await run(['load', 'records.jsonl'], urlOf('whole'))).stdout).toMatch(/^1 line: 1 loaded/);
  });
});
