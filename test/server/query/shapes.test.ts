// Every shape of a page's statement gives the same answer as the slow evaluator: over hostile records, any visible set, any
// order with an index, from any place on.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalize, isWithin, type NamespacePath, type Visible } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { rowsOf } from '../../../server/db/sql.js';
import { keyOrder } from '../../../server/query/key-order.js';
import type { Position } from '../../../server/query/order.js';
import { pageStatement, type Shape } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../../server/query/parse-query.js';
import { rowPredicate, visibleExtent } from '../../../server/query/row-predicate.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { hostileRecords, NAMESPACES, plant } from './hostile-records.js';
import { holds, inOrder, type Json } from './oracle/evaluate.js';

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

const list = (maxLength: number): fc.Arbitrary<readonly NamespacePath[]> =>
  fc.uniqueArray(fc.constantFrom(...NAMESPACES.map(path)), { maxLength });
const visible: fc.Arbitrary<Visible> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ exact: list(5), subtrees: fc.oneof(fc.constant([]), list(3)) })
      .filter(({ exact, subtrees }) => exact.length + subtrees.length > 0)
      .map((sets): Visible => ({ kind: 'some', ...sets })),
  },
  { weight: 1, arbitrary: fc.constant<Visible>({ kind: 'all' }) },
);
const orderBy: fc.Arbitrary<readonly Json[]> = fc.constantFrom<readonly Json[]>(
  [],
  [{ id: 'desc' }],
  [{ createdAt: 'desc' }],
  [{ createdAt: 'asc' }],
  [{ name: 'asc' }],
  [{ name: 'desc' }],
  [{ name: 'desc' }, { id: 'asc' }],
);
const where: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  {},
  {},
  { revision: { lte: 2 } },
  { 'properties.rank': { gte: 0 }, not: { name: { eq: 'a' } } },
  { description: { isNull: true } },
);

for (const store of testStores()) {
  describe(`the shapes of a page on the ${store.name} store`, () => {
    // A third of them without a name, which a column allows and which is last in either direction.
    const records = hostileRecords().map((record, index) => (index % 3 === 0 ? { ...record, name: null } : record));
    let opened: OpenedStore;
    let db: Database;
    beforeAll(async () => {
      opened = await store.open();
      db = opened.database;
      await migrate(db);
      await plant(db, records);
      await plant(
        db,
        records.map((record, index) => ({
          ...record,
          family: 'resource-template',
          id: `01910000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
        })),
      );
      await db.knex.raw('ANALYZE records');
    });
    afterAll(() => opened.dispose());

    it('give what the evaluator gives', async () => {
      const used = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            set: visible,
            order: orderBy,
            condition: where,
            includeArchived: fc.boolean(),
            size: fc.constantFrom(1, 4, 40),
            start: fc.option(fc.nat(), { nil: null }),
          }),
          async ({ set, order, condition, includeArchived, size, start }) => {
            const isVisible = ({ namespace }: Json): boolean =>
              set.kind === 'all' ||
              set.exact.includes(path(String(namespace))) ||
              set.subtrees.some((root) => isWithin(path(String(namespace)), root));
            const all = inOrder(
              records.filter(
                (record) =>
                  isVisible(record) && (includeArchived || record['archivedAt'] === null) && holds(condition, record),
              ),
              order,
            );
            const plan = parseQuery(
              { family: 'resource', namespace: '/', where: condition, orderBy: order, includeArchived, page: { size } },
              'query',
            );
            const key = keyOrder(plan.orderBy);
            if (key === null) throw new Error('an order without an index');
            const from = start === null || all.length === 0 ? null : start % all.length;
            const at = from === null ? undefined : all[from];
            const after: Position | null =
              at === undefined ? null : [at[key.key] ?? null, ...(key.key === 'id' ? [] : [at['id']])].map(textOrNull);
            const expected = all.slice(from === null ? 0 : from + 1).slice(0, size + 1);
            const shapes: Shape[] = [
              { kind: 'gather', order: key },
              { kind: 'gather', order: null },
            ];
            const predicate = rowPredicate(set);
            const { exact, everything } = visibleExtent(predicate);
            if (everything) shapes.push({ kind: 'scan', order: key });
            if (exact && Object.keys(condition).length === 0) shapes.push({ kind: 'merge', order: key });
            for (const shape of shapes) {
              const rows = await rowsOf<{ readonly id: string }>(
                db.knex,
                pageStatement({ predicate, plan, after, shape }),
              );
              expect([shape, rows.map(({ id }) => id)]).toEqual([shape, expected.map(({ id }) => id)]);
              if (rows.length > 0) used.set(shape.kind, (used.get(shape.kind) ?? 0) + 1);
            }
          },
        ),
        { numRuns: Number(process.env['BAILIWICK_TEST_RUNS'] ?? 120), seed: 20261121 },
      );
      // Each shape has answered something, many times.
      expect([...used.values()].every((times) => times > 20)).toBe(true);
      expect(used.size).toBe(3);
    });

    it('refuse a merge of anything but exact namespaces without a condition, and a scan where anything is invisible', () => {
      const page = (kind: 'merge' | 'scan', set: Visible, body: Json): unknown =>
        pageStatement({
          predicate: rowPredicate(set),
          plan: parseQuery({ family: 'resource', namespace: '/', ...body }, 'query'),
          after: null,
          shape: { kind, order: { key: 'id', direction: 'asc' } },
        });
      const exact: Visible = { kind: 'some', exact: [path('/a')], subtrees: [] };
      const mixed: Visible = { kind: 'some', exact: [path('/a')], subtrees: [path('/b')] };
      expect(() => page('merge', mixed, {})).toThrow(TypeError);
      expect(() => page('merge', { kind: 'all' }, {})).toThrow(TypeError);
      expect(() => page('merge', exact, { where: { name: { eq: 'a' } } })).toThrow(TypeError);
      expect(() => page('merge', exact, {})).not.toThrow();
      expect(() => page('scan', exact, {})).toThrow(TypeError);
      expect(() => page('scan', mixed, {})).toThrow(TypeError);
      expect(() => page('scan', { kind: 'all' }, {})).not.toThrow();
      expect(() => page('scan', { kind: 'some', exact: [path('/a')], subtrees: [path('/')] }, {})).not.toThrow();
    });
  });
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
