// Translates the texts of a request into the integers of the table: the holdings of an identity, the place of a path.
import type { Identity } from '../model/identity.js';
import type { NamespacePath } from '../model/namespace.js';
import { ROOT } from '../model/namespace.js';
import { type PathMarks, scanPath } from '../model/scan-path.js';
import { type DecisionTable, EXCLUSIVE, ROW } from './columns.js';
import { keep, keptOf } from './kept.js';
import { firstSlot, packIdentity, recordBits } from './slots.js';

const SLASH = 0x2f;

/** A longer subject cannot be in a policy: subjects have at most 255 bytes. */
const SUBJECT_UNITS = 255;
/** No subject is empty. */
const TOO_LONG = 0;
const SUBJECT_WORDS = (SUBJECT_UNITS + 1) / 2;

/** How many identities are looked up together. Few actors have more. */
export const TOGETHER = 4;

// What is known of the identities that are looked up. A subject takes its words whether it needs them or not.
const SUBJECTS = new Int32Array(TOGETHER * SUBJECT_WORDS);
const HASHES = new Int32Array(TOGETHER);
const LENGTHS = new Int32Array(TOGETHER);
const FOUND = new Int32Array(TOGETHER);
const RECORDS = new Int32Array(TOGETHER);

/**
 * The records in `identities` of some identities, from the index `from` on up to `TOGETHER` of them; 0 for one that the policy does not
 * name. The next call overwrites them. All hashes are made before the first slot is read, and all slots are read before the first record:
 * so the processor waits for several of them at once, and not for one after the other.
 */
export function recordsOf(table: DecisionTable, named: readonly Identity[], from: number): ArrayLike<number> {
  const { identities, identitySlots: slots, starts } = table;
  const count = Math.min(named.length - from, TOGETHER);
  const bits = recordBits(identities.length);
  for (let i = 0; i < count; i += 1) {
    const identity = named[from + i];
    const length = identity?.subject.length ?? Infinity;
    LENGTHS[i] = length <= SUBJECT_UNITS ? length : TOO_LONG;
    HASHES[i] =
      identity === undefined || length > SUBJECT_UNITS
        ? 0
        : packIdentity(identity, SUBJECTS, { at: i * SUBJECT_WORDS, start: starts.identities });
  }
  for (let i = 0; i < count; i += 1) FOUND[i] = slots[firstSlot(HASHES[i] ?? 0, slots)] ?? 0;
  for (let i = 0; i < count; i += 1) RECORDS[i] = identities[(FOUND[i] ?? 0) & bits] ?? 0;
  for (let i = 0; i < count; i += 1) {
    RECORDS[i] = recordOf(table, named[from + i]?.provider, i);
  }
  return RECORDS;
}

/** The record of an identity that was hashed. */
function recordOf(table: DecisionTable, provider: string | undefined, index: number): number {
  const length = LENGTHS[index] ?? TOO_LONG;
  if (length === TOO_LONG) return 0;
  const { identities, identitySlots: slots, texts } = table;
  const bits = recordBits(identities.length);
  const hash = HASHES[index] ?? 0;
  for (let slot = firstSlot(hash, slots); ; slot = (slot + 1) & (slots.length - 1)) {
    const found = slots[slot] ?? 0;
    if (found === 0) return 0;
    if (((found ^ hash) & ~bits) !== 0) continue;
    const record = found & bits;
    const head = identities[record] ?? 0;
    if ((head & LENGTH) !== length || texts.providers[head >> 16] !== provider) continue;
    if (isSubject(identities, record + 2, { at: index * SUBJECT_WORDS, length })) return record;
  }
}

/** The index of its holdings in `identities`. They are empty for an identity that the policy does not name. */
export function holdingsOf({ identities }: DecisionTable, record: number): number {
  return record === 0 ? 0 : (identities[record + 1] ?? 0);
}

