// A row predicate covers what is visible and nothing else, as ranges and as roots, and cannot be made by hand.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isWithin } from '../../../engine/index.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { countStatement } from '../../../server/query/records.js';
import { rowPredicate, visibleRanges, visibleRoots, type RowPredicate } from '../../../server/query/row-predicate.js';
import { visibleArms } from '../../../server/query/visible-arms.js';
import { path, some } from './asked-pages.js';

const EVERYTHING = rowPredicate({ kind: 'all' });

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
        // The roots are the ranges, each by what it is.
        const roots = visibleRoots(made);
        const depths = [...roots.subtrees].flatMap(([depth, of]) => of.map((root) => [depth, root] as const));
        for (const [depth, root] of depths) expect(root.split('/').length - 2).toBe(depth);
        expect([...roots.exact, ...depths.map(([, root]) => root)].sort()).toEqual(list.map(([from]) => from));
        for (const root of roots.exact) expect(list).toContainEqual([root, `${root} `]);
        for (const [, root] of depths) expect(list).toContainEqual([root, `${root.slice(0, -1)}0`]);
      }),
    );
  });

  it('covers everything for all', () => {
    expect(PATHS.every((text) => covers(EVERYTHING, text))).toBe(true);
    expect(visibleRoots(EVERYTHING)).toEqual({ exact: [], subtrees: new Map([[0, ['/']]]) });
  });

  it('may have more deep subtrees than one call can take as arguments', () => {
    const roots = Array.from({ length: 150_000 }, (_, index) => `/a/b/c/d/e/f/n${String(index).padStart(6, '0')}`);
    const arms = visibleArms({ predicate: rowPredicate(some([], roots)), family: 'resource', includeArchived: false });
    expect(arms.map(({ size }) => size)).toEqual([roots.length * 8]);
  });

  it('cannot be made by hand, and not of an empty set', () => {
    const forged = {} as RowPredicate;
    const empty = rowPredicate({ kind: 'some', exact: [], subtrees: [] });
    for (const none of [forged, empty]) {
      expect(() => visibleRanges(none)).toThrow(TypeError);
      expect(() => visibleRoots(none)).toThrow(TypeError);
      expect(() => visibleArms({ predicate: none, family: 'resource', includeArchived: false })).toThrow(TypeError);
      for (const where of [{}, { name: { eq: 'a' } }]) {
        for (const order of [null, keyOrder([], 'resource')]) {
          const plan = parseQuery({ family: 'resource', namespace: '/', where }, 'query');
          expect(() => pageStatement({ predicate: none, plan, after: null, order })).toThrow(TypeError);
        }
        const plan = parseQuery({ family: 'resource', namespace: '/', where }, 'count');
        expect(() => countStatement({ predicate: none, plan })).toThrow(TypeError);
      }
    }
  });
});
