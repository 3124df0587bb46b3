// Where a query must end itself: before each comparison, and before the sort keys if nothing is compared.
import { expect, test } from '@jest/globals';
import type { QueryCondition } from '../../../server/query/condition.js';
import { inTime } from '../../../server/query/in-time.js';
import { parseQuery } from '../../support/parse-query.js';

const whereOf = (where?: object): QueryCondition =>
  parseQuery({ family: 'resource', namespace: '/', ...(where === undefined ? {} : { where }) }, 'query').where;

/** A condition by its kinds. */
function kinds(condition: QueryCondition): unknown {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { [condition.kind]: condition.parts.map(kinds) };
    case 'not':
    case 'inTime':
      return { [condition.kind]: kinds(condition.part) };
    default:
      return condition.kind;
  }
}

test('every comparison looks at the clock first', () => {
  const where = {
    or: [
      { name: { contains: 'a', ne: 'b' } },
      { not: { 'properties.a': { hasAny: [1] } } },
      { and: [{ 'properties.b': { in: [1] } }, { 'properties.c': { isNull: true } }] },
    ],
  };
  const asked = kinds(whereOf(where));
  const looked = kinds(inTime(whereOf(where), 10));
  const clocks = /\{"inTime":("\w+")\}/g;
  const text = JSON.stringify(looked);
  expect(JSON.parse(text.replaceAll(clocks, '$1'))).toEqual(asked);
  expect([...text.matchAll(clocks)].map(([, kind]) => kind)).toEqual(
    ['pattern', 'compare', 'list', 'member', 'isNull'].map((kind) => `"${kind}"`),
  );
});

test('so does each record where nothing is compared', () => {
  expect(kinds(inTime(whereOf(), 10))).toEqual({ inTime: { and: [] } });
});
