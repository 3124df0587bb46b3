// Digests of sets of identities, given as the classes that they fall into. The same set comes up again and again (a role's
// members, at every grant to the role), so what has been hashed lately is remembered.
import type { HolderClasses } from '../model/holders.js';
import type { PolicyTables } from '../model/tables.js';
import { listRows } from '../model/row-lists.js';
import { type Digest, digestBytesOf, digestOf } from './hash.js';

export interface HolderSets {
  /** The digest of the identities in these classes, given in any order, or null once more has been hashed than the limit. */
  readonly digestOf: (classes: number[]) => Digest | null;
}

interface Known {
  readonly classes: readonly number[];
  readonly digest: Digest;
}

/** Classes kept in remembered sets, all together. */
const REMEMBERED = 4_000_000;
const TOKEN_WORDS = 8;

/** `limit` is in identities, each counted once for every set that is hashed with it. */
export function makeHolderSets(tables: PolicyTables, holders: HolderClasses, limit: number): HolderSets {
  const tokens = tokensOf(tables);
  // Those who hold nothing are listed under a class of their own, which nobody asks for.
  const classOf = holders.classOf.map((holder) => (holder < 0 ? holders.count : holder));
  const identities = listRows(classOf, holders.count + 1);
  let scratch = new Uint32Array(1024 * TOKEN_WORDS);
  let hashed = 0;
  let remembered = 0;
  const known = new Map<number, Known[]>();

  const identitiesIn = (classes: readonly number[]): number[] => {
    const list: number[] = [];
    for (const holder of classes) {
      const end = identities.start[holder + 1] ?? 0;
      for (let i = identities.start[holder] ?? 0; i < end; i += 1) list.push(identities.rows[i] ?? 0);
    }
    return sorted(list);
  };

  const hashSet = (classes: readonly number[]): Digest | null => {
    // Rows of identities are in the order of provider and subject, which is the same in every policy.
    const list = identitiesIn(classes);
    hashed += list.length;
    if (hashed > limit) return null;
    const words = list.length * TOKEN_WORDS;
    if (scratch.length < words) scratch = new Uint32Array(words * 2);
    for (let i = 0; i < list.length; i += 1) {
      const from = (list[i] ?? 0) * TOKEN_WORDS;
      for (let word = 0; word < TOKEN_WORDS; word += 1) scratch[i * TOKEN_WORDS + word] = tokens[from + word] ?? 0;
    }
    return digestOf(new Uint8Array(scratch.buffer, 0, words * 4));
  };

  const remember = (key: number, one: Known): void => {
    remembered += one.classes.length;
    if (remembered > REMEMBERED) {
      known.clear();
      remembered = one.classes.length;
    }
    const alike = known.get(key);
    if (alike === undefined) known.set(key, [one]);
    else alike.push(one);
  };

  return {
    digestOf: (given) => {
      const classes = sorted(given);
      let key = classes.length;
      for (const holder of classes) key = (Math.imul(key, 31) + holder) | 0;
      for (const one of known.get(key) ?? []) if (isSame(one.classes, classes)) return one.digest;
      const digest = hashSet(classes);
      if (digest !== null) remember(key, { classes, digest });
      return digest;
    },
  };
}

/** Of each identity row 32 bytes: SHA-256 of the JSON text `["provider","subject"]`. */
function tokensOf(tables: PolicyTables): Uint32Array {
  const { provider, subject } = tables.identities;
  const tokens = new Uint32Array(subject.length * TOKEN_WORDS);
  const bytes = new Uint8Array(tokens.buffer);
  subject.forEach((text, row) => {
    const pair = JSON.stringify([tables.providers[provider[row] ?? 0] ?? '', text]);
    bytes.set(digestBytesOf(pair), row * TOKEN_WORDS * 4);
  });
  return tokens;
}

/** In place, unless it is in order already, which it mostly is. */
function sorted(list: number[]): number[] {
  for (let i = 1; i < list.length; i += 1) if ((list[i - 1] ?? 0) > (list[i] ?? 0)) return list.sort((a, b) => a - b);
  return list;
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
