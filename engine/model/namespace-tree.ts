// The shape of the trie of namespaces: where each subtree ends, and below which namespaces there is room for paths
// without a row. Paths are limited in depth and bytes (docs/meaning.md "Namespaces"). So there may be no room for any
// path, or every path that has room may be named.
import { rememberLast } from './group.js';
import { invariant } from './invariant.js';
import { canonicalize, NAMESPACE_LIMITS, type NamespacePath, ROOT } from './namespace.js';
import type { NamespaceColumns, PolicyTables } from './tables.js';

export interface NamespaceTree {
  /** The parent of each row, in path order; -1 for the root. */
  readonly parent: Int32Array;
  /** The row after the last row of the subtree. */
  readonly end: Int32Array;
  /**
   * What is below a row beside the rows that there are. `open`: other paths; `nothing`: no path can be below; `full`: every possible child
   * has a row.
   */
  readonly belowOf: (row: number) => 'open' | 'nothing' | 'full';
}

export function treeOf({ namespaces, segments }: PolicyTables): NamespaceTree {
  return makeTree(namespaces, segments);
}

const makeTree = rememberLast(({ parent, segment }: NamespaceColumns, segments: readonly string[]): NamespaceTree => {
  const depth = new Int32Array(parent.length);
  const bytes = new Int32Array(parent.length);
  const children = new Int32Array(parent.length);
  parent.forEach((above, row) => {
    if (row === 0) return;
    depth[row] = (depth[above] ?? 0) + 1;
    bytes[row] = (bytes[above] ?? 0) + 1 + (segments[segment[row] ?? 0] ?? '').length;
    children[above] = (children[above] ?? 0) + 1;
  });
  const belowOf: NamespaceTree['belowOf'] = (row) => {
    const fitting = childrenThatFit(depth[row] ?? 0, bytes[row] ?? 0);
    if (fitting === 0) return 'nothing';
    return fitting === children[row] ? 'full' : 'open';
  };
  return { parent, end: subtreeEnds(parent), belowOf };
});

/** A subtree is one run of rows, so it ends at the largest end among its children. */
export function subtreeEnds(parent: Int32Array): Int32Array {
  const end = new Int32Array(parent.length);
  for (let row = parent.length - 1; row >= 0; row -= 1) {
    const own = Math.max(end[row] ?? 0, row + 1);
    end[row] = own;
    const above = parent[row] ?? -1;
    if (above >= 0) end[above] = Math.max(end[above] ?? 0, own);
  }
  return end;
}

/** The rows directly below: each subtree begins where the one before ends. */
export function childrenOf({ end }: Pick<NamespaceTree, 'end'>, row: number): readonly number[] {
  const children: number[] = [];
  for (let child = row + 1; child < (end[row] ?? 0); child = end[child] ?? Infinity) children.push(child);
  return children;
}

/** `[a-z0-9._~-]` */
const SEGMENT_CHARACTERS = 40;
/** With more room than this, more children fit than any policy can name, so they need no exact count. */
const COUNTED_LENGTH = 5;

/** How many namespaces fit directly below one with this depth and so many bytes; the root has 0 bytes. */
export function childrenThatFit(depth: number, bytes: number): number {
  if (depth >= NAMESPACE_LIMITS.segments) return 0;
  const room = NAMESPACE_LIMITS.bytes - bytes - 1;
  if (room <= 0) return 0;
  if (room > COUNTED_LENGTH) return Infinity;
  let count = 0;
  for (let length = 1; length <= room; length += 1) count += SEGMENT_CHARACTERS ** length;
  // `.` and `..` are not segments.
  return count - Math.min(room, 2);
}

/** Joins the segments of the row and of all rows above it. */
export function pathOfRow({ namespaces, segments }: PolicyTables, row: number): NamespacePath {
  let path = '';
  for (let at = row; at > 0; at = namespaces.parent[at] ?? 0)
    path = `/${segments[namespaces.segment[at] ?? 0] ?? ''}${path}`;
  const canonical = canonicalize(path === '' ? ROOT : path);
  invariant(canonical.ok, 'segments of tables make canonical paths');
  return canonical.path;
}
