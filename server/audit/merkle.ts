// Merkle trees as RFC 6962 hashes them (section 2.1). A tree and a path are built leaf by leaf, in memory that grows
// with the logarithm of the number of leaves. Pure.
import { hash } from 'node:crypto';

/** 32 bytes. */
export type TreeHash = Buffer;

const [LEAF, NODE] = [Buffer.of(0), Buffer.of(1)];

export function leafHash(leaf: string | Uint8Array): TreeHash {
  const bytes = typeof leaf === 'string' ? Buffer.from(leaf) : leaf;
  return hash('sha256', Buffer.concat([LEAF, bytes]), 'buffer');
}

function nodeHash(left: TreeHash, right: TreeHash): TreeHash {
  return hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');
}

export interface Tree {
  readonly push: (leaf: TreeHash) => void;
  readonly size: () => number;
  readonly root: () => TreeHash;
}

export function makeTree(): Tree {
  /** Roots of perfect trees, the largest first: one for each bit of the size. */
  const roots: TreeHash[] = [];
  let size = 0;
  return {
    push: (leaf) => {
      size += 1;
      let merged = leaf;
      for (let rest = size; rest % 2 === 0; rest /= 2) merged = nodeHash(roots.pop() ?? merged, merged);
      roots.push(merged);
    },
    size: () => size,
    root: () => {
      const last = roots.at(-1);
      if (last === undefined) return hash('sha256', '', 'buffer');
      return roots.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
    },
  };
}

/** The part of the leaves that a node is about: from the first to before the last. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** The ranges of the nodes beside the path from a leaf to the root, the leaf's own sibling first. */
function rangesBeside(index: number, { from, to }: Range): readonly Range[] {
  if (to - from <= 1) return [];
  let half = 1;
  while (half * 2 < to - from) half *= 2;
  const [left, right] = [
    { from, to: from + half },
    { from: from + half, to },
  ];
  return index < from + half ? [...rangesBeside(index, left), right] : [...rangesBeside(index, right), left];
}

export interface PathBuilder {
  /** Takes the next leaf of the tree. */
  readonly push: (leaf: TreeHash) => void;
  /** Call this once all leaves were pushed. */
  readonly path: () => readonly TreeHash[];
}

/** The proof that the leaf at `index` is in the tree of the first `size` leaves. */
export function makePath(index: number, size: number): PathBuilder {
  const trees = rangesBeside(index, { from: 0, to: size }).map((range) => ({ ...range, tree: makeTree() }));
  let next = 0;
  return {
    push: (leaf) => {
      trees.find(({ from, to }) => from <= next && next < to)?.tree.push(leaf);
      next += 1;
    },
    path: () => trees.map(({ tree }) => tree.root()),
  };
}

/** The root of the tree that the path leads to; null if the path has another length (RFC 9162, section 2.1.3.2). */
export function rootOfPath(leaf: TreeHash, { index, size }: Place, path: readonly TreeHash[]): TreeHash | null {
  if (index >= size || path.length !== rangesBeside(index, { from: 0, to: size }).length) return null;
  let [at, last, root] = [index, size - 1, leaf];
  for (const beside of path) {
    if (at % 2 === 1 || at === last) {
      root = nodeHash(beside, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else root = nodeHash(root, beside);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return root;
}

export interface Place {
  readonly index: number;
  readonly size: number;
}
