// The namespaces that grants name, as a trie in path order (design 4): the root first, a subtree one run of rows.
import { invariant } from '../model/invariant.js';
import { type NamespacePath, parentOf, ROOT, sortPaths } from '../model/namespace.js';
import { compareTexts } from '../model/order.js';
import type { NamespaceColumns } from '../model/tables.js';

export interface CompiledNamespaces {
  readonly columns: NamespaceColumns;
  readonly segments: readonly string[];
  readonly rowOf: (path: string) => number;
}

export function compileNamespaces(named: Iterable<NamespacePath>): CompiledNamespaces {
  const paths = new Set<NamespacePath>([ROOT]);
  for (const path of named) {
    for (let at: NamespacePath | null = path; at !== null && !paths.has(at); at = parentOf(at)) paths.add(at);
  }
  const sorted = sortPaths(paths);
  const rows = new Map<string, number>(sorted.map((path, row) => [path, row]));
  const lastSegments = sorted.map((path) => path.slice(path.lastIndexOf('/') + 1));
  const segments = [...new Set(lastSegments.slice(1))].sort(compareTexts);
  const segmentRows = new Map(segments.map((segment, row) => [segment, row]));
  const rowOf = (path: string): number => {
    const row = rows.get(path);
    invariant(row !== undefined, 'every named namespace has a row');
    return row;
  };
  return {
    columns: {
      parent: Int32Array.from(sorted, (path) => {
        const parent = parentOf(path);
        return parent === null ? -1 : rowOf(parent);
      }),
      segment: Int32Array.from(lastSegments, (segment, row) => (row === 0 ? -1 : (segmentRows.get(segment) ?? -1))),
    },
    segments,
    rowOf,
  };
}
