// The decision table: everything that a loaded policy decides with and cites, as integer columns in one buffer that threads
// can share. engine/README.md "The decision table" says how a decision reads it.
//
// A *place* is a namespace class as one integer: `2 * row` is the namespace of a row, `2 * row + 1` every path below it that
// is at or below no other row. Rows are in path order, so what a grant reaches is one run of places.
import type { GrantRef } from '../model/decision.js';

/** How long the columns are; all that has to be known besides the buffer to read it. */
export interface TableSizes {
  readonly namespaces: number;
  readonly segments: number;
  readonly segmentBytes: number;
  readonly pathSlots: number;
  readonly providers: number;
  readonly identities: number;
  readonly subjectUnits: number;
  readonly identitySlots: number;
  readonly roles: number;
  readonly classes: number;
  readonly classPrincipals: number;
  readonly steps: number;
  readonly grants: number;
  readonly windows: number;
  readonly idBytes: number;
}

/** Texts of which there are few. */
export interface TableTexts {
  readonly providers: readonly string[];
  readonly files: readonly string[];
}

export interface TableColumns {
  /** Of grants with a window, sorted: their rows, and when they are in force. */
  readonly windowFrom: Float64Array;
  readonly windowUntil: Float64Array;
  readonly windowGrant: Int32Array;

  /** Open addressing: the hash of a path, and one more than its row, or 0. */
  readonly pathSlots: Int32Array;
  /** Of the root -1. */
  readonly parent: Int32Array;
  /** The row after the last one of the subtree. */
  readonly subtreeEnd: Int32Array;
  readonly segment: Int32Array;
  /** Of segment `s` the bytes are `segmentBytes[segmentStart[s]]` up to `segmentBytes[segmentStart[s + 1]]`. */
  readonly segmentStart: Int32Array;

  /** Open addressing: the hash of an identity, and one more than its row, or 0. */
  readonly identitySlots: Int32Array;
  /** Of each provider the first identity, and the number of all at the end. */
  readonly providerStart: Int32Array;
  readonly subjectStart: Int32Array;
  /** The class of identities that hold the same grants, or -1. */
  readonly classOf: Int32Array;
  readonly classStart: Int32Array;
  /** Principals by class: the row of a role, or the number of roles plus the row of an identity. */
  readonly classPrincipals: Int32Array;

  /** By principal, what it holds as a step function over places: from `stepPlace` up to the next, `stepRights`. */
  readonly stepStart: Int32Array;
  readonly stepPlace: Int32Array;
  /** Ten bits of scopes that are held always, then ten of those held at some time. */
  readonly stepRights: Int32Array;

  /**
   * By principal its grants, those of one principal sorted by namespace; `listOuter` is the nearest before that reaches
   * this one.
   */
  readonly listStart: Int32Array;
  readonly listGrant: Int32Array;
  readonly listNamespace: Int32Array;
  readonly listOuter: Int32Array;

  readonly grantFile: Int32Array;
  readonly grantLine: Int32Array;
  readonly idStart: Int32Array;
  readonly grantScopes: Uint16Array;
  /** UTF-16 units, as subjects are compared. */
  readonly subjectUnits: Uint16Array;
  /** 1, or 0 for a grant that counts at its own namespace only. */
  readonly inherit: Uint8Array;
  readonly idBytes: Uint8Array;
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
  const halves = (length: number): Uint16Array => new Uint16Array(...take(length, 2));
  const octets = (length: number): Uint8Array => new Uint8Array(...take(length, 1));
  const principals = sizes.roles + sizes.identities;
  const columns = {
    windowFrom: doubles(sizes.windows),
    windowUntil: doubles(sizes.windows),
    windowGrant: words(sizes.windows),
    pathSlots: words(2 * sizes.pathSlots),
    parent: words(sizes.namespaces),
    subtreeEnd: words(sizes.namespaces),
    segment: words(sizes.namespaces),
    segmentStart: words(sizes.segments + 1),
    identitySlots: words(2 * sizes.identitySlots),
    providerStart: words(sizes.providers + 1),
    subjectStart: words(sizes.identities + 1),
    classOf: words(sizes.identities),
    classStart: words(sizes.classes + 1),
    classPrincipals: words(sizes.classPrincipals),
    stepStart: words(principals + 1),
    stepPlace: words(sizes.steps),
    stepRights: words(sizes.steps),
    listStart: words(principals + 1),
    listGrant: words(sizes.grants),
    listNamespace: words(sizes.grants),
    listOuter: words(sizes.grants),
    grantFile: words(sizes.grants),
    grantLine: words(sizes.grants),
    idStart: words(sizes.grants + 1),
    grantScopes: halves(sizes.grants),
    subjectUnits: halves(sizes.subjectUnits),
    inherit: octets(sizes.grants),
    idBytes: octets(sizes.idBytes),
    segmentBytes: octets(sizes.segmentBytes),
  };
  return { columns, bytes };
}

const EMPTY = new ArrayBuffer(0);

/** The columns of one loaded policy, with the few texts that stand beside them. */
export interface DecisionTable extends TableColumns {
  readonly texts: TableTexts;
  /** References made lately, as answers tend to cite the same grants again; a row keeps to the slot of its remainder. */
  readonly refs: (KeptRef | undefined)[];
}

interface KeptRef {
  readonly row: number;
  readonly ref: GrantRef;
}

const KEPT_REFS = 1 << 16;

export function openTable(columns: TableColumns, texts: TableTexts): DecisionTable {
  const kept = Math.max(1, Math.min(columns.listGrant.length, KEPT_REFS));
  return { ...columns, texts, refs: new Array<KeptRef | undefined>(kept).fill(undefined) };
}
