// The shape of the trie of namespaces: where each subtree ends, and below which namespaces there is room for paths that have
// no row. Paths have limits of depth and bytes (docs/meaning.md "Namespaces"), so nothing may fit, or all that fits may be
// named.
import { invariant } from './invariant.js';
import { canonicalize, NAMESPACE_LIMITS, type NamespacePath, ROOT } from './namespace.js';
import type { PolicyTables } from './tables.js';

export interface NamespaceTree {
  /** Rows in path order; the root's is -1. */
  readonly parent: Int32Array;
  /** The row after the last of the subtree. */
  readonly end: Int32Array;
  /** 1 where some path without a row has this one as its nearest one above. */
  readonly hasBelow: Uint8Array;
}

export function treeOf(tables: PolicyTables): NamespaceTree {
  const { parent, segment } = tables.namespaces;
  const depth = new Int32Array(parent.length);
  const bytes = new Int32Array(parent.length);
  const children = new Int32Array(parent.length);
  parent.forEach((above, row) => {
    if (row === 0) return;
    depth[row] = (depth[above] ?? 0) + 1;
    bytes[row] = (bytes[above] ?? 0) + 1 + (tables.segments[segment[row] ?? 0] ?? '').length;
    children[above] = (children[above] ?? 0) + 1;
  });
  const hasBelow = Uint8Array.from(children, (count, row) =>
    childrenThatFit(depth[row] ?? 0, bytes[row] ?? 0) > count ? 1 : 0,
  );
  return { parent, end: subtreeEnds(parent), hasBelow };
}

/** A subtree is one run of rows, so its end is the largest end among its children's. */
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

/** `[a-z0-9._~-]` */
const SEGMENT_CHARACTERS = 40;
/** More children than any policy can name have no need of an exact number. */
const COUNTED_LENGTH = 5;

/** How many namespaces can stand directly below one of this depth and so many bytes, those of the root being 0. */
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

/** From the segments up. */
export function pathOfRow({ namespaces, segments }: PolicyTables, row: number): NamespacePath {
  let path = '';
  for (let at = row; at > 0; at = namespaces.parent[at] ?? 0)
    path = `/${segments[namespaces.segment[at] ?? 0] ?? ''}${path}`;
  const canonical = canonicalize(path === '' ? ROOT : path);
  invariant(canonical.ok, 'segments of tables make canonical paths');
  return canonical.path;
}
