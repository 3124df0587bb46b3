// Numbers of sets of scopes: equal sets have one number, and a union has that of all scopes of both.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ScopeName, SCOPES, type ScopeSet, scopeSetOf, vocabularyOf } from '../../../engine/index.js';
import { indexOwn } from '../../../engine/table/own-scopes.js';
import { bitOf, bitsOfSet, findBit, makeSetNumbers, PLAIN, wordOf } from '../../../engine/table/scope-numbers.js';
import { testRuns } from '../../support/test-runs.js';
import { MANY } from '../oracle/worlds.js';

const RUNS = testRuns({ usual: 100, deep: 2000 });
const { own, scopes } = vocabularyOf({ families: MANY });
const INDEX = indexOwn(own);
/** One that looks like a scope, and that no family has. */
const UNKNOWN = 'zebra:ride' as ScopeName;

describe('a number of a set', () => {
  const words = fc.tuple(fc.constantFrom(0, 1, 6, -1, 1 << 31), fc.constantFrom(0, 1, 6, -1, 1 << 31));

  it('stands for the same scopes as long as the numbers are used, and another number for others', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 40 }), (sets) => {
        const numbers = makeSetNumbers();
        const given = sets.map(([low, high]) => numbers.numberOf(low, high));
        expect(numbers.numberOf(0, 0)).toBe(0);
        const all = new Set(['0,0', ...sets.map(String)]);
        expect(numbers.count()).toBe(all.size);
        const column = numbers.words();
        expect(column.length).toBe(2 * all.size);
        expect(given.map((number) => [wordOf(column, number, 0), wordOf(column, number, 1)])).toEqual(sets);
        expect(new Set([0, ...given]).size).toBe(all.size);
      }),
      RUNS,
    );
  });

  it('of a union is that of the scopes of both, again and again', () => {
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 8 }), (sets) => {
        const numbers = makeSetNumbers();
        const given = [0, ...sets.map(([low, high]) => numbers.numberOf(low, high))];
        for (const time of ['first', 'again']) {
          for (const a of given) {
            for (const b of given) {
              const union = numbers.union(a, b);
              const column = numbers.words();
              const bits = [0, 1].map((word) => wordOf(column, a, word) | wordOf(column, b, word));
              expect([time, ...bits]).toEqual([time, wordOf(column, union, 0), wordOf(column, union, 1)]);
              expect(union).toBe(numbers.numberOf(bits[0] ?? 0, bits[1] ?? 0));
            }
          }
        }
      }),
      RUNS,
    );
  });

  it('is its bits in a policy of the ten scopes, which needs no words for them', () => {
    expect([PLAIN.numberOf(5, 0), PLAIN.union(5, 3), PLAIN.count(), PLAIN.words().length]).toEqual([5, 7, 0, 0]);
    expect([wordOf(PLAIN.words(), 5, 0), wordOf(PLAIN.words(), 5, 1)]).toEqual([5, 0]);
  });
});

describe('the bits of scopes', () => {
  it('are a bit of its own for each of 64 scopes, and none for a text that is no scope of the policy', () => {
    const bits = scopes.map((scope) => bitOf(scope, INDEX));
    expect(scopes.length).toBe(64);
    expect(new Set(bits.map(({ scopes: bit, word }) => `${String(word)} ${String(bit)}`)).size).toBe(64);
    for (const { scopes: bit, word } of bits) {
      expect(Math.log2(bit >>> 0) % 1).toBe(0);
      expect([0, 1]).toContain(word);
    }
    const found = { scopes: 7, word: 1 };
    for (const text of [UNKNOWN, '', 'resource', 'resource:read ']) {
      expect(bitOf(text, INDEX)).toEqual({ scopes: 0, word: 0 });
      expect([findBit(found, text, INDEX), found]).toEqual([false, { scopes: 0, word: 0 }]);
    }
    expect([findBit(found, own.at(-1) ?? '', INDEX), found]).toEqual([true, { scopes: 1 << 31, word: 1 }]);
    expect([findBit(found, 'resource:read', INDEX), found]).toEqual([true, { scopes: 16, word: 0 }]);
  });

  it('of the ten are those of their set, whatever families there are', () => {
    for (const scope of SCOPES) expect(bitOf(scope, INDEX)).toEqual({ scopes: scopeSetOf([scope]), word: 0 });
  });

  it('of a set are those of its scopes, as far as the policy knows them', () => {
    fc.assert(
      fc.property(fc.subarray([...scopes]), (names) => {
        const expected = [0, 0];
        for (const name of names) {
          const { scopes: bit, word } = bitOf(name, INDEX);
          expected[word] = (expected[word] ?? 0) | bit;
        }
        expect(bitsOfSet(scopeSetOf(names), INDEX)).toEqual(expected);
        expect(bitsOfSet(scopeSetOf([...names, UNKNOWN]), INDEX)).toEqual(expected);
      }),
      RUNS,
    );
    expect(bitsOfSet(0 as ScopeSet, INDEX)).toEqual([0, 0]);
  });
});
