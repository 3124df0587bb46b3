// The words that somebody reads who has made a common mistake: each says what to write instead.
import { describe, expect, it, test } from '@jest/globals';
import { checkDatasetLine } from '../../../server/api/dataset-schema.js';
import { ApiProblem } from '../../../server/problem.js';
import { parseQuery } from '../../support/parse-query.js';

const base = { family: 'resource', namespace: '/labs' };
const OPERATORS =
  'the operators are eq, ne, lt, lte, gt, gte, contains, containsIgnoreCase, startsWith, endsWith, in, notIn, isNull, has, hasAny, hasAll';

const FIELDS =
  'fields of your own are below `properties`, as in `properties.rank`; the others are id, family, namespace, name, description, properties, template, copiedFrom, revision, createdAt, updatedAt, createdBy, archivedAt';

function wordsOf(body: unknown, kind: 'query' | 'count' = 'query'): readonly string[] {
  try {
    parseQuery(body, kind);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return (error.detail.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
  }
  return [];
}

it('of process runs that names no field is told of parameters and slots', () => {
  const body = {
    family: 'process-run',
    namespace: '/labs',
    where: { severity: { eq: 1 }, 'resources.A': { has: 'x' } },
  };
  const own =
    'fields of your own are below `properties` and `parameters`, as in `parameters.rank`, and what a slot holds is `resources.<slot>`';
  const known =
    'id, family, namespace, name, description, properties, template, parameters, resources, state, revision, createdAt, updatedAt, createdBy, archivedAt';
  expect(wordsOf(body)).toEqual([
    `/where/severity is not a field of this family; ${own}; the others are ${known}`,
    `/where/resources.A is not a field of this family; did you mean \`resources\`? ${own}; the others are ${known}`,
  ]);
});

describe('a query with', () => {
  test.each<readonly [string, object, ...string[]]>([
    [
      'a field of the client at the top',
      { where: { severity: { eq: 1 } } },
      `/where/severity is not a field of this family; ${FIELDS}`,
    ],
    [
      'a slip in a field of ours',
      { where: { createdat: { gt: '2027-01-01T00:00:00Z' } }, orderBy: [{ nmae: 'asc' }], select: ['descripton'] },
      `/where/createdat is not a field of this family; did you mean \`createdAt\`? ${FIELDS}`,
      `/orderBy/0/nmae is not a field of this family; did you mean \`name\`? ${FIELDS}`,
      `/select/0 is not a field of this family; did you mean \`description\`? ${FIELDS}`,
    ],
    [
      'a property of many levels',
      { where: { 'properties.a.b.c.d.e': { eq: 1 } } },
      '/where/properties.a.b.c.d.e goes deeper than 4 levels',
    ],
    [
      'a value in place of operators',
      { where: { name: 'x' } },
      '/where/name must be an object of operators, like {"eq":"lens"}',
    ],
    ['no operator', { where: { name: {} } }, '/where/name must have at least one operator, like {"eq":"lens"}'],
    [
      'an operator in capitals',
      { where: { name: { Eq: 'x', startswith: 'y' } } },
      `/where/name/Eq is not an operator; did you mean \`eq\`? ${OPERATORS}`,
      `/where/name/startswith is not an operator; did you mean \`startsWith\`? ${OPERATORS}`,
    ],
    [
      'groups of a wrong shape',
      { where: { and: { name: { eq: 'x' } }, or: ['name'], not: [] } },
      '/where/and must be a list of groups, like [{"name":{"eq":"lens"}}]',
      '/where/or/0 must be a group of conditions, like {"name":{"eq":"lens"}}',
      '/where/not must be a group of conditions, like {"name":{"eq":"lens"}}',
    ],
    ['one value for in', { where: { name: { in: 'x' } } }, '/where/name/in must be a list, like ["a","b"]'],
    [
      'a list for where',
      { where: [{ name: { eq: 'x' } }] },
      '/where must be an object, like {"name":{"startsWith":"lens"}}',
    ],
    [
      'a namespace in capitals',
      { namespace: '/A/b' },
      '/namespace is not a namespace path: segments are made of `a-z`, `0-9`, `.`, `_`, `~`, `-`',
    ],
    ['an order of a field alone', { orderBy: [{ field: 'name' }] }, '/orderBy/0/field must be one of asc, desc'],
    ['a direction in capitals', { orderBy: [{ name: 'ASC' }] }, '/orderBy/0/name must be one of asc, desc'],
    [
      'a slip at the top',
      { whre: {}, Family: 1 },
      '/whre is not known here; did you mean `where`?',
      '/Family is not known here; did you mean `family`?',
    ],
    [
      'a state that there is not',
      {
        family: 'process-run',
        reach: 'exact',
        where: { or: [{ state: { eq: 'runing' } }, { state: { in: ['pending', 'x'] } }] },
      },
      '/where/or/0/state/eq must be one of pending, running, succeeded, failed, cancelled',
      '/where/or/1/state/in must be one of pending, running, succeeded, failed, cancelled',
    ],
    ['a limit of a page', { page: { limit: 1 } }, '/page/limit is not known here; the known keys are size, after'],
    ['a reach of another kind', { reach: 'children' }, '/reach must be one of lineage, exact, subtree'],
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
      '/where/properties.a/has takes a number or a string, to look for in a list',
    ],
    [
      'null to look for in a list',
      { where: { 'properties.a': { has: null } } },
      '/where/properties.a/has takes a number or a string, to look for in a list',
    ],
    [
      'values of two types to look for in a list',
      { where: { 'properties.a': { hasAll: [1, 'x'] } } },
      '/where/properties.a/hasAll must hold values of one type',
    ],
    [
      'one value where a list of them is due',
      { where: { 'properties.a': { hasAny: 'x' } } },
      '/where/properties.a/hasAny must be a list, like ["a","b"]',
    ],
    [
      '1001 values to look for in a list',
      { where: { 'properties.a': { hasAll: Array.from({ length: 1001 }, (_, i) => i) } } },
      '/where/properties.a/hasAll holds more than 1000 values',
    ],
    [
      'a list operator on a field of ours',
      { where: { name: { has: 'x' } } },
      '/where/name/has is for `resources` and for lists in `properties` and `parameters` only',
    ],
    ['a text for select', { select: 'id' }, '/select must be a list, like ["id","name","properties.rank"]'],
  ])('%s', (_, part, ...words) => {
    expect(wordsOf({ ...base, ...part })).toEqual(words);
  });
});

