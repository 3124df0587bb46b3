// The namespaces that grants name, as a trie in path order: the root is first, and the rows of each subtree are consecutive.
import { type NamespacePath, parentOf, ROOT } from '../model/namespace.js';
import { listRows, rowsOf } from '../model/row-lists.js';
import type { NamespaceColumns } from '../model/tables.js';
import { makeTextNumbers, type TextNumbers } from './number-texts.js';

export interface CompiledNamespaces {
  readonly columns: NamespaceColumns;
  readonly segments: readonly string[];
  /** The row of each named namespace, in the order of `named`. */
  readonly rows: Int32Array;
}

/** Only segments are sorted as texts: they are few, while paths are many and long. */
export function compileNamespaces(named: readonly NamespacePath[]): CompiledNamespaces {
  const trie = makeTrie();
  const nodes = Int32Array.from(named, trie.nodeOf);
  const { texts: segments, rowOf: segmentRows } = trie.numbers.sort();
  const segmentOf = Int32Array.from(trie.segment, (number) => segmentRows[number] ?? -1);
  const rows = rowsInPathOrder(trie.parent, ranksOf(segments, segmentOf));
  const parent = new Int32Array(rows.length);
  const segment = new Int32Array(rows.length);
  for (const [node, row] of rows.entries()) {
    parent[row] = rows[trie.parent[node] ?? -1] ?? -1;
    segment[row] = segmentOf[node] ?? -1;
  }
  return { columns: { parent, segment }, segments, rows: nodes.map((node) => rows[node] ?? 0) };
}

/** Nodes are numbered as they are met: the root is 0, and a parent comes before its children. */
interface Trie {
  readonly parent: readonly number[];
  /** By node, the number of its segment. */
  readonly segment: readonly number[];
  readonly numbers: TextNumbers;
  readonly nodeOf: (path: NamespacePath) => number;
}

function makeTrie(): Trie {
  const numbers = makeTextNumbers();
  const nodes = new Map<NamespacePath, number>([[ROOT, 0]]);
  const parent = [-1];
  const segment = [-1];
  const nodeOf = (path: NamespacePath): number => {
    const known = nodes.get(path);
    if (known !== undefined) return known;
    const above = nodeOf(parentOf(path) ?? ROOT);
    const node = parent.push(above) - 1;
    segment.push(numbers.numberOf(path.slice(path.lastIndexOf('/') + 1)));
    nodes.set(path, node);
    return node;
  };
  return { numbers, parent, segment, nodeOf };
}

/** By node, the rank of its segment among siblings. Path order compares segments with a slash at their end. */
function ranksOf(segments: readonly string[], segmentOf: Int32Array): Int32Array {
  const closed = segments.map((text, segment) => ({ text: `${text}/`, segment }));
  closed.sort((a, b) => (a.text < b.text ? -1 : 1));
  const rankOf = new Int32Array(segments.length);
  for (const [rank, { segment }] of closed.entries()) rankOf[segment] = rank;
  return segmentOf.map((segment) => rankOf[segment] ?? 0);
}

function rowsInPathOrder(parent: readonly number[], ranks: Int32Array): Int32Array {
  const size = new Int32Array(parent.length).fill(1);
  for (let node = parent.length - 1; node > 0; node -= 1) {
    const above = parent[node] ?? 0;
    size[above] = (size[above] ?? 0) + (size[node] ?? 0);
  }
  const byRank = listRows(ranks, ranks.length).rows;
  // Keys are one more than the parent's node, so that the root, whose parent is -1, gets key 0.
  const children = listRows(
    Int32Array.from(parent, (above) => above + 1),
    parent.length + 1,
    byRank,
  );
  const rows = new Int32Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) {
    let next = (rows[node] ?? 0) + 1;
    for (const child of rowsOf(children, node + 1)) {
      rows[child] = next;
      next += size[child] ?? 0;
    }
  }
  return rows;
}
