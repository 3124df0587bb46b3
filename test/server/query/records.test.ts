// What queries answer, against the slow evaluator: over hostile records, any visible set, any envelope, any page size.
import { beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalize, isWithin, type NamespacePath, type Visible } from '../../../engine/index.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { parseQuery } from '../../support/parse-query.js';
import { countRecords, listPage, namespaceExists } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';
import { hostileRecords, NAMESPACES, NUMBERS, plant, TEXTS } from './hostile-records.js';
import { holds, inOrder, selected, type Json } from './oracle/evaluate.js';

const cursors = { secret: new Uint8Array(32).fill(7), actorId: 'test', visibility: 'v' };
const all: Visible = { kind: 'all' };

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

async function databaseName(db: Database): Promise<string> {
  const { rows } = await db.knex.raw<{ rows: readonly { name: string }[] }>('SELECT current_database() AS name');
  return rows[0]?.name ?? '';
}

interface Listed {
  readonly items: readonly Json[];
  readonly pages: number;
}

/** Reads on from page to page until there is no next one. */
async function readAll(
  db: Database,
  visible: Visible,
  { body, size }: { readonly body: Json; readonly size: number },
): Promise<Listed> {
  const items: Json[] = [];
  let after: string | null = null;
  let pages = 0;
  do {
    const plan = parseQuery({ ...body, page: { size, after } }, 'query');
    const page = await listPage(db, { predicate: rowPredicate(visible), plan, cursors });
    items.push(...(JSON.parse(page.items) as readonly Json[]));
    after = page.next;
    pages += 1;
  } while (after !== null);
  return { items, pages };
}

const FIELDS = [
  'name',
  'description',
  'properties.rank',
  'properties.label',
  'properties.deep.a',
  'properties.deep.a.b',
];
const text = fc.constantFrom(...TEXTS);
const number = fc.constantFrom(...NUMBERS, 2, 0.5);
const instant = fc.constantFrom(
  '2030-01-03T00:00:00Z',
  '2030-01-05T02:00:00.001+02:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
);

function operators(field: string): fc.Arbitrary<Json> {
  const property = field.includes('.');
  const ordered = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Json> =>
    fc
      .tuple(fc.constantFrom('eq', 'ne', 'lt', 'lte', 'gt', 'gte'), value)
      .map(([name, operand]) => ({ [name]: operand }));
  const listed = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Json> =>
    fc
      .tuple(fc.constantFrom('in', 'notIn'), fc.array(value, { maxLength: 3 }))
      .map(([name, list]) => ({ [name]: list }));
  const patterns = fc
    .tuple(fc.constantFrom('contains', 'containsIgnoreCase', 'startsWith', 'endsWith'), text)
    .map(([name, operand]) => ({ [name]: operand }));
  const presence = fc.boolean().map((wanted) => ({ isNull: wanted }));
  if (field === 'createdAt' || field === 'archivedAt') return fc.oneof(ordered(instant), listed(instant), presence);
  if (field === 'revision') return fc.oneof(ordered(number), listed(number), presence);
  const texts = [ordered(text), listed(text), patterns, presence];
  if (!property) return fc.oneof(...texts);
  const booleans = fc.tuple(fc.constantFrom('eq', 'ne'), fc.boolean()).map(([name, operand]) => ({ [name]: operand }));
  const lists = [containing(text), containing(number)];
  return fc.oneof(...texts, ordered(number), listed(number), listed(fc.boolean()), booleans, ...lists);
}

/** Few values and many, which are compared in two ways. */
function containing(value: fc.Arbitrary<unknown>): fc.Arbitrary<Json> {
  const few = fc.array(value, { maxLength: 3 });
  const many = few.map((values) => [
    ...values,
    ...Array.from({ length: 40 }, (_, i) => values[i % values.length] ?? 'a'),
  ]);
  return fc.oneof(
    value.map((has): Json => ({ has })),
    fc
      .tuple(fc.constantFrom('hasAny', 'hasAll'), fc.oneof(few, many))
      .map(([name, values]): Json => ({ [name]: new Set(values.map((v) => typeof v)).size > 1 ? [] : values })),
  );
}

