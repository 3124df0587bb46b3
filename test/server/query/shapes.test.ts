// A merge gives what sorting all visible records gives, and both what the slow evaluator gives: over hostile records that tie and
// lack names, any visible set, any order with an index, from any place on, also from where a record was and is no more.
import { beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isWithin, type NamespacePath, type Visible } from '../../../engine/index.js';
import { KEYED_LEVELS } from '../../../server/query/ancestor-keys.js';
import { keyOrder, type KeyOrder } from '../../../server/query/key-order.js';
import type { SortPosition } from '../../../server/query/order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { readPage, shapeOf } from '../../support/query-shapes.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';
import { path } from './asked-pages.js';
import { hostileRecords, NAMESPACES, plant } from './hostile-records.js';
import { holds, inOrder, type Json } from './oracle/evaluate.js';

/** To depth 8, with neighbours in byte order of most, beyond the levels that have keys. */
const DEEP = [
  ...['/a/b/c/d', '/a/b/c/d/e', '/a/b/c/d/e/f', '/a/b/c/d/e/f/g', '/a/b/c/d/e/f/g/h'],
  ...['/a/b/c/d-e', '/a/b/c/d/e-f', '/a/b/c/d/e/f-g', '/a/b/c/d/e/f.g', '/a/b/c/d/e/f0', '/a/b/c/d/e/f/g/h0'],
  ...['/b/1/2/3/4', '/b/1/2/3/4/5', '/b/1/2/3/4/5/6', '/b/1/2/3/4/5/7', '/b/1/2/3/4/5/6/7/8'],
];
const WIDE = ['/w', ...Array.from({ length: 9 }, (_, index) => `/w/${String(index)}/x`)];
const PLACES: readonly string[] = [...NAMESPACES, ...DEEP, ...WIDE];
const depthOf = (place: string): number => (place === '/' ? 0 : place.split('/').length - 1);

const FAMILIES = ['resource', 'process-run'] as const;

/**
 * The same of either family, so that each stands in the other's way. A third tie in all but the id; of runs a half has no name.
 * What is `gone` is in no store: a cursor may still point there.
 */
const { there: THERE, gone: GONE } = ((): { readonly there: readonly Json[]; readonly gone: readonly Json[] } => {
  const all = FAMILIES.flatMap((family, half) =>
    [...hostileRecords(), ...hostileRecords()].map((record, index): Json => {
      const ties = index % 3 === 0 ? { name: 'b%', createdAt: '2030-01-05T00:00:00.000Z' } : {};
      const nameless = family === 'process-run' && index % 2 === 1 ? { name: null } : {};
      const number = (((half * 480 + index) * 7919) % 100_003).toString(16);
      const namespace = PLACES[(index * 5) % PLACES.length];
      return {
        ...record,
        ...ties,
        ...nameless,
        family,
        namespace,
        id: `01900000-0000-7000-8000-${number.padStart(12, '0')}`,
      };
    }),
  );
  return { there: all.filter((_, index) => index % 4 !== 2), gone: all.filter((_, index) => index % 4 === 2) };
})();

const list = (places: readonly string[], maxLength: number): fc.Arbitrary<readonly NamespacePath[]> =>
  fc.uniqueArray(fc.constantFrom(...places.map(path)), { maxLength, size: 'max' });
const TOO_DEEP = PLACES.filter((place) => depthOf(place) > KEYED_LEVELS);
const SPARSE = [...DEEP, ...WIDE];
/** Enough for a filter to be tried on what comes first. */
const EMPTY = Array.from({ length: 260 }, (_, index) => path(`/z/${String(index)}`));

/** Few roots and many, exact ones and subtrees at every depth, overlapping and not. */
const visible: fc.Arbitrary<Visible> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .oneof(
        fc.record({ exact: list(PLACES, 5), subtrees: fc.oneof(fc.constant([]), list(PLACES, 3)) }),
        fc.record({ exact: list(SPARSE, 14), subtrees: list(SPARSE, 14) }),
        fc.record({ exact: list(PLACES, 2), subtrees: list(TOO_DEEP, 4) }),
        fc.record({
          exact: list(PLACES, 20).map((places) => [...places, ...EMPTY]),
          subtrees: list(SPARSE, 14),
        }),
      )
      .filter(({ exact, subtrees }) => exact.length + subtrees.length > 0)
      .map((sets): Visible => ({ kind: 'some', ...sets })),
  },
  { weight: 1, arbitrary: fc.constant<Visible>({ kind: 'all' }) },
);
const direction = fc.constantFrom('asc', 'desc');
const keyOf = (names: readonly string[]): fc.Arbitrary<Json> =>
  fc.tuple(fc.constantFrom(...names), direction).map(([name, way]) => ({ [name]: way }));
