// `export rls`: PostgreSQL decides as the engine does, on generated policies and for stored text of every kind, and a table that
// is guarded shows and takes exactly what it may.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import {
  type Actor,
  ALL_SCOPES,
  carriedNames,
  formatIdentity,
  formatInstant,
  type Instant,
  type Policy,
  vocabularyOf,
} from '../../../engine/index.js';
import { policyRows } from '../../../engine/compiler.js';
import { rlsScript, type RlsOptions } from '../../../server/export/rls-script.js';
import { mayIn } from '../../support/exported-decisions.js';
import { generousWorld, question } from '../../support/generous-worlds.js';
import { dropDatabase, takeDatabase, type TakenDatabase } from '../../support/one-postgres.js';
import { runSql } from '../../support/postgres.js';
import { fromRoot } from '../../support/root.js';
import { runCli } from '../../support/run-cli.js';
import { makeFolder } from '../../support/temp-folder.js';
import { compiled, PLACES } from '../../support/query-worlds.js';
import { testRuns } from '../../support/test-runs.js';

let taken: TakenDatabase;
let pool: pg.Pool;
const own = `rls_${String(process.pid)}`;

beforeAll(async () => {
  taken = await takeDatabase('empty');
  await runSql(
    taken.url,
    `CREATE DATABASE ${own} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'`,
  );
  const url = new URL(taken.url);
  url.pathname = own;
  pool = new pg.Pool({ connectionString: url.href, max: 1 });
});

afterAll(async () => {
  await pool.end();
  await dropDatabase(taken.url, own);
  await runSql(taken.url, `DROP ROLE IF EXISTS ${own}`);
  await taken.drop();
});

async function install(policy: Policy, options: Partial<RlsOptions> = {}): Promise<void> {
  const script = rlsScript(policyRows(policy), { schema: 'bailiwick', tables: [], about: 'a test', ...options });
  await pool.query([...script].join(''));
}

/** As an application tells the database who asks. */
async function askAs(actor: Actor, at: Instant, policy: Policy): Promise<void> {
  const carried =
    actor.credentialScopes === ALL_SCOPES ? '' : JSON.stringify(carriedNames(actor.credentialScopes, policy));
  const restrictions = actor.namespaceRestrictions === null ? '' : JSON.stringify(actor.namespaceRestrictions);
  await pool.query(
    `SELECT set_config('bailiwick.identities', $1, false), set_config('bailiwick.scopes', $2, false),
       set_config('bailiwick.restrictions', $3, false), set_config('bailiwick.at', $4, false)`,
    [JSON.stringify(actor.identities.map(formatIdentity)), carried, restrictions, formatInstant(at)],
  );
}

const TWINS = [
  '/',
  '//',
  '/.',
  '~',
  '-x',
  '/A',
  ' ',
  '\u0001',
  '/é',
  '/..',
  '/a//b',
  `/${'a'.repeat(64)}`,
  '/a'.repeat(33),
];
const STORED = [
  ...new Set([
    ...PLACES,
    ...PLACES.slice(0, 6).flatMap((place) => TWINS.map((end) => (place === '/' ? '' : place) + end)),
    '',
    'a',
  ]),
];

const RUNS = testRuns({ usual: 4, deep: 24 });

it('decides as the engine does: tens of thousands of decisions, on generated policies', async () => {
  let allowed = 0;
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(generousWorld, fc.array(question, { minLength: 3, maxLength: 4 }), async (set, questions) => {
      const policy = compiled(set);
      await install(policy);
      const scopes = [...vocabularyOf(policy).scopes, 'invoice:burn', "x'y"];
      for (const { actor, at } of questions) {
        // The local actor has no identities: there is no way to be it in a database.
        if (actor.kind === 'local') continue;
        await askAs(actor, at, policy);
        const { rows } = await pool.query<{ scope: string; path: string }>(
          `WITH s AS MATERIALIZED (
             SELECT scope, i, bailiwick.held(scope) AS held, bailiwick.limits() AS limits
             FROM unnest($1::text[]) WITH ORDINALITY AS u (scope, i))
           SELECT s.scope, p.path FROM s, unnest($2::text[]) WITH ORDINALITY AS p (path, j)
           WHERE bailiwick.covers(s.held, s.limits, p.path) ORDER BY s.i, p.j`,
          [scopes, STORED],
        );
        const may = mayIn(policy, actor, at);
        const expected = scopes.flatMap((scope) =>
          STORED.filter((path) => may(scope, path)).map((path) => ({ scope, path })),
        );
        expect(rows).toEqual(expected);
        allowed += expected.length;
        asked += scopes.length * STORED.length;
      }
    }),
    RUNS,
  );
  expect(asked).toBeGreaterThan(1_600 * RUNS.numRuns);
  expect(allowed).toBeGreaterThan(asked / 50);
  expect(allowed).toBeLessThan(asked / 2);
});