const leaf: fc.Arbitrary<Json> = fc
  .constantFrom(...FIELDS, 'id', 'namespace', 'revision', 'createdAt', 'archivedAt')
  .chain((field) => operators(field).map((condition) => ({ [field]: condition })));

const { where } = fc.letrec<{ where: Json }>((tie) => ({
  where: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('where'), { maxLength: 3 }).map((parts) => ({ and: parts })),
    fc.array(tie('where'), { maxLength: 3 }).map((parts) => ({ or: parts })),
    tie('where').map((part) => ({ not: part })),
    fc.tuple(leaf, leaf).map(([a, b]) => ({ ...a, ...b })),
  ),
}));

const direction = fc.constantFrom('asc', 'desc');
const orderBy = fc.array(
  fc
    .tuple(fc.constantFrom(...FIELDS, 'id', 'namespace', 'revision', 'createdAt', 'archivedAt'), direction)
    .map(([field, way]) => ({ [field]: way })),
  { maxLength: 3 },
);
const select = fc.option(
  fc.array(
    fc.constantFrom('id', 'name', 'properties', 'properties.rank', 'properties.deep.a', 'archivedAt', 'namespace'),
    { maxLength: 4 },
  ),
  { nil: undefined },
);
const visible: fc.Arbitrary<Visible> = fc
  .record({
    exact: fc.uniqueArray(fc.constantFrom(...NAMESPACES), { maxLength: 3 }),
    subtrees: fc.uniqueArray(fc.constantFrom(...NAMESPACES), { maxLength: 2 }),
  })
  .filter(({ exact, subtrees }) => exact.length + subtrees.length > 0)
  .map(({ exact, subtrees }) => ({ kind: 'some', exact: exact.map(path), subtrees: subtrees.map(path) }));

function isVisible(record: Json, set: Visible): boolean {
  const namespace = path(String(record['namespace']));
  if (set.kind === 'all') return true;
  return set.exact.includes(namespace) || set.subtrees.some((root) => isWithin(namespace, root));
}