/** Every order that an index has, also as somebody might write it who says more than decides. */
const orderBy: fc.Arbitrary<readonly Json[]> = fc
  .record({
    first: fc.constantFrom('id', 'createdAt', 'name', null),
    way: direction,
    ties: fc.option(direction, { freq: 2, nil: null }),
    family: fc.option(direction, { freq: 4, nil: null }),
    more: fc.array(keyOf(['createdAt', 'name', 'id', 'properties.rank', 'revision']), { maxLength: 2 }),
    again: fc.boolean(),
  })
  .map(({ first, way, ties, family, more, again }): readonly Json[] => [
    ...(family === null ? [] : [{ family }]),
    ...(first === null ? [] : [{ [first]: way }]),
    ...(first === null || !again ? [] : [{ [first]: way === 'asc' ? 'desc' : 'asc' }]),
    ...(first === null || ties === null ? [] : [{ id: ties }, ...more]),
  ]);
const where: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  {},
  {},
  { revision: { lte: 2 } },
  { 'properties.rank': { gte: 0 }, not: { name: { eq: 'a' } } },
  { description: { isNull: true } },
  { 'properties.rank': { eq: 1.5 } },
);
const question = fc.record({
  set: visible,
  family: fc.constantFrom(...FAMILIES),
  order: orderBy,
  condition: where,
  includeArchived: fc.boolean(),
  size: fc.constantFrom(1, 4, 40),
  start: fc.option(fc.nat(), { nil: null, freq: 3 }),
});

function isVisible(set: Visible, { namespace }: Json): boolean {
  if (set.kind === 'all') return true;
  const at = path(String(namespace));
  return set.exact.includes(at) || set.subtrees.some((root) => isWithin(at, root));
}

/** Where a record is or was, as a cursor has it. */
function positionOf(record: Json, { key }: KeyOrder): SortPosition {
  const values = key === 'id' ? [record['id']] : [record[key], record['id']];
  return values.map((value) => (typeof value === 'string' ? value : null));
}