const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: shop\nproviders: { staff: {} }\nfamilies:\n  invoice: { actions: [approve] }\n',
  'grants.yaml': `grants:
  - { id: north, identity: "staff:nia o'hara", namespace: /north, scopes: ["invoice:*"] }
  - { id: accra, identity: "staff:nia o'hara", namespace: /south/accra, scopes: [invoice:read], inherit: false }
`,
};
const ROWS = ['/', '/north', '/north~x', '/north/oslo', '/south', '/south/accra', '/south/accra/x', '/north/../south'];

test('a guarded table shows and takes exactly what it may, whoever owns it, and is guarded anew by the next policy', async () => {
  const cwd = await makeFolder(FILES);
  const script = async (): Promise<string> => {
    const ran = await runCli(['export', 'rls', '.', '--table', 'invoice=invoice'], { cwd });
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    return ran.stdout;
  };
  await pool.query(
    `CREATE TABLE invoice (id int GENERATED ALWAYS AS IDENTITY, path text, amount int NOT NULL DEFAULT 1)`,
  );
  await pool.query('INSERT INTO invoice (path) SELECT unnest($1::text[])', [[...ROWS, null]]);
  // Of a superuser nothing is ever hidden, so an account of its own owns the table, and asks.
  await pool.query(`CREATE ROLE ${own}; ALTER TABLE invoice OWNER TO ${own}`);
  await pool.query(await script());
  const db = await pool.connect();
  try {
    const paths = async (): Promise<readonly string[]> =>
      (await db.query<{ path: string }>('SELECT path FROM invoice ORDER BY path COLLATE "C"')).rows.map(
        ({ path }) => path,
      );
    const be = async (identities: string): Promise<void> => {
      await db.query(
        `SELECT set_config('bailiwick.identities', $1, false), set_config('bailiwick.at', '', false),
        set_config('bailiwick.scopes', '', false), set_config('bailiwick.restrictions', '', false)`,
        [identities],
      );
    };
    await db.query(`SET ROLE ${own}`);
    await be('');
    expect(await paths()).toEqual([]);
    await be(JSON.stringify(["staff:nia o'hara"]));
    expect(await paths()).toEqual(['/north', '/north/oslo', '/south/accra']);
    await db.query(`INSERT INTO invoice (path) VALUES ('/north/bergen')`);
    await expect(db.query(`INSERT INTO invoice (path) VALUES ('/south/accra')`)).rejects.toThrow(/row-level security/);
    await expect(db.query(`INSERT INTO invoice (path) VALUES ('/north//x')`)).rejects.toThrow(/row-level security/);
    expect((await db.query('UPDATE invoice SET amount = 2')).rowCount).toBe(3);
    await expect(db.query(`UPDATE invoice SET path = '/south' WHERE path = '/north'`)).rejects.toThrow(
      /row-level security/,
    );
    expect(
      (await db.query(`DELETE FROM invoice WHERE path IN ('/north/bergen', '/south/accra', '/south')`)).rowCount,
    ).toBe(1);
    // What narrows a credential: scopes, and namespaces. An empty list opens nothing, and neither does text that is no path.
    await db.query(`SELECT set_config('bailiwick.restrictions', '["/north/oslo"]', false)`);
    expect(await paths()).toEqual(['/north/oslo']);
    for (const none of ['[]', '["/north/oslo", "/North"]']) {
      await db.query(`SELECT set_config('bailiwick.restrictions', $1, false)`, [none]);
      expect(await paths()).toEqual([]);
    }
    await db.query(
      `SELECT set_config('bailiwick.restrictions', '', false), set_config('bailiwick.scopes', '["invoice:write"]', false)`,
    );
    expect(await paths()).toEqual([]);
    for (const wrong of ['"staff:nia"', '{', '{"a":1}']) {
      await be(wrong);
      await expect(db.query('SELECT * FROM invoice')).rejects.toThrow();
    }
    // Who asks cannot read the policy, and cannot change it.
    await expect(db.query('SELECT * FROM bailiwick.holder')).rejects.toThrow(/permission denied/);
    await expect(db.query('DELETE FROM bailiwick.grant_key')).rejects.toThrow(/permission denied/);
    await db.query('RESET ROLE');
    await writeFile(join(cwd, 'grants.yaml'), FILES['grants.yaml'].replace('/north', '/south'));
    await db.query(await script());
    await db.query(`SET ROLE ${own}`);
    await be(JSON.stringify(["staff:nia o'hara"]));
    expect(await paths()).toEqual(['/south', '/south/accra', '/south/accra/x']);
    await db.query('RESET ROLE');
  } finally {
    db.release();
  }
});

