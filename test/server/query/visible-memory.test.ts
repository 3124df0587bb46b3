// Remembered visible sets: always those of the set that is given, whatever the name; found again where it is the same; bounded.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { visibilityDigest, type Visible } from '../../../engine/index.js';
import { QUERY_LIMITS } from '../../../server/query/limits.js';
import { rowPredicate, visibleRanges } from '../../../server/query/row-predicate.js';
import { makeVisibleMemory } from '../../../server/query/visible-memory.js';
import { pathOf } from '../../support/gateway.js';

const setOf = (size: number, name = 'n'): Visible => ({
  kind: 'some',
  exact: [],
  subtrees: Array.from({ length: size }, (_, index) => pathOf(`/${name}${String(index).padStart(6, '0')}`)),
});

const bindings = (predicate: ReturnType<typeof rowPredicate>): unknown => visibleRanges(predicate).bindings;

describe('a memory of visible sets', () => {
  it('gives back what it made of the same set, also where the set is a copy', () => {
    const remember = makeVisibleMemory();
    const first = remember('ana', setOf(100));
    expect(remember('ana', setOf(100))).toBe(first);
    expect(first.digest).toBe(visibilityDigest(setOf(100)));
    expect(remember('bo', setOf(100))).not.toBe(first);
  });

  it('never gives what belongs to another set, whatever came before under that name', () => {
    const sizes = fc.constantFrom(1, 40, 41, 60);
    const anyVisible: fc.Arbitrary<Visible> = fc.oneof(
      fc.constant<Visible>({ kind: 'all' }),
      fc.tuple(sizes, fc.constantFrom('a', 'b')).map(([size, name]) => setOf(size, name)),
      fc.tuple(sizes, fc.constantFrom('a', 'b')).map(([size, name]): Visible => {
        const set = setOf(size, name);
        return set.kind === 'all' ? set : { kind: 'some', exact: set.subtrees, subtrees: [] };
      }),
      fc.tuple(fc.constantFrom(0, 20, 39), fc.constantFrom('a', 'b')).map(([odd, name]): Visible => {
        const set = setOf(40, name);
        if (set.kind === 'all') return set;
        return { ...set, subtrees: set.subtrees.map((path, index) => (index === odd ? pathOf(`${path}/x`) : path)) };
      }),
    );
    const asked = fc.array(fc.tuple(fc.constantFrom('ana', 'bo', 'cy'), anyVisible), { minLength: 2, maxLength: 30 });
    fc.assert(
      fc.property(asked, fc.constantFrom(50, 100, 1_000), (requests, parts) => {
        const remember = makeVisibleMemory(parts);
        for (const [name, visible] of requests) {
          const { digest, predicate } = remember(name, visible);
          expect(digest).toBe(visibilityDigest(visible));
          expect(bindings(predicate)).toEqual(bindings(rowPredicate(visible)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('forgets what was longest unused, and keeps nothing that is too small or too large', () => {
    const remember = makeVisibleMemory(100);
    const ana = remember('ana', setOf(40));
    const bo = remember('bo', setOf(40));
    expect(remember('ana', setOf(40))).toBe(ana);
    const cy = remember('cy', setOf(40));
    expect(remember('ana', setOf(40))).toBe(ana);
    expect(remember('cy', setOf(40))).toBe(cy);
    expect(remember('bo', setOf(40))).not.toBe(bo);
    const large = remember('di', setOf(101));
    expect(remember('di', setOf(101))).not.toBe(large);
    const small = remember('ed', setOf(QUERY_LIMITS.rememberedFrom - 1));
    expect(remember('ed', setOf(QUERY_LIMITS.rememberedFrom - 1))).not.toBe(small);
  });
});
