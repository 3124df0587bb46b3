// The decision table: everything that a loaded policy needs to decide and to cite, as integer columns in one buffer
// that threads can share. engine/README.md "The decision table" says how a decision reads it. What one look-up needs is
// stored side by side, because most of the time is spent on memory that is not in a cache.
//
// A *node* is the root or a namespace that a grant names. A *place* is a namespace class as one integer: `2 * node` is
// the namespace of a node, `2 * node + 1` is every path below it that has no nearer node. Nodes are numbered in path
// order, so a grant reaches one run of places.
import type { GrantRef } from '../model/decision.js';
import type { NamespacePath } from '../model/namespace.js';
import { type KeptRows, makeKept } from './kept.js';
import { indexOwn, type OwnScopes } from './own-scopes.js';
import type { MeantColumn } from './steps.js';

/** The lengths of the columns. With these and the buffer, the table can be read. */
export interface TableSizes {
  readonly rows: number;
  readonly nodes: number;
  readonly segmentBytes: number;
  readonly pathSlots: number;
  readonly identityWords: number;
  readonly identitySlots: number;
  readonly principals: number;
  readonly runWords: number;
  /** 0 unless numbers of sets need more than the ten bits of a step; so for `listUpper`. */
  readonly runUpper: number;
  readonly listUpper: number;
  /** Two words for each set of scopes; 0 if sets are their own bits. */
  readonly setWords: number;
  readonly grants: number;
  readonly windows: number;
  readonly pairs: number;
  readonly idBytes: number;
}

/** Where the hashes of paths and identities start (slots.ts). */
export interface TableStarts {
  readonly paths: number;
  readonly identities: number;
}

/** Texts of the table that are few. */
export interface TableTexts {
  readonly providers: readonly string[];
  readonly files: readonly string[];
  /** Scopes of declared families, sorted. */
  readonly ownScopes: readonly string[];
}

/** The entry of a row of the trie in `rows`: four words. */
export const ROW = {
  words: 4,
  /** The row of the parent; -1 for the root. */
  parent: 0,
  /** Where its segment is in `segmentBytes`. */
  segment: 1,
  /** The place of its node, or the place below the nearest node above it. */
  place: 2,
  /** The row after the last one of the subtree. */
  end: 3,
} as const;

/** The entry of a grant in `list`: three words. */
export const GRANT = {
  words: 3,
  /** `(the node after the last one of the subtree) << 2`, and the two bits below. */
  end: 0,
  /** The nearest earlier entry of the same principal with a subtree that holds this one, or -1. */
  outer: 1,
  /** The row of the grant; for a grant with a window, the row of the window. */
  row: 2,
} as const;
/** A bit in the first word of an identity's record. Subjects are shorter. */
export const EXCLUSIVE = 0x8000;
/** The grant also counts below its own namespace. */
export const INHERITED = 2;
/** The grant has a window. */
export const WINDOWED = 1;

export interface TableColumns {
  /** By window, in the order of `list`: when the grant is in force, and the grant's row. */
  readonly windowFrom: Float64Array;
  readonly windowUntil: Float64Array;
  readonly windowGrant: Int32Array;

  /** Hash slots from paths to rows (slots.ts). */
  readonly pathSlots: Int32Array;
  readonly rows: Int32Array;
  /** The row of each node. */
  readonly nodeRow: Int32Array;

  /** Hash slots from identities to their records (slots.ts). */
  readonly identitySlots: Int32Array;
  /**
   * A record for each identity: provider and length of the subject, `provider << 16 | length`, with `EXCLUSIVE` if it
   * stands in `exclusive`; the index of its holdings; the subject, two UTF-16 units in a word. *Holdings* are the runs of the principals that the identity
   * holds: their number, then the index of each in `runs`. Identities that hold the same grants share one list, which
   * follows the record of the first of them. The empty list is at 0.
   */
  readonly identities: Int32Array;

  /** Records of identities of which no actor may have both, as sorted pairs. */
  readonly exclusiveFirst: Int32Array;
  readonly exclusiveSecond: Int32Array;

  /** The index of each principal's run; 0 is an empty run. */
  readonly runStart: Int32Array;
  /**
   * A run for each principal with grants. Its first word is `entry << 10 | set`: the first of its entries in `list`,
   * which end where those of the next run begin, and all scopes that they carry. Then follows what the principal holds
   * where, as step functions (steps.ts). `runUpper` has the upper bits of its sets.
   */
  readonly runs: Int32Array;
  readonly runUpper: Uint16Array;
  /**
   * Grants by principal, and by node within a principal: `node << 10 | set`. Apart from the other fields, because it
   * is searched. `listUpper` has the upper bits of its sets.
   */
  readonly listNode: Int32Array;
  readonly listUpper: Uint16Array;
  /** What the numbers of sets mean (scope-numbers.ts). */
  readonly sets: Int32Array;
  readonly list: Int32Array;

  readonly grantFile: Int32Array;
  readonly grantLine: Int32Array;
  readonly idStart: Int32Array;
  readonly idBytes: Uint8Array;
  /** For each segment its length, then its letters. */
  readonly segmentBytes: Uint8Array;
}

/**
 * Lays the columns over a buffer, the widest first, so that each is aligned. Without a buffer only their bytes are
 * counted.
 */
export function layOut(sizes: TableSizes, buffer: ArrayBufferLike | null): { columns: TableColumns; bytes: number } {
  let bytes = 0;
  const take = (length: number, width: number): [ArrayBufferLike, number, number] => {
    const start = bytes;
    bytes += length * width;
    return buffer === null ? [EMPTY, 0, 0] : [buffer, start, length];
  };
  const doubles = (length: number): Float64Array => new Float64Array(...take(length, 8));
  const words = (length: number): Int32Array => new Int32Array(...take(length, 4));
  const halves = (length: number): Uint16Array => new Uint16Array(...take(length, 2));
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
    exclusiveFirst: words(sizes.pairs),
    exclusiveSecond: words(sizes.pairs),
    runStart: words(sizes.principals),
    runs: words(sizes.runWords),
    listNode: words(sizes.grants),
    list: words(GRANT.words * sizes.grants),
    grantFile: words(sizes.grants),
    grantLine: words(sizes.grants),
    idStart: words(sizes.grants + 1),
    sets: words(sizes.setWords),
    runUpper: halves(sizes.runUpper),
    listUpper: halves(sizes.listUpper),
    idBytes: octets(sizes.idBytes),
    segmentBytes: octets(sizes.segmentBytes),
  };
  return { columns, bytes };
}

const EMPTY = new ArrayBuffer(0);

/** The columns of one loaded policy, with its few texts and what recent answers contained. */
export interface DecisionTable extends TableColumns {
  /** Of runs and of the list, in the form that searches take. */
  readonly runSets: MeantColumn;
  readonly listSets: MeantColumn;
  readonly ownScopes: OwnScopes;
  readonly starts: TableStarts;
  readonly texts: TableTexts;
  readonly refs: KeptRows<GrantRef>;
  readonly paths: KeptRows<NamespacePath>;
}

export function openTable(
  columns: TableColumns,
  { starts, texts }: { readonly starts: TableStarts; readonly texts: TableTexts },
): DecisionTable {
  const rows = columns.rows.length / ROW.words;
  return {
    ...columns,
    runSets: { words: columns.runs, upper: columns.runUpper, sets: columns.sets },
    listSets: { words: columns.listNode, upper: columns.listUpper, sets: columns.sets },
    ownScopes: indexOwn(texts.ownScopes),
    starts,
    texts,
    refs: makeKept(columns.grantFile.length),
    paths: makeKept(rows),
  };
}
