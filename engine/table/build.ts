// Builds the decision table from verified tables. Everything is computed once, when a policy is loaded, and never
// changes afterwards.
import { statedId } from '../model/narrow-members.js';
import type { HolderClasses } from '../model/holders.js';
import { invariant } from '../model/invariant.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import { listRows } from '../model/row-lists.js';
import { hashUnit } from '../model/scan-path.js';
import type { PolicyTables } from '../model/tables.js';
import {
  type DecisionTable,
  EXCLUSIVE,
  layOut,
  openTable,
  ROW,
  type TableColumns,
  type TableSizes,
  type TableStarts,
  type TableTexts,
} from './columns.js';
import { makeRuns, type NodeNumbers } from './runs.js';
import { fillSlots, packIdentity, putRecord, recordBits, slotCount, startsOf } from './slots.js';

/** A table that one thread builds and another may open. */
export interface BuiltTable {
  /** Shared, so that another thread needs no copy, except where the platform has no shared memory (most pages of a browser). */
  readonly buffer: ArrayBufferLike;
  readonly sizes: TableSizes;
  readonly starts: TableStarts;
  readonly texts: TableTexts;
}

/** Limited by the bits of a place (steps.ts), and of an entry in the head of a run. */
const MOST_GRANTS = 1 << 21;

/** `digest` is that of the snapshot: the hashes of the table start with it. */
export function buildTable(tables: PolicyTables, holders: HolderClasses, digest: string): BuiltTable {
  const { grants, namespaces, roles, segments } = tables;
  const ids = tables.narrowed === undefined ? grants.id : grants.id.map(statedId);
  const subjects = tables.identities.subject;
  invariant(grants.id.length < MOST_GRANTS, 'places and entries fit into their bits');
  const principals = roles.name.length + subjects.length;
  const byNamespace = listRows(grants.namespace, namespaces.parent.length);
  const byPrincipal = listRows(grants.principal, principals, byNamespace.rows);
  const nodes = findNodes(tables);
  const { runs, runUpper, runStart, listNode, listUpper, list, sets, windowGrant } = makeRuns(
    tables,
    byPrincipal,
    nodes,
  );
  const sizes: TableSizes = {
    rows: namespaces.parent.length,
    nodes: nodes.before.at(-1) ?? 0,
    segmentBytes: segments.length + totalLength(segments),
    pathSlots: slotCount(namespaces.parent.length),
    identityWords: identityWords(tables, holders),
    identitySlots: slotCount(subjects.length),
    principals,
    runWords: runs.length,
    runUpper: runUpper.length,
    listUpper: listUpper.length,
    setWords: sets.length,
    grants: grants.id.length,
    windows: windowGrant.length,
    pairs: tables.exclusive.first.length,
    idBytes: totalLength(ids),
  };
  const { bytes } = layOut(sizes, null);
  const buffer = typeof SharedArrayBuffer === 'undefined' ? new ArrayBuffer(bytes) : new SharedArrayBuffer(bytes);
  const { columns } = layOut(sizes, buffer);
  columns.windowGrant.set(windowGrant);
  columns.windowFrom.set(Float64Array.from(windowGrant, (grant) => grants.notBefore[grant] ?? 0));
  columns.windowUntil.set(Float64Array.from(windowGrant, (grant) => grants.expires[grant] ?? 0));
  const starts = startsOf(digest);
  const paths = putPaths(tables, nodes, { columns, starts });
  const identities = putIdentities(tables, { holders, runStart }, { columns, starts });
  columns.runStart.set(runStart);
  columns.runs.set(runs);
  columns.runUpper.set(runUpper);
  columns.listNode.set(listNode);
  columns.listUpper.set(listUpper);
  columns.sets.set(sets);
  columns.list.set(list);
  columns.grantFile.set(grants.file);
  columns.grantLine.set(grants.line);
  putIds(ids, columns);
  const texts = { providers: tables.providers, files: tables.files, ownScopes: tables.vocabulary.own };
  return { buffer, sizes, starts: { paths, identities }, texts };
}

/** Opens a table that was built here or in another thread. */
export function openBuilt({ buffer, sizes, starts, texts }: BuiltTable): DecisionTable {
  return openTable(layOut(sizes, buffer).columns, { starts, texts });
}

function totalLength(texts: readonly string[]): number {
  let sum = 0;
  for (const text of texts) sum += text.length;
  return sum;
}

/** The nodes: the root, and the namespaces that grants name. */
function findNodes({ grants, namespaces }: PolicyTables): NodeNumbers {
  const rows = namespaces.parent.length;
  const isNode = new Uint8Array(rows);
  isNode[0] = 1;
  for (const row of grants.namespace) isNode[row] = 1;
  const before = new Int32Array(rows + 1);
  isNode.forEach((is, row) => {
    before[row + 1] = (before[row] ?? 0) + is;
  });
  return { before, subtreeEnd: subtreeEnds(namespaces.parent) };
}

const SLASH = 0x2f;

/** Where to put hashed things, and the starts to choose from for their hashes. */
interface Filling {
  readonly columns: TableColumns;
  readonly starts: readonly number[];
}

