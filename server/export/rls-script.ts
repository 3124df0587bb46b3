// A policy as row-level security of PostgreSQL: a script that puts its rows into tables and its meaning into functions. The
// database then decides by itself, as `decide` does for a record at the record's own namespace (docs/rls.md).
import type { PolicyRows } from '../../engine/compiler.js';
import { pathCheck, quoteNames } from '../sql/predicate.js';

export interface GuardedTable {
  /** `invoice` or `sales.invoice`. */
  readonly table: string;
  readonly column: string;
  readonly family: string;
}

export interface RlsOptions {
  /** Of everything that the script makes. */
  readonly schema: string;
  readonly tables: readonly GuardedTable[];
  /** A line for people. */
  readonly about: string;
}

const ROWS_AT_ONCE = 500;

/** In pieces, since a large policy is a long text. */
export function* rlsScript(rows: PolicyRows, { schema, tables, about }: RlsOptions): Generator<string> {
  const own = quoteNames(schema);
  yield `-- ${about}\nBEGIN;\nSET LOCAL standard_conforming_strings = on;\nSET LOCAL client_min_messages = warning;\n`;
  yield definitions(own);
  yield* rowsOf(`${own}.holder`, holders(rows));
  yield* rowsOf(`${own}.member`, members(rows));
  yield* rowsOf(`${own}.grant_key`, grantKeys(rows));
  yield* rowsOf(
    `${own}.exclusive`,
    rows.exclusive.map((pair) => pair.map(literal)),
  );
  for (const table of tables) yield policiesOf(own, table);
  yield 'COMMIT;\n';
}

function* holders({ principals }: PolicyRows): Generator<readonly string[]> {
  for (const [principal, { kind, name }] of principals.entries())
    if (kind === 'identity') yield [String(principal), literal(name)];
}

function* members({ members: edges }: PolicyRows): Generator<readonly string[]> {
  for (const [role, member] of edges) yield [String(role), String(member)];
}

function* grantKeys({ grants }: PolicyRows): Generator<readonly string[]> {
  for (const { principal, namespace, inherit, scopes, from, until } of grants) {
    if (from >= until) continue;
    const key = literal(inherit ? subtreeKey(namespace) : `=${namespace}`);
    for (const scope of scopes) yield [String(principal), literal(scope), key, instant(from), instant(until)];
  }
}

function subtreeKey(path: string): string {
  return path === '/' ? path : `${path}/`;
}

