// Checks that parsed JSON has exactly the fields of the format, with the types that the table gives, in canonical order.
import { type Field, type FieldHolds, type FieldTable, isField } from './document.js';

/** The path of the first wrong field, or null. */
export function shapeFault(value: unknown, table: FieldTable, path = ''): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return path;
  const expected = Object.keys(table).sort();
  const actual = Object.keys(value);
  for (let i = 0; i < Math.max(expected.length, actual.length); i += 1) {
    if (actual[i] !== expected[i]) return join(path, expected[i] ?? '(one too many)');
  }
  for (const [key, item] of Object.entries(value)) {
    const entry = table[key];
    if (entry === undefined) return join(path, key);
    const fault = entryFault(item, entry, join(path, key));
    if (fault !== null) return fault;
  }
  return null;
}

function entryFault(value: unknown, entry: Field | FieldTable, path: string): string | null {
  if (!isField(entry)) return shapeFault(value, entry, path);
  return HOLDS[entry.holds](value) ? null : path;
}

const HOLDS: Readonly<Record<FieldHolds, (value: unknown) => boolean>> = {
  text: isText,
  count: isCount,
  texts: (value) => Array.isArray(value) && value.every(isText),
  counts: (value) => Array.isArray(value) && value.every(isCount),
  instants: (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
};

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed();
}

/** Every row number, line and count fits in 31 bits. */
function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0x7fffffff;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
