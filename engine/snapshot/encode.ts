// Turns tables into the columns of the file. Sorted columns become distances or counts, rare values become sparse lists. The keys
// of each object are in code unit order, as in the file.
import { FIRST_INSTANT } from '../model/instant.js';
import { type CheckSum, ofEachKind, type PolicyChecks } from '../model/checks.js';
import {
  countsOf,
  type PolicyTables,
  type SnapshotCounts,
  statedTables,
  type TextColumn,
  type WindowColumns,
} from '../model/tables.js';
import { type Digest, digestOf } from './hash.js';
import { familyColumns } from './family-columns.js';
import { SNAPSHOT_FORMAT, type SnapshotBody, type SparseColumn, type SparseTexts } from './document.js';

export function toSnapshotBody(
  narrowed: PolicyTables,
  { checks, decisions }: { readonly checks: PolicyChecks; readonly decisions: Digest },
): SnapshotBody {
  const tables = statedTables(narrowed);
  const { grants, identities, members, namespaces, roles } = tables;
  const { families, numberOf } = familyColumns(tables, textsOfRows);
  return {
    checks: ofEachKind((kind) => toSum(checks[kind])),
    decisions,
    exclusive: { first: toList(tables.exclusive.first), second: toList(tables.exclusive.second) },
    ...(families === null ? {} : { families }),
    files: tables.files,
    format: SNAPSHOT_FORMAT,
    grants: {
      exact: toDistances(rowsWhere(grants.inherit, (inherit) => inherit === 0)),
      expires: toSparse(grants.expires, Infinity),
      file: toList(grants.file),
      id: grants.id,
      line: toList(grants.line),
      namespace: toList(grants.namespace),
      notBefore: toSparse(grants.notBefore, -Infinity),
      principal: toList(grants.principal),
      reason: toSparseTexts(grants.reason),
      scopes: Array.from(grants.scopes, numberOf),
    },
    identities: { perProvider: toCounts(identities.provider, tables.providers.length), subject: identities.subject },
    members: {
      expires: toSparseOf(members.windows, ({ until }) => until, Infinity),
      file: toList(members.file),
      line: toList(members.line),
      member: toList(members.member),
      notBefore: toSparseOf(members.windows, ({ from }) => from, -Infinity),
      perRole: toCounts(members.role, roles.name.length),
    },
    name: tables.name,
    namespaces: {
      segment: toList(namespaces.segment.subarray(1)),
      up: toList(namespaces.parent.subarray(1).map((parent, index) => index + 1 - parent)),
    },
    providers: tables.providers,
    roles: {
      description: toSparseTexts(roles.description),
      file: toList(roles.file),
      line: toList(roles.line),
      name: roles.name,
    },
    segments: tables.segments,
  };
}

function toSum({ count, digest }: CheckSum): CheckSum {
  return { count, digest };
}

/** The same as spreading, which takes ten times as long. */
function toList(column: Int32Array): readonly number[] {
  const list: number[] = [];
  for (let row = 0; row < column.length; row += 1) list.push(column[row] ?? 0);
  return list;
}

function rowsWhere(column: Iterable<number>, holds: (value: number) => boolean): readonly number[] {
  const rows: number[] = [];
  let row = 0;
  for (const value of column) {
    if (holds(value)) rows.push(row);
    row += 1;
  }
  return rows;
}

function toDistances(rows: readonly number[]): readonly number[] {
  return rows.map((row, index) => row - (rows[index - 1] ?? 0));
}

/** Open ends are infinite in the tables and absent from the file. An end before all time is written as the first instant. */
function toSparse(column: Float64Array, open: number): SparseColumn {
  const rows = rowsWhere(column, (instant) => instant !== open);
  return { at: rows.map((row) => Math.max(column[row] ?? 0, FIRST_INSTANT)), row: toDistances(rows) };
}

function toSparseOf(
  windows: WindowColumns | null,
  read: (windows: WindowColumns) => Float64Array,
  open: number,
): SparseColumn {
  if (windows === null) return { at: [], row: [] };
  const column = read(windows);
  const rows = rowsWhere(column, (instant) => instant !== open);
  return {
    at: rows.map((row) => Math.max(column[row] ?? 0, FIRST_INSTANT)),
    row: toDistances(rows.map((row) => windows.row[row] ?? 0)),
  };
}

function toSparseTexts({ row, text }: TextColumn): SparseTexts {
  return { row: toDistances(toList(row)), text };
}

function textsOfRows(texts: readonly (string | null)[]): SparseTexts {
  const rows = texts.flatMap((one, row) => (one === null ? [] : [{ row, one }]));
  return { row: toDistances(rows.map(({ row }) => row)), text: rows.map(({ one }) => one) };
}

function toCounts(column: Int32Array, keys: number): readonly number[] {
  const counts = new Array<number>(keys).fill(0);
  for (const key of column) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

// Turns tables into the bytes of a snapshot file: the document and its seal, as one canonical text.

export interface CompiledSnapshot {
  /** The file: canonical JSON in UTF-8, without a trailing newline. */
  readonly bytes: Uint8Array;
  /** The snapshot digest: the digest of exactly these bytes. */
  readonly digest: Digest;
  /** The decision digest. */
  readonly decisions: Digest;
  readonly counts: SnapshotCounts;
}

/**
 * The body is written once, by `JSON.stringify`. Its text is canonical because `toSnapshotBody` makes plain lists with keys in
 * canonical order. Loading compares each file with the same text. Null if JavaScript has no text of that length, which is more than
 * the limit of bytes.
 */
export function sealSnapshot(
  tables: PolicyTables,
  stated: { readonly checks: PolicyChecks; readonly decisions: Digest },
): CompiledSnapshot | null {
  const { decisions } = stated;
  const text = sealedText(toSnapshotBody(tables, stated));
  if (text === null) return null;
  const bytes = new TextEncoder().encode(text);
  return { bytes, digest: digestOf(bytes), decisions, counts: countsOf(tables) };
}

function sealedText(snapshot: SnapshotBody): string | null {
  try {
    const body = JSON.stringify(snapshot);
    // The seal covers all of the body.
    return `{"seal":"${digestOf(body)}","snapshot":${body}}`;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
