// Digests of sets of identities, given as the classes that they fall into. The same set comes up again and again (a role's
// members, at every grant to the role), so lists that have been hashed lately are remembered.
import { type HolderClasses, identitiesByClass } from '../model/holders.js';
import type { PolicyTables } from '../model/tables.js';
import { type Digest, digestBytesOf, digestOf } from './hash.js';

export interface HolderSets {
  /** The digest of the identities in these classes, in any order, or null again has been hashed than the limit. */
  readonly digestOf: (classes: ArrayLike<number>) => Digest | null;
}

interface Known {
  /** In ascending order. */
  readonly classes: ArrayLike<number>;
  readonly digest: Digest;
}

/** What is kept at most: sets, and classes of all of them together. */
const REMEMBERED_SETS = 200_000;
const REMEMBERED_CLASSES = 8_000_000;
const TOKEN_WORDS = 8;
/** Tokens of a run for which a call costs more than it saves. */
const COPIED_BY_WORD = 6;

/** `limit` is in identities, each counted once for every set that is hashed with it. */
export function makeHolderSets(tables: PolicyTables, holders: HolderClasses, limit: number): HolderSets {
  const tokens = tokensOf(tables);
  const identities = identitiesByClass(holders);
  // No set has more identities than there are, and a set is done with before the next one begins.
  const rows = new Int32Array(holders.classOf.length);
  const buffer = new Int32Array(holders.classOf.length * TOKEN_WORDS);
  const known = new Map<number, Known[]>();
  let hashed = 0;
  let remembered = 0;
  let rememberedClasses = 0;

  /** Fills `rows`; how many there are. Rows are in the order of provider and subject, the same in every policy. */
  const listIdentities = (classes: ArrayLike<number>): number => {
    let count = 0;
    let last = -1;
    let inOrder = true;
    for (let k = 0; k < classes.length; k += 1) {
      const holder = classes[k] ?? 0;
      const start = identities.start[holder] ?? 0;
      const end = identities.start[holder + 1] ?? 0;
      for (let i = start; i < end; i += 1) {
        const row = identities.rows[i] ?? 0;
        if (row < last) inOrder = false;
        last = row;
        rows[count] = row;
        count += 1;
      }
    }
    if (!inOrder) rows.subarray(0, count).sort();
    return count;
  };

  const hashSet = (classes: ArrayLike<number>): Digest | null => {
    const count = listIdentities(classes);
    hashed += count;
    if (hashed > limit) return null;
    // Most of a large set stands in runs of neighbours, and a set of one run need not be copied at all.
    for (let i = 0; i < count;) {
      const row = rows[i] ?? 0;
      let end = i + 1;
      while (end < count && rows[end] === row + end - i) end += 1;
      if (end - i === count) return digestOf(bytesOf(tokens, row, count));
      if (end - i > COPIED_BY_WORD)
        buffer.set(tokens.subarray(row * TOKEN_WORDS, (row + end - i) * TOKEN_WORDS), i * TOKEN_WORDS);
      else
        for (let k = i; k < end; k += 1)
          copyToken(tokens, (row + k - i) * TOKEN_WORDS, { to: buffer, at: k * TOKEN_WORDS });
      i = end;
    }
    return digestOf(bytesOf(buffer, 0, count));
  };

  const remember = (key: number, one: Known): void => {
    remembered += 1;
    rememberedClasses += one.classes.length;
    if (remembered > REMEMBERED_SETS || rememberedClasses > REMEMBERED_CLASSES) {
      known.clear();
      remembered = 1;
      rememberedClasses = one.classes.length;
    }
    const alike = known.get(key);
    if (alike === undefined) known.set(key, [one]);
    else alike.push(one);
  };

  return {
    digestOf: (classes) => {
      const sorted = isAscending(classes) ? classes : Int32Array.from(classes).sort();
      const key = keyOf(sorted);
      for (const one of known.get(key) ?? []) if (isSame(one.classes, sorted)) return one.digest;
      const digest = hashSet(sorted);
      if (digest !== null) remember(key, { classes: sorted, digest });
      return digest;
    },
  };
}

/** FNV-1a, cut to what a map takes as a small integer. */
function keyOf(classes: ArrayLike<number>): number {
  let key = 0x811c9dc5;
  for (let i = 0; i < classes.length; i += 1) {
    const holder = classes[i] ?? 0;
    key = Math.imul(key ^ (holder & 0xffff), 0x01000193);
    key = Math.imul(key ^ (holder >>> 16), 0x01000193);
  }
  return key & 0x3fffffff;
}

function bytesOf(tokens: Int32Array, first: number, count: number): Uint8Array {
  return new Uint8Array(tokens.buffer, first * TOKEN_WORDS * 4, count * TOKEN_WORDS * 4);
}

/** Word by word, which is three times as fast as a loop: it runs for every identity of every set. */
function copyToken(from: Int32Array, word: number, { to, at }: { to: Int32Array; at: number }): void {
  to[at] = from[word] ?? 0;
  to[at + 1] = from[word + 1] ?? 0;
  to[at + 2] = from[word + 2] ?? 0;
  to[at + 3] = from[word + 3] ?? 0;
  to[at + 4] = from[word + 4] ?? 0;
  to[at + 5] = from[word + 5] ?? 0;
  to[at + 6] = from[word + 6] ?? 0;
  to[at + 7] = from[word + 7] ?? 0;
}

/** Of each identity row 32 bytes: SHA-256 of the JSON text `["provider","subject"]`. */
function tokensOf(tables: PolicyTables): Int32Array {
  const { provider, subject } = tables.identities;
  // Signed: a word with the highest bit set would be a number on the heap each time it is copied.
  const tokens = new Int32Array(subject.length * TOKEN_WORDS);
  const bytes = new Uint8Array(tokens.buffer);
  subject.forEach((text, row) => {
    const pair = JSON.stringify([tables.providers[provider[row] ?? 0] ?? '', text]);
    bytes.set(digestBytesOf(pair), row * TOKEN_WORDS * 4);
  });
  return tokens;
}

function isAscending(classes: ArrayLike<number>): boolean {
  for (let i = 1; i < classes.length; i += 1) if ((classes[i] ?? 0) < (classes[i - 1] ?? 0)) return false;
  return true;
}

function isSame(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
