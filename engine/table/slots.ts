// Open addressing over integers. The low bits of a slot say where a record is, in as many bits as the greatest index
// needs. The other bits are the same bits of the hash, and tell most other records apart. 0 is a free slot. A search is
// bounded by the longest run of taken slots, which depends only on the policy: a caller can choose which hash to look
// up, and no more.
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

export function putRecord(slots: Int32Array, hash: number, { record, bits }: SlotEntry): void {
  let slot = firstSlot(hash, slots);
  while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
  slots[slot] = record | (hash & ~bits);
}

interface SlotEntry {
  readonly record: number;
  readonly bits: number;
}

const COLON = 0x3a;

/**
 * The hash of provider and subject. Providers have no colon, and a found record is compared with both texts. Writes the
 * subject to `words` from `at` on, two UTF-16 units in a word, in the form in which it is compared.
 */
export function packIdentity({ provider, subject }: Identity, words: Int32Array, at: number): number {
  let hash = 0x811c9dc5 | 0;
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
