// Time (design 7): what the store reads for an answer is the same whatever invisible records hold. Shown by counting, not by a
// clock: two databases that differ in invisible values alone touch as many blocks and rows at every step of every plan.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalize, type NamespacePath, type Visible } from '../../../engine/index.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import type { Fragment } from '../../../server/db/sql.js';
import type { Position } from '../../../server/query/order.js';
import { parseQuery } from '../../../server/query/parse-query.js';
import { chosenStatement, countStatement } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import type { Json } from './oracle/evaluate.js';

/** What invisible records hold; all of one length, so that they fill the same pages. */
interface Values {
  readonly name: string;
  readonly id: string;
  readonly created: string;
  readonly rank: number;
}

const FIRST: Values = { name: 'a', id: '0', created: '2001-01-01', rank: 1 };
const LAST: Values = { name: 'z', id: 'f', created: '2039-01-01', rank: 9 };

/**
 * Namespaces `/n0` to `/n9`, of which `/n3`, `/n5` and `/n7/m1` are visible; half of the records are of other families. What
 * is visible lies in the middle of what is not.
 */
async function fill(db: Database, { name, id, created, rank }: Values): Promise<void> {
  await db.knex.raw(
    `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, archived_at)
     SELECT (CASE WHEN seen THEN '8' ELSE ? END || substr(md5(i::text), 2, 31))::uuid, family, path,
       CASE WHEN seen THEN 'm' ELSE ? END || lpad(i::text, 8, '0'),
       jsonb_build_object('rank', CASE WHEN seen THEN i % 10 ELSE ? END),
       1, CASE WHEN seen THEN timestamptz '2020-01-01' ELSE ?::timestamptz END + i * interval '1 s', now(), 'test', NULL
     FROM (SELECT i, 2 + i / 10 % 2 AS family, '/n' || i % 10 || '/m' || i / 20 % 4 || '/' AS path,
         i / 10 % 2 = 0 AND (i % 10 IN (3, 5) OR (i % 10 = 7 AND i / 20 % 4 = 1)) AS seen
       FROM generate_series(1, 20000) AS i) AS r`,
    [id, name, rank, created],
  );
  await db.knex.raw('REINDEX TABLE records');
  for (const table of ['records', 'record_counts']) await db.knex.raw('VACUUM (ANALYZE) ??', [table]);
}

const SUBTREES: Visible = { kind: 'some', exact: [], subtrees: ['/n3', '/n5', '/n7/m1'].map(path) };
const ONE: Visible = { kind: 'some', exact: [], subtrees: [path('/n5')] };
const EXACT: Visible = { kind: 'some', exact: ['/n3/m0', '/n5/m1', '/n5/m2'].map(path), subtrees: [] };

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

const RARE = { 'properties.rank': { gte: 5 }, name: { startsWith: 'm0001' } };
const AT = '2020-01-01T02:00:00.000Z';
const ID = '88000000-0000-4000-8000-000000000000';

const PAGES: readonly (readonly [string, Json, Position | null])[] = [
  ['newest', { orderBy: [{ createdAt: 'desc' }] }, null],
  ['oldest', { orderBy: [{ createdAt: 'asc' }] }, null],
  ['by name', { orderBy: [{ name: 'asc' }] }, null],
  ['by name from the end', { orderBy: [{ name: 'desc' }] }, null],
  ['by id', {}, null],
  ['by id from the end', { orderBy: [{ id: 'desc' }] }, null],
  ['by a property', { orderBy: [{ 'properties.rank': 'desc' }] }, null],
  ['filtered', { where: RARE }, null],
  ['filtered, newest', { where: RARE, orderBy: [{ createdAt: 'desc' }] }, null],
  ['filtered, by name from the end', { where: RARE, orderBy: [{ name: 'desc' }] }, null],
  ['a large page', { orderBy: [{ createdAt: 'desc' }], page: { size: 500 } }, null],
  ['archived too', { includeArchived: true, orderBy: [{ name: 'desc' }] }, null],
  ['deep, newest', { orderBy: [{ createdAt: 'desc' }] }, [AT, ID]],
  ['deep, by name', { orderBy: [{ name: 'asc' }] }, ['m00008000', ID]],
  ['deep, by id', {}, [ID]],
  ['deep, by a property', { orderBy: [{ 'properties.rank': 'asc' }] }, ['1', '5', null, ID]],
];

