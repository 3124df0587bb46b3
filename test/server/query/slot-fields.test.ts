// `resources.<slot>` of process runs: which names are fields, and what they compare with.
import { expect, it } from '@jest/globals';
import { ApiProblem } from '../../../server/problem.js';
import { parseQuery } from '../../support/parse-query.js';

function faultsOf(body: object): readonly string[] {
  try {
    parseQuery({ namespace: '/', ...body }, 'query');
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return (error.detail.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`);
  }
  return [];
}

const runs = { family: 'process-run' };

it.each([
  [
    'of another family',
    { family: 'resource', where: { 'resources.in': { eq: 'x' } }, select: ['resources.in'] },
    ['query.unknown_field /where/resources.in', 'query.unknown_field /select/0'],
  ],
  [
    'that no slot can be called',
    { ...runs, where: { 'resources.': { eq: 'x' }, 'resources.A b': { eq: 'x' } } },
    ['query.unknown_field /where/resources.', 'query.unknown_field /where/resources.A b'],
  ],
  [
    'with operands that no slot holds',
    { ...runs, where: { 'resources.in': { eq: 3, has: 'x' }, resources: { has: 3, eq: 'x' } } },
    [
      'query.type_mismatch /where/resources.in/eq',
      'query.type_mismatch /where/resources.in/has',
      'query.type_mismatch /where/resources/has',
      'query.type_mismatch /where/resources/eq',
    ],
  ],
  [
    'with dots in its name',
    { ...runs, where: { 'resources.in.2': { eq: 'x' } }, orderBy: [{ 'resources.in.2': 'asc' }] },
    [],
  ],
])('a slot %s', (_what, body, faults) => {
  expect(faultsOf(body)).toEqual(faults);
});
