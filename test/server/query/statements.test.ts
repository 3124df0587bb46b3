// The text of statements: what always stands in them, what never does, and a few pinned whole.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Visible } from '../../../engine/index.js';
import { ancestorKey, KEYED_LEVELS } from '../../../server/query/ancestor-keys.js';
import { parseQuery } from '../../support/parse-query.js';
import { keyOrder } from '../../../server/query/key-order.js';
import type { SortPosition } from '../../../server/query/order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { chosenStatement, countStatement } from '../../../server/query/records.js';
import { rowPredicate, visibleRanges, visibleRoots, type RowPredicate } from '../../../server/query/row-predicate.js';
import type { Fragment } from '../../../server/db/sql.js';
import { sql } from '../../../server/db/sql.js';
import { testRuns } from '../../support/test-runs.js';
import { path, some } from './asked-pages.js';
import { made, madeInParts } from './page-texts.js';

const predicate = rowPredicate(some(['/', '/labs'], ['/labs/optics']));

interface In {
  readonly shape?: 'gather' | 'merge';
  readonly after?: SortPosition;
  readonly predicate?: RowPredicate;
}

function page(body: object, { shape = 'merge', after, predicate: over = predicate }: In = {}): Fragment {
  const plan = parseQuery({ family: 'resource', namespace: '/labs', ...body }, 'query');
  const order = shape === 'gather' ? null : keyOrder(plan.orderBy, plan.family);
  return pageStatement({ predicate: over, plan, after: after ?? null, order });
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
const SHAPES = ['gather', 'merge'] as const;

const LISTED = 'unnest(?::text[]) AS v (at)';
const NAMESPACE = 'r.family = ?::smallint AND r.path = v.at AND r.archived_at IS NULL';
/** The condition that a record lies below a root of a depth. */
const below = (depth: number): string => {
  const { key, exists } = ancestorKey(depth);
  return `${exists.text} AND ${key.text} = v.at`;
};
const DISSOLVED = flat(`(SELECT c.path AS at FROM unnest(?::text[]) AS d (at) CROSS JOIN LATERAL (
    SELECT DISTINCT ON (c.path) c.path FROM record_counts AS c WHERE c.family = ?::smallint
      AND c.path >= d.at AND c.path < left(d.at, -1) || '0' OFFSET 0) AS c) AS v`);
const NEWEST_FIRST = 'ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST';
const AT_CREATED = `to_char(x.k0 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), x.k1::text`;

const NAMES = `'"name":' || COALESCE(to_json(x.name)::text, 'null')`;

/** The first records of each root of a table `v`. */
const each = (roots: string, rows: string, arm = 0): string =>
  `SELECT ${String(arm)} AS arm, v.at, f.* FROM ${roots} CROSS JOIN LATERAL (${rows}) AS f`;
/** Those of the roots that have more, of which another query tells. */
const rest = (more: string, rows: string, arm = 0): string =>
  each(`(SELECT m.at FROM ${more} AS m WHERE m.arm = ${String(arm)}) AS v`, rows, arm);
const edgeOf = (first: string, offset: string): string =>
  `SELECT COALESCE(p.place, timestamptz '-infinity') AS place, p.place IS NULL AS whole
     FROM (SELECT (SELECT x.k0 FROM ${first} AS x ${NEWEST_FIRST} OFFSET ${offset} LIMIT 1) AS place OFFSET 0) AS p`;
const placeOf = (edge: string): string => `(SELECT e.place FROM ${edge} AS e)`;
const reachedBy = (first: string, edge: string): string =>
  `SELECT x.arm, x.at FROM ${first} AS x WHERE x.k0 >= ${placeOf(edge)} GROUP BY x.arm, x.at`;
const ranged = (where: string): string =>
  `(SELECT r.*, uuid_send(r.id) AS id_bytes FROM records AS r WHERE ${where} ORDER BY r.created_at DESC, uuid_send(r.id) LIMIT ?::bigint) AS x`;
const newest = (where: string): string => `SELECT x.*, x.created_at AS k0, x.id AS k1 FROM ${ranged(where)}`;

describe('a statement', () => {
  it('is this one for a page with an order that no index has, and a filter', () => {
    const statement = page({
      select: ['id'],
      where: { 'properties.rank': { gte: 3 } },
      orderBy: [{ revision: 'desc' }],
      page: { size: 2 },
    });
    expect(flat(statement)).toBe(
      flat(
        madeInParts(
          `SELECT x.* FROM (SELECT x.*, x.revision::numeric AS k0, x.id AS k1 FROM ${FENCE} AS x
             WHERE ((CASE WHEN jsonb_typeof((x.properties -> ?::text)) = 'number'
               THEN ((x.properties -> ?::text)::numeric >= ?::numeric) ELSE FALSE END))) AS x
           WHERE TRUE ${NEWEST_FIRST} LIMIT ?::bigint`,
          { shown: `'"id":' || '"' || x.id || '"'`, at: 'x.k0::text, x.k1::text', order: NEWEST_FIRST },
        ),
      ),
    );
    expect(statement.bindings).toEqual([...RANGES, 2, 'rank', 'rank', '3', 3, 2, 2]);
  });

  it('is this one for a page of everything', () => {
    const statement = page({ select: ['name'] }, { predicate: EVERYTHING });
    expect(flat(statement)).toBe(
      flat(`WITH page0 AS MATERIALIZED (SELECT x.* FROM (SELECT 0 AS arm, v.at, f.* FROM unnest(?::text[]) AS v (at) CROSS JOIN LATERAL
          (SELECT x.*, x.id AS k0 FROM (SELECT r.*, uuid_send(r.id) AS id_bytes FROM records AS r WHERE TRUE
            AND ((r.family::text || CASE WHEN r.archived_at IS NULL THEN '/' ELSE '!/' END) COLLATE "C") = v.at
            AND TRUE ORDER BY uuid_send(r.id) LIMIT ?::bigint) AS x) AS f) AS x ORDER BY x.k0 ASC NULLS LAST LIMIT ?::bigint)
        ${made('SELECT * FROM page0', { shown: NAMES, at: 'x.k0::text', order: 'ORDER BY x.k0 ASC NULLS LAST' })}`),
    );
    expect(statement.bindings).toEqual([['2/'], 51, 51, 50, 50, 50, 50, 50]);
  });

  it('is this one for a page of few roots', () => {
    const statement = page({ select: ['name'], orderBy: [{ createdAt: 'desc' }] });
    expect(flat(statement)).toBe(
      flat(`WITH page0 AS MATERIALIZED (SELECT x.* FROM (${each(LISTED, newest(`${NAMESPACE} AND TRUE`))}
          UNION ALL ${each(LISTED, newest(`${below(2)} AND TRUE`), 1)}) AS x ${NEWEST_FIRST} LIMIT ?::bigint)
        ${made('SELECT * FROM page0', { shown: NAMES, at: AT_CREATED, order: NEWEST_FIRST })}`),
    );
    expect(statement.bindings).toEqual([['/', '/labs/'], 2, 51, ['2/labs/optics/'], 51, 51, 50, 50, 50, 50, 50]);
  });

  it('is this one for a page of many roots, also deep ones: a look first, and then no further than the edge', () => {
    const visible = some(['/'], ['/b', '/a/1', '/a/2', '/1/2/3/4/5/6']);
    const statement = page(
      { select: ['name'], orderBy: [{ createdAt: 'desc' }] },
      { predicate: rowPredicate(visible) },
    );
    const arms = [
      [LISTED, NAMESPACE],
      [LISTED, below(2)],
      [LISTED, below(1)],
      ['below AS v', NAMESPACE],
    ] as const;
    const share = '(SELECT ceil(?::numeric / greatest(count(*) + ?::bigint, 1))::bigint FROM below)';
    const looked = arms.map(([roots, where], arm) =>
      each(roots, newest(`${where} AND TRUE`).replace('x.*, ', '').replace('LIMIT ?::bigint', `LIMIT ${share}`), arm),
    );
    const read = arms.map(([, where], arm) =>
      rest('more0', newest(`${where} AND r.created_at >= ${placeOf('edge0')} AND TRUE`), arm),
    );
    expect(flat(statement)).toBe(
      flat(`WITH below AS MATERIALIZED (SELECT v.at FROM ${DISSOLVED}),
          first0 AS MATERIALIZED (${looked.join(' UNION ALL ')}),
          edge0 AS MATERIALIZED (${edgeOf('first0', '?::bigint')}),
          more0 AS MATERIALIZED (${reachedBy('first0', 'edge0')}),
          page0 AS MATERIALIZED (SELECT x.* FROM (${read.join(' UNION ALL ')}) AS x ${NEWEST_FIRST} LIMIT ?::bigint)
        ${made('SELECT * FROM page0', { shown: NAMES, at: AT_CREATED, order: NEWEST_FIRST })}`),
    );
    // How many namespaces there are below the deep root the store says; the other four are known.
    const wanted = [102, 4];
    const first = [['/'], 2, ...wanted, ['2/a/1/', '2/a/2/'], ...wanted, ['2/b/'], ...wanted, 2, ...wanted];
    expect(statement.bindings).toEqual([
      ...[['/1/2/3/4/5/6/'], 2],
      ...[...first, 50, 2, 51, 51, 51, 2, 51, 51, 50, 50, 50, 50, 50],
    ]);
  });

  it('is this one for a page that goes on, with a filter, archived records too', () => {
    const body = {
      select: ['name'],
      orderBy: [{ name: 'desc' }],
      where: { revision: { gt: 1 } },
      includeArchived: true,
    };
    const after = ['lens', 'ID'];
    const statement = page(body, { after, predicate: rowPredicate(some([], ['/labs'])) });
    const filtered = (where: string, order: (row: string) => string): string =>
      each(
        LISTED,
        `SELECT x.*, x.name AS k0, x.id AS k1 FROM (SELECT r.*, uuid_send(r.id) AS id_bytes FROM records AS r WHERE ${below(1)} AND ${where}
           ORDER BY ${order('r')} OFFSET 0) AS x WHERE ((x.revision::numeric > ?::numeric)) ORDER BY ${order('x')} LIMIT ?::bigint`,
      );
    const id = (row: string): string => (row === 'r' ? 'uuid_send(r.id)' : 'x.id_bytes');
    const tied = filtered('r.name = ?::text AND uuid_send(r.id) > uuid_send(?::uuid)', id);
    const later = filtered('r.name < ?::text', (row) => `${row}.name DESC, ${id(row)}`);
    expect(flat(statement)).toBe(
      flat(`WITH page0 AS MATERIALIZED (SELECT x.* FROM (${tied}) AS x ${NEWEST_FIRST} LIMIT ?::bigint),
          page1 AS MATERIALIZED (SELECT x.* FROM (${later}) AS x ${NEWEST_FIRST}
            LIMIT ?::bigint - (SELECT count(*) FROM page0))
        ${made('SELECT * FROM page0 UNION ALL SELECT * FROM page1', { shown: NAMES, at: 'x.k0::text, x.k1::text', order: NEWEST_FIRST })}`),
    );
    const roots = ['2/labs/', '2!/labs/'];
    expect(statement.bindings).toEqual([roots, ...after, '1', 51, 51, roots, 'lens', '1', 51, 51, 50, 50, 50, 50, 50]);
  });

  it('is this one for a count with a condition', () => {
    const plan = parseQuery({ family: 'namespace', namespace: '/', where: { name: { contains: '%' } } }, 'count');
    const statement = countStatement({ predicate, plan });
    expect(flat(statement)).toBe(
      flat(`SELECT count(*) AS count, CASE WHEN count(*) = 1 THEN min(x.id::text COLLATE "C") END AS only FROM (SELECT f.* FROM unnest(?::text[]) AS v (at) CROSS JOIN LATERAL (SELECT r.* FROM records AS r
          WHERE r.family = ?::smallint AND r.path = v.at AND r.archived_at IS NULL OFFSET 0) AS f
        UNION ALL SELECT f.* FROM (SELECT r.* FROM records AS r WHERE split_part(r.path, '/', 3) <> ''
            AND ((r.family::text || CASE WHEN r.archived_at IS NULL THEN '/' ELSE '!/' END
              || split_part(r.path, '/', 2) || '/' || split_part(r.path, '/', 3) || '/') COLLATE "C") = ANY(?::text[])
          OFFSET 0) AS f) AS x WHERE (COALESCE((strpos(x.name, ?::text) > 0), FALSE))`),
    );
    expect(statement.bindings).toEqual([['/', '/labs/'], 0, ['0/labs/optics/'], '%']);
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

  const paths = ['/', '/a', '/a/b', '/b', '/b/c', '/c/d/e/f/g', '/c/d/e/f/g/h', '/c/d/e/f/g/i', '/d/e/f', '/d/e/f/h'];
  const anyVisible = fc
    .record({ exact: fc.subarray(paths.map(path)), subtrees: fc.subarray(paths.slice(1).map(path)), all: fc.nat(9) })
    .filter(({ exact, subtrees }) => exact.length + subtrees.length > 0)
    .map(({ exact, subtrees, all }): Visible => (all === 0 ? { kind: 'all' } : { kind: 'some', exact, subtrees }));
  const anyBody = fc.record({
    family: fc.constantFrom('resource' as const, 'process-run' as const),
    where: fc.constantFrom({}, { or: [] }, { name: { eq: 'a' } }, { 'properties.a.b': { endsWith: '%' } }),
    orderBy: fc.constantFrom(
      [],
      [{ id: 'desc' }],
      [{ createdAt: 'desc' }],
      [{ name: 'asc' }],
      [{ 'properties.a': 'desc' }],
    ),
    includeArchived: fc.boolean(),
  });
  const CODES = { resource: 2, 'process-run': 4 };

  it('reads records in the visible ranges alone, whatever is asked, and from wherever it goes on', () => {
    const met = new Set<string>();
    const goesOn = fc.boolean();
    fc.assert(
      fc.property(anyVisible, anyBody, goesOn, (visible, body, on) => {
        const plan = parseQuery({ namespace: '/', ...body, family: body.family }, 'query');
        const made = rowPredicate(visible);
        const order = keyOrder(plan.orderBy, plan.family);
        const after = on && order !== null ? ['AT', ...(order.key === 'id' ? [] : ['ID'])] : null;
        const statement = chosenStatement({ predicate: made, plan, after });
        const { bindings } = statement;
        expect(statement.text.split('?')).toHaveLength(bindings.length + 1);
        expect(bindings).toContain(51);

        // Every read of records is within one root, and every root comes from the visible set.
        const active = body.includeArchived ? '' : ' AND r.archived_at IS NULL';
        const within = [
          ...[0, 1, 2, 3, 4, 5].map((level) => `${below(level)} AND `),
          `r.family = ?::smallint AND r.path = v.at${active} AND `,
        ];
        const tables = [LISTED, 'below AS v'];
        if (order === null) {
          within.splice(
            0,
            within.length,
            `r.family = ?::smallint AND r.path >= v.lo AND r.path < v.hi${active} OFFSET 0`,
          );
          tables.splice(0, tables.length, 'unnest(?::text[], ?::text[]) AS v (lo, hi)');
        }
        const reads = flat(statement).split('FROM records AS r WHERE ');
        expect(reads.length).toBeGreaterThan(1);
        for (const read of reads.slice(1)) {
          const how = within.findIndex((condition) => read.startsWith(condition));
          expect([read, how >= 0]).toEqual([read, true]);
          met.add(`${String(order !== null)} ${String(how)}`);
        }
        for (const lateral of flat(statement).split(' CROSS JOIN LATERAL (SELECT ').slice(0, -1)) {
          const reached = /\(SELECT m\.at FROM more\d AS m WHERE m\.arm = \d\) AS v$/;
          const table = tables.findIndex((text) => lateral.endsWith(text)) + 1 || (reached.test(lateral) ? 3 : 0);
          expect([lateral.slice(-200), table > 0]).toEqual([lateral.slice(-200), true]);
          met.add(`table ${String(order !== null)} ${String(table)}`);
        }

        // What is listed and what is read on are themselves of these.
        for (const [, name, query] of flat(statement).matchAll(
          /(below|more\d) AS MATERIALIZED \(SELECT (.*?) (?:GROUP BY|\), )/g,
        )) {
          const from =
            name === 'below'
              ? `v.at FROM ${DISSOLVED}`
              : `x.arm, x.at FROM first${String(name?.at(-1))} AS x WHERE x.k`;
          expect([query, query?.startsWith(name === 'below' ? from.slice(0, 80) : from)]).toEqual([query, true]);
        }

        // Lists are the visible set and nothing else: as often as there are runs, each root once for each key it has.
        const { exact, subtrees } = visibleRoots(made);
        const marks = body.includeArchived ? ['', '!'] : [''];
        const code = String(CODES[body.family]);
        const lists = [
          ...(exact.length > 0 ? [exact] : []),
          ...[...subtrees]
            .filter(([level]) => level <= KEYED_LEVELS)
            .map(([, roots]) => marks.flatMap((mark) => roots.map((root) => `${code}${mark}${root}`))),
        ];
        const deep = [...subtrees].flatMap(([level, roots]) => (level > KEYED_LEVELS && order !== null ? roots : []));
        // The deep ones are listed once, before all else.
        const bound = bindings.filter((binding) => Array.isArray(binding));
        if (deep.length > 0) expect(bound.shift()).toEqual(deep);
        const ranges = visibleRanges(made).bindings;
        const unit = order === null ? ranges : lists;
        const times = unit.length === 0 ? 0 : bound.length / unit.length;
        expect(bound).toEqual(Array.from({ length: times }, () => unit).flat());
      }),
      testRuns(500),
    );
    expect([...met].sort()).toEqual(
      [
        'false 0',
        ...[0, 1, 2, 3, 4, 5, 6].map((how) => `true ${String(how)}`),
        ...['table false 1', ...[1, 2, 3].map((table) => `table true ${String(table)}`)],
      ].sort(),
    );
  });

  it.each([
    [{}],
    [{ where: {} }],
    [{ where: { or: [] } }],
    [{ where: { not: { and: [] } } }],
    [{ where: { or: [{ name: { in: [] } }, { name: { notIn: [] } }] } }],
    [{ where: { 'properties.a.b': { endsWith: '%' } }, orderBy: [{ 'properties.a': 'desc' }], select: [] }],
  ])('that gathers has the visible ranges once, and a limit: %j', (body) => {
    const statement = page(body, { shape: 'gather' });
    const { bindings } = statement;
    expect(flat(statement).split(FENCE)).toHaveLength(2);
    expect(flat(statement).split('records AS r')).toHaveLength(2);
    expect(flat(statement)).toMatch(/ORDER BY [^?]* LIMIT \?::bigint\)/);
    expect(bindings.filter((binding) => Array.isArray(binding))).toEqual(RANGES);
    expect(bindings).toContain(51);
    expect(statement.text.split('?')).toHaveLength(bindings.length + 1);
  });

  it('has what the user asks above a fence, which is in order where the rows come one after another', () => {
    const asked = { where: { 'properties.rank': { gte: 3 }, name: { contains: 'a' } } };
    for (const orderBy of [[], [{ createdAt: 'asc' }], [{ name: 'desc' }], [{ 'properties.rank': 'asc' }]]) {
      for (const visible of [
        some([], ['/a']),
        some(['/'], ['/a', '/b', '/c', '/d/e']),
        some(['/a'], ['/1/2/3/4/5/6']),
      ]) {
        const text = flat(page({ ...asked, orderBy }, { predicate: rowPredicate(visible) }));
        for (const read of text.split('FROM records AS r WHERE ').slice(1)) {
          const fence = read.indexOf(' OFFSET 0)');
          const below = read.slice(0, fence);
          expect(fence).toBeGreaterThan(0);
          for (const ofTheUser of ['x.', 'strpos', 'jsonb', 'properties']) expect(below).not.toContain(ofTheUser);
          const ordered = !JSON.stringify(orderBy).includes('rank');
          expect([below, / ORDER BY [a-z_.,A-Z ()]+$/.test(below)]).toEqual([below, ordered]);
        }
      }
    }
  });

  it('takes archived records in when asked, and only then', () => {
    for (const shape of SHAPES) {
      const exact = rowPredicate(some(['/a'], []));
      expect(page({}, { shape, predicate: exact }).text).toContain(' AND r.archived_at IS NULL');
      expect(page({ includeArchived: true }, { shape, predicate: exact }).text).not.toContain('archived_at IS NULL');
    }
    // They have keys of their own.
    expect(page({}, { predicate: EVERYTHING }).bindings).toContainEqual(['2/']);
    expect(page({ includeArchived: true }, { predicate: EVERYTHING }).bindings).toContainEqual(['2/', '2!/']);
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
          for (const orderBy of [body.orderBy, [], [{ name: 'asc' }]]) {
            expect(page({ ...body, orderBy }).text).not.toContain('canary');
          }
        },
      ),
      testRuns(50),
    );
  });

  it('can only be made of our own source and bindings', () => {
    const forged = { text: '; drop table records', bindings: [] } as unknown as Fragment;
    expect(sql`SELECT ${forged as unknown as string}`.text).toBe('SELECT ?');
  });
});
