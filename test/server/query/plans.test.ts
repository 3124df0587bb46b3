// What PostgreSQL makes of the statements: index ranges and nothing but them on a store of some size; the same answers with
// any part of the planner switched off, with other indexes and with none; and on a table that is split by namespace.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalize, type NamespacePath, type Visible } from '../../../engine/index.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { rowsOf, type Fragment } from '../../../server/db/sql.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { pageStatement, type Shape } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../../server/query/parse-query.js';
import { countStatement } from '../../../server/query/records.js';
import { rowPredicate, visibleExtent } from '../../../server/query/row-predicate.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { hostileRecords, plant } from './hostile-records.js';
import type { Json } from './oracle/evaluate.js';

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

function some(exact: readonly string[], subtrees: readonly string[]): Visible {
  return { kind: 'some', exact: exact.map(path), subtrees: subtrees.map(path) };
}

interface Asked {
  readonly visible: Visible;
  readonly body: Json;
  readonly kind: Shape['kind'];
  readonly after?: readonly (string | null)[];
}

function page({ visible, body, kind, after }: Asked): Fragment {
  const plan = parseQuery({ family: 'resource', namespace: '/', ...body }, 'query');
  const order = keyOrder(plan.orderBy);
  const shape: Shape = kind === 'gather' || order === null ? { kind: 'gather', order } : { kind, order };
  return pageStatement({ predicate: rowPredicate(visible), plan, after: after ?? null, shape });
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
  readonly Filter?: string;
  readonly 'Actual Loops'?: number;
  readonly 'Actual Rows'?: number;
  readonly Plans?: readonly PlanNode[];
}

async function planOf(db: Database, { text, bindings }: Fragment, options = ''): Promise<readonly PlanNode[]> {
  const { rows } = await db.knex.raw<{ rows: readonly { 'QUERY PLAN': readonly { Plan: PlanNode }[] }[] }>(
    `EXPLAIN (${options}FORMAT JSON) ${text}`,
    bindings.map((binding) => (typeof binding === 'object' && binding !== null ? ([...binding] as string[]) : binding)),
  );
  const nodes = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  return (rows[0]?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodes(Plan));
}

