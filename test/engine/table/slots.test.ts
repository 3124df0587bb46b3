// Hash slots: whatever the hashes are, each record is found from its first slot on before a free one, and searches stay short.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  fillSlots,
  firstSlot,
  packIdentity,
  putRecord,
  recordBits,
  slotCount,
  startsOf,
} from '../../../engine/table/slots.js';
import { testRuns } from '../../support/test-runs.js';

/** Puts a record from 1 on for each hash. */
const putAll =
  (slots: Int32Array, hashesFrom: (start: number) => readonly number[]) =>
  (start: number, most: number): boolean => {
    const hashes = hashesFrom(start);
    const bits = recordBits(hashes.length);
    return hashes.every((hash, i) => putRecord(slots, hash, { record: i + 1, bits, most }));
  };

/** The records with the same upper bits of a hash, in the order in which a search meets them. */
function met(slots: Int32Array, hash: number, bits: number): readonly number[] {
  const records: number[] = [];
  for (let slot = firstSlot(hash, slots); slots[slot] !== 0; slot = (slot + 1) % slots.length) {
    const found = slots[slot] ?? 0;
    if (((found ^ hash) & ~bits) === 0) records.push(found & bits);
  }
  return records;
}

const sequence = (count: number, step: number): readonly number[] => Array.from({ length: count }, (_, i) => i * step);

describe('slots', () => {
  it('are as few as leave half of them free: a power of two, at least eight', () => {
    for (let records = 0; records < 5000; records += 1) {
      const count = slotCount(records);
      expect([count, Number.isInteger(Math.log2(count))]).toEqual([count, true]);
      expect(count).toBeGreaterThanOrEqual(Math.max(8, 2 * records));
      expect(count === 8 || count < 4 * records).toBe(true);
    }
  });

  it('lead to every record, whether hashes are alike, near each other or anything', () => {
    const hash = fc.oneof(fc.integer(), fc.constantFrom(-1, 0, 7, 6, 1 << 31), fc.integer({ min: -8, max: 8 }));
    fc.assert(
      fc.property(fc.array(hash, { minLength: 1, maxLength: 60 }), (hashes) => {
        const slots = new Int32Array(slotCount(hashes.length));
        expect(
          fillSlots(
            slots,
            [5],
            putAll(slots, () => hashes),
          ),
        ).toBe(5);
        expect(slots.filter((slot) => slot !== 0).length).toBe(hashes.length);
        const bits = recordBits(hashes.length);
        for (const [i, own] of hashes.entries()) {
          const records = met(slots, own, bits);
          expect(records).toContain(i + 1);
          // A search stops at few others: those that agree in the bits of the hash that fit into a slot.
          for (const record of records) expect(((hashes[record - 1] ?? 0) ^ own) & ~bits).toBe(0);
        }
      }),
      testRuns({ usual: 300, deep: 5000 }),
    );
  });

  it('are filled from the first start that leaves no run longer than 128', () => {
    const slots = new Int32Array(slotCount(200));
    const byStart = [
      sequence(200, 0), // one hash
      sequence(200, 1), // each in its first slot, side by side
      sequence(129, 1),
      sequence(128, 1),
      sequence(200, 2),
      sequence(128, 1).map((hash) => hash + 512 - 128), // up to the last slot
    ];
    const put = putAll(slots, (start) => byStart[start] ?? []);
    expect(fillSlots(slots, [0, 1, 2, 3, 4], put)).toBe(3);
    expect(fillSlots(slots, [4, 3], put)).toBe(4);
    expect(fillSlots(slots, [5, 3], put)).toBe(5);
    // Where no start is good, the first with twice that.
    expect(fillSlots(slots, [0, 1], put)).toBe(0);
    expect(fillSlots(slots, [1, 2], put)).toBe(1);
    expect(met(slots, 150, recordBits(200))).toContain(151);
  });

  it('are given up as soon as a record has more than so many taken ones before it', () => {
    const slots = new Int32Array(64);
    const put = (most: number): boolean => putRecord(slots, 3, { record: 1, bits: 63, most });
    expect(Array.from({ length: 7 }, () => put(4))).toEqual([true, true, true, true, true, false, false]);
    expect(slots.filter((slot) => slot !== 0).length).toBe(5);
    expect(put(5)).toBe(true);
  });

  it('differ for hashes that differ in their upper bits alone', () => {
    const slots = new Int32Array(1024);
    const firsts = Array.from({ length: 16 }, (_, i) => firstSlot(i << 20, slots));
    expect(new Set(firsts).size).toBe(16);
  });
});

describe('the bits of a slot for a record', () => {
  it('are as few as its greatest index needs', () => {
    for (let records = 1; records < 5000; records += 1) {
      const bits = recordBits(records);
      expect(bits & records).toBe(records);
      expect(bits).toBeLessThan(2 * records);
    }
  });
});

describe('the starts of hashes', () => {
  it('are the eight words of the digest of the policy, with or without its name', () => {
    const digest = '00000001ffffffff7fffffff80000000deadbeef000000020000000300000004';
    const words = [1, -1, 0x7fffffff, -0x80000000, 0xdeadbeef | 0, 2, 3, 4];
    expect(startsOf(digest)).toEqual(words);
    expect(startsOf(`sha256:${digest}`)).toEqual(words);
  });
});

describe('an identity', () => {
  it('is packed with two units in a word, and hashed by all of them, its provider and the start', () => {
    const hashes = ['', 'a', 'b', 'ab', 'ba', 'abc', 'abd', '\u0161', 'é', '\u{1d49c}'].flatMap((subject) =>
      [0, 0x5bd1e995].flatMap((start) =>
        ['p', 'q', 'pa'].map((provider) => {
          const words = new Int32Array(8).fill(-1);
          const hash = packIdentity({ provider, subject }, words, { at: 2, start });
          const units = [...words.subarray(2)].flatMap((word) => [word & 0xffff, word >>> 16]);
          const text = String.fromCharCode(...units.slice(0, subject.length));
          expect(text).toBe(subject);
          // The half of a word that is not needed is 0, and no word is written to that is not needed at all.
          if (subject.length % 2 === 1) expect(units[subject.length]).toBe(0);
          const end = 2 + Math.ceil(subject.length / 2);
          expect([...words.subarray(0, 2), ...words.subarray(end)].every((word) => word === -1)).toBe(true);
          return hash;
        }),
      ),
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
