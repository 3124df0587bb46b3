// A set of rows that returns them in ascending order without sorting. It has one bit for each row, and one for each word of row bits.

export interface Marks {
  readonly rows: Int32Array;
  readonly words: Int32Array;
}

/** An empty set for rows below `count`. */
export function makeMarks(count: number): Marks {
  const rows = new Int32Array((count >>> 5) + 1);
  return { rows, words: new Int32Array((rows.length >>> 5) + 1) };
}

/** Marks a row. True if it was not marked before. */
export function mark({ rows, words }: Marks, row: number): boolean {
  const word = row >>> 5;
  const before = rows[word] ?? 0;
  const bit = 1 << (row & 31);
  if ((before & bit) !== 0) return false;
  rows[word] = before | bit;
  if (before === 0) words[word >>> 5] = (words[word >>> 5] ?? 0) | (1 << (word & 31));
  return true;
}

/** Writes the marked rows to `to` in ascending order, clears the marks, and returns the number of rows. */
export function takeMarked({ rows, words }: Marks, to: Int32Array): number {
  let count = 0;
  for (let group = 0; group < words.length; group += 1) {
    for (let inGroup = words[group] ?? 0; inGroup !== 0; inGroup &= inGroup - 1) {
      const word = (group << 5) | lowestBit(inGroup);
      for (let left = rows[word] ?? 0; left !== 0; left &= left - 1) {
        to[count] = (word << 5) | lowestBit(left);
        count += 1;
      }
      rows[word] = 0;
    }
    words[group] = 0;
  }
  return count;
}

/** The index of the lowest set bit. */
function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
