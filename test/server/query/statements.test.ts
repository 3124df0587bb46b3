// The text of statements: what always stands in them, what never does, and a few pinned whole.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalize, FAMILIES, isWithin, type NamespacePath, type Visible } from '../../../engine/index.js';
import { coreFields } from '../../../server/query/fields.js';
import { parseQuery } from '../../../server/query/parse-query.js';
import { keyOrder } from '../../../server/query/key-order.js';
import type { Position } from '../../../server/query/order.js';
import { pageStatement, type Shape } from '../../../server/query/page-statement.js';
import { chosenStatement, countStatement } from '../../../server/query/records.js';
import { rowPredicate, visibleExtent, visibleRanges, type RowPredicate } from '../../../server/query/row-predicate.js';
import type { Fragment } from '../../../server/db/sql.js';
import { sql } from '../../../server/db/sql.js';

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

const some = (exact: readonly string[], subtrees: readonly string[]): Visible => ({
  kind: 'some',
  exact: exact.map(path),
  subtrees: subtrees.map(path),
});
const predicate = rowPredicate(some(['/', '/labs'], ['/labs/optics']));

interface In {
  readonly kind?: Shape['kind'];
  readonly after?: Position;
  readonly predicate?: RowPredicate;
}

function page(body: object, { kind = 'gather', after, predicate: over = predicate }: In = {}): Fragment {
  const plan = parseQuery({ family: 'resource', namespace: '/labs', ...body }, 'query');
  const order = keyOrder(plan.orderBy);
  const shape: Shape = kind === 'gather' || order === null ? { kind: 'gather', order } : { kind, order };
  return pageStatement({ predicate: over, plan, after: after ?? null, shape });
}

/** Where lines break means nothing. */
function flat(statement: Fragment | string): string {
  return (typeof statement === 'string' ? statement : statement.text).replaceAll(/\s+/g, ' ');
}

const FENCE = flat(`(SELECT f.* FROM unnest(?::text[], ?::text[]) AS v (lo, hi)
    CROSS JOIN LATERAL (SELECT r.* FROM records AS r
      WHERE r.family = ?::smallint AND r.path >= v.lo AND r.path < v.hi AND r.archived_at IS NULL OFFSET 0) AS f)`);
const RANGES = [
  ['/', '/labs/', '/labs/optics/'],
  ['/ ', '/labs/ ', '/labs/optics0'],
];
const EVERYTHING = rowPredicate({ kind: 'all' });
const ALL_SHAPES = ['gather', 'scan', 'merge'] as const;

