// Sets of scopes as numbers. A policy of the ten scopes needs nothing for that: a set is the number of its bits. Where a policy declares
// families, each set that somebody holds somewhere gets a number, and two words with a bit for each scope. There are few such sets, so
// what stands for one in a step stays as small as before.
import { invariant } from '../model/invariant.js';
import { partsOf, recordBitOf, type ScopeSet } from '../model/scope-set.js';
import { type OwnScopes, placeOfOwn } from './own-scopes.js';

/** Two words for each number of a set; empty if numbers are the bits themselves. */
export type SetWords = Int32Array;

/** The scopes of a set in one of its words. */
export function wordOf(sets: SetWords, set: number, word: number): number {
  if (sets.length === 0) return word === 0 ? set : 0;
  return sets[2 * set + word] ?? 0;
}

export interface SetNumbers {
  readonly numberOf: (low: number, high: number) => number;
  readonly union: (a: number, b: number) => number;
  /** As many numbers as there are. */
  readonly count: () => number;
  readonly words: () => SetWords;
}

/** A set is the number of its bits. */
export const PLAIN: SetNumbers = {
  numberOf: (low) => low,
  union: (a, b) => a | b,
  count: () => 0,
  words: () => new Int32Array(0),
};

/** 0 is the empty set. The other numbers are in the order in which sets are met. */
export function makeSetNumbers(): SetNumbers {
  const lows: number[] = [];
  const highs: number[] = [];
  const known = new Map<number, Map<number, number>>();
  const unions = new Map<number, number>();
  const numberOf = (low: number, high: number): number => {
    let alike = known.get(low);
    if (alike === undefined) known.set(low, (alike = new Map<number, number>()));
    let number = alike.get(high);
    if (number === undefined) {
      number = lows.length;
      invariant(number < MOST, 'sets are fewer than steps');
      lows.push(low);
      highs.push(high);
      alike.set(high, number);
    }
    return number;
  };
  numberOf(0, 0);
  return {
    numberOf,
    union: (a, b) => {
      if (a === b || b === 0) return a;
      if (a === 0) return b;
      const key = a * MOST + b;
      let number = unions.get(key);
      if (number === undefined) {
        number = numberOf((lows[a] ?? 0) | (lows[b] ?? 0), (highs[a] ?? 0) | (highs[b] ?? 0));
        if (unions.size >= MOST_UNIONS) unions.clear();
        unions.set(key, number);
      }
      return number;
    },
    count: () => lows.length,
    words: () => Int32Array.from({ length: 2 * lows.length }, (_, i) => (i % 2 === 0 ? lows : highs)[i >> 1] ?? 0),
  };
}

/** Ten bits in a word of steps, and sixteen in the second column. */
const MOST = 2 ** 26;

/** Unions that are remembered. */
const MOST_UNIONS = 1 << 20;

/** Scopes in one word of a set. */
export const WORD_BITS = 32;

/** The bits of a set in both words: the ten first, then the scopes of declared families in their order. */
export function bitsOfSet(set: ScopeSet, declared: OwnScopes): readonly [low: number, high: number] {
  const { record, own } = partsOf(set);
  let [low, high] = [record, 0];
  for (const name of own) {
    const { scopes, word } = bitOf(name, declared);
    // A scope that the policy does not know opens nothing in it.
    if (word === 0) low |= scopes;
    else high |= scopes;
  }
  return [low, high];
}

/** After the ten. */
const FIRST_OWN = 10;

/** One scope, in the form that the table compares. */
export interface ScopeBit {
  readonly scopes: number;
  readonly word: number;
}

/** No bits if the policy does not know the scope. */
export function bitOf(scope: string, declared: OwnScopes): ScopeBit {
  const bit = { scopes: 0, word: 0 };
  findBit(bit, scope, declared);
  return bit;
}

/** Writes the bit of a scope, without making an object. False, and no bits, if the policy does not know the scope. */
export function findBit(
  bit: { -readonly [Key in keyof ScopeBit]: ScopeBit[Key] },
  scope: string,
  declared: OwnScopes,
): boolean {
  bit.word = 0;
  bit.scopes = recordBitOf(scope);
  if (bit.scopes !== 0) return true;
  const place = placeOfOwn(declared, scope);
  if (place < 0) return false;
  const at = FIRST_OWN + place;
  bit.word = at < WORD_BITS ? 0 : 1;
  bit.scopes = 1 << (at % WORD_BITS);
  return true;
}