test('a table with another policy that allows rows is refused, and nothing is changed', async () => {
  const table = `sales."o'hara $$"`;
  await pool.query(`CREATE SCHEMA sales; CREATE TABLE ${table} (path text)`);
  const cwd = await makeFolder(FILES);
  const { stdout: script } = await runCli(['export', 'rls', '.', '--table', "sales.o'hara $$=invoice"], { cwd });
  const guard = async (): Promise<void> => {
    await pool.query(script);
  };
  const isGuarded = async (): Promise<unknown> =>
    (await pool.query(`SELECT relrowsecurity AS is FROM pg_class WHERE relname = 'o''hara $$'`)).rows[0];
  await pool.query(
    `CREATE POLICY everyone ON ${table} USING (true); CREATE POLICY "My Own" ON ${table} FOR INSERT WITH CHECK (true)`,
  );
  await expect(guard()).rejects.toThrow(
    `other policies of the table sales.o'hara $$ allow rows whatever this policy says: "My Own", everyone`,
  );
  await pool.query('ROLLBACK');
  expect(await isGuarded()).toEqual({ is: false });
  // Restrictive ones only take away, and those that ask this policy were written with it in mind.
  await pool.query(`DROP POLICY everyone ON ${table}; DROP POLICY "My Own" ON ${table}`);
  await pool.query(`CREATE POLICY fewer ON ${table} AS RESTRICTIVE USING (path <> '/x')`);
  await guard();
  await pool.query(`CREATE POLICY approve ON ${table} FOR UPDATE USING (bailiwick.may('invoice:approve', path))`);
  await guard();
  expect(await isGuarded()).toEqual({ is: true });
});

test('what cannot be exported is said', async () => {
  const cwd = await makeFolder(FILES);
  const run = async (...args: readonly string[]): Promise<string> => {
    const { status, stderr, stdout } = await runCli(['export', 'rls', ...args], { cwd });
    expect([status, stdout]).toEqual([2, '']);
    return stderr;
  };
  expect(await run('.', '--table', 'invoice=invoyce')).toContain('the policy knows no family `invoyce`');
  expect(await run('.', '--table', 'invoice')).toContain('`invoice` is not a table and a family');
  expect(await run('.', '--table', '.x=invoice')).toContain('`.x` does not name a table');
  expect(await run('.', '--table', 'x=invoice', '--table', 'y=invoice', '--table', 'x:place=invoice')).toContain(
    'the table `x` is named twice',
  );
  for (const schema of ['', 'a$$b', '1a', 'a.b', 'a b'])
    expect(await run('.', '--schema', schema)).toContain(`\`${schema}\` is not the name of a schema`);
  expect(await run(fromRoot('policies/nowhere'))).toContain('nowhere');
});
