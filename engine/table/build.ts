// Verified tables to the decision table. Everything is computed once, when a policy is loaded; nothing changes
// afterwards.
import type { HolderClasses } from '../model/holders.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import { listRows } from '../model/row-lists.js';
import { hashUnit } from '../model/scan-path.js';
import type { PolicyTables } from '../model/tables.js';
import {
  type DecisionTable,
  layOut,
  openTable,
  type TableColumns,
  type TableSizes,
  type TableTexts,
} from './columns.js';
import { hashIdentity, putRow, slotCount } from './slots.js';
import { makeSteps } from './steps.js';

/** What is built in one thread and may be opened in another. */
export interface BuiltTable {
  readonly buffer: SharedArrayBuffer;
  readonly sizes: TableSizes;
  readonly texts: TableTexts;
}

export function buildTable(tables: PolicyTables, holders: HolderClasses): BuiltTable {
  const { grants, identities, namespaces, roles, segments } = tables;
  const principals = roles.name.length + identities.subject.length;
  const byNamespace = listRows(grants.namespace, namespaces.parent.length);
  const byPrincipal = listRows(grants.principal, principals, byNamespace.rows);
  const subtreeEnd = subtreeEnds(namespaces.parent);
  const steps = makeSteps(tables, byPrincipal, subtreeEnd);
  const windows = windowedGrants(tables);
  const sizes: TableSizes = {
    namespaces: namespaces.parent.length,
    segments: segments.length,
    segmentBytes: totalLength(segments),
    pathSlots: slotCount(namespaces.parent.length),
    providers: tables.providers.length,
    identities: identities.subject.length,
    subjectUnits: totalLength(identities.subject),
    identitySlots: slotCount(identities.subject.length),
    roles: roles.name.length,
    classes: holders.count,
    classPrincipals: holders.principals.length,
    steps: steps.place.length,
    grants: grants.id.length,
    windows: windows.length,
    idBytes: totalLength(grants.id),
  };
  const buffer = new SharedArrayBuffer(layOut(sizes, null).bytes);
  const { columns } = layOut(sizes, buffer);
  columns.windowGrant.set(windows);
  columns.windowFrom.set(Float64Array.from(windows, (grant) => grants.notBefore[grant] ?? 0));
  columns.windowUntil.set(Float64Array.from(windows, (grant) => grants.expires[grant] ?? 0));
  columns.parent.set(namespaces.parent);
  columns.subtreeEnd.set(subtreeEnd);
  columns.segment.set(namespaces.segment);
  putTexts(segments, columns.segmentStart, columns.segmentBytes);
  putPaths(tables, columns);
  putIdentities(tables, columns);
  columns.classOf.set(holders.classOf);
  columns.classStart.set(holders.start);
  columns.classPrincipals.set(holders.principals);
  columns.stepStart.set(steps.start);
  columns.stepPlace.set(steps.place);
  columns.stepRights.set(steps.rights);
  columns.listStart.set(byPrincipal.start);
  columns.listGrant.set(byPrincipal.rows);
  columns.listNamespace.set(byPrincipal.rows.map((grant) => grants.namespace[grant] ?? 0));
  columns.listOuter.set(steps.outer);
  columns.grantFile.set(grants.file);
  columns.grantLine.set(grants.line);
  columns.grantScopes.set(grants.scopes);
  columns.inherit.set(grants.inherit);
  putTexts(grants.id, columns.idStart, columns.idBytes);
  return { buffer, sizes, texts: { providers: tables.providers, files: tables.files } };
}

/** A table that somebody has built, perhaps in another thread. */
export function openBuilt({ buffer, sizes, texts }: BuiltTable): DecisionTable {
  return openTable(layOut(sizes, buffer).columns, texts);
}

function windowedGrants({ grants }: PolicyTables): Int32Array {
  const rows: number[] = [];
  for (let grant = 0; grant < grants.id.length; grant += 1) {
    if (grants.notBefore[grant] !== -Infinity || grants.expires[grant] !== Infinity) rows.push(grant);
  }
  return Int32Array.from(rows);
}

function totalLength(texts: readonly string[]): number {
  let sum = 0;
  for (const text of texts) sum += text.length;
  return sum;
}

/** Code units one after the other; names and segments are ASCII, so that theirs are bytes. */
function putTexts(texts: readonly string[], start: Int32Array, units: Uint8Array | Uint16Array): void {
  let at = 0;
  for (let row = 0; row < texts.length; row += 1) {
    const text = texts[row] ?? '';
    start[row] = at;
    for (let i = 0; i < text.length; i += 1) units[at + i] = text.charCodeAt(i);
    at += text.length;
  }
  start[texts.length] = at;
}

const SLASH = 0x2f;

/** As `scanPath` hashes them: a slash and the segment after the hash of the parent. */
function putPaths({ namespaces, segments }: PolicyTables, { pathSlots }: TableColumns): void {
  const { parent, segment } = namespaces;
  const hashes = new Int32Array(parent.length);
  hashes[0] = 0x811c9dc5 | 0;
  for (let row = 1; row < parent.length; row += 1) {
    const text = segments[segment[row] ?? 0] ?? '';
    let hash = hashUnit(hashes[parent[row] ?? 0] ?? 0, SLASH);
    for (let i = 0; i < text.length; i += 1) hash = hashUnit(hash, text.charCodeAt(i));
    hashes[row] = hash;
    putRow(pathSlots, hash, row);
  }
}

function putIdentities({ identities, providers }: PolicyTables, columns: TableColumns): void {
  const { provider, subject } = identities;
  putTexts(subject, columns.subjectStart, columns.subjectUnits);
  for (let row = 0; row < subject.length; row += 1) {
    putRow(columns.identitySlots, hashIdentity(providers[provider[row] ?? 0] ?? '', subject[row] ?? ''), row);
    columns.providerStart[(provider[row] ?? 0) + 1] = row + 1;
  }
  // A provider without identities begins where the one before ends.
  for (let at = 1; at <= providers.length; at += 1)
    columns.providerStart[at] = Math.max(columns.providerStart[at] ?? 0, columns.providerStart[at - 1] ?? 0);
}
