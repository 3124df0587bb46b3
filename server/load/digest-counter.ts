// Counts how often a digest has been seen. It keeps 64 bits of each digest and a count in flat arrays, 12 bytes an
// entry, so that the names of millions of lines fit in memory. Two digests that share 64 bits are counted as one, which
// gives one of them a different id than expected, but the same in every run.

/** How often `digest` (at least 8 bytes) was seen before. */
export type DigestCounter = (digest: Buffer) => number;

const WORDS = 3;

export function makeDigestCounter(): DigestCounter {
  let capacity = 1024;
  let table = new Uint32Array(capacity * WORDS);
  let used = 0;

  const place = (into: Uint32Array, high: number, low: number): number => {
    const slots = into.length / WORDS;
    let slot = low % slots;
    while (into[slot * WORDS + 2] !== 0 && (into[slot * WORDS] !== high || into[slot * WORDS + 1] !== low)) {
      slot = (slot + 1) % slots;
    }
    return slot * WORDS;
  };

  const grow = (): void => {
    const old = table;
    capacity *= 2;
    table = new Uint32Array(capacity * WORDS);
    for (let at = 0; at < old.length; at += WORDS) {
      const count = old[at + 2] ?? 0;
      if (count > 0) table.set(old.subarray(at, at + WORDS), place(table, old[at] ?? 0, old[at + 1] ?? 0));
    }
  };

  return (digest) => {
    const high = digest.readUInt32LE(0);
    const low = digest.readUInt32LE(4);
    const at = place(table, high, low);
    const before = table[at + 2] ?? 0;
    table.set([high, low, before + 1], at);
    if (before === 0) {
      used += 1;
      if (used * 3 > capacity * 2) grow();
    }
    return before;
  };
}
