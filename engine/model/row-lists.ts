// Rows listed by a key, in two flat arrays.

/** The rows of `key` are `rows[start[key]]` up to `rows[start[key + 1]]`, without the end. */
export interface RowLists {
  readonly start: Int32Array;
  readonly rows: Int32Array;
}

// Code that runs for each row of a large column uses counting loops, here and elsewhere. Iterators make an object for
// each step until V8 has compiled the loop, and for most columns the loop is over by then.

/**
 * Lists rows by key with a counting sort. Rows of one key are in the order of `order`, or of their numbers by default.
 */
export function listRows(keys: Int32Array, count: number, order?: Int32Array): RowLists {
  const start = new Int32Array(count + 1);
  for (let row = 0; row < keys.length; row += 1) {
    const key = keys[row] ?? 0;
    start[key + 1] = (start[key + 1] ?? 0) + 1;
  }
  for (let key = 0; key < count; key += 1) start[key + 1] = (start[key + 1] ?? 0) + (start[key] ?? 0);
  const next = start.slice();
  const rows = new Int32Array(keys.length);
  for (let i = 0; i < keys.length; i += 1) {
    const row = order === undefined ? i : (order[i] ?? 0);
    const key = keys[row] ?? 0;
    const at = next[key] ?? 0;
    rows[at] = row;
    next[key] = at + 1;
  }
  return { start, rows };
}

export function rowsOf(lists: RowLists, key: number): Int32Array {
  return lists.rows.subarray(lists.start[key], lists.start[key + 1]);
}

/** The rows of all lists together, sorted, repetitions included. */
export function sortedRows(lists: readonly ArrayLike<number>[]): Int32Array {
  const all = new Int32Array(lists.reduce((count, list) => count + list.length, 0));
  let end = 0;
  for (const list of lists) {
    all.set(list, end);
    end += list.length;
  }
  // One list, or several that follow each other, are mostly in order.
  for (let i = 1; i < all.length; i += 1) if ((all[i] ?? 0) < (all[i - 1] ?? 0)) return all.sort();
  return all;
}

/** Sorted, without repetitions. */
export function unionOfRows(lists: readonly ArrayLike<number>[]): Int32Array {
  const all = sortedRows(lists);
  return all.filter((row, i) => i === 0 || row !== all[i - 1]);
}

/**
 * Binary search for the first of `count` places where `isReached` holds. Once it holds, it must hold for all later
 * places.
 */
export function firstFrom(count: number, isReached: (place: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Integers that are written one after the other. */
export interface GrowingColumn {
  readonly length: () => number;
  readonly push: (value: number) => void;
  /** What was written. The column must not grow afterwards. */
  readonly rows: () => Int32Array;
}

/** The column, or a copy of at least this length, so that appending takes linear time. */
export function grown(column: Int32Array<ArrayBuffer>, least: number): Int32Array<ArrayBuffer> {
  if (least <= column.length) return column;
  const longer = new Int32Array(Math.max(2 * column.length, least));
  longer.set(column);
  return longer;
}

/** V8 ends the process where a plain array grows past 2^27 elements. So what grows with the rows of a policy is one of these. */
export function makeColumn(): GrowingColumn {
  let column = new Int32Array(1024);
  let end = 0;
  return {
    length: () => end,
    push: (value) => {
      column = grown(column, end + 1);
      column[end] = value;
      end += 1;
    },
    rows: () => column.subarray(0, end),
  };
}
