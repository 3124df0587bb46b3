// The statements that are compared: ours as the gateway runs them, and the baselines, written by hand and as well as we can.
// All give the same columns for the same records; every page is checked against the physical limit's.
import pg from 'pg';
import { WHOLE_RANGES } from '../../dist/server/db/session-settings.js';
import { sql } from '../../dist/server/db/sql.js';
import { sortColumns } from '../../dist/server/query/order.js';
import { pageOutput } from '../../dist/server/query/page-statement.js';
import { compileCondition } from '../../dist/server/query/compile-condition.js';
import { sealCursor } from '../../dist/server/query/cursor.js';
import { parseQuery } from '../../dist/test/support/parse-query.js';
import { countRecords, listPage } from '../../dist/server/query/records.js';
import { rowPredicate } from '../../dist/server/query/row-predicate.js';
import { comparePaths, visibilityDigest } from '../../dist/engine/index.js';

const EVERYWHERE = { family: 'resource', namespace: '/', reach: 'subtree' };
const NEWEST = { ...EVERYWHERE, orderBy: [{ createdAt: 'desc' }] };
const TENTH = { 'properties.rank': { lt: 100 } };

/** `deep`: the page after the middle of what is visible. */
export const QUERIES = [
  { name: 'newest', kind: 'query', envelope: NEWEST, order: 'x.created_at DESC, x.id' },
  { name: 'by name', kind: 'query', envelope: { ...EVERYWHERE, orderBy: [{ name: 'asc' }] }, order: 'x.name, x.id' },
  { name: 'deep', kind: 'query', envelope: NEWEST, order: 'x.created_at DESC, x.id', deep: true },
  { name: 'filter', kind: 'query', envelope: { ...NEWEST, where: TENTH }, order: 'x.created_at DESC, x.id' },
  { name: 'count', kind: 'count', envelope: EVERYWHERE },
  { name: 'filtered count', kind: 'count', envelope: { ...EVERYWHERE, where: TENTH } },
];

/** As the engine says it of an actor with a grant at each root. */
export const visibleOf = (roots) =>
  roots.includes('/') ? { kind: 'all' } : { kind: 'some', exact: [], subtrees: [...roots].sort(comparePaths) };

/** `$1`, `$2` for the question marks of a fragment. */
function numbered({ text, bindings }) {
  let index = 0;
  return { text: text.replace(/\?/g, () => `$${(index += 1)}`), values: [...bindings] };
}

/** What is prepared under a name, on whichever connection. */
const TEXTS = new Map();
const { parse } = pg.Connection.prototype;
pg.Connection.prototype.parse = function (message, ...more) {
  TEXTS.set(message.name, message.text);
  return parse.call(this, message, ...more);
};

/**
 * What the gateway sends for this query: the statement that the query's own door sends to the server, bindings included.
 */
export async function ourStatement(db, { query, envelope, roots, visible = visibleOf(roots), secret, actorId }) {
  const plan = parseQuery(envelope, query.kind);
  const predicate = rowPredicate(visible);
  const run = () =>
    query.kind === 'count'
      ? countRecords(db, { predicate, plan })
      : listPage(db, { predicate, plan, cursors: { secret, actorId, visibility: visibilityDigest(visible) } });
  await run();
  const seen = [];
  const { bind } = pg.Connection.prototype;
  pg.Connection.prototype.bind = function (message, ...more) {
    seen.push({ text: TEXTS.get(message.statement), values: message.values });
    return bind.call(this, message, ...more);
  };
  try {
    await run();
  } finally {
    pg.Connection.prototype.bind = bind;
  }
  const [settings, ...statements] = seen[0].text === WHOLE_RANGES.text ? seen : [null, ...seen];
  if (statements.length !== 1) throw new Error(`a warm query sends one statement, not ${statements.length}`);
  return { ...statements[0], whole: settings !== null };
}

/** The body of a query by an actor who sees these roots; `after` is the position of a row, for a deep page. */
export function envelopeOf(query, { after, roots, secret, actorId }) {
  if (after === undefined) return query.envelope;
  const plan = parseQuery(query.envelope, query.kind);
  const binding = { secret, actorId, visibility: visibilityDigest(visibleOf(roots)) };
  return { ...query.envelope, page: { after: sealCursor(after, { plan, binding }) } };
}

