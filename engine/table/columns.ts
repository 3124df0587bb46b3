// The decision table: everything that a loaded policy decides with and cites, as integer columns in one buffer that threads
// can share. engine/README.md "The decision table" says how a decision reads it. What one look needs stands side by side, since
// time goes into memory that no cache holds.
//
// A *node* is the root or a namespace that a grant names, and a *place* is a namespace class as one integer: `2 * node` is the
// namespace of a node, `2 * node + 1` every path below it that is at or below no other node. Nodes are numbered in path order, so
// what a grant reaches is one run of places.
import type { GrantRef } from '../model/decision.js';
import type { NamespacePath } from '../model/namespace.js';
import { type Kept, makeKept } from './kept.js';

/** How long the columns are; all that has to be known besides the buffer to read it. */
export interface TableSizes {
  readonly rows: number;
  readonly nodes: number;
  readonly segmentBytes: number;
  readonly pathSlots: number;
  readonly identityWords: number;
  readonly identitySlots: number;
  readonly principals: number;
  readonly runWords: number;
  readonly grants: number;
  readonly windows: number;
  readonly idBytes: number;
}

/** Texts of which there are few. */
export interface TableTexts {
  readonly providers: readonly string[];
  readonly files: readonly string[];
}

/** The entry of a row of the trie in `rows`: four words. */
export const ROW = {
  words: 4,
  /** Of the root -1. */
  parent: 0,
  /** Where its segment is in `segmentBytes`. */
  segment: 1,
  /** That of its node, or the one below the nearest node above it. */
  place: 2,
  /** The row after the last one of the subtree. */
  end: 3,
} as const;

/** The entry of a grant in `list`: three words. */
export const GRANT = {
  words: 3,
  /** `(the node after the last one of the subtree) << 2`, and the two bits below. */
  end: 0,
  /** The nearest entry before it, of the same principal, whose subtree holds this one, or -1. */
  outer: 1,
  /** Its row; with a window the row of that. */
  row: 2,
} as const;
/** Counts below its own namespace too. */
export const INHERITED = 2;
/** Has a window. */
export const WINDOWED = 1;

export interface TableColumns {
  /** By window, in the order of `list`: when the grant is in force, and its row. */
  readonly windowFrom: Float64Array;
  readonly windowUntil: Float64Array;
  readonly windowGrant: Int32Array;

  /** Of paths to rows (slots.ts). */
  readonly pathSlots: Int32Array;
  readonly rows: Int32Array;
  /** By node, its row. */
  readonly nodeRow: Int32Array;

  /** Of identities to their records (slots.ts). */
  readonly identitySlots: Int32Array;
  /**
   * Of each identity a record: provider and length of the subject, `provider << 16 | length`; where its holdings are; the subject,
   * two UTF-16 units in a word. *Holdings* are the runs of the principals that it holds: how many, then where each is in `runs`. Those
   * of identities that hold the same grants are one list, behind the record of the first of them; at 0 is the empty one.
   */
  readonly identities: Int32Array;

  /** By principal where its run is; 0 is an empty one. */
  readonly runStart: Int32Array;
  /**
   * Of each principal with grants a run: `entry << 10 | scopes`, the first of its entries in `list`, which end where those of the next run
   * begin, and all scopes that they carry; then what it holds where, as step functions (steps.ts).
   */
  readonly runs: Int32Array;
  /** Grants by principal, those of one principal sorted by node: `node << 10 | scopes`, apart from the rest since it is searched. */
  readonly listNode: Int32Array;
  readonly list: Int32Array;

  readonly grantFile: Int32Array;
  readonly grantLine: Int32Array;
  readonly idStart: Int32Array;
  readonly idBytes: Uint8Array;
  /** Of each segment its length, then its letters. */
  readonly segmentBytes: Uint8Array;
}

/** The columns over a buffer, the widest first, so that each is aligned. Without one only their bytes are counted. */
export function layOut(sizes: TableSizes, buffer: SharedArrayBuffer | null): { columns: TableColumns; bytes: number } {
  let bytes = 0;
  const take = (length: number, width: number): [SharedArrayBuffer | ArrayBuffer, number, number] => {
    const start = bytes;
    bytes += length * width;
    return buffer === null ? [EMPTY, 0, 0] : [buffer, start, length];
  };
  const doubles = (length: number): Float64Array => new Float64Array(...take(length, 8));
  const words = (length: number): Int32Array => new Int32Array(...take(length, 4));
  const octets = (length: number): Uint8Array => new Uint8Array(...take(length, 1));
  const columns = {
    windowFrom: doubles(sizes.windows),
    windowUntil: doubles(sizes.windows),
    windowGrant: words(sizes.windows),
    pathSlots: words(sizes.pathSlots),
    rows: words(ROW.words * sizes.rows),
    nodeRow: words(sizes.nodes),
    identitySlots: words(sizes.identitySlots),
    identities: words(sizes.identityWords),
    runStart: words(sizes.principals),
    runs: words(sizes.runWords),
    listNode: words(sizes.grants),
    list: words(GRANT.words * sizes.grants),
    grantFile: words(sizes.grants),
    grantLine: words(sizes.grants),
    idStart: words(sizes.grants + 1),
    idBytes: octets(sizes.idBytes),
    segmentBytes: octets(sizes.segmentBytes),
  };
  return { columns, bytes };
}

const EMPTY = new ArrayBuffer(0);

/** The columns of one loaded policy, with the few texts that stand beside them, and what answers said lately. */
export interface DecisionTable extends TableColumns {
  readonly texts: TableTexts;
  readonly refs: Kept<GrantRef>;
  readonly paths: Kept<NamespacePath>;
}

export function openTable(columns: TableColumns, texts: TableTexts): DecisionTable {
  const rows = columns.rows.length / ROW.words;
  return { ...columns, texts, refs: makeKept(columns.grantFile.length), paths: makeKept(rows) };
}