/** The identity of a record. */
export function identityOf({ identities, texts }: DecisionTable, record: number): Identity {
  const head = identities[record] ?? 0;
  const units: number[] = [];
  for (let i = 0; i < (head & LENGTH); i += 1)
    units.push(((identities[record + 2 + (i >> 1)] ?? 0) >>> (16 * (i & 1))) & 0xffff);
  return { provider: texts.providers[head >> 16] ?? '', subject: String.fromCharCode(...units) };
}

/** Of the first word of a record. */
const LENGTH = EXCLUSIVE - 1;

/** Whether the subject that begins there is the one that was packed. */
function isSubject(identities: Int32Array, first: number, { at, length }: { at: number; length: number }): boolean {
  for (let i = 0; 2 * i < length; i += 1) if (identities[first + i] !== SUBJECTS[at + i]) return false;
  return true;
}

/** The place of the path that was just scanned. */
export function placeOf(table: DecisionTable, text: string, marks: PathMarks): number {
  return placeOfRow(table, rowOf(table, text, marks));
}

/** The place of a result of `rowOf`. */
export function placeOfRow({ rows }: DecisionTable, row: number): number {
  return row >= 0 ? (rows[ROW.words * row + ROW.place] ?? 0) : (rows[ROW.words * ~row + ROW.place] ?? 0) | 1;
}

/** The row of the path that was just scanned, or `~row` of the nearest one above it. */
export function rowOf(table: DecisionTable, text: string, marks: PathMarks): number {
  // The hashes of another policy start elsewhere.
  if (marks.hashes[0] !== table.starts.paths) {
    marks.hashes[0] = table.starts.paths;
    scanPath(text, marks);
  }
  for (let depth = marks.depth; ; depth -= 1) {
    const row = rowAt(table, text, marks, depth);
    if (row >= 0) return depth === marks.depth ? row : ~row;
  }
}

/** The row of the first `depth` segments, or -1. */
function rowAt(table: DecisionTable, text: string, marks: PathMarks, depth: number): number {
  if (depth === 0) return 0;
  const { pathSlots: slots, rows } = table;
  const bits = recordBits(rows.length / ROW.words);
  const hash = marks.hashes[depth] ?? 0;
  for (let slot = firstSlot(hash, slots); ; slot = (slot + 1) & (slots.length - 1)) {
    const found = slots[slot] ?? 0;
    if (found === 0) return -1;
    if (((found ^ hash) & ~bits) !== 0) continue;
    if (isPath(table, found & bits, text, { ends: marks.ends, depth })) return found & bits;
  }
}

/** Compares from the last segment upwards. */
function isPath(
  { rows, segmentBytes }: DecisionTable,
  row: number,
  text: string,
  { ends, depth }: { readonly ends: Int32Array; readonly depth: number },
): boolean {
  let at = row;
  for (let level = depth; level > 0; level -= 1) {
    if (at === 0) return false;
    const bytes = rows[ROW.words * at + ROW.segment] ?? 0;
    const before = ends[level - 1] ?? 0;
    const length = (ends[level] ?? 0) - before - 1;
    if (segmentBytes[bytes] !== length) return false;
    for (let i = 1; i <= length; i += 1) if (segmentBytes[bytes + i] !== text.charCodeAt(before + i)) return false;
    at = rows[ROW.words * at + ROW.parent] ?? 0;
  }
  return at === 0;
}

/** The path of a row. */
export function pathOf(table: DecisionTable, row: number): NamespacePath {
  return row === 0 ? ROOT : (keptOf(table.paths, row) ?? keep(table.paths, row, makePath(table, row)));
}

function makePath({ rows, segmentBytes }: DecisionTable, row: number): NamespacePath {
  const line: number[] = [];
  for (let at = row; at > 0; at = rows[ROW.words * at + ROW.parent] ?? 0) line.push(at);
  const units: number[] = [];
  for (const at of line.reverse()) {
    const bytes = rows[ROW.words * at + ROW.segment] ?? 0;
    units.push(SLASH);
    for (let i = 1; i <= (segmentBytes[bytes] ?? 0); i += 1) units.push(segmentBytes[bytes + i] ?? 0);
  }
  // The segments were checked when the table was made, so joined they are canonical.
  return String.fromCharCode(...units) as NamespacePath;
}
