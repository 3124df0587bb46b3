// The namespaces that grants name, as a trie in path order: the root first, a subtree one run of rows.
import { type NamespacePath, parentOf, ROOT, sortPaths } from '../model/namespace.js';
import { sortTexts } from '../model/order.js';
import type { NamespaceColumns } from '../model/tables.js';

export interface CompiledNamespaces {
  readonly columns: NamespaceColumns;
  readonly segments: readonly string[];
  /** In the order in which they were named. */
  readonly rows: Int32Array;
}

export function compileNamespaces(named: readonly NamespacePath[]): CompiledNamespaces {
  const rowOf = new Map<NamespacePath, number>([[ROOT, 0]]);
  for (const path of named) {
    for (let at: NamespacePath | null = path; at !== null && !rowOf.has(at); at = parentOf(at)) rowOf.set(at, 0);
  }
  const sorted = sortPaths(rowOf.keys());
  for (const [row, path] of sorted.entries()) rowOf.set(path, row);
  const lastSegments = sorted.map((path) => path.slice(path.lastIndexOf('/') + 1));
  const segments = sortTexts(new Set(lastSegments.slice(1)));
  const segmentRows = new Map(segments.map((segment, row) => [segment, row]));
  return {
    columns: {
      parent: parentsOf(sorted),
      segment: Int32Array.from(lastSegments, (segment, row) => (row === 0 ? -1 : (segmentRows.get(segment) ?? -1))),
    },
    segments,
    rows: Int32Array.from(named, (path) => rowOf.get(path) ?? 0),
  };
}

/** The ancestors of the current path: in path order they are the last rows that were added. */
function parentsOf(sorted: readonly NamespacePath[]): Int32Array {
  const parent = new Int32Array(sorted.length).fill(-1);
  const open: number[] = [];
  sorted.forEach((path, row) => {
    const depth = row === 0 ? 0 : path.split('/').length - 1;
    parent[row] = open[depth - 1] ?? -1;
    open[depth] = row;
  });
  return parent;
}
