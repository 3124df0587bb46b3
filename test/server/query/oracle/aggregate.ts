// Aggregates, by a plain reading of docs/queries.md "Aggregates", on records that are in memory.
import { compareTexts, type Json, valueAt } from './evaluate.js';

export interface Group {
  readonly key?: unknown;
  readonly values: readonly unknown[];
}

export interface Aggregated {
  readonly groupBy?: string;
  readonly values: readonly Json[];
}

/** What can be compared; all else counts as absent. */
function present(record: Json, field: string): unknown {
  const value = valueAt(record, field);
  return ['number', 'string', 'boolean'].includes(typeof value) ? value : null;
}

const CLASSES = ['number', 'string', 'boolean', 'object'];

/** Numbers, strings, booleans, what is absent. */
function compare(a: unknown, b: unknown): number {
  const byClass = CLASSES.indexOf(typeof a) - CLASSES.indexOf(typeof b);
  if (byClass !== 0) return byClass;
  return typeof a === 'string' && typeof b === 'string' ? compareTexts(a, b) : Number(a) - Number(b);
}

export function aggregated(records: readonly Json[], { groupBy, values }: Aggregated): readonly Group[] {
  const results = (of: readonly Json[]): readonly unknown[] => values.map((value) => resultOf(of, value));
  if (groupBy === undefined) return [{ values: results(records) }];
  const groups = new Map<unknown, Json[]>();
  for (const record of records) {
    const key = present(record, groupBy);
    groups.set(key, [...(groups.get(key) ?? []), record]);
  }
  return [...groups].sort(([a], [b]) => compare(a, b)).map(([key, of]) => ({ key, values: results(of) }));
}

function resultOf(records: readonly Json[], value: Json): unknown {
  const [[kind, field] = []] = Object.entries(value);
  if (kind === 'count') return records.length;
  const found = records.map((record) => present(record, String(field))).filter((one) => one !== null);
  if (kind === 'sum') return sumOf(found.filter((one) => typeof one === 'number'));
  const inOrder = found.sort(compare);
  return (kind === 'min' ? inOrder[0] : inOrder.at(-1)) ?? null;
}

/** As decimals, without rounding. */
function sumOf(numbers: readonly number[]): number {
  const parts = numbers.map((number) => {
    const [, sign = '', whole = '', fraction = '', power = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? [];
    return { digits: BigInt(`${sign}${whole}${fraction}`), power: Number(power) - fraction.length };
  });
  const least = Math.min(0, ...parts.map(({ power }) => power));
  const sum = parts.reduce((total, { digits, power }) => total + digits * 10n ** BigInt(power - least), 0n);
  return Number(`${String(sum)}e${String(least)}`);
}
