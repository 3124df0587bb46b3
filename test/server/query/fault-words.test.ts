// The words that somebody reads who has made a common mistake: each says what to write instead.
import { describe, expect, test } from '@jest/globals';
import { checkDatasetLine } from '../../../server/api/dataset-schema.js';
import { ApiProblem } from '../../../server/problem.js';
import { parseQuery } from '../../../server/query/parse-query.js';

const base = { family: 'resource', namespace: '/labs' };
const OPERATORS =
  'the operators are eq, ne, lt, lte, gt, gte, contains, startsWith, endsWith, in, notIn, isNull, has, hasAny, hasAll';

function wordsOf(body: unknown, kind: 'query' | 'count' = 'query'): readonly string[] {
  try {
    parseQuery(body, kind);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return (error.detail.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
  }
  return [];
}

describe('a query with', () => {
  test.each([
    [
      'a field of the client at the top',
      { where: { severity: { eq: 1 } } },
      '/where/severity is not a field of this family; fields of your own are below `properties`, as in `properties.rank`',
    ],
    [
      'equals for eq',
      { where: { name: { equals: 'x' } } },
      `/where/name/equals is not an operator; did you mean \`eq\`? ${OPERATORS}`,
    ],
    [
      'between',
      { where: { 'properties.a': { between: [1, 2] } } },
      `/where/properties.a/between is not an operator; did you mean \`gte\` and \`lte\`? ${OPERATORS}`,
    ],
    ['an unheard-of operator', { where: { name: { near: 'x' } } }, `/where/name/near is not an operator; ${OPERATORS}`],
    ['names for an order', { orderBy: ['name'] }, '/orderBy/0 must be an object, like {"name":"asc"}'],
    [
      'an order of field and direction',
      { orderBy: [{ field: 'name', direction: 'asc' }] },
      '/orderBy/0 must have at most 1 key, like {"name":"asc"}',
    ],
    ['one name for an order', { orderBy: 'name' }, '/orderBy must be a list, like [{"name":"asc"}]'],
    ['a number for a page', { page: 1 }, '/page must be an object, like {"size":50}'],
    ['a limit', { limit: 1 }, '/limit is not known here; did you mean `page.size`?'],
    ['a page that is too large', { page: { size: 501 } }, '/page/size must be at most 500'],
    [
      'a boolean to look for in a list',
      { where: { 'properties.a': { has: true } } },
      '/where/properties.a/has looks for numbers and strings in a list, not for booleans',
    ],
    [
      'null to look for in a list',
      { where: { 'properties.a': { has: null } } },
      '/where/properties.a/has must not be null; use isNull',
    ],
    [
      'values of two types to look for in a list',
      { where: { 'properties.a': { hasAll: [1, 'x'] } } },
      '/where/properties.a/hasAll must hold values of one type',
    ],
    [
      'one value where a list of them is due',
      { where: { 'properties.a': { hasAny: 'x' } } },
      '/where/properties.a/hasAny must be a list',
    ],
    [
      '1001 values to look for in a list',
      { where: { 'properties.a': { hasAll: Array.from({ length: 1001 }, (_, i) => i) } } },
      '/where/properties.a/hasAll holds more than 1000 values',
    ],
    [
      'a list operator on a field of ours',
      { where: { name: { has: 'x' } } },
      '/where/name/has is for lists in `properties` and `parameters` only',
    ],
    ['a text for select', { select: 'id' }, '/select must be a list, like ["id","name","properties.rank"]'],
  ])('%s', (_, part, words) => {
    expect(wordsOf({ ...base, ...part })).toEqual([words]);
  });
});

test('a count with a page says that a count has none', () => {
  expect(wordsOf({ ...base, page: { size: 1 }, limit: 1 }, 'count')).toEqual([
    '/page is not known here: a count has no pages, order or fields',
    '/limit is not known here: a count has no pages, order or fields',
  ]);
});

describe('a dataset line with', () => {
  test.each([
    [
      'a field of its own',
      { severity: 3 },
      'severity: is not a field of a resource; your own fields go into `properties`',
    ],
    ['a number for an id', { id: '17' }, 'id: must be a UUID, like 01900000-0000-7000-8000-000000000000'],
    ['no name', { name: '' }, 'name: must not be empty'],
  ])('%s', (_, part, words) => {
    const result = checkDatasetLine({ ...base, name: 'x', ...part });
    expect(result.ok ? '' : `${result.fault.place.join('/')}: ${result.fault.message}`).toBe(words);
  });
});