test('a count with a page says that a count has none', () => {
  expect(wordsOf({ ...base, page: { size: 1 }, limit: 1 }, 'count')).toEqual([
    '/page is not known here: a count has no pages, order, fields or includes',
    '/limit is not known here: a count has no pages, order, fields or includes',
  ]);
});

describe('a dataset line with', () => {
  test.each([
    [
      'a field of its own',
      { severity: 3 },
      'severity: is not a field of a resource; your own fields go into `properties`',
    ],
    [
      'a slip in a field',
      { descripton: 'x' },
      'descripton: is not a field of a resource; did you mean `description`? your own fields go into `properties`',
    ],
    [
      'a family in the plural',
      { family: 'resources' },
      'family: must be one of namespace, resource-template, resource, process-template, process-run; did you mean `resource`?',
    ],
    [
      'a slip in `family`',
      { family: undefined, familly: 'resource' },
      'familly: is not a field; did you mean `family`?',
    ],
    [
      'no family',
      { family: undefined },
      'family: is required: one of namespace, resource-template, resource, process-template, process-run',
    ],
    ['a number for an id', { id: '17' }, 'id: must be a UUID, like 01900000-0000-7000-8000-000000000000'],
    ['no name', { name: '' }, 'name: must not be empty'],
  ])('%s', (_, part, words) => {
    const result = checkDatasetLine({ ...base, name: 'x', ...part });
    expect(result.ok ? '' : `${result.fault.place.join('/')}: ${result.fault.message}`).toBe(words);
  });
});