/** Returns the start of the hashes. */
function putPaths(tables: PolicyTables, { before, subtreeEnd }: NodeNumbers, { columns, starts }: Filling): number {
  const { nodeRow, pathSlots, rows } = columns;
  const { parent, segment } = tables.namespaces;
  const segmentAt = putSegments(tables.segments, columns.segmentBytes);
  parent.forEach((above, row) => {
    const at = ROW.words * row;
    const node = before[row] ?? 0;
    const isNode = node !== before[row + 1];
    // The node is the last of the rows with its number.
    nodeRow[node] = row;
    rows[at + ROW.parent] = above;
    rows[at + ROW.segment] = segmentAt[segment[row] ?? 0] ?? 0;
    rows[at + ROW.place] = isNode ? 2 * node : (rows[ROW.words * above + ROW.place] ?? 0) | 1;
    rows[at + ROW.end] = subtreeEnd[row] ?? 0;
  });
  return fillSlots(pathSlots, starts, (start, most) => hashPaths(tables, pathSlots, { start, most }));
}

/** Hashes paths as `scanPath` does: a slash and the segment, after the hash of the parent. */
function hashPaths(
  { namespaces: { parent, segment }, segments }: PolicyTables,
  slots: Int32Array,
  { start, most }: { readonly start: number; readonly most: number },
): boolean {
  const hashes = new Int32Array(parent.length);
  hashes[0] = start;
  const bits = recordBits(parent.length);
  for (let row = 1; row < parent.length; row += 1) {
    const text = segments[segment[row] ?? 0] ?? '';
    let hash = hashUnit(hashes[parent[row] ?? 0] ?? 0, SLASH);
    for (let i = 0; i < text.length; i += 1) hash = hashUnit(hash, text.charCodeAt(i));
    hashes[row] = hash;
    if (!putRecord(slots, hash, { record: row, bits, most })) return false;
  }
  return true;
}

/** Writes the segments and returns where each one is. They are ASCII, so code units are bytes. */
function putSegments(segments: readonly string[], bytes: Uint8Array): Int32Array {
  const start = new Int32Array(segments.length);
  let at = 0;
  segments.forEach((text, segment) => {
    start[segment] = at;
    bytes[at] = text.length;
    at += 1;
    for (let i = 0; i < text.length; i += 1, at += 1) bytes[at] = text.charCodeAt(i);
  });
  return start;
}

/** Ids are ASCII, too. */
function putIds(ids: readonly string[], { idBytes, idStart }: TableColumns): void {
  let at = 0;
  ids.forEach((text, grant) => {
    idStart[grant] = at;
    for (let i = 0; i < text.length; i += 1, at += 1) idBytes[at] = text.charCodeAt(i);
  });
  idStart[ids.length] = at;
}

/** The number of words: the empty holdings, then a record for each identity and holdings for each class. */
function identityWords({ identities }: PolicyTables, holders: HolderClasses): number {
  let words = 1 + holders.count + holders.principals.length;
  for (const subject of identities.subject) words += 2 + subjectWords(subject);
  return words;
}

function subjectWords({ length }: string): number {
  return (length + 1) >> 1;
}

/** Returns the start of the hashes. */
function putIdentities(
  tables: PolicyTables,
  { holders, runStart }: { readonly holders: HolderClasses; readonly runStart: Int32Array },
  { columns: { exclusiveFirst, exclusiveSecond, identities: words, identitySlots }, starts }: Filling,
): number {
  const { identities, providers } = tables;
  const holdingsAt = new Int32Array(holders.count);
  const records = new Int32Array(identities.subject.length);
  let at = 1;
  identities.subject.forEach((subject, row) => {
    const record = at;
    records[row] = record;
    words[record] = ((identities.provider[row] ?? 0) << 16) | subject.length;
    at += 2 + subjectWords(subject);
    const holder = holders.classOf[row] ?? -1;
    if (holder < 0) return;
    if (holdingsAt[holder] === 0) {
      holdingsAt[holder] = at;
      const [first, end] = [holders.start[holder] ?? 0, holders.start[holder + 1] ?? 0];
      words[at] = end - first;
      at += 1;
      for (let i = first; i < end; i += 1, at += 1) words[at] = runStart[holders.principals[i] ?? 0] ?? 0;
    }
    words[record + 1] = holdingsAt[holder] ?? 0;
  });
  // Records ascend with the rows, so the pairs stay sorted.
  for (const [of, to] of [
    [tables.exclusive.first, exclusiveFirst],
    [tables.exclusive.second, exclusiveSecond],
  ] as const) {
    of.forEach((row, i) => {
      const record = records[row] ?? 0;
      to[i] = record;
      words[record] = (words[record] ?? 0) | EXCLUSIVE;
    });
  }
  const bits = recordBits(words.length);
  return fillSlots(identitySlots, starts, (start, most) =>
    identities.subject.every((subject, row) => {
      const provider = providers[identities.provider[row] ?? 0] ?? '';
      const record = records[row] ?? 0;
      const hash = packIdentity({ provider, subject }, words, { at: record + 2, start });
      return putRecord(identitySlots, hash, { record, bits, most });
    }),
  );
}
