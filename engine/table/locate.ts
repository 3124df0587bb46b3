// From the texts of a request to the integers of the table: the row of an identity, the place of a path.
import type { Identity } from '../model/identity.js';
import type { NamespacePath } from '../model/namespace.js';
import { ROOT } from '../model/namespace.js';
import type { PathMarks } from '../model/scan-path.js';
import type { DecisionTable } from './columns.js';
import { firstSlot, hashIdentity } from './slots.js';

/** Of an identity that the policy names, otherwise -1. */
export function identityRow(table: DecisionTable, { provider, subject }: Identity): number {
  const { identitySlots: slots } = table;
  const mask = slots.length / 2 - 1;
  const hash = hashIdentity(provider, subject);
  for (let slot = firstSlot(hash, slots); ; slot = (slot + 1) & mask) {
    const row = (slots[2 * slot + 1] ?? 0) - 1;
    if (row < 0) return -1;
    if (slots[2 * slot] === hash && isSubject(table, row, subject) && isProvider(table, row, provider)) return row;
  }
}

function isSubject({ subjectStart, subjectUnits }: DecisionTable, row: number, subject: string): boolean {
  const start = subjectStart[row] ?? 0;
  if ((subjectStart[row + 1] ?? 0) - start !== subject.length) return false;
  for (let i = 0; i < subject.length; i += 1) if (subjectUnits[start + i] !== subject.charCodeAt(i)) return false;
  return true;
}

/** Identities stand in the order of their providers. */
function isProvider({ providerStart, texts }: DecisionTable, row: number, provider: string): boolean {
  let low = 0;
  let high = texts.providers.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((providerStart[middle] ?? 0) <= row) low = middle;
    else high = middle;
  }
  return texts.providers[low] === provider;
}

/** The place of the path that was just scanned: that of its row, or below the nearest one. */
export function placeOf(table: DecisionTable, text: string, marks: PathMarks): number {
  const { depth } = marks;
  if (depth === 0) return 0;
  const row = rowAt(table, text, marks, depth);
  if (row >= 0) return 2 * row;
  // What stands above a row is a row too, so the deepest one is found by halving.
  let nearest = 0;
  let known = 0;
  let unknown = depth;
  while (unknown - known > 1) {
    const middle = (known + unknown) >>> 1;
    const found = rowAt(table, text, marks, middle);
    if (found >= 0) {
      known = middle;
      nearest = found;
    } else {
      unknown = middle;
    }
  }
  return 2 * nearest + 1;
}

/** The row of the first `depth` segments, or -1. */
function rowAt(table: DecisionTable, text: string, marks: PathMarks, depth: number): number {
  const { pathSlots: slots } = table;
  const mask = slots.length / 2 - 1;
  const hash = marks.hashes[depth] ?? 0;
  for (let slot = firstSlot(hash, slots); ; slot = (slot + 1) & mask) {
    const row = (slots[2 * slot + 1] ?? 0) - 1;
    if (row < 0) return -1;
    if (slots[2 * slot] === hash && isPath(table, row, text, { ends: marks.ends, depth })) return row;
  }
}

/** Compared from the last segment upwards. */
function isPath(
  table: DecisionTable,
  row: number,
  text: string,
  { ends, depth }: { readonly ends: Int32Array; readonly depth: number },
): boolean {
  const { parent, segment, segmentStart, segmentBytes } = table;
  let at = row;
  for (let level = depth; level > 0; level -= 1) {
    if (at === 0) return false;
    const first = segment[at] ?? 0;
    const start = segmentStart[first] ?? 0;
    const from = (ends[level - 1] ?? 0) + 1;
    const length = (ends[level] ?? 0) - from;
    if ((segmentStart[first + 1] ?? 0) - start !== length) return false;
    for (let i = 0; i < length; i += 1) if (segmentBytes[start + i] !== text.charCodeAt(from + i)) return false;
    at = parent[at] ?? 0;
  }
  return at === 0;
}

/** The path of a row. */
export function pathOf(table: DecisionTable, row: number): NamespacePath {
  const { parent, segment, segmentStart, segmentBytes } = table;
  let text = '';
  for (let at = row; at > 0; at = parent[at] ?? 0) {
    const own = segment[at] ?? 0;
    text = `/${asciiText(segmentBytes, segmentStart[own] ?? 0, segmentStart[own + 1] ?? 0)}${text}`;
  }
  // The segments were checked when the table was made; joined they are canonical.
  return text === '' ? ROOT : (text as NamespacePath);
}

export function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}
