// Tables to the form that answers are read from: lookups by text, and the grants in two more orders. Built once when a
// policy is loaded, never changed, never handed out.
import { ROOT, type NamespacePath } from '../model/namespace.js';
import type { HolderClasses } from '../model/holders.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import { listRows, type RowLists } from '../model/row-lists.js';
import type { PolicyTables } from '../model/tables.js';

/** What loading has worked out and verified. */
export interface LoadedTables {
  readonly tables: PolicyTables;
  readonly holders: HolderClasses;
}

export interface PreparedPolicy extends LoadedTables {
  /** Identity rows by provider, then subject: exact pairs, never a joined text. */
  readonly identityRows: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly paths: readonly NamespacePath[];
  /** For each namespace the row after the last one of its subtree. */
  readonly subtreeEnd: Int32Array;
  /** Open addressing over (parent row, segment); 0 is free, as the root is nobody's child. */
  readonly childTable: Int32Array;
  /** Grants by namespace, those of one namespace sorted by principal. */
  readonly byNamespace: RowLists;
  /** The principals of `byNamespace.rows`, in the same order. */
  readonly principalAt: Int32Array;
  /** The scopes that any grant of the namespace carries. */
  readonly scopesAt: Uint16Array;
  /** Grants by principal, those of one principal sorted by namespace. */
  readonly byPrincipal: RowLists;
  /** The namespaces of `byPrincipal.rows`, in the same order. */
  readonly namespaceAt: Int32Array;
}

export function preparePolicy({ tables, holders }: LoadedTables): PreparedPolicy {
  const { namespace, principal } = tables.grants;
  const namespaces = tables.namespaces.parent.length;
  const principals = tables.roles.name.length + tables.identities.subject.length;
  const byNamespace = listRows(namespace, namespaces, listRows(principal, principals).rows);
  const byPrincipal = listRows(principal, principals, byNamespace.rows);
  return {
    tables,
    holders,
    identityRows: indexIdentities(tables),
    paths: pathsOf(tables),
    subtreeEnd: subtreeEnds(tables.namespaces.parent),
    childTable: indexChildren(tables),
    byNamespace,
    principalAt: byNamespace.rows.map((grant) => principal[grant] ?? 0),
    scopesAt: scopesByNamespace(tables),
    byPrincipal,
    namespaceAt: byPrincipal.rows.map((grant) => namespace[grant] ?? 0),
  };
}

function scopesByNamespace(tables: PolicyTables): Uint16Array {
  const { namespace, scopes } = tables.grants;
  const union = new Uint16Array(tables.namespaces.parent.length);
  namespace.forEach((row, grant) => {
    union[row] = (union[row] ?? 0) | (scopes[grant] ?? 0);
  });
  return union;
}

function indexIdentities(tables: PolicyTables): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const bySubject = tables.providers.map(() => new Map<string, number>());
  tables.identities.subject.forEach((subject, row) => {
    bySubject[tables.identities.provider[row] ?? 0]?.set(subject, row);
  });
  return new Map(tables.providers.map((provider, row) => [provider, bySubject[row] ?? new Map<string, number>()]));
}

function pathsOf(tables: PolicyTables): readonly NamespacePath[] {
  const paths: NamespacePath[] = [];
  tables.namespaces.parent.forEach((parent, row) => {
    if (row === 0) {
      paths.push(ROOT);
      return;
    }
    const above = parent === 0 ? '' : (paths[parent] ?? '');
    // The segments were checked when the tables were made; joined they are canonical.
    paths.push(`${above}/${tables.segments[tables.namespaces.segment[row] ?? 0] ?? ''}` as NamespacePath);
  });
  return paths;
}

function indexChildren(tables: PolicyTables): Int32Array {
  const { parent, segment } = tables.namespaces;
  let size = 4;
  while (size < parent.length * 2) size *= 2;
  const table = new Int32Array(size);
  for (let row = 1; row < parent.length; row += 1) {
    const text = tables.segments[segment[row] ?? 0] ?? '';
    let slot = hashSegment(parent[row] ?? 0, text, 0, text.length) & (size - 1);
    while (table[slot] !== 0) slot = (slot + 1) & (size - 1);
    table[slot] = row;
  }
  return table;
}

/** `path` from `start` to `end`. */
export interface Segment {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** The row of the child of `parent` with this segment, or -1. */
export function childRow(policy: PreparedPolicy, parent: number, { path, start, end }: Segment): number {
  const { childTable, tables } = policy;
  const mask = childTable.length - 1;
  let slot = hashSegment(parent, path, start, end) & mask;
  for (;;) {
    const row = childTable[slot] ?? 0;
    if (row === 0) return -1;
    if (tables.namespaces.parent[row] === parent) {
      const text = tables.segments[tables.namespaces.segment[row] ?? 0] ?? '';
      if (text.length === end - start && path.startsWith(text, start)) return row;
    }
    slot = (slot + 1) & mask;
  }
}

/** FNV-1a over the parent's row and the segment's characters. */
function hashSegment(parent: number, text: string, start: number, end: number): number {
  let hash = Math.imul(parent ^ 0x811c9dc5, 0x01000193);
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