/** A statement over `source`, a table expression of records called `x`, with what follows the filter. */
function over(source, { query, after, where = 'TRUE', values = [] }) {
  const plan = parseQuery(query.envelope, query.kind);
  const condition = numbered(compileCondition(plan.where));
  const base = condition.values.length;
  const shifted = (text, from) => text.replace(/\$(\d+)/g, (_, digits) => `$${Number(digits) + from}`);
  const parts = [condition.text, shifted(where, base)];
  const bound = [...condition.values, ...values];
  if (query.kind === 'count') {
    return { text: `SELECT count(*) AS count FROM ${source} x WHERE ${parts.join(' AND ')}`, values: bound };
  }
  if (after !== undefined) {
    const [at, id] = [`$${bound.length + 1}::timestamptz`, `$${bound.length + 2}::uuid`];
    parts.push(`x.created_at <= ${at} AND (x.created_at < ${at} OR x.id > ${id})`);
    bound.push(after[0], after[1]);
  }
  const keys = sortColumns(plan.orderBy).map(({ value }, index) => `${value.text} AS k${index}`);
  const output = numbered(pageOutput(plan, sql`THE ROWS`));
  return {
    text: shifted(output.text, bound.length).replace(
      'THE ROWS',
      () => `SELECT x.*, ${keys.join(', ')} FROM ${source} x
        WHERE ${parts.join(' AND ')} ORDER BY ${query.order} LIMIT ${plan.page.size + 1}`,
    ),
    values: [...bound, ...output.values],
  };
}

/** The same rows out of a table that holds nothing else. */
export const physStatement = (given) => over('phys', given);

const ACTIVE = 'x.family = 2 AND x.archived_at IS NULL';

/** Tuned: the policy compares with one multirange that is read once a statement; the indexes are ours. */
export const rlsStatement = (given) => over('records', { ...given, where: ACTIVE });

/** Grants in a table, joined through a closure of the namespaces; the indexes are ours. */
export const joinStatement = (given, actor) =>
  over('records', {
    ...given,
    where: `${ACTIVE} AND EXISTS (SELECT 1 FROM bench_closure c JOIN bench_grants g ON g.root = c.ancestor
      WHERE c.path = x.path AND g.actor = $1)`,
    values: [actor],
  });

const stored = (path) => (path === '/' ? '/' : `${path}/`);
const exactRangeOf = (path) => `["${stored(path)}","${stored(path)} ")`;
const rangeOf = (path) => `["${stored(path)}","${path === '/' ? '' : path}0")`;

/** What `bench.visible` is set to for the row-level security of these roots. */
export const multirangeOf = (roots) => `{${roots.map(rangeOf).join(',')}}`;

/** The same of what the engine says is visible. */
const multirangeOfVisible = ({ kind, exact = [], subtrees = [] }) =>
  kind === 'all' ? multirangeOf(['/']) : `{${[...exact.map(exactRangeOf), ...subtrees.map(rangeOf)].join(',')}}`;

/** Tables, policy and role of the baselines, once a world. `run` takes SQL. */
export async function prepareBaselines(run, sets) {
  // Its multiranges are called `bench_multirange`.
  await run('CREATE TYPE bench_range AS RANGE (subtype = text, collation = "C")');
  await run(`
    CREATE TABLE bench_closure AS
      SELECT n.path, '/' || a.part AS ancestor FROM (SELECT DISTINCT path FROM records) n
      CROSS JOIN LATERAL (SELECT array_to_string(p[1:i], '/') || CASE WHEN i = 0 THEN '' ELSE '/' END AS part
        FROM (SELECT string_to_array(trim(both '/' from n.path), '/') AS p) s,
          generate_series(0, CASE WHEN n.path = '/' THEN 0 ELSE cardinality(p) END) i) a`);
  await run('ALTER TABLE bench_closure ADD PRIMARY KEY (path, ancestor)');
  await run('CREATE TABLE bench_grants (actor text, root text COLLATE "C", PRIMARY KEY (actor, root))');
  for (const [index, { roots }] of sets.entries()) {
    await run(`INSERT INTO bench_grants SELECT $1, r FROM unnest($2::text[]) r`, [`set-${index}`, roots.map(stored)]);
  }
  await run('ALTER TABLE bench_closure ALTER COLUMN path TYPE text COLLATE "C", ALTER ancestor TYPE text COLLATE "C"');
  await run('VACUUM (ANALYZE) bench_closure, bench_grants');
  await run('DROP ROLE IF EXISTS bench_reader');
  await run('CREATE ROLE bench_reader');
  await run('GRANT USAGE ON SCHEMA bailiwick TO bench_reader');
  await run('GRANT SELECT ON records, bench_closure, bench_grants TO bench_reader');
  await run(`CREATE POLICY bench_policy ON records FOR SELECT TO bench_reader
    USING (path <@ (SELECT current_setting('bench.visible')::bench_multirange))`);
  await run('ALTER TABLE records ENABLE ROW LEVEL SECURITY');
}

/** The visible records as the table `phys`, indexed for the queries: resources that are not archived unless given. */
export async function preparePhys(run, visible, records = ACTIVE) {
  await run('DROP TABLE IF EXISTS phys');
  await run(
    `CREATE TABLE phys AS SELECT x.* FROM records x
      WHERE ${records} AND x.path <@ (SELECT '${multirangeOfVisible(visible)}'::bench_multirange)`,
  );
  await run('ALTER TABLE phys ADD PRIMARY KEY (id)');
  await run('CREATE INDEX ON phys (created_at DESC, id)');
  await run('CREATE INDEX ON phys (name, id)');
  await run('VACUUM (ANALYZE) phys');
}