interface Step {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Heap Fetches'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Step[];
}

/** Every step of a plan: what it is, its index, rows, rounds, rows it passed over, heap fetches, blocks. */
async function stepsOf(db: Database, { text, bindings }: Fragment): Promise<readonly string[]> {
  const run = async (): Promise<Step> => {
    const { rows } = await db.knex.raw<{ rows: readonly { 'QUERY PLAN': readonly [{ Plan: Step }] }[] }>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`,
      bindings.map((binding) =>
        typeof binding === 'object' && binding !== null ? ([...binding] as string[]) : binding,
      ),
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) throw new Error('no plan');
    return plan;
  };
  // The first time, a connection also reads the catalog.
  await run();
  const steps = (step: Step): readonly string[] => {
    const blocks = step['Shared Hit Blocks'] + step['Shared Read Blocks'];
    const passed = step['Rows Removed by Filter'] ?? 0;
    const counts = [step['Actual Rows'], step['Actual Loops'], passed, step['Heap Fetches'] ?? 0, blocks];
    return [[step['Node Type'], step['Index Name'] ?? '', ...counts].join(' '), ...(step.Plans ?? []).flatMap(steps)];
  };
  return steps(await run());
}

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

describePostgres('what is read for an answer', () => {
  const opened: OpenedStore[] = [];
  const dbs: Database[] = [];
  beforeAll(async () => {
    if (postgres === undefined) return;
    for (const values of [FIRST, LAST]) {
      const store = await postgres.open();
      opened.push(store);
      // Statistics and visibility of rows change at the test's word alone.
      const db = await openDatabase({ ...store.config, maxConnections: 1, statementTimeout: 0 });
      dbs.push(db);
      await migrate(db);
      await db.knex.raw('ALTER TABLE records SET (autovacuum_enabled = false)');
      await db.knex.raw('ALTER TABLE record_counts SET (autovacuum_enabled = false)');
      await fill(db, values);
    }
  });
  afterAll(async () => {
    for (const db of dbs) await db.close();
    for (const store of opened) await store.dispose();
  });

  async function both(statement: Fragment): Promise<readonly (readonly string[])[]> {
    const [first, last] = dbs;
    if (first === undefined || last === undefined) throw new Error('no databases');
    return [await stepsOf(first, statement), await stepsOf(last, statement)];
  }

  function statement(visible: Visible, body: Json, after: Position | null): Fragment {
    const plan = parseQuery({ family: 'resource', namespace: '/', ...body }, 'query');
    return chosenStatement({ predicate: rowPredicate(visible), plan, after });
  }

  describe.each([
    ['subtrees', SUBTREES],
    ['one subtree', ONE],
    ['exact namespaces', EXACT],
  ] as const)('of %s', (_, visible) => {
    it.each(PAGES)('does not depend on invisible values: %s', async (__, body, after) => {
      const [first = [], last] = await both(statement(visible, body, after));
      expect(first.join('\n')).toMatch(/^[^\n]* [1-9]\d*\n/);
      // It would read the others' records too, however wide they are.
      expect(first.join('\n')).not.toContain('Seq Scan');
      expect(last).toEqual(first);
    });

    it.each([
      ['all', {}],
      ['filtered', RARE],
      ['archived too', { id: { isNull: false } }],
    ])('does not depend on invisible values: count, %s', async (name, where) => {
      const body = { family: 'resource', namespace: '/', where, includeArchived: name === 'archived too' };
      const plan = parseQuery(body, 'count');
      const [first = [], last] = await both(countStatement({ predicate: rowPredicate(visible), plan }));
      expect(first.join('\n')).toMatch(/^[^\n]* [1-9]\d*\n/);
      expect(last).toEqual(first);
    });
  });

  it('does depend on what is visible, so that the measure would show a difference', async () => {
    const filtered = { where: { name: { startsWith: 'm' } }, orderBy: [{ name: 'asc' }] };
    const [first, last] = await both(statement({ kind: 'all' }, filtered, null));
    expect(last).not.toEqual(first);
  });
});
