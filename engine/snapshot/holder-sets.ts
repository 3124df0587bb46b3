// Digests of sets of identities. A set is given as the list of its classes. The same set comes up again and again (a role's
// members, at every grant to the role), so sets that were hashed recently are remembered.
import { rememberLast } from '../model/group.js';
import { type HolderClasses, identitiesByClass } from '../model/holders.js';
import { grown } from '../model/row-lists.js';
import type { IdentityColumns, PolicyTables } from '../model/tables.js';
import { type Digest, digestOf, putDigest } from './hash.js';
import { makeMarks, mark, takeMarked } from './marks.js';

export interface HolderSets {
  /**
   * The digest of the identities in these classes, or null once more identities have been hashed than the limit. Classes must be
   * in ascending order, or a remembered set is not recognized.
   */
  readonly digestOf: (classes: Int32Array) => Digest | null;
}

/** A set that was hashed. Its classes are a range of the pool. */
interface Known {
  readonly start: number;
  readonly length: number;
  readonly digest: Digest;
  /** Another one with the same key. */
  readonly next: Known | undefined;
}

/** At most this many sets are remembered, and this many classes in all of them together. */
const REMEMBERED_SETS = 200_000;
const REMEMBERED_CLASSES = 8_000_000;
/** In words of 64 bits, which copy twice as fast as words of 32 bits. */
const TOKEN_WORDS = 4;

/** `limit` is in identities. An identity counts once for each hashed set that contains it. */
export function makeHolderSets(tables: PolicyTables, holders: HolderClasses, limit: number): HolderSets {
  const { tokens, make, isMade } = tokensOf(tables.identities, tables.providers);
  const identities = identitiesByClass(holders);
  const marks = makeMarks(holders.classOf.length);
  // The buffers are shared: no set has more identities than the policy, and each set is finished before the next one begins.
  const rows = new Int32Array(holders.classOf.length);
  const buffer = new BigInt64Array(holders.classOf.length * TOKEN_WORDS);
  const known = new Map<number, Known>();
  let hashed = 0;
  let remembered = 0;
  let pool = new Int32Array(holders.count);
  let used = 0;

  /** Fills `rows` and returns their number. Rows are in the order of provider and subject, which is the same in every policy. */
  const listIdentities = (classes: Int32Array): number => {
    for (let k = 0; k < classes.length; k += 1) {
      const holder = classes[k] ?? 0;
      const end = identities.start[holder + 1] ?? 0;
      for (let i = identities.start[holder] ?? 0; i < end; i += 1) mark(marks, identities.rows[i] ?? 0);
    }
    return takeMarked(marks, rows);
  };

  const hashSet = (classes: Int32Array): Digest | null => {
    const count = listIdentities(classes);
    hashed += count;
    if (hashed > limit) return null;
    for (let i = 0; i < count; i += 1) {
      const row = rows[i] ?? 0;
      if (isMade[row] === 0) make(row);
      copyToken(tokens, row * TOKEN_WORDS, { to: buffer, at: i * TOKEN_WORDS });
    }
    return digestOf(new Uint8Array(buffer.buffer, 0, count * TOKEN_WORDS * 8));
  };

  const remember = (key: number, classes: Int32Array, digest: Digest): void => {
    remembered += 1;
    if (remembered > REMEMBERED_SETS || used + classes.length > REMEMBERED_CLASSES) {
      known.clear();
      remembered = 1;
      used = 0;
    }
    pool = grown(pool, used + classes.length);
    pool.set(classes, used);
    known.set(key, { start: used, length: classes.length, digest, next: known.get(key) });
    used += classes.length;
  };

  const isSame = ({ start, length }: Known, classes: Int32Array): boolean => {
    if (length !== classes.length) return false;
    for (let i = 0; i < length; i += 1) if (pool[start + i] !== classes[i]) return false;
    return true;
  };

  return {
    digestOf: (classes) => {
      const key = keyOf(classes);
      for (let one = known.get(key); one !== undefined; one = one.next) if (isSame(one, classes)) return one.digest;
      const digest = hashSet(classes);
      if (digest !== null) remember(key, classes, digest);
      return digest;
    },
  };
}

/** FNV-1a, cut to a small integer, which makes a fast map key. */
function keyOf(classes: Int32Array): number {
  let key = 0x811c9dc5;
  for (let i = 0; i < classes.length; i += 1) {
    const holder = classes[i] ?? 0;
    key = Math.imul(key ^ (holder & 0xffff), 0x01000193);
    key = Math.imul(key ^ (holder >>> 16), 0x01000193);
  }
  return key & 0x3fffffff;
}

/** Unrolled, which is three times as fast as a loop: this runs for every identity of every set. */
function copyToken(from: BigInt64Array, word: number, { to, at }: { to: BigInt64Array; at: number }): void {
  to[at] = from[word] ?? 0n;
  to[at + 1] = from[word + 1] ?? 0n;
  to[at + 2] = from[word + 2] ?? 0n;
  to[at + 3] = from[word + 3] ?? 0n;
}

interface Tokens {
  /** 32 bytes for each identity row: SHA-256 of the JSON text `["provider","subject"]`. */
  readonly tokens: BigInt64Array;
  /** 1 where it was made. */
  readonly isMade: Uint8Array;
  readonly make: (row: number) => void;
}

const tokensOf = rememberLast(({ provider, subject }: IdentityColumns, providers: readonly string[]): Tokens => {
  const tokens = new BigInt64Array(subject.length * TOKEN_WORDS);
  const isMade = new Uint8Array(subject.length);
  const bytes = new Uint8Array(tokens.buffer);
  const heads = providers.map((name) => `[${JSON.stringify(name)},`);
  const make = (row: number): void => {
    const pair = `${heads[provider[row] ?? 0] ?? ''}${JSON.stringify(subject[row] ?? '')}]`;
    putDigest(pair, bytes, row * TOKEN_WORDS * 8);
    isMade[row] = 1;
  };
  return { tokens, isMade, make };
});
