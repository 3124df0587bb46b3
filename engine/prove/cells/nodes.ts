// The namespace nodes of exact answers (docs/meaning.md "Cells"): the root and every namespace that a grant names, in path order, so
// the rows of a subtree are consecutive. Every other path has the rights below its nearest node above.
import { comparePaths, depthOf, isWithin, type NamespacePath, parentOf, ROOT } from '../../model/namespace.js';
import { childrenThatFit, subtreeEnds } from '../../model/namespace-tree.js';

/** Rows of nodes are in path order; row 0 is the root. */
export interface Nodes {
  readonly paths: readonly NamespacePath[];
  readonly rowOf: ReadonlyMap<NamespacePath, number>;
  /** The nearest node above; -1 for the root. */
  readonly parent: Int32Array;
  /** The row after the last of the subtree. */
  readonly end: Int32Array;
  /** 1 if some canonical path has this node as its nearest one above; 0 if the limits of paths leave none. */
  readonly hasBelow: Uint8Array;
  /** By row, the number of namespace classes of all earlier rows. One entry more than there are rows. */
  readonly classesBefore: Float64Array;
}

/** The nodes of the root and of all these lists. Each list must be in path order. */
export function makeNodes(...lists: readonly (readonly NamespacePath[])[]): Nodes {
  const paths = lists.reduce(mergePaths, [ROOT]);
  const parent = new Int32Array(paths.length).fill(-1);
  const children = new Int32Array(paths.length);
  paths.forEach((path, row) => {
    let above = row - 1;
    while (above >= 0 && !isWithin(path, paths[above] ?? ROOT)) above = parent[above] ?? -1;
    parent[row] = above;
    const start = above === 0 ? 1 : (paths[above] ?? ROOT).length + 1;
    if (above >= 0 && !path.includes('/', start)) children[above] = (children[above] ?? 0) + 1;
  });
  const hasBelow = Uint8Array.from(paths, (path, row) => (roomBelow(path) > (children[row] ?? 0) ? 1 : 0));
  const classesBefore = new Float64Array(paths.length + 1);
  hasBelow.forEach((below, row) => {
    classesBefore[row + 1] = (classesBefore[row] ?? 0) + 1 + below;
  });
  const rowOf = new Map(paths.map((path, row) => [path, row]));
  return { paths, rowOf, parent, end: subtreeEnds(parent), hasBelow, classesBefore };
}

function mergePaths(a: readonly NamespacePath[], b: readonly NamespacePath[]): readonly NamespacePath[] {
  const merged: NamespacePath[] = [];
  for (let i = 0, k = 0; i < a.length || k < b.length;) {
    const [left, right] = [a[i], b[k]];
    const order = left === undefined ? 1 : right === undefined ? -1 : comparePaths(left, right);
    if (order <= 0) i += 1;
    if (order >= 0) k += 1;
    merged.push((order <= 0 ? left : right) ?? ROOT);
  }
  return merged;
}

/** How many children a path can have. If all of them are nodes, no other path has this node as its nearest one above. */
function roomBelow(path: NamespacePath): number {
  return path === ROOT ? childrenThatFit(0, 0) : childrenThatFit(depthOf(path), path.length);
}

/** The nearest node at or above a path. */
export function nearestRow(nodes: Nodes, path: NamespacePath): number {
  for (let at: NamespacePath | null = path; at !== null; at = parentOf(at)) {
    const row = nodes.rowOf.get(at);
    if (row !== undefined) return row;
  }
  return 0;
}

/** The rows above, nearest first. */
export function rowsAbove(nodes: Nodes, row: number): readonly number[] {
  const above: number[] = [];
  for (let at = nodes.parent[row] ?? -1; at >= 0; at = nodes.parent[at] ?? -1) above.push(at);
  return above;
}

export function endOf(nodes: Nodes, row: number): number {
  return nodes.end[row] ?? nodes.paths.length;
}

export function pathAt(nodes: Nodes, row: number): NamespacePath {
  return nodes.paths[row] ?? ROOT;
}
