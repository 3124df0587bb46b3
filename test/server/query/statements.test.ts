// The text of statements: what always stands in them, what never does, and a few pinned whole.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalize, FAMILIES, isWithin, type NamespacePath, type Visible } from '../../../engine/index.js';
import { coreFields } from '../../../server/query/fields.js';
import { parseQuery } from '../../../server/query/parse-query.js';
import { countStatement, pageStatement } from '../../../server/query/records.js';
import { rowPredicate, visibleRows, type RowPredicate } from '../../../server/query/row-predicate.js';
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

function page(body: object): Fragment {
  return pageStatement({
    predicate,
    plan: parseQuery({ family: 'resource', namespace: '/labs', ...body }, 'query'),
    after: null,
  });
}

const FENCE = `(SELECT f.* FROM unnest(?::text[], ?::text[]) AS v (lo, hi)
    CROSS JOIN LATERAL (SELECT r.* FROM records AS r
      WHERE r.family = ?::smallint AND r.path >= v.lo AND r.path < v.hi AND r.archived_at IS NULL OFFSET 0) AS f)`;

describe('a statement', () => {
  it('is this one for a page with a filter and an order by a property', () => {
    const statement = page({
      select: ['id'],
      where: { 'properties.rank': { gte: 3 } },
      orderBy: [{ name: 'desc' }],
      page: { size: 2 },
    });
    expect(statement.text).toBe(
      `SELECT x.id AS "id", ARRAY[x.k0::text, x.k1::text] AS at
    FROM (SELECT x.* FROM (SELECT x.*, x.name AS k0, x.id AS k1 FROM ${FENCE} AS x
        WHERE ((CASE WHEN jsonb_typeof((x.properties -> ?::text)) = 'number' THEN ((x.properties -> ?::text)::numeric >= ?::numeric) ELSE FALSE END))) AS x
      WHERE TRUE
      ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST LIMIT ?::bigint) AS x
    ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST`,
    );
    expect(statement.bindings).toEqual([
      ['/', '/labs/', '/labs/optics/'],
      ['/ ', '/labs/ ', '/labs/optics0'],
      2,
      'rank',
      'rank',
      '3',
      3,
    ]);
  });

  it('is this one for a count', () => {
    const plan = parseQuery({ family: 'namespace', namespace: '/', where: { name: { contains: '%' } } }, 'count');
    const statement = countStatement({ predicate, plan });
    expect(statement.text).toBe(
      `SELECT count(*) AS count FROM ${FENCE} AS x WHERE (COALESCE((strpos(x.name, ?::text) > 0), FALSE))`,
    );
    expect(statement.bindings.slice(2)).toEqual([0, '%']);
  });

  it.each([
    [{}],
    [{ where: {} }],
    [{ where: { or: [] } }],
    [{ where: { not: { and: [] } } }],
    [{ where: { or: [{ name: { in: [] } }, { name: { notIn: [] } }] } }],
    [{ where: { 'properties.a.b': { endsWith: '%' } }, orderBy: [{ 'properties.a': 'desc' }], select: [] }],
  ])('always has the visible ranges, fenced, and a limit: %j', (body) => {
    const { text, bindings } = page(body);
    expect(text.split(FENCE)).toHaveLength(2);
    expect(text).toMatch(/ORDER BY [^?]* LIMIT \?::bigint\) AS x\s+ORDER BY [^?]*$/);
    expect(bindings).toContainEqual(['/', '/labs/', '/labs/optics/']);
    expect(bindings.at(-1)).toBe(51);
    expect(text.split('?')).toHaveLength(bindings.length + 1);
  });

  it('takes archived records in when asked, and only then', () => {
    expect(page({ includeArchived: true }).text).not.toContain('archived_at IS NULL');
    expect(page({}).text).toContain('r.archived_at IS NULL OFFSET 0');
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

  /** Whether the stored path is in one of the intervals that a predicate binds. */
  function covers(made: RowPredicate, text: string): boolean {
    const [lo, hi] = visibleRows({ predicate: made, family: 'resource', includeArchived: true }).bindings as [
      string[],
      string[],
    ];
    const stored = text === '/' ? '/' : `${text}/`;
    return lo.some((from, index) => from <= stored && stored < (hi[index] ?? ''));
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
        const [lo, hi] = visibleRows({ predicate: made, family: 'resource', includeArchived: true }).bindings as [
          string[],
          string[],
        ];
        expect(
          lo.every((from, index) => from < (hi[index] ?? '') && (index === 0 || (hi[index - 1] ?? '') < from)),
        ).toBe(true);
      }),
    );
  });

  it('covers everything for all', () => {
    expect(PATHS.every((text) => covers(rowPredicate({ kind: 'all' }), text))).toBe(true);
  });

  it('cannot be made by hand, and not of an empty set', () => {
    const rows = (made: RowPredicate): unknown =>
      visibleRows({ predicate: made, family: 'resource', includeArchived: false });
    expect(() => rows({} as RowPredicate)).toThrow(TypeError);
    expect(() => rows(rowPredicate({ kind: 'some', exact: [], subtrees: [] }))).toThrow(TypeError);
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
