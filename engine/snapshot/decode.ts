// Turns the bytes of a snapshot file into tables that can be trusted (engine/README.md "The snapshot file"). Any bytes get an
// answer. Nothing in a file is used until everything that a decision depends on has been checked: seal, shape, canonical form,
// order, ranges, limits. No decision reads the decision digest, a label under the seal: labels.ts computes it again.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import { ofEachKind, type PolicyChecks } from '../model/checks.js';
import { groupHolders, type HolderClasses } from '../model/holders.js';
import type { PolicyTables } from '../model/tables.js';
import { noChecks } from './checks.js';
import { decodeTables } from './decode-tables.js';
import {
  type FieldHolds,
  FIELDS_OF_FORMAT,
  type FieldTable,
  isField,
  SNAPSHOT_FIELDS,
  SNAPSHOT_FORMAT,
  type SnapshotBody,
  type SnapshotDocument,
  type SnapshotField,
} from './document.js';
import type { SnapshotFault, SnapshotFaultCode } from './fault.js';
import { type Digest, digestOf } from './hash.js';
import { listFault } from './list-fault.js';

export interface VerifiedSnapshot {
  readonly tables: PolicyTables;
  readonly holders: HolderClasses;
  /** Null in format 1, which has no such field. */
  readonly checks: PolicyChecks | null;
  readonly format: number;
  /** The snapshot digest. */
  readonly digest: Digest;
  /** The decision digest as the file states it. */
  readonly decisions: string;
}

interface Refusal {
  readonly ok: false;
  readonly fault: SnapshotFault;
}

export type DecodeResult = { readonly ok: true; readonly snapshot: VerifiedSnapshot } | Refusal;

/** Never throws, whatever it is given. */
export function decodeSnapshot(bytes: Uint8Array, limits: EngineLimits = ENGINE_LIMITS): DecodeResult {
  const opened = openDocument(bytes, limits);
  if (!opened.ok) return opened;
  const holders = groupHolders(opened.tables, limits.expandedRows);
  if (holders === null) return refuse('snapshot.limit', EXPANDED);
  const { tables, checks, format, digest, decisions } = opened;
  return { ok: true, snapshot: { tables, holders, checks, format, digest, decisions } };
}

const EXPANDED = 'the policy has more rows than the limit once its roles are followed';

interface OpenedDocument extends Omit<VerifiedSnapshot, 'holders'> {
  readonly ok: true;
}

function openDocument(bytes: Uint8Array, limits: EngineLimits): OpenedDocument | Refusal {
  // A caller in plain JavaScript may pass the file's text, or its path.
  if (Object.prototype.toString.call(bytes) !== '[object Uint8Array]')
    return refuse('snapshot.malformed', 'what was given is not bytes: pass the file as a Uint8Array or a Buffer');
  if (bytes.length > limits.snapshotBytes)
    return refuse('snapshot.too_large', 'the file is larger than any snapshot may be');
  const text = sealedText(bytes, limits);
  if (typeof text !== 'string') return { ok: false, fault: text };
  const parsed = parseJson(text);
  const format = formatOf(parsed);
  const hasFamilies = format === SNAPSHOT_FORMAT && fieldOf(fieldOf(parsed, 'snapshot'), 'families') !== undefined;
  const fields = hasFamilies ? SNAPSHOT_FIELDS : FIELDS_OF_FORMAT.get(format ?? SNAPSHOT_FORMAT);
  if (fields === undefined) {
    const reads = [...FIELDS_OF_FORMAT.keys()].join(' and ');
    return refuse('snapshot.format', `the file has format ${String(format)}, this program reads formats ${reads}`);
  }
  const wrong = shapeFault(parsed, fields);
  if (wrong !== null)
    return refuse('snapshot.shape', `the file does not have the fields of its format: ${wrong || 'no object'}`);
  // The cast is safe: the shape was just checked against the same table as the type.
  const document = deepFreeze(parsed as SnapshotDocument);
  // Parsing loses repeated keys, `1.0`, escapes and white space, so a file with any of them differs from its text here.
  if (JSON.stringify(document) !== text) return refuse('snapshot.not_canonical', 'the file is not canonical JSON');
  const { snapshot } = document;
  const tables = decodeTables(snapshot, limits);
  if (typeof tables === 'string') return refuse('snapshot.content', tables);
  const { format: written, decisions } = snapshot;
  return { ok: true, tables, checks: checksOf(snapshot), format: written, digest: digestOf(bytes), decisions };
}

