// Open addressing over integers. The low bits of a slot say where a record is, in as many bits as the greatest index
// needs. The other bits are the same bits of the hash, and tell most other records apart. 0 is a free slot. A search is
// bounded by the longest run of used slots, which depends only on the policy: a caller can choose which hash to look
// up, and no more. An author chooses the texts of a policy, but not the start of their hashes, which comes from the digest of
// the whole policy: texts that are made to have one hash have different ones from any other start.
import type { Identity } from '../model/identity.js';
import { hashUnit } from '../model/scan-path.js';

/** Half of the slots stay free. */
export function slotCount(records: number): number {
  let count = 8;
  while (count < records * 2) count *= 2;
  return count;
}

/** The bits of a slot that say where a record is, for this number of records. */
export function recordBits(records: number): number {
  return -1 >>> Math.clz32(records);
}

/** Mixes in higher bits, because the low bits of FNV-1a are the weakest. */
export function firstSlot(hash: number, slots: Int32Array): number {
  return (hash ^ (hash >>> 15)) & (slots.length - 1);
}

/** False if there are more used slots than `most` on the way, or that many records. */
export function putRecord(slots: Int32Array, hash: number, { record, bits, most }: SlotEntry): boolean {
  let slot = firstSlot(hash, slots);
  for (let steps = 0; slots[slot] !== 0; steps += 1) {
    if (steps === most) return false;
    slot = (slot + 1) & (slots.length - 1);
  }
  slots[slot] = record | (hash & ~bits);
  return true;
}

interface SlotEntry {
  readonly record: number;
  readonly bits: number;
  readonly most: number;
}

/** Half of 2^23 slots, used at random, have runs of about 70. */
const LONGEST_RUN = 128;

/**
 * Fills the slots with the first of these starts that leaves no run of used slots longer than 128, and returns it. If none
 * does, longer runs are allowed. `put` puts all records, and returns false as soon as `putRecord` does.
 */
export function fillSlots(
  slots: Int32Array,
  starts: readonly number[],
  put: (start: number, most: number) => boolean,
): number {
  for (let most = LONGEST_RUN; ; most *= 2) {
    for (const start of starts) {
      slots.fill(0);
      if (put(start, most) && longestRun(slots) <= most) return start;
    }
  }
}

/** A run that goes on at the first slot counts as two. */
function longestRun(slots: Int32Array): number {
  let longest = 0;
  for (let slot = 0, run = 0; slot < slots.length; slot += 1) {
    run = slots[slot] === 0 ? 0 : run + 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** The starts of hashes for a policy, from the 64 hex digits of its digest: to choose several of them is to choose SHA-256. */
export function startsOf(digest: string): readonly number[] {
  const digits = digest.slice(-64);
  return Array.from({ length: 8 }, (_, word) => Number.parseInt(digits.slice(8 * word, 8 * word + 8), 16) | 0);
}

const COLON = 0x3a;

interface Packing {
  readonly at: number;
  /** Of the hash. */
  readonly start: number;
}

/**
 * The hash of provider and subject. Providers have no colon, and a found record is compared with both texts. Writes the
 * subject to `words` from `at` on, two UTF-16 units in a word, in the form in which it is compared.
 */
export function packIdentity({ provider, subject }: Identity, words: Int32Array, { at, start }: Packing): number {
  let hash = start;
  for (let i = 0; i < provider.length; i += 1) hash = hashUnit(hash, provider.charCodeAt(i));
  hash = hashUnit(hash, COLON);
  let word = at;
  for (let i = 1; i < subject.length; i += 2, word += 1) {
    const first = subject.charCodeAt(i - 1);
    const second = subject.charCodeAt(i);
    hash = hashUnit(hashUnit(hash, first), second);
    words[word] = first | (second << 16);
  }
  if (subject.length % 2 === 0) return hash;
  const last = subject.charCodeAt(subject.length - 1);
  words[word] = last;
  return hashUnit(hash, last);
}
