// What a query may say, what it is told otherwise, and where.
import { describe, expect, it } from '@jest/globals';
import { ApiProblem } from '../../../server/problem.js';
import { parseQuery } from '../../support/parse-query.js';

const base = { family: 'resource', namespace: '/labs' };

interface Told {
  readonly code: string;
  readonly errors: readonly string[];
}

function toldOf(body: unknown, kind: 'query' | 'count' = 'query'): Told | null {
  try {
    parseQuery(body, kind);
    return null;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return { code: error.code, errors: (error.detail.errors ?? []).map(({ pointer, code }) => `${code} ${pointer}`) };
  }
}

function nested(depth: number): unknown {
  return depth === 0 ? { name: { eq: 'x' } } : { not: nested(depth - 1) };
}

const conditions = (count: number): unknown => ({ or: Array.from({ length: count }, () => ({ name: { eq: 'x' } })) });

describe('a query is accepted', () => {
  it.each<[string, unknown]>([
    ['with nothing but family and namespace', base],
    ['with a namespace in a form that can be made canonical', { ...base, namespace: 'labs/' }],
    ['with no conditions', { ...base, where: {} }],
    ['with empty groups', { ...base, where: { and: [], or: [], not: {} } }],
    ['with empty lists', { ...base, where: { name: { in: [], notIn: [] } } }],
    ['with 100 conditions', { ...base, where: conditions(100) }],
    ['with 8 groups inside one another', { ...base, where: nested(8) }],
    ['with a list of 1,000 values', { ...base, where: { name: { in: Array.from({ length: 1000 }, String) } } }],
    [
      'with 4 levels of properties',
      { ...base, where: { 'properties.a.b.c.d': { eq: 1 } }, select: ['properties.a.b.c.d'] },
    ],
    [
      'with booleans for eq, ne, in and notIn',
      { ...base, where: { 'properties.a': { eq: true, ne: false, in: [true], notIn: [true, false] } } },
    ],
    ['with instants of any offset', { ...base, where: { createdAt: { gte: '2030-01-01T00:00:00+01:00' } } }],
    ['with an id that is no UUID', { ...base, where: { id: { startsWith: 'nope' } } }],
    ['with a page size of 0', { ...base, page: { size: 0 } }],
    ['with a page size of 500', { ...base, page: { size: 500, after: null } }],
    [
      'of process runs in a subtree, by what they use',
      {
        family: 'process-run',
        namespace: '/',
        reach: 'subtree',
        where: {
          'parameters.a': { eq: 1 },
          'resources.in.2': { eq: 'x' },
          resources: { hasAny: ['x'], isNull: false },
        },
        orderBy: [{ 'resources.in': 'asc' }],
        select: ['resources.in'],
      },
    ],
    ['with isNull on an object', { family: 'resource-template', namespace: '/', where: { schema: { isNull: false } } }],
    [
      'with a property called like a thing of JavaScript',
      { ...base, where: { 'properties.__proto__': { isNull: true }, 'properties.constructor': { eq: 1 } } },
    ],
    ['with the same key of the order twice', { ...base, orderBy: [{ name: 'asc' }, { name: 'desc' }] }],
    ['with an empty selection', { ...base, select: [] }],
  ])('%s', (_, body) => {
    expect(toldOf(body)).toBeNull();
  });
});

