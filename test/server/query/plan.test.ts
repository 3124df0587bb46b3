// What a plan contains beyond the request: the defaults, and the digest that a cursor is bound to.
import { describe, expect, it } from '@jest/globals';
import { parseQuery } from '../../support/parse-query.js';

const base = { family: 'resource', namespace: '/labs' };

describe('a plan', () => {
  const digest = (body: Readonly<Record<string, unknown>>): string => parseQuery({ ...base, ...body }, 'query').digest;

  it('has the documented defaults', () => {
    expect(parseQuery(base, 'query')).toMatchObject({
      reach: 'lineage',
      includeArchived: false,
      page: { size: 50, after: null },
      select: null,
    });
    expect(parseQuery({ family: 'process-run', namespace: '/' }, 'query').reach).toBe('exact');
  });

  it('has one digest for one query, however its keys are ordered and its pages are cut', () => {
    const where = { name: { eq: 'a', ne: 'b' }, revision: { gt: 1 } };
    const turned = { revision: { gt: 1 }, name: { ne: 'b', eq: 'a' } };
    expect(digest({ where })).toBe(digest({ where: turned, page: { size: 3 }, select: ['id'], namespace: 'labs' }));
  });

  it.each([
    [{ family: 'namespace' }],
    [{ namespace: '/labs/x' }],
    [{ reach: 'exact' }],
    [{ where: { name: { eq: 'a' } } }],
    [{ where: { name: { in: ['a'] } } }],
    [{ orderBy: [{ name: 'asc' }] }],
    [{ orderBy: [{ name: 'desc' }] }],
    [{ includeArchived: true }],
  ])('has another digest for %j', (body) => {
    expect(digest(body)).not.toBe(digest({}));
  });
});