describeOnStores('queries', (store) => {
  const records = hostileRecords();

  beforeAll(async () => {
    await plant(store.db, records);
    await store.db.knex.raw('ANALYZE records');
  });

  it('agree with the evaluator for any visible set, condition, order, selection and page size', async () => {
    let matches = 0;
    let nonEmpty = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          visible,
          where,
          orderBy,
          select,
          includeArchived: fc.boolean(),
          size: fc.constantFrom(1, 2, 3, 5, 16, 53, 500),
        }),
        async ({ visible: set, where: condition, orderBy: order, select: fields, includeArchived, size }) => {
          const expected = inOrder(
            records.filter(
              (record) =>
                isVisible(record, set) &&
                (includeArchived || record['archivedAt'] === null) &&
                holds(condition, record),
            ),
            order,
          );
          const envelope = { family: 'resource', namespace: '/a', where: condition, includeArchived };
          const body = { ...envelope, orderBy: order, ...(fields === undefined ? {} : { select: fields }) };
          // Small pages of a large answer are many statements: those are read at a size that still turns pages.
          const fitting = Math.max(size, Math.ceil(expected.length / 8));
          const listed = await readAll(store.db, set, { body, size: fitting });
          expect(listed.items).toEqual(expected.map((record) => selected(record, fields)));
          expect(listed.pages).toBe(Math.max(1, Math.ceil(expected.length / fitting)));
          const count = await countRecords(store.db, {
            predicate: rowPredicate(set),
            plan: parseQuery(envelope, 'count'),
          });
          expect(count).toBe(expected.length);
          matches += expected.length;
          nonEmpty += expected.length > 0 ? 1 : 0;
        },
      ),
      testRuns(60),
    );
    // Neither everything nor nothing: a generator that matches no record would prove nothing.
    expect(nonEmpty).toBeGreaterThan(20);
    expect(matches).toBeGreaterThan(500);
  });

  it.each([
    [{ has: 'a' }, 'few'],
    [{ has: 1 }, 'few'],
    [{ has: 1e21 }, 'few'],
    [{ hasAny: ['A', 'é'] }, 'few'],
    [{ hasAll: [1e21, 0] }, 'few'],
    [{ hasAll: [] }, 'few'],
    [{ hasAny: ['A', ...Array.from({ length: 40 }, (_, i) => `x${String(i)}`)] }, 'few'],
    [{ hasAll: Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'a' : 'A')) }, 'few'],
    [{ hasAny: [] }, 'none'],
    [{ has: 'x' }, 'none'],
    [{ hasAll: ['a', 'b'] }, 'none'],
  ])('find the lists of %j: %s', async (condition, howMany) => {
    const body = {
      family: 'resource',
      namespace: '/',
      where: { 'properties.label': condition },
      includeArchived: true,
    };
    const expected = inOrder(
      records.filter((record) => holds(body.where, record)),
      [],
    );
    const listed = await readAll(store.db, all, { body, size: 500 });
    expect(listed.items).toEqual(expected);
    if (howMany === 'none') expect(expected).toEqual([]);
    else expect(expected.length).toBeGreaterThan(0);
  });

  it.each([1, 2, 3, 5])('give in pages of %i what they give at once', async (size) => {
    const body = {
      family: 'resource',
      namespace: '/',
      orderBy: [{ 'properties.rank': 'desc' }, { description: 'asc' }],
      where: { revision: { lte: 2 } },
    };
    const once = await readAll(store.db, all, { body, size: 500 });
    const inPages = await readAll(store.db, all, { body, size });
    expect(inPages.items).toEqual(once.items);
    expect(once.items.length).toBeGreaterThan(60);
  });

  it('are not touched by invisible records, whatever these hold', async () => {
    const set: Visible = { kind: 'some', exact: [path('/a')], subtrees: [path('/b')] };
    const bodies: readonly Json[] = [
      { where: { 'properties.rank': { gte: 0 } }, orderBy: [{ 'properties.rank': 'asc' }] },
      { where: { not: { 'properties.deep.a': { eq: true } } }, orderBy: [{ 'properties.label': 'desc' }] },
      { where: { name: { startsWith: 'b' }, 'properties.label': { notIn: ['a'] } }, orderBy: [{ name: 'desc' }] },
    ].map((body) => ({ family: 'resource', namespace: '/a', ...body }));
    const ask = async (): Promise<unknown> => {
      const answers = [];
      for (const body of bodies) {
        const plan = parseQuery({ ...body, page: { size: 3 } }, 'query');
        answers.push(await listPage(store.db, { predicate: rowPredicate(set), plan, cursors }));
        answers.push(await countRecords(store.db, { predicate: rowPredicate(set), plan }));
      }
      return answers;
    };
    const before = await ask();
    const poison = records.slice(0, 60).map((record, index) => ({
      ...record,
      id: `01800000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
      namespace: index % 2 === 0 ? '/a/b' : '/a-b',
    }));
    await plant(store.db, poison);
    try {
      expect(await ask()).toEqual(before);
    } finally {
      await store.db
        .knex('records')
        .whereIn(
          'id',
          poison.map(({ id }) => id),
        )
        .del();
    }
  });

  it('compare numbers exactly, beyond what a double can tell apart', async () => {
    const ids = [
      '01a00000-0000-7000-8000-000000000001',
      '01a00000-0000-7000-8000-000000000002',
      '01a00000-0000-7000-8000-000000000003',
    ];
    await plant(
      store.db,
      ids.map((id) => ({ ...records[0], id, namespace: '/num' })),
    );
    for (const [index, value] of ['9007199254740993', '9007199254740992', '1e400'].entries()) {
      await store.db.knex.raw('UPDATE records SET properties = ?::jsonb, archived_at = NULL WHERE id = ?', [
        `{"rank":${value}}`,
        ids[index] ?? '',
      ]);
    }
    const set: Visible = { kind: 'some', exact: [path('/num')], subtrees: [] };
    const list = async (body: Json): Promise<unknown> =>
      (
        await readAll(store.db, set, {
          body: { family: 'resource', namespace: '/num', select: ['id'], ...body },
          size: 1,
        })
      ).items;
    expect(await list({ orderBy: [{ 'properties.rank': 'asc' }] })).toEqual([
      { id: ids[1] },
      { id: ids[0] },
      { id: ids[2] },
    ]);
    expect(await list({ where: { 'properties.rank': { gt: 1e308 } } })).toEqual([{ id: ids[2] }]);
    expect(await list({ where: { 'properties.rank': { eq: 9007199254740992 } } })).toEqual([{ id: ids[1] }]);
  });

  it('read the parameters of process runs and nothing of other families', async () => {
    const run = {
      ...records[0],
      family: 'process-run',
      namespace: '/run',
      id: '01b00000-0000-7000-8000-000000000001',
      archivedAt: null,
      properties: {},
    };
    await plant(store.db, [{ ...run, parameters: { beam: { energy: 12.5 } } }]);
    const set: Visible = { kind: 'some', exact: [path('/run')], subtrees: [] };
    const body = {
      family: 'process-run',
      namespace: '/run',
      where: { 'parameters.beam.energy': { gt: 12 } },
      select: ['parameters.beam'],
    };
    expect((await readAll(store.db, set, { body, size: 5 })).items).toEqual([
      { parameters: { beam: { energy: 12.5 } } },
    ]);
    expect((await readAll(store.db, set, { body: { family: 'resource', namespace: '/run' }, size: 5 })).items).toEqual(
      [],
    );
  });

  it('give no items and no cursor for a page of size 0', async () => {
    const plan = parseQuery({ family: 'resource', namespace: '/', page: { size: 0 } }, 'query');
    expect(await listPage(store.db, { predicate: rowPredicate(all), plan, cursors })).toEqual({
      items: '[]',
      ids: '',
      count: 0,
      included: null,
      next: null,
    });
  });

  it('know which namespaces exist', async () => {
    expect(await namespaceExists(store.db, path('/'))).toBe(true);
    expect(await namespaceExists(store.db, path('/a'))).toBe(false);
  });

  // The embedded engine is one backend: a setting of one connection would be everyone's.
  const plans =
    store.name === 'postgres' ? ['enable_nestloop', 'enable_indexscan', 'enable_seqscan', 'enable_sort'] : [];
  for (const setting of plans) {
    it(`are the same whatever the planner may do: without ${setting}`, async () => {
      const set: Visible = { kind: 'some', exact: [path('/a')], subtrees: [path('/a/b'), path('/b')] };
      const where = { 'properties.rank': { gte: 0 }, not: { 'properties.deep.a': { eq: 'a' } } };
      const body = { family: 'resource', namespace: '/a', where, orderBy: [{ 'properties.label': 'asc' }] };
      const expected = await readAll(store.db, set, { body, size: 4 });
      expect(expected.items.length).toBeGreaterThan(5);
      const name = await databaseName(store.db);
      await store.db.knex.raw(`ALTER DATABASE ?? SET ${setting} = off`, [name]);
      await store.db.knex.raw('ALTER DATABASE ?? SET jit = off', [name]); // a forbidden step costs so much that all is compiled
      const other = await openDatabase(store.config);
      try {
        expect(await readAll(other, set, { body, size: 4 })).toEqual(expected);
      } finally {
        await other.close();
        await store.db.knex.raw('ALTER DATABASE ?? RESET ALL', [name]);
      }
    });
  }

  it('leave nothing behind in a pooled connection', async () => {
    const state = `SELECT current_setting('search_path') AS path, current_setting('TimeZone') AS zone,
        (SELECT count(*)::int FROM pg_class WHERE relpersistence = 't') AS temporary, ?::int AS one`;
    const before: unknown = (await store.db.knex.raw<{ rows: unknown[] }>(state, [1])).rows;
    await readAll(store.db, all, {
      body: { family: 'resource', namespace: '/', where: { 'properties.rank': { gt: 0 } } },
      size: 100,
    });
    expect((await store.db.knex.raw<{ rows: unknown[] }>(state, [1])).rows).toEqual(before);
  });
});
