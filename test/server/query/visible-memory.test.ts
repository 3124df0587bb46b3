// Remembered visible sets: the result is always that of the given set, whatever the name; an equal set is found again;
// memory is bounded.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { visibilityDigest, type Visible } from '../../../engine/index.js';
import { MEMORY_LIMITS } from '../../../server/limits/queries.js';
import { rowPredicate, visibleRanges } from '../../../server/query/row-predicate.js';
import { makeVisibleMemory } from '../../../server/query/remembered.js';
import { pathOf } from '../../support/gateway.js';
import { testRuns } from '../../support/test-runs.js';

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
      fc.property(asked, fc.constantFrom(4_000, 8_000, 80_000), (requests, characters) => {
        const remember = makeVisibleMemory(characters);
        for (const [name, visible] of requests) {
          const { digest, predicate } = remember(name, visible);
          expect(digest).toBe(visibilityDigest(visible));
          expect(bindings(predicate)).toEqual(bindings(rowPredicate(visible)));
        }
      }),
      testRuns(300),
    );
  });

  it('forgets what was longest unused, and keeps nothing that is too large', () => {
    // Of paths of eight characters, each with 64 for what holds it.
    const remember = makeVisibleMemory(100 * 72);
    const ana = remember('ana', setOf(40));
    const bo = remember('bo', setOf(40));
    expect(remember('ana', setOf(40))).toBe(ana);
    const cy = remember('cy', setOf(40));
    expect(remember('ana', setOf(40))).toBe(ana);
    expect(remember('cy', setOf(40))).toBe(cy);
    expect(remember('bo', setOf(40))).not.toBe(bo);
    const large = remember('di', setOf(100));
    expect(remember('di', setOf(100))).not.toBe(large);
    expect(remember('ed', { kind: 'all' })).toBe(remember('ed', { kind: 'all' }));
  });

  it('counts characters: a few long namespaces take the room of many short ones', () => {
    const long = setOf(20, `${'a'.repeat(60)}/`.repeat(6));
    const remember = makeVisibleMemory(100 * 72);
    const ana = remember('ana', setOf(40));
    expect(remember('bo', long)).not.toBe(remember('bo', long));
    expect(remember('ana', setOf(40))).toBe(ana);
  });

  it('holds so many sets at most, however small', () => {
    const remember = makeVisibleMemory();
    const first = remember('0', setOf(1));
    for (let index = 1; index < MEMORY_LIMITS.visibleSetCount; index += 1) remember(String(index), setOf(1));
    expect(remember('0', setOf(1))).toBe(first);
    for (let index = 0; index < MEMORY_LIMITS.visibleSetCount; index += 1) remember(`other ${String(index)}`, setOf(1));
    expect(remember('0', setOf(1))).not.toBe(first);
  });
});