describe('a statement', () => {
  it('is this one for a page with a filter and an order by a property', () => {
    const statement = page({
      select: ['id'],
      where: { 'properties.rank': { gte: 3 } },
      orderBy: [{ name: 'desc' }],
      page: { size: 2 },
    });
    expect(flat(statement)).toBe(
      flat(`SELECT x.id AS "id", ARRAY[x.k0::text, x.k1::text] AS at
        FROM (SELECT x.* FROM (SELECT x.*, x.name AS k0, x.id AS k1 FROM ${FENCE} AS x
          WHERE ((CASE WHEN jsonb_typeof((x.properties -> ?::text)) = 'number'
            THEN ((x.properties -> ?::text)::numeric >= ?::numeric) ELSE FALSE END))) AS x
          WHERE TRUE ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST LIMIT ?::bigint) AS x
        ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST`),
    );
    expect(statement.bindings).toEqual([...RANGES, 2, 'rank', 'rank', '3', 3]);
  });

  it('is this one for a page that gathers', () => {
    const statement = page({ select: ['name'], orderBy: [{ createdAt: 'desc' }] });
    expect(flat(statement)).toBe(
      flat(`WITH page AS MATERIALIZED (SELECT x.* FROM (SELECT f.* FROM unnest(?::text[], ?::text[]) AS v (lo, hi)
        CROSS JOIN LATERAL (SELECT r.created_at AS k0, r.id AS k1 FROM records AS r WHERE r.family = ?::smallint
        AND r.path >= v.lo AND r.path < v.hi AND r.archived_at IS NULL OFFSET 0) AS f) AS x WHERE TRUE ORDER BY
        x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST LIMIT ?::bigint) SELECT x.name AS "name", ARRAY[to_char(x.k0
        AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), x.k1::text] AS at FROM (SELECT r.*, k.k0, k.k1
        FROM page AS k CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE r.id = k.k1 OFFSET 0) AS r) AS x ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST`),
    );
    expect(statement.bindings).toEqual([...RANGES, 2, 51]);
  });

  it('is this one for a page that goes on and merges', () => {
    const after = ['2030-01-01T00:00:00.000Z', 'ID'];
    const exact = rowPredicate(some(['/', '/labs'], []));
    const statement = page(
      { select: ['name'], orderBy: [{ createdAt: 'desc' }] },
      { kind: 'merge', after, predicate: exact },
    );
    expect(flat(statement)).toBe(
      flat(`WITH page AS MATERIALIZED (SELECT x.* FROM (SELECT f.* FROM unnest(?::text[], ?::text[]) AS v (lo, hi)
        CROSS JOIN LATERAL ( (SELECT r.created_at AS k0, r.id AS k1 FROM records AS r WHERE r.family =
        ?::smallint AND r.archived_at IS NULL AND r.path = v.lo AND r.created_at = ?::timestamptz AND r.id >
        ?::uuid ORDER BY r.created_at DESC, r.id LIMIT ?::bigint) UNION ALL (SELECT r.created_at AS k0, r.id AS
        k1 FROM records AS r WHERE r.family = ?::smallint AND r.archived_at IS NULL AND r.path = v.lo AND
        r.created_at < ?::timestamptz ORDER BY r.created_at DESC, r.id LIMIT ?::bigint)) AS f) AS x ORDER BY
        x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST LIMIT ?::bigint) SELECT x.name AS "name", ARRAY[to_char(x.k0
        AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), x.k1::text] AS at FROM (SELECT r.*, k.k0, k.k1
        FROM page AS k CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE r.id = k.k1 OFFSET 0) AS r) AS x ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST`),
    );
    expect(statement.bindings).toEqual([['/', '/labs/'], ['/ ', '/labs/ '], 2, ...after, 51, 2, after[0], 51, 51]);
  });

  it('is this one for a page that scans', () => {
    const statement = page({ select: ['name'] }, { kind: 'scan', predicate: EVERYTHING });
    expect(flat(statement)).toBe(
      flat(`WITH sk0 AS MATERIALIZED (SELECT k.* FROM (SELECT r.id AS k0 FROM records AS r WHERE r.family =
        ?::smallint AND r.archived_at IS NULL AND TRUE ORDER BY r.id LIMIT ?::bigint) AS k LIMIT ?::bigint), page
        AS (SELECT * FROM sk0) SELECT x.name AS "name", ARRAY[x.k0::text] AS at FROM (SELECT r.*, k.k0 FROM page
        AS k CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE r.id = k.k0 OFFSET 0) AS r) AS x ORDER BY x.k0 ASC NULLS LAST`),
    );
    expect(statement.bindings).toEqual([2, 51, 51]);
  });

  it('is this one for a page that goes on and scans with a filter', () => {
    const body = { select: ['name'], orderBy: [{ createdAt: 'desc' }], where: { revision: { gt: 1 } } };
    const after = ['2030-01-01T00:00:00.000Z', 'ID'];
    const statement = page(body, { kind: 'scan', after, predicate: EVERYTHING });
    expect(flat(statement)).toBe(
      flat(`WITH sk0 AS MATERIALIZED (SELECT k.* FROM (SELECT r.created_at AS k0, r.id AS k1 FROM records AS r
        CROSS JOIN LATERAL (SELECT r.*) AS x WHERE r.family = ?::smallint AND r.archived_at IS NULL AND
        r.created_at = ?::timestamptz AND r.id > ?::uuid AND CASE WHEN x.family = ?::smallint THEN
        ((x.revision::numeric > ?::numeric)) ELSE FALSE END ORDER BY r.created_at DESC, r.id LIMIT ?::bigint) AS
        k LIMIT ?::bigint), sk1 AS MATERIALIZED (SELECT k.* FROM (SELECT r.created_at AS k0, r.id AS k1 FROM
        records AS r CROSS JOIN LATERAL (SELECT r.*) AS x WHERE r.family = ?::smallint AND r.archived_at IS NULL
        AND r.created_at < ?::timestamptz AND CASE WHEN x.family = ?::smallint THEN ((x.revision::numeric >
        ?::numeric)) ELSE FALSE END ORDER BY r.created_at DESC, r.id LIMIT ?::bigint) AS k LIMIT ?::bigint -
        (SELECT count(*) FROM sk0)), page AS (SELECT * FROM sk0 UNION ALL SELECT * FROM sk1) SELECT x.name AS
        "name", ARRAY[to_char(x.k0 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), x.k1::text] AS at FROM
        (SELECT r.*, k.k0, k.k1 FROM page AS k CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE r.id = k.k1 OFFSET 0) AS r) AS x ORDER BY x.k0 DESC NULLS
        LAST, x.k1 ASC NULLS LAST`),
    );
    expect(statement.bindings).toEqual([2, ...after, 2, '1', 51, 51, 2, after[0], 2, '1', 51, 51]);
  });

  it('is this one for a count with a condition', () => {
    const plan = parseQuery({ family: 'namespace', namespace: '/', where: { name: { contains: '%' } } }, 'count');
    const statement = countStatement({ predicate, plan });
    expect(flat(statement)).toBe(
      `SELECT count(*) AS count FROM ${FENCE} AS x WHERE (COALESCE((strpos(x.name, ?::text) > 0), FALSE))`,
    );
    expect(statement.bindings).toEqual([...RANGES, 0, '%']);
  });

  it('is this one for a count without: no record is read', () => {
    const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
    const statement = countStatement({ predicate, plan });
    expect(flat(statement)).toBe(
      flat(`SELECT COALESCE(sum(c.n), 0) AS count FROM (SELECT f.* FROM unnest(?::text[], ?::text[]) AS v (lo, hi) CROSS JOIN LATERAL (SELECT c.active AS n FROM record_counts AS c
      WHERE c.family = ?::smallint AND c.path >= v.lo AND c.path < v.hi OFFSET 0) AS f) AS c`),
    );
    expect(statement.bindings).toEqual([...RANGES, 2]);
    expect(countStatement({ predicate, plan: { ...plan, includeArchived: true } }).text).toContain(
      'SELECT c.active + c.archived AS n',
    );
  });

  it.each([
    [{}],
    [{ where: {} }],
    [{ where: { or: [] } }],
    [{ where: { not: { and: [] } } }],
    [{ where: { or: [{ name: { in: [] } }, { name: { notIn: [] } }] } }],
    [{ where: { 'properties.a.b': { endsWith: '%' } }, orderBy: [{ 'properties.a': 'desc' }], select: [] }],
  ])('always has the visible ranges, and a limit: %j', (body) => {
    const statement = page(body);
    const { bindings } = statement;
    const fence =
      /FROM unnest\(\?::text\[\], \?::text\[\]\) AS v \(lo, hi\) CROSS JOIN LATERAL \(SELECT [^()]* FROM records AS r WHERE r\.family = \?::smallint AND r\.path >= v\.lo AND r\.path < v\.hi AND r\.archived_at IS NULL OFFSET 0\) AS f\)/g;
    expect(flat(statement).match(fence)).toHaveLength(1);
    expect(flat(statement)).toMatch(/ORDER BY [^?]* LIMIT \?::bigint\)/);
    expect(bindings).toContainEqual(['/', '/labs/', '/labs/optics/']);
    expect(bindings).toContain(51);
    expect(statement.text.split('?')).toHaveLength(bindings.length + 1);
  });

  it('reads records under the visible ranges alone, or else by the id of a row that was read so', () => {
    for (const where of [{}, { 'properties.rank': { gte: 3 } }]) {
      const [first, ...rest] = flat(page({ where, orderBy: [{ createdAt: 'desc' }] }))
        .split('FROM records AS r')
        .slice(1);
      expect(first).toMatch(/^ WHERE r\.family = \?::smallint AND r\.path >= v\.lo AND r\.path < v\.hi AND/);
      expect(rest).toHaveLength('properties.rank' in where ? 0 : 1);
      for (const read of rest) expect(read).toMatch(/^ WHERE r\.id = k\.k1 OFFSET 0\) AS r\) AS x ORDER BY/);
    }
  });

  it('walks a family only where all of it is visible, whatever is asked', () => {
    const visible = fc.record({
      exact: fc.uniqueArray(fc.constantFrom('/', '/a', '/a/b', '/b'), { maxLength: 4 }),
      subtrees: fc.uniqueArray(fc.constantFrom('/', '/a', '/a/b', '/b'), { maxLength: 2 }),
    });
    const body = fc.record({
      orderBy: fc.constantFrom([], [{ id: 'desc' }], [{ createdAt: 'desc' }], [{ name: 'asc' }], [{ revision: 'asc' }]),
      where: fc.constantFrom({}, { name: { eq: 'a' } }),
    });
    const walked = { yes: 0, no: 0 };
    fc.assert(
      fc.property(visible, body, ({ exact, subtrees }, asked) => {
        fc.pre(exact.length + subtrees.length > 0);
        const plan = parseQuery({ family: 'resource', namespace: '/', ...asked }, 'query');
        const { text } = chosenStatement({ predicate: rowPredicate(some(exact, subtrees)), plan, after: null });
        const walks = !text.includes('unnest(');
        expect(walks).toBe(subtrees.includes('/') && !JSON.stringify(asked.orderBy).includes('revision'));
        walked[walks ? 'yes' : 'no'] += 1;
      }),
    );
    expect(Math.min(walked.yes, walked.no)).toBeGreaterThan(10);
  });

  it('takes archived records in when asked, and only then', () => {
    expect(page({ includeArchived: true }).text).not.toContain('archived_at IS NULL');
    expect(page({}).text).toContain('r.archived_at IS NULL OFFSET 0');
    expect(page({ includeArchived: true }, { kind: 'scan', predicate: EVERYTHING }).text).not.toContain(
      'archived_at IS NULL',
    );
    expect(page({}, { kind: 'scan', predicate: EVERYTHING }).text).toContain('r.archived_at IS NULL');
  });

  it('holds no text of the request', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.stringMatching(/^[a-zA-Z'";\-? ]{4,20}$/),
        (value, name) => {
          fc.pre(!value.includes('\0') && value.isWellFormed() && !name.includes('.'));
          const marked = `canary${name}`;
          const body = {
            where: { name: { contains: `canary${value}` }, [`properties.${marked}`]: { eq: `canary${value}` } },
            orderBy: [{ [`properties.${marked}`]: 'asc' }],
            select: [`properties.${marked}`],
          };
          expect(page(body).text).not.toContain('canary');
        },
      ),
      { numRuns: 50 },
    );
  });

  it('can only be made of our own source and bindings', () => {
    const forged = { text: '; drop table records', bindings: [] } as unknown as Fragment;
    expect(sql`SELECT ${forged as unknown as string}`.text).toBe('SELECT ?');
  });
});

