// Two versions of a sorted column, merged in one pass.
import { compareTexts } from './order.js';
import type { PolicyTables } from './tables.js';

export type SideName = 'old' | 'new';
export type Both<T> = Readonly<Record<SideName, T>>;

/** What two sorted columns have in common. */
export interface MergedRows {
  readonly count: number;
  /** Common numbers by row. Equal rows have the same number, and the order is kept. */
  readonly numbers: Both<Int32Array>;
  /** Rows by common number; -1 where a side has none. */
  readonly rows: Both<Int32Array>;
}

/** Of a column that both versions share. */
function sameRows(length: number): MergedRows {
  const rows = new Int32Array(length).map((_, row) => row);
  return { count: length, numbers: { old: rows, new: rows }, rows: { old: rows, new: rows } };
}

function mergeRows(lengths: Both<number>, compare: (old: number, changed: number) => number): MergedRows {
  const numbers = { old: new Int32Array(lengths.old), new: new Int32Array(lengths.new) };
  let count = 0;
  for (let a = 0, b = 0; a < lengths.old || b < lengths.new; count += 1) {
    const order = a === lengths.old ? 1 : b === lengths.new ? -1 : compare(a, b);
    if (order <= 0) {
      numbers.old[a] = count;
      a += 1;
    }
    if (order >= 0) {
      numbers.new[b] = count;
      b += 1;
    }
  }
  const rowsOf = (side: Int32Array): Int32Array => {
    const rows = new Int32Array(count).fill(-1);
    side.forEach((number, row) => {
      rows[number] = row;
    });
    return rows;
  };
  return { count, numbers, rows: { old: rowsOf(numbers.old), new: rowsOf(numbers.new) } };
}

export function mergeTexts(old: readonly string[], changed: readonly string[]): MergedRows {
  if (old === changed) return sameRows(old.length);
  return mergeRows({ old: old.length, new: changed.length }, (a, b) => compare(old[a] ?? '', changed[b] ?? ''));
}

type Identities = Pick<PolicyTables, 'providers' | 'identities'>;

export function mergeIdentities(old: Identities, changed: Identities): MergedRows {
  const providerOf = ({ providers, identities }: Identities, row: number): string =>
    providers[identities.provider[row] ?? 0] ?? '';
  if (old.identities === changed.identities && old.providers === changed.providers)
    return sameRows(old.identities.subject.length);
  const [subjects, others] = [old.identities.subject, changed.identities.subject];
  return mergeRows(
    { old: subjects.length, new: others.length },
    (a, b) => compare(providerOf(old, a), providerOf(changed, b)) || compare(subjects[a] ?? '', others[b] ?? ''),
  );
}

/** Most texts of two versions are equal, which needs no look at their characters one by one. */
function compare(a: string, b: string): number {
  return a === b ? 0 : compareTexts(a, b);
}