function* rowsOf(table: string, rows: Iterable<readonly string[]>): Generator<string> {
  let batch: string[] = [];
  for (const row of rows) {
    batch.push(`(${row.join(', ')})`);
    if (batch.length < ROWS_AT_ONCE) continue;
    yield `INSERT INTO ${table} VALUES\n${batch.join(',\n')};\n`;
    batch = [];
  }
  if (batch.length > 0) yield `INSERT INTO ${table} VALUES\n${batch.join(',\n')};\n`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Milliseconds since 1970 as PostgreSQL reads them exactly. */
function instant(at: number): string {
  if (!Number.isFinite(at)) return at < 0 ? `'-infinity'` : `'infinity'`;
  return `'epoch'::timestamptz + ${String(at)} * interval '1 millisecond'`;
}

/** A table keeps its rows until the commit, for whoever reads meanwhile: so they are deleted, not truncated. */
function definitions(own: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${own};
GRANT USAGE ON SCHEMA ${own} TO PUBLIC;
CREATE TABLE IF NOT EXISTS ${own}.holder (principal integer PRIMARY KEY, identity text COLLATE "C" NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS ${own}.member (role integer, member integer, PRIMARY KEY (member, role));
CREATE TABLE IF NOT EXISTS ${own}.grant_key (principal integer, scope text COLLATE "C", key text COLLATE "C",
  not_before timestamptz NOT NULL, expires timestamptz NOT NULL);
CREATE INDEX IF NOT EXISTS grant_key_of ON ${own}.grant_key (principal, scope);
CREATE TABLE IF NOT EXISTS ${own}.exclusive (first text COLLATE "C", second text COLLATE "C", PRIMARY KEY (first, second));
DELETE FROM ${own}.holder;
DELETE FROM ${own}.member;
DELETE FROM ${own}.grant_key;
DELETE FROM ${own}.exclusive;

-- What a path is covered by: itself, and every subtree that it is in. Nothing for text that is not a canonical path.
CREATE OR REPLACE FUNCTION ${own}.keys(path text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
SELECT CASE WHEN ${pathCheck('path')}
  THEN ARRAY['=' || path] || ARRAY(
    SELECT array_to_string((string_to_array(path COLLATE "C", '/'))[1:n], '/') || '/'
    FROM generate_series(1, CASE WHEN path COLLATE "C" = '/' THEN 1 ELSE cardinality(string_to_array(path COLLATE "C", '/')) END) AS n)
  ELSE '{}' END $$;

-- Whose request this is: a JSON list of \`provider:subject\`. Without it nobody, who may nothing.
CREATE OR REPLACE FUNCTION ${own}.identities() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
SELECT ARRAY(SELECT jsonb_array_elements_text(nullif(current_setting('bailiwick.identities', true), '')::jsonb)) $$;

-- Where the credential reaches: NULL without restrictions. A list with anything but canonical paths reaches nowhere.
CREATE OR REPLACE FUNCTION ${own}.limits() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
SELECT CASE
  WHEN coalesce(current_setting('bailiwick.restrictions', true), '') = '' THEN NULL
  WHEN EXISTS (SELECT FROM jsonb_array_elements_text(current_setting('bailiwick.restrictions')::jsonb) AS r (path)
    WHERE NOT (${pathCheck('path')})) THEN '{}'
  ELSE ARRAY(SELECT CASE WHEN path = '/' THEN path ELSE path || '/' END
    FROM jsonb_array_elements_text(current_setting('bailiwick.restrictions')::jsonb) AS r (path)) END $$;

-- What the identities hold now, as keys. It reads tables that the caller need not be able to read.
CREATE OR REPLACE FUNCTION ${own}.held(scope text) RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
WITH RECURSIVE asked AS MATERIALIZED (
  SELECT ${own}.identities() AS who,
    nullif(current_setting('bailiwick.scopes', true), '')::jsonb AS carried,
    coalesce(nullif(current_setting('bailiwick.at', true), '')::timestamptz, now()) AS at),
principal (id) AS (
  SELECT h.principal FROM asked, ${own}.holder AS h WHERE h.identity = ANY (asked.who)
  UNION
  SELECT m.role FROM principal AS p JOIN ${own}.member AS m ON m.member = p.id)
SELECT CASE
  WHEN EXISTS (SELECT FROM asked, ${own}.exclusive AS e WHERE e.first = ANY (who) AND e.second = ANY (who)) THEN '{}'
  WHEN NOT (SELECT carried IS NULL OR carried @> to_jsonb(held.scope) FROM asked) THEN '{}'
  ELSE ARRAY(SELECT DISTINCT g.key FROM asked, principal AS p JOIN ${own}.grant_key AS g ON g.principal = p.id
    WHERE g.scope = held.scope AND g.not_before <= asked.at AND asked.at < g.expires) END $$;

CREATE OR REPLACE FUNCTION ${own}.covers(held text[], limits text[], path text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
SELECT path IS NOT NULL AND held COLLATE "C" && (${own}.keys(path COLLATE "C") COLLATE "C")
  AND (limits IS NULL OR limits COLLATE "C" && (${own}.keys(path COLLATE "C") COLLATE "C")) $$;

-- Whether the request's identities may use the scope at the path.
CREATE OR REPLACE FUNCTION ${own}.may(scope text, path text) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
SELECT ${own}.covers(${own}.held(scope), ${own}.limits(), path) $$;

`;
}

/** What is held is looked up once for each statement: hence the subqueries. */
function policiesOf(own: string, { table, column, family }: GuardedTable): string {
  const name = quoteNames(table);
  const covers = (action: string): string =>
    `(${own}.covers((SELECT ${own}.held(${literal(`${family}:${action}`)})), (SELECT ${own}.limits()), ${quoteNames(column)}))`;
  const policy = (command: string, words: string): string =>
    `DROP POLICY IF EXISTS bailiwick_${command.toLowerCase()} ON ${name};
CREATE POLICY bailiwick_${command.toLowerCase()} ON ${name} FOR ${command} ${words};
`;
  return `ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;
ALTER TABLE ${name} FORCE ROW LEVEL SECURITY;
${refuseOthers(own, table)}${policy('SELECT', `USING ${covers('read')}`)}${policy('INSERT', `WITH CHECK ${covers('write')}`)}${policy('UPDATE', `USING ${covers('write')} WITH CHECK ${covers('write')}`)}${policy('DELETE', `USING ${covers('write')}`)}`;
}

/**
 * PostgreSQL shows a row that any permissive policy of the table allows. One that asks nothing of this policy would open
 * rows beside it, so the script ends there. Policies of the user's own that call a function of the schema may stay.
 */
function refuseOthers(own: string, table: string): string {
  const body = `DECLARE others text;
BEGIN
  SELECT string_agg(quote_ident(p.polname), ', ' ORDER BY p.polname) INTO others FROM pg_catalog.pg_policy AS p
  WHERE p.polrelid = ${literal(quoteNames(table))}::regclass AND p.polpermissive
    AND p.polname NOT IN ('bailiwick_select', 'bailiwick_insert', 'bailiwick_update', 'bailiwick_delete')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_proc AS f ON f.oid = d.refobjid
      WHERE d.classid = 'pg_catalog.pg_policy'::regclass AND d.objid = p.oid
        AND d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.pronamespace = ${literal(own)}::regnamespace);
  IF others IS NOT NULL THEN
    RAISE EXCEPTION 'other policies of the table % allow rows whatever this policy says: %', ${literal(table)}, others
      USING HINT = 'Drop them, make them restrictive (AS RESTRICTIVE), or let them ask a function of this schema, such as may(scope, path).';
  END IF;
END`;
  return `DO ${literal(body)};
`;
}