describe('a row predicate', () => {
  const PATHS = ['/', '/a', '/a/b', '/a/b/c', '/a-b', '/a.b', '/a0', '/ab', '/b', '/a/b-c', '/a/bb'];

  function intervals(made: RowPredicate): readonly (readonly [string, string])[] {
    const [lo, hi] = visibleRanges(made).bindings as [string[], string[]];
    return lo.map((from, index) => [from, hi[index] ?? '']);
  }

  /** Whether the stored path is in one of the intervals that a predicate binds. */
  function covers(made: RowPredicate, text: string): boolean {
    const stored = text === '/' ? '/' : `${text}/`;
    return intervals(made).some(([from, to]) => from <= stored && stored < to);
  }

  it('covers exactly the namespaces of the visible set, in disjoint ranges', () => {
    const list = fc.uniqueArray(fc.constantFrom(...PATHS), { maxLength: 5 });
    fc.assert(
      fc.property(list, list, (exact, subtrees) => {
        fc.pre(exact.length + subtrees.length > 0);
        const made = rowPredicate(some(exact, subtrees));
        for (const text of PATHS) {
          const expected = exact.includes(text) || subtrees.some((root) => isWithin(path(text), path(root)));
          expect([text, covers(made, text)]).toEqual([text, expected]);
        }
        const list = intervals(made);
        expect(
          list.every(([from, to], index) => from < to && (index === 0 || (list[index - 1]?.[1] ?? '') < from)),
        ).toBe(true);
        const { ranges, exact: allExact, everything } = visibleExtent(made);
        expect(everything).toBe(subtrees.includes('/'));
        expect(ranges).toBe(list.length);
        // A page is merged of namespaces one by one only where that is all that is visible.
        expect(allExact).toBe(subtrees.length === 0);
      }),
    );
  });

  it('covers everything for all', () => {
    expect(PATHS.every((text) => covers(EVERYTHING, text))).toBe(true);
    expect(visibleExtent(EVERYTHING).everything).toBe(true);
  });

  it('cannot be made by hand, and not of an empty set', () => {
    const forged = {} as RowPredicate;
    const empty = rowPredicate({ kind: 'some', exact: [], subtrees: [] });
    for (const none of [forged, empty]) {
      expect(() => visibleRanges(none)).toThrow(TypeError);
      expect(() => visibleExtent(none)).toThrow(TypeError);
      for (const kind of ALL_SHAPES) {
        const plan = parseQuery({ family: 'resource', namespace: '/' }, 'query');
        const shape = { kind, order: { key: 'id', direction: 'asc' } } as const;
        expect(() => pageStatement({ predicate: none, plan, after: null, shape })).toThrow(TypeError);
        expect(() => countStatement({ predicate: none, plan })).toThrow(TypeError);
      }
    }
  });
});

describe('the fields', () => {
  it.each([
    ['namespace', []],
    ['resource-template', ['version', 'schema']],
    ['resource', ['template', 'copiedFrom']],
    ['process-template', ['version', 'schema', 'slots']],
    ['process-run', ['template', 'parameters', 'resources', 'state']],
  ] as const)('of a %s are the common ones and %j', (family, own) => {
    const common = [
      'id',
      'family',
      'namespace',
      'name',
      'description',
      'properties',
      'revision',
      'createdAt',
      'updatedAt',
      'createdBy',
      'archivedAt',
    ];
    expect([...coreFields(family).keys()].sort()).toEqual([...common, ...own].sort());
  });

  it('name families in the order of their codes', () => {
    const names = FAMILIES.map((family) => `'${family}'`).join(',');
    expect(coreFields('resource').get('family')?.value.text).toContain(`ARRAY[${names}]`);
  });
});
