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

/** All of a tree that is needed to go on with it. */
export interface Frontier {
  readonly size: number;
  /** Roots of perfect trees, the largest first: one for each bit of the size. */
  readonly roots: readonly TreeHash[];
}

/** Whether there is a tree of this size with such roots. */
export function isFrontier({ size, roots }: Frontier): boolean {
  const ones = BigInt(size).toString(2).replaceAll('0', '').length;
  return roots.length === ones && roots.every(({ length }) => length === HASH_BYTES);
}

export const EMPTY: Frontier = Object.freeze({ size: 0, roots: Object.freeze([]) });

export interface Tree {
  readonly push: (leaf: TreeHash) => void;
  readonly size: () => number;
  readonly root: () => TreeHash;
  readonly frontier: () => Frontier;
}

export function makeTree(from: Frontier = EMPTY): Tree {
  const roots: TreeHash[] = [...from.roots];
  let { size } = from;
  return {
    push: (leaf) => {
      size += 1;
      let merged = leaf;
      for (let rest = size; rest % 2 === 0; rest /= 2) merged = nodeHash(roots.pop() ?? merged, merged);
      roots.push(merged);
    },
    size: () => size,
    root: () => joined(roots),
    frontier: () => ({ size, roots: [...roots] }),
  };
}

const HASH_BYTES = 32;

/** The same root as of a tree that takes the leaves one by one, in a third of the time. */
export function rootOfAll(leaves: readonly TreeHash[]): TreeHash {
  if (leaves.length === 0) return makeTree().root();
  const level = Buffer.alloc(HASH_BYTES * leaves.length);
  leaves.forEach((leaf, i) => {
    level.set(leaf, HASH_BYTES * i);
  });
  const pair = Buffer.concat([NODE, Buffer.alloc(2 * HASH_BYTES)]);
  for (let count = leaves.length; count > 1; count = Math.ceil(count / 2)) {
    for (let i = 0; i + 1 < count; i += 2) {
      level.copy(pair, 1, HASH_BYTES * i, HASH_BYTES * (i + 2));
      // Node hashes to a string faster than to a buffer.
      level.write(hash('sha256', pair, 'binary'), (HASH_BYTES * i) / 2, 'latin1');
    }
    const last = HASH_BYTES * (count - 1);
    if (count % 2 === 1) level.copy(level, last / 2, last, last + HASH_BYTES);
  }
  return level.subarray(0, HASH_BYTES);
}

/** The root over perfect trees that stand side by side. */
function joined(roots: readonly TreeHash[]): TreeHash {
  const last = roots.at(-1);
  if (last === undefined) return hash('sha256', '', 'buffer');
  return roots.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

/** The part of the leaves that a node is about: from the first to before the last. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** The ranges of the nodes beside the path from a leaf to the root, the leaf's own sibling first. */
function rangesBeside(index: number, { from, to }: Range): readonly Range[] {
  if (to - from <= 1) return [];
  const [left, right] = halves({ from, to });
  return index < right.from ? [...rangesBeside(index, left), right] : [...rangesBeside(index, right), left];
}

/** The two parts below the root of a tree of more than one leaf. */
function halves({ from, to }: Range): readonly [Range, Range] {
  let half = 1;
  while (half * 2 < to - from) half *= 2;
  return [
    { from, to: from + half },
    { from: from + half, to },
  ];
}

/**
 * The ranges of the nodes that lead from the first leaves, up to `size`, to both roots (RFC 6962, section 2.1.2).
 * `isKnown`: whoever checks has the root of exactly these leaves.
 */
function rangesOfGrowth(size: number, { from, to }: Range, isKnown: boolean): readonly Range[] {
  if (size === to) return isKnown ? [] : [{ from, to }];
  const [left, right] = halves({ from, to });
  return size <= right.from
    ? [...rangesOfGrowth(size, left, isKnown), right]
    : [...rangesOfGrowth(size, right, false), left];
}

/** The proof that a tree of `size` leaves begins with those of `old`. It takes the leaves that came since. */
export function makeGrowth(old: Frontier, size: number): PathBuilder {
  const ranges = old.size === 0 ? [] : rangesOfGrowth(old.size, { from: 0, to: size }, true);
  const added = ranges.filter(({ from }) => from >= old.size).map((range) => ({ ...range, tree: makeTree() }));
  let next = old.size;
  return {
    push: (leaf) => {
      added.find(({ from, to }) => from <= next && next < to)?.tree.push(leaf);
      next += 1;
    },
    path: () =>
      ranges.map((range) => added.find(({ from }) => from === range.from)?.tree.root() ?? joined(rootsIn(old, range))),
  };
}

/** The perfect trees of a frontier that lie in a range, which begins where one of them does. */
function rootsIn({ size, roots }: Frontier, range: Range): readonly TreeHash[] {
  let at = 0;
  return roots.filter((_, index) => {
    const from = at;
    at += leavesOf(size, index);
    return from >= range.from && at <= range.to;
  });
}

/** How many leaves the perfect tree at this place of a frontier has. */
function leavesOf(size: number, index: number): number {
  let rest = size;
  for (let place = 0; ; place += 1) {
    const power = 2 ** Math.floor(Math.log2(rest));
    if (place === index) return power;
    rest -= power;
  }
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

interface Place {
  readonly index: number;
  readonly size: number;
}