describe('a query is refused', () => {
  it.each<[string, unknown, string, readonly string[]]>([
    ['that is no object', [], 'request.schema', ['request.schema ']],
    ['without family and namespace', {}, 'request.schema', ['request.schema /family', 'request.schema /namespace']],
    ['of an unknown family', { ...base, family: 'gadget' }, 'request.schema', ['request.schema /family']],
    ['of a family that is a list', { ...base, family: ['resource'] }, 'request.schema', ['request.schema /family']],
    ['of a namespace that is null', { ...base, namespace: null }, 'request.schema', ['request.schema /namespace']],
    [
      'of a namespace that is no path',
      { ...base, namespace: '/lab//optics' },
      'namespace.invalid',
      ['namespace.invalid /namespace'],
    ],
    [
      'with unknown keys',
      { ...base, explain: true, 'a/b~c': 1 },
      'request.schema',
      ['request.schema /explain', 'request.schema /a~1b~0c'],
    ],
    [
      'with a long unknown key, which is cut',
      { ...base, ['k'.repeat(80)]: 1 },
      'request.schema',
      [`request.schema /${'k'.repeat(64)}`],
    ],
    ['of an unknown reach', { ...base, reach: 'world' }, 'request.schema', ['request.schema /reach']],
    ['with where null', { ...base, where: null }, 'request.schema', ['request.schema /where']],
    [
      'with a condition that is a bare value',
      { ...base, where: { name: 'x' } },
      'request.schema',
      ['request.schema /where/name'],
    ],
    [
      'with a condition without operator',
      { ...base, where: { name: {} } },
      'request.schema',
      ['request.schema /where/name'],
    ],
    ['with a group that is no list', { ...base, where: { or: {} } }, 'request.schema', ['request.schema /where/or']],
    [
      'with a part of a group that is no object',
      { ...base, where: { or: [1] } },
      'request.schema',
      ['request.schema /where/or/0'],
    ],
    [
      'with an unknown field',
      { ...base, where: { missing: { eq: 1 } } },
      'query.unknown_field',
      ['query.unknown_field /where/missing'],
    ],
    [
      'with a field of another family',
      { ...base, where: { state: { eq: 'x' } } },
      'query.unknown_field',
      ['query.unknown_field /where/state'],
    ],
    [
      'with parameters that the family does not have',
      { ...base, where: { 'parameters.a': { eq: 1 } } },
      'query.unknown_field',
      ['query.unknown_field /where/parameters.a'],
    ],
    [
      'with an empty step in a path',
      { ...base, where: { 'properties..a': { eq: 1 } } },
      'query.unknown_field',
      ['query.unknown_field /where/properties..a'],
    ],
    [
      'with SQL for a field',
      { ...base, where: { 'id"; drop table records; --': { eq: 1 } } },
      'query.unknown_field',
      ['query.unknown_field /where/id"; drop table records; --'],
    ],
    [
      'with a table before the field',
      { ...base, orderBy: [{ 'records.name': 'asc' }] },
      'query.unknown_field',
      ['query.unknown_field /orderBy/0/records.name'],
    ],
    [
      'with a field called like a thing of JavaScript',
      { ...base, where: JSON.parse('{"__proto__":{"eq":1}}') as unknown, select: ['constructor'] },
      'query.unknown_field',
      ['query.unknown_field /where/__proto__', 'query.unknown_field /select/0'],
    ],
    [
      'with 5 levels of properties',
      { ...base, select: ['properties.a.b.c.d.e'] },
      'query.too_complex',
      ['query.too_complex /select/0'],
    ],
    [
      'with unknown operators',
      { ...base, where: { name: { matches: '.*', '~': 'x', toString: 1 } } },
      'query.unknown_operator',
      [
        'query.unknown_operator /where/name/matches',
        'query.unknown_operator /where/name/~0',
        'query.unknown_operator /where/name/toString',
      ],
    ],
    [
      'with a null operand',
      { ...base, where: { 'properties.a': { eq: null } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/eq'],
    ],
    [
      'with an object for an operand',
      { ...base, where: { 'properties.a': { gt: { $gt: 1 } } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/gt'],
    ],
    [
      'that orders booleans',
      { ...base, where: { 'properties.a': { lt: true } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/lt'],
    ],
    [
      'with a pattern that is a number',
      { ...base, where: { 'properties.a': { contains: 1 } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/contains'],
    ],
    [
      'with a pattern on an instant',
      { ...base, where: { createdAt: { startsWith: '2030' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/createdAt/startsWith'],
    ],
    [
      'with a list of two types',
      { ...base, where: { 'properties.a': { in: [1, '1'] } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/in'],
    ],
    [
      'with a list that holds null',
      { ...base, where: { 'properties.a': { notIn: ['a', null] } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties.a/notIn'],
    ],
    [
      'with a value for a list',
      { ...base, where: { name: { in: 'a' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/name/in'],
    ],
    [
      'with a text for isNull',
      { ...base, where: { name: { isNull: 'true' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/name/isNull'],
    ],
    [
      'with a number for a text',
      { ...base, where: { name: { eq: 1 } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/name/eq'],
    ],
    [
      'with a text for a number',
      { ...base, where: { revision: { gte: '1' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/revision/gte'],
    ],
    [
      'with a day that does not exist',
      { ...base, where: { createdAt: { lt: '2030-02-30T00:00:00Z' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/createdAt/lt'],
    ],
    [
      'with an instant without offset',
      { ...base, where: { archivedAt: { in: ['2030-02-03T00:00:00'] } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/archivedAt/in'],
    ],
    [
      'with NUL in a text',
      { ...base, where: { name: { ne: 'a\u0000' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/name/ne'],
    ],
    [
      'with a long text whose case does not matter',
      { ...base, where: { name: { containsIgnoreCase: '😀'.repeat(101) } } },
      'query.too_complex',
      ['query.too_complex /where/name/containsIgnoreCase'],
    ],
    [
      'with half a surrogate pair',
      { ...base, where: { name: { contains: '\ud800' } } },
      'query.type_mismatch',
      ['query.type_mismatch /where/name/contains'],
    ],
    [
      'that compares an object',
      { ...base, where: { properties: { eq: 'x' } }, orderBy: [{ properties: 'asc' }] },
      'query.type_mismatch',
      ['query.type_mismatch /where/properties/eq', 'query.type_mismatch /orderBy/0/properties'],
    ],
    [
      'with 101 conditions',
      { ...base, where: conditions(101) },
      'query.too_complex',
      ['query.too_complex /where/or/100/name/eq'],
    ],
    [
      'with a long list of empty groups',
      { ...base, where: { or: Array.from({ length: 5000 }, () => ({})) } },
      'query.too_complex',
      ['query.too_complex /where/or/100'],
    ],
    [
      'with 9 groups inside one another',
      { ...base, where: nested(9) },
      'query.too_complex',
      [`query.too_complex /where${'/not'.repeat(9)}`],
    ],
    [
      'with a list of 1,001 values',
      { ...base, where: { name: { in: Array.from({ length: 1001 }, String) } } },
      'query.too_complex',
      ['query.too_complex /where/name/in'],
    ],
    [
      'with an unknown direction',
      { ...base, orderBy: [{ name: 'desc; drop table records' }] },
      'request.schema',
      ['request.schema /orderBy/0/name'],
    ],
    [
      'with two keys in one place of the order',
      { ...base, orderBy: [{ name: 'asc', id: 'asc' }] },
      'request.schema',
      ['request.schema /orderBy/0'],
    ],
    [
      'with 2,000 keys in the order',
      { ...base, orderBy: Array.from({ length: 2000 }, () => ({ name: 'asc' })) },
      'query.too_complex',
      ['query.too_complex /orderBy'],
    ],
    [
      'with 500 selected fields',
      { ...base, select: Array.from({ length: 500 }, () => 'id') },
      'query.too_complex',
      ['query.too_complex /select'],
    ],
    [
      'with a page size of 501 and other mistakes, of which none hides another',
      { ...base, page: { size: 501 }, where: { nmae: { eq: 'x' }, createdAt: { gt: 'yesterday' } }, select: ['bar'] },
      'query.unknown_field',
      [
        'query.unknown_field /where/nmae',
        'query.type_mismatch /where/createdAt/gt',
        'query.unknown_field /select/0',
        'query.limit /page/size',
      ],
    ],
    ['with a page size of 501', { ...base, page: { size: 501 } }, 'query.limit', ['query.limit /page/size']],
    [
      'with a page size that is no whole number',
      { ...base, page: { size: 1.5 } },
      'query.limit',
      ['query.limit /page/size'],
    ],
    ['with a page size that is a text', { ...base, page: { size: '10' } }, 'query.limit', ['query.limit /page/size']],
    [
      'with an unknown key in the page',
      { ...base, page: { offset: 1 } },
      'request.schema',
      ['request.schema /page/offset'],
    ],
    [
      'with a cursor that is a number',
      { ...base, page: { after: 1 } },
      'request.schema',
      ['request.schema /page/after'],
    ],
    [
      'with several faults, all told in order',
      { ...base, namespace: '..', where: { x: { eq: 1 }, name: { foo: 1 } }, select: ['y'] },
      'namespace.invalid',
      [
        'namespace.invalid /namespace',
        'query.unknown_field /where/x',
        'query.unknown_operator /where/name/foo',
        'query.unknown_field /select/0',
      ],
    ],
  ])('%s', (_, body, code, errors) => {
    expect(toldOf(body)).toEqual({ code, errors });
  });

  it.each([
    ['page', { size: 1 }],
    ['orderBy', []],
    ['select', ['id']],
  ])('as a count with %s', (key, value) => {
    expect(toldOf({ ...base, [key]: value }, 'count')).toEqual({
      code: 'request.schema',
      errors: [`request.schema /${key}`],
    });
  });

  it('with at most 32 faults reported, and no value of the input in them', () => {
    const where = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`f${String(index)}`, { eq: 'SECRET-VALUE' }]),
    );
    expect.assertions(2);
    try {
      parseQuery({ ...base, where }, 'query');
    } catch (error) {
      const told = error instanceof ApiProblem ? error.detail.errors : undefined;
      expect(told).toHaveLength(32);
      expect(JSON.stringify(told)).not.toContain('SECRET-VALUE');
    }
  });
});