/** What a format could not state yet, a policy of that format did not have. */
function checksOf({ checks }: SnapshotBody): PolicyChecks | null {
  return checks === undefined ? null : deepFreeze(ofEachKind((kind) => checks[kind] ?? noChecks(kind)));
}

const HEAD = '{"seal":"';
const DIGEST_LENGTH = 71;
const MIDDLE = '","snapshot":';
const BODY_START = HEAD.length + DIGEST_LENGTH + MIDDLE.length;

/** What an editor or another text tool did to a snapshot, and how to undo it. Null for anything else. */
function changedText(bytes: Uint8Array): string | null {
  const back = 'its bytes must stay as they were compiled: restore the file, or compile the policy again';
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const head = readAscii(bytes, marked ? 3 : 0, HEAD.length + (marked ? 3 : 0));
  const last = bytes.at(-1);
  if (head === HEAD && marked) return `the file is a snapshot that was given a byte order mark; ${back}`;
  if (head === HEAD && (last === 0x0a || last === 0x0d || last === 0x20))
    return `the file is a snapshot that was given a line end or a space at its end, as editors do; ${back}`;
  const start = /^(?:\u00ef\u00bb\u00bf)?\s*\{\s*"(?:seal|snapshot)"\s*:/;
  if (start.test(readAscii(bytes, 0, Math.min(bytes.length, 200))))
    return `the file is a snapshot that was reformatted or cut short; ${back}`;
  return null;
}

/** The file's text, once the seal has been verified, and it is known that the text can be parsed. */
function sealedText(bytes: Uint8Array, limits: EngineLimits): string | SnapshotFault {
  const framed =
    readAscii(bytes, 0, HEAD.length) === HEAD &&
    readAscii(bytes, HEAD.length + DIGEST_LENGTH, BODY_START) === MIDDLE &&
    bytes.at(-1) === 0x7d;
  if (!framed) return { code: 'snapshot.malformed', message: changedText(bytes) ?? 'the file is not a snapshot' };
  const seal = readAscii(bytes, HEAD.length, HEAD.length + DIGEST_LENGTH);
  const body = bytes.subarray(BODY_START, -1);
  if (digestOf(body) !== seal) {
    return {
      code: 'snapshot.seal',
      message: 'its content does not match the hash in `seal`: the file is damaged or was changed',
    };
  }
  const fault = listFault(body, limits);
  if (fault !== null) return fault;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { code: 'snapshot.malformed', message: 'the file is not UTF-8' };
  }
}

function readAscii(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}

/** Undefined if the text is not JSON; the check of the shape refuses that. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function formatOf(parsed: unknown): number | null {
  const body = fieldOf(parsed, 'snapshot');
  const format = fieldOf(body, 'format');
  return typeof format === 'number' ? format : null;
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}

function refuse(code: SnapshotFaultCode, message: string): Refusal {
  return { ok: false, fault: { code, message } };
}

/**
 * Freezes a tree of plain objects and arrays in place, including what is below nodes that are already frozen: stopping
 * there would leave it mutable.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    // Columns are long lists of integers, so only objects are worth a call.
    const items: readonly unknown[] = value;
    for (let i = 0; i < items.length; i += 1) if (typeof items[i] === 'object') deepFreeze(items[i]);
  } else {
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return Object.freeze(value);
}

// Checks that parsed JSON has exactly the fields of the format, with the types that the table gives, in canonical order.

/** The path of the first wrong field, or null. */
function shapeFault(value: unknown, table: FieldTable, path = ''): string | null {
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

function entryFault(value: unknown, entry: SnapshotField | FieldTable, path: string): string | null {
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
