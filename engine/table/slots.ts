// Open addressing over integers: a slot is a hash and one more than a row. How far a search goes is bounded by the
// longest run of taken slots, which the policy alone decides: a caller can choose which hash to look up, and no more.
import { hashUnit } from '../model/scan-path.js';

/** Half of the slots stay free. */
export function slotCount(rows: number): number {
  let count = 8;
  while (count < rows * 2) count *= 2;
  return count;
}

/** FNV-1a leaves the low bits the weakest. */
export function firstSlot(hash: number, slots: Int32Array): number {
  return (hash ^ (hash >>> 15)) & (slots.length / 2 - 1);
}

export function putRow(slots: Int32Array, hash: number, row: number): void {
  const mask = slots.length / 2 - 1;
  let slot = firstSlot(hash, slots);
  while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
  slots[2 * slot] = hash;
  slots[2 * slot + 1] = row + 1;
}

const COLON = 0x3a;

/** Of provider and subject as two texts: names of providers have no colon, and what is found is compared with both. */
export function hashIdentity(provider: string, subject: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < provider.length; i += 1) hash = hashUnit(hash, provider.charCodeAt(i));
  hash = hashUnit(hash, COLON);
  for (let i = 0; i < subject.length; i += 1) hash = hashUnit(hash, subject.charCodeAt(i));
  return hash;
}