/** Nodes that read stored rows, as `what index: condition`. */
async function readsOf(db: Database, statement: Fragment): Promise<readonly string[]> {
  const nodes = await planOf(db, statement);
  return nodes
    .filter((node) => node['Relation Name'] !== undefined || node['Node Type'] === 'Bitmap Index Scan')
    .map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}: ${node['Index Cond'] ?? ''}`);
}

const NEWEST = { orderBy: [{ createdAt: 'desc' }] };
const FILTER = { ...NEWEST, where: { 'properties.rank': { gte: 3 } } };
const LINEAGE = some(['/', '/n1', '/n1/m1'], []);
const ALL: Visible = { kind: 'all' };
const SUBTREES = some(['/n7'], ['/n1', '/n3/m3', '/n5/m1']);
const PLACE = ['2030-01-01T00:00:00.000Z', '01900000-0000-7000-8000-000000000001'];
const PATH_RANGE = "((family = '2'::smallint) AND (path >= v.lo) AND (path < v.hi))";
// All indexes by path hold the id.
const ANY_PATH_RANGE: unknown = expect.stringMatching(
  /^Index Only Scan records_path_\w+: \(\(family = '2'::smallint\) AND \(path >= v\.lo\) AND \(path < v\.hi\)\)$/,
);
const PATH_IS = "((family = '2'::smallint) AND (path = v.lo)";

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

describePostgres('the plans on a store of 60,000 records', () => {
  let opened: OpenedStore;
  let db: Database;
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    db = await openDatabase({ ...opened.config, statementTimeout: 0 });
    await migrate(db);
    await db.knex.raw(`
      INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
      SELECT gen_random_uuid(), 2 + i % 3 / 2, '/n' || i % 20 || '/m' || i % 100 || '/', 'r' || i % 9000,
        jsonb_build_object('rank', i % 10), 1, timestamptz '2029-12-31' + i * interval '3 s', now(), 'test'
      FROM generate_series(1, 60000) AS i`);
    await db.knex.raw('VACUUM ANALYZE records');
    await db.knex.raw('VACUUM ANALYZE record_counts');
  });
  afterAll(async () => {
    await db.close();
    await opened.dispose();
  });

  it.each<[string, Asked, readonly unknown[]]>([
    ['gather', { visible: SUBTREES, body: NEWEST, kind: 'gather' }, [`records_path_created: ${PATH_RANGE}`]],
    [
      'gather by name',
      { visible: SUBTREES, body: { orderBy: [{ name: 'asc' }] }, kind: 'gather' },
      [`records_path_name: ${PATH_RANGE}`],
    ],
    ['gather by id', { visible: SUBTREES, body: {}, kind: 'gather' }, [ANY_PATH_RANGE]],
    ['merge', { visible: LINEAGE, body: NEWEST, kind: 'merge' }, [`records_path_created: ${PATH_IS})`]],
    ['merge by id', { visible: LINEAGE, body: {}, kind: 'merge' }, [`records_path_id: ${PATH_IS})`]],
    [
      'merge by name',
      { visible: LINEAGE, body: { orderBy: [{ name: 'asc' }] }, kind: 'merge' },
      [`records_path_name: ${PATH_IS})`],
    ],
    [
      'merge, deep',
      { visible: LINEAGE, body: NEWEST, kind: 'merge', after: PLACE },
      [`records_path_created: ${PATH_IS} AND (created_at < '2030-01-01 00:00:00+00'::timestamp with time zone))`],
    ],
    ['scan', { visible: ALL, body: NEWEST, kind: 'scan' }, ["records_created: (family = '2'::smallint)"]],
    [
      'scan by name',
      { visible: ALL, body: { orderBy: [{ name: 'asc' }] }, kind: 'scan' },
      ["records_name: (family = '2'::smallint)"],
    ],
    ['scan by id', { visible: ALL, body: {}, kind: 'scan' }, ["records_id: (family = '2'::smallint)"]],
    [
      'scan, deep',
      { visible: ALL, body: NEWEST, kind: 'scan', after: PLACE },
      [
        `records_created: ((family = '2'::smallint) AND (created_at = '2030-01-01 00:00:00+00'::timestamp with time zone) AND (id > '${String(PLACE[1])}'::uuid))`,
        "records_created: ((family = '2'::smallint) AND (created_at < '2030-01-01 00:00:00+00'::timestamp with time zone))",
      ],
    ],
  ])('%s from a covering index, and then the records of the page by their ids', async (_, asked, expected) => {
    const reads = await readsOf(db, page(asked));
    for (const read of expected)
      expect(reads).toContainEqual(typeof read === 'string' ? `Index Only Scan ${read}` : read);
    for (const read of reads) {
      expect(read).toMatch(/^Index Only Scan records_\w+: |^Index Scan records_pkey: \(id = \w+\.k[01]\)$/);
    }
  });

  it.each<[string, Asked]>([
    ['gather with a filter', { visible: SUBTREES, body: FILTER, kind: 'gather' }],
    ['gather by a property', { visible: SUBTREES, body: { orderBy: [{ 'properties.rank': 'asc' }] }, kind: 'gather' }],
    ['scan with a filter', { visible: ALL, body: FILTER, kind: 'scan' }],
  ])('%s of nothing but index ranges of what is visible', async (_, asked) => {
    const reads = await readsOf(db, page(asked));
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.join('\n')).not.toContain('Seq Scan');
    // A filter that ran below the fence would be a condition of one of these.
    for (const read of reads) expect(read).not.toContain('rank');
  });

  it('sum counters for a count, and read no record', async () => {
    const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
    const nodes = await planOf(db, countStatement({ predicate: rowPredicate(SUBTREES), plan }));
    expect(nodes.flatMap((node) => node['Relation Name'] ?? [])).toEqual(['record_counts']);
  });

  it.each<[string, Json, string]>([
    ['newest', NEWEST, 'records_created'],
    ['by name from the end', { orderBy: [{ name: 'desc' }] }, 'records_name'],
    ['by id', {}, 'records_id'],
    ['with a filter', FILTER, 'records_created'],
  ])('stop a scan when the page is full: %s', async (_, body, index) => {
    const nodes = await planOf(db, page({ visible: ALL, body, kind: 'scan' }), 'ANALYZE, ');
    const rows = nodes.filter((node) => node['Index Name'] === index).map((node) => node['Actual Rows'] ?? 0);
    expect(Math.max(...rows)).toBeGreaterThan(50);
    // Names tie, and are sorted by id tie by tie.
    expect(Math.max(...rows)).toBeLessThan(100);
  });

  it('are never compiled', async () => {
    const { rows } = await db.knex.raw<{ rows: unknown[] }>("SELECT current_setting('jit') AS jit");
    expect(rows).toEqual([{ jit: 'off' }]);
  });
});

const SETTINGS = [
  'enable_seqscan',
  'enable_indexscan',
  'enable_indexonlyscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_nestloop',
  'enable_sort',
  'enable_incremental_sort',
  'enable_material',
  'enable_memoize',
];

/** Expressions that an invisible value would break, were they not total or not above the fence. */
const PROBES: readonly Json[] = [
  { 'properties.rank': { gt: 0 } },
  { 'properties.rank': { lte: 1e300 }, 'properties.label': { startsWith: 'b' } },
  { not: { 'properties.deep.a': { eq: true } } },
  { or: [{ 'properties.deep.a.b': { contains: 'x' } }, { 'properties.rank': { in: [0, 1, -1] } }] },
  { name: { endsWith: '%' } },
];

const ORDERS = [[], [{ createdAt: 'desc' }], [{ name: 'desc' }], [{ 'properties.rank': 'asc' }]];

describePostgres('poison in invisible records', () => {
  let opened: OpenedStore;
  let db: Database;
  const SEEN = some(['/a'], ['/a/b', '/b']);
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    // One connection: what a test sets there is set for all its statements.
    db = await openDatabase({ ...opened.config, maxConnections: 1, statementTimeout: 0 });
    await migrate(db);
    await plant(db, hostileRecords());
  });
  afterAll(async () => {
    await db.close();
    await opened.dispose();
  });

  async function answers(): Promise<readonly unknown[]> {
    const all: unknown[] = [];
    for (const where of PROBES) {
      for (const orderBy of ORDERS) {
        const body = { where, orderBy, page: { size: 20 } };
        all.push(await rowsOf(db.knex, page({ visible: SEEN, body, kind: 'gather' })));
      }
      const plan = parseQuery({ family: 'resource', namespace: '/', where }, 'count');
      all.push(await rowsOf(db.knex, countStatement({ predicate: rowPredicate(SEEN), plan })));
    }
    return all;
  }

  it('changes no answer and raises no error: with statistics or none, other indexes or none, without any planner step', async () => {
    const clean = await answers();
    expect(JSON.stringify(clean).length).toBeGreaterThan(5_000);
    const poison = hostileRecords().flatMap((record, index) =>
      ['/a-b', '/ab', '/c', '/'].map((namespace, copy) => ({
        ...record,
        namespace,
        id: `01700000-0000-7000-8000-${(index * 4 + copy).toString(16).padStart(12, '0')}`,
      })),
    );
    await plant(db, poison);
    await db.knex.raw(
      `UPDATE records SET properties = '{"rank":1e400,"deep":{"a":"NaN"}}' WHERE path = '/c/' AND revision = ?`,
      [1],
    );
    const check = async (state: string): Promise<void> => {
      expect([state, await answers()]).toEqual([state, clean]);
    };
    await check('no statistics');
    await db.knex.raw('ANALYZE records');
    await check('analyzed');
    for (const setting of SETTINGS) {
      await db.knex.raw(`SET ${setting} = off`);
      await check(`without ${setting}`);
      await db.knex.raw(`RESET ${setting}`);
    }
    await db.knex.raw('SET max_parallel_workers_per_gather = 4');
    await db.knex.raw('SET parallel_setup_cost = 0');
    await db.knex.raw('SET parallel_tuple_cost = 0');
    await db.knex.raw('SET min_parallel_table_scan_size = 0');
    await check('in parallel');
    await db.knex.raw('RESET ALL');
    await db.knex.raw('SET jit = off');
    await db.knex.raw('CREATE INDEX extra_gin ON records USING gin (properties)');
    await db.knex.raw("CREATE INDEX extra_rank ON records ((properties -> 'rank'))");
    await db.knex.raw('ANALYZE records');
    await check('with indexes on properties');
    const { rows } = await db.knex.raw<{ rows: readonly { name: string }[] }>(
      "SELECT indexname AS name FROM pg_indexes WHERE tablename = ? AND indexname NOT LIKE '%pkey'",
      ['records'],
    );
    for (const { name } of rows) await db.knex.raw('DROP INDEX ??', [name]);
    await check('without indexes');
  });
});

describePostgres('a table that is split by top-level namespace', () => {
  let opened: OpenedStore;
  let db: Database;
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    db = opened.database;
    await migrate(db);
    await plant(db, hostileRecords());
  });
  afterAll(() => opened.dispose());

  it('gives the same answers to the same statements, and keeps its counters', async () => {
    const sets = [some(['/', '/a', '/a/b'], []), some(['/a-b'], ['/a', '/b']), some([], ['/'])];
    const ask = async (): Promise<readonly unknown[]> => {
      const all: unknown[] = [];
      for (const visible of sets) {
        for (const orderBy of ORDERS) {
          for (const kind of ['gather', 'scan', 'merge'] as const) {
            const { exact, everything } = visibleExtent(rowPredicate(visible));
            if ((kind === 'merge' && !exact) || (kind === 'scan' && !everything)) continue;
            all.push(await rowsOf(db.knex, page({ visible, body: { orderBy }, kind })));
          }
        }
        const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
        all.push(await rowsOf(db.knex, countStatement({ predicate: rowPredicate(visible), plan })));
      }
      return all;
    };
    const whole = await ask();
    await split(db);
    expect(await ask()).toEqual(whole);

    await db.knex.raw('UPDATE records SET archived_at = now() WHERE path = ? AND archived_at IS NULL', ['/a/']);
    await db.knex.raw('DELETE FROM records WHERE path = ?', ['/b/']);
    const { rows } = await db.knex.raw<{ rows: unknown[] }>(`SELECT
      (SELECT sum(active)::int FROM record_counts) = (SELECT count(*) FROM records WHERE archived_at IS NULL) AS active,
      (SELECT sum(archived)::int FROM record_counts) = (SELECT count(archived_at) FROM records) AS archived`);
    expect(rows).toEqual([{ active: true, archived: true }]);
  });

  it('is read only where the visible ranges lie', async () => {
    const nodes = await planOf(db, page({ visible: some([], ['/a']), body: NEWEST, kind: 'gather' }), 'ANALYZE, ');
    const inRange = nodes.filter((node) =>
      `${node.Filter ?? ''}${node['Recheck Cond'] ?? ''}${node['Index Cond'] ?? ''}`.includes('v.lo'),
    );
    const loops = new Map(inRange.map((node) => [node['Relation Name'], node['Actual Loops']]));
    expect(loops.get('records_a')).toBe(1);
    expect(loops.get('records_b')).toBe(0);
    expect(loops.get('records_root')).toBe(0);
    expect(loops.get('records_rest')).toBe(0);
  });
});

/** As the README describes it: partitions by ranges of paths, the key widened by the path, all else as it was. */
async function split(db: Database): Promise<void> {
  const definitions = async (statement: string): Promise<readonly string[]> => {
    const { rows } = await db.knex.raw<{ rows: readonly { text: string }[] }>(statement);
    return rows.map(({ text }) => text.replace(' ON public.single', ' ON public.records'));
  };
  await db.knex.raw('ALTER TABLE records RENAME TO single');
  const indexes = await definitions(
    "SELECT indexdef AS text FROM pg_indexes WHERE tablename = 'single' AND indexname <> 'records_pkey'",
  );
  const triggers = await definitions(
    "SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE tgrelid = 'single'::regclass AND NOT tgisinternal",
  );
  await db.knex.raw(
    'CREATE TABLE records (LIKE single INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (path)',
  );
  await db.knex.raw("CREATE TABLE records_root PARTITION OF records FOR VALUES FROM (MINVALUE) TO ('/ ')");
  await db.knex.raw("CREATE TABLE records_a PARTITION OF records FOR VALUES FROM ('/a/') TO ('/a0')");
  await db.knex.raw("CREATE TABLE records_b PARTITION OF records FOR VALUES FROM ('/b/') TO ('/b0')");
  await db.knex.raw('CREATE TABLE records_rest PARTITION OF records DEFAULT');
  await db.knex.raw('INSERT INTO records SELECT * FROM single');
  await db.knex.raw('DROP TABLE single');
  await db.knex.raw('ALTER TABLE records ADD PRIMARY KEY (id, path)');
  for (const definition of [...indexes, ...triggers]) await db.knex.raw(definition.replaceAll('?', '\\?'));
}