describeOnStores('the shapes of a page', (store) => {
  beforeAll(async () => {
    await plant(store.db, THERE);
    for (const table of ['records', 'record_counts']) await store.db.knex.raw('ANALYZE ??', [table]);
  });

  it('give what the evaluator gives', async () => {
    const met = new Map<string, number>();
    const meet = (what: string): unknown => met.set(what, (met.get(what) ?? 0) + 1);
    const runs = testRuns({ usual: 120, deep: 600 });
    await fc.assert(
      fc.asyncProperty(question, async ({ set, family, order, condition, includeArchived, size, start }) => {
        const asked = (record: Json): boolean =>
          record['family'] === family &&
          isVisible(set, record) &&
          (includeArchived || record['archivedAt'] === null) &&
          holds(condition, record);
        const envelope = { family, namespace: '/', where: condition, orderBy: order, includeArchived };
        const plan = parseQuery({ ...envelope, select: ['id'], page: { size } }, 'query');
        const key = keyOrder(plan.orderBy, family);
        if (key === null) throw new Error('an order without an index');
        const said = order.filter((item) => !('family' in item)).length;
        if (said > (key.ties === 'desc' ? 2 : 1)) meet('keys that decide nothing');
        if (key.key !== 'id' && key.ties === 'desc') meet('ids backward');

        const places = inOrder([...THERE.filter(asked), ...GONE.filter(asked)], order);
        const from = start === null || places.length === 0 ? -1 : start % places.length;
        const at = places[from];
        const after = at === undefined ? null : positionOf(at, key);
        const rest = places.slice(from + 1).filter((record) => THERE.includes(record));
        const shown = rest.slice(0, size);
        const last = shown[size - 1];
        const expected = {
          ids: shown.map(({ id }) => id),
          at: last === undefined ? null : positionOf(last, key),
          more: rest.length > size,
        };

        const predicate = rowPredicate(set);
        for (const by of [key, null]) {
          const statement = pageStatement({ predicate, plan, after, order: by });
          const shape = shapeOf(statement);
          expect([shape, await readPage(store.db, statement)]).toEqual([shape, expected]);
          if (shown.length === 0) continue;
          meet(shape);
          if (by !== null && statement.text.includes('record_counts')) meet('roots without keys');
          if (by !== null && expected.more && size > 1) meet('a full page');
        }
        if (at !== undefined && GONE.includes(at)) meet('after a record that is gone');
        if (key.key === 'name' && shown.some(({ name }) => name === null)) meet('no name');
        if (key.key !== 'id' && after?.[0] !== null && shown.some((row) => row[key.key] === after?.[0])) meet('a tie');
      }),
      runs,
    );
    // Each has been met many times.
    const expected = [
      ...['gather', 'merge at once', 'merge in two phases', 'merge with a window', 'roots without keys'],
      ...['a full page', 'after a record that is gone', 'no name', 'a tie'],
      ...['keys that decide nothing', 'ids backward'],
    ];
    expect(expected.filter((what) => (met.get(what) ?? 0) < runs.numRuns / 60)).toEqual([]);
  });

  it('find what is rare in very many roots, page by page, also beyond what is tried first', async () => {
    const set: Visible = { kind: 'some', exact: [...PLACES.map(path), ...EMPTY], subtrees: [] };
    const rare: Json = { 'properties.rank': { eq: 1.5 } };
    const visible = THERE.filter((record) => record['family'] === 'process-run' && record['archivedAt'] === null);
    const matching = visible.filter((record) => holds(rare, record));
    // Of two and one more the first 48 are tried.
    expect(matching.length).toBeGreaterThan(4);
    expect(visible.length / matching.length).toBeGreaterThan(24);
    for (const order of [[], [{ createdAt: 'desc' }], [{ createdAt: 'asc' }], [{ name: 'asc' }], [{ name: 'desc' }]]) {
      const envelope = { family: 'process-run', namespace: '/', where: rare, orderBy: order, select: ['id'] };
      const plan = parseQuery({ ...envelope, page: { size: 2 } }, 'query');
      const request = { predicate: rowPredicate(set), plan, order: keyOrder(plan.orderBy, plan.family) };
      const ids: string[] = [];
      let after: SortPosition | null = null;
      do {
        const statement = pageStatement({ ...request, after });
        expect(shapeOf(statement)).toBe('merge with a window');
        const read = await readPage(store.db, statement);
        ids.push(...read.ids);
        after = read.more ? read.at : null;
      } while (after !== null);
      expect(ids).toEqual(inOrder(matching, order).map(({ id }) => id));
    }
  });

  it('are chosen by what decides an order, not by how it is written', () => {
    const names = ['id', 'createdAt', 'name', 'family', 'revision', 'properties.rank', 'updatedAt'];
    fc.assert(
      fc.property(
        fc.array(keyOf(names), { maxLength: 4, size: 'max' }),
        fc.constantFrom(...FAMILIES),
        (keys, family) => {
          const orderOf = (list: readonly Json[]): KeyOrder | null =>
            keyOrder(parseQuery({ family, namespace: '/', orderBy: list }, 'query').orderBy, family);
          const deciding = keys.filter(
            (item, index) =>
              !('family' in item) &&
              !keys.slice(0, index).some((other) => 'id' in other || Object.keys(other)[0] === Object.keys(item)[0]),
          );
          const [first, second, third] = deciding.map((item) => Object.keys(item)[0]);
          const has = (name: string | undefined): boolean => ['id', 'createdAt', 'name', undefined].includes(name);
          const indexed = has(first) && [undefined, 'id'].includes(second) && third === undefined;
          expect(orderOf(keys) !== null).toBe(indexed);
          expect(orderOf(keys)).toEqual(orderOf(deciding));
        },
      ),
    );
  });

  it('give the records of any one subtree or namespace, however deep, from end to end', async () => {
    for (const place of PLACES) {
      const at = path(place);
      const sets: readonly Visible[] = [
        { kind: 'some', exact: [], subtrees: [at] },
        { kind: 'some', exact: [at], subtrees: [] },
      ];
      for (const set of sets) {
        const body = {
          family: 'resource',
          namespace: '/',
          orderBy: [{ name: 'desc' }],
          select: ['id'],
          page: { size: 500 },
        };
        const plan = parseQuery(body, 'query');
        const expected = inOrder(
          THERE.filter((row) => row['family'] === 'resource' && row['archivedAt'] === null && isVisible(set, row)),
          body.orderBy,
        );
        const request = {
          predicate: rowPredicate(set),
          plan,
          after: null,
          order: keyOrder(plan.orderBy, plan.family),
        };
        const { ids } = await readPage(store.db, pageStatement(request));
        expect([set, ids]).toEqual([set, expected.map(({ id }) => id)]);
      }
    }
  });
});
