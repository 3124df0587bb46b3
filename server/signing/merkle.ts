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

/** All of a tree that is needed to prove, however it grows, that it begins with its first `old` leaves. */
export interface Grown {
  readonly old: number;
  readonly size: number;
  /** Roots of the largest perfect trees side by side of which none has leaves on both sides of `old`. */
  readonly roots: readonly TreeHash[];
}

/** Whether it is of this tree. */
export function isGrown({ old, size, roots }: Grown, of: Frontier): boolean {
  const ranges = old <= size && size === of.size ? rangesOfGrown(old, size) : [];
  if (ranges.length !== roots.length || !roots.every(({ length }) => length === HASH_BYTES)) return false;
  const whole: Perfect[] = [];
  for (const piece of perfectTrees(ranges, roots)) append(whole, piece, 0);
  return whole.every(({ root }, index) => of.roots[index]?.equals(root) === true);
}

interface Perfect extends Range {
  readonly root: TreeHash;
}

const rangesOfGrown = (old: number, size: number): readonly Range[] => [
  ...perfectRanges({ from: 0, to: old }),
  ...perfectRanges({ from: old, to: size }),
];

function perfectRanges({ from, to }: Range): readonly Range[] {
  const ranges: Range[] = [];
  for (let at = from; at < to;) {
    let leaves = 1;
    while (at % (leaves * 2) === 0 && at + leaves * 2 <= to) leaves *= 2;
    ranges.push({ from: at, to: at + leaves });
    at += leaves;
  }
  return ranges;
}

function perfectTrees(ranges: readonly Range[], roots: readonly TreeHash[]): Perfect[] {
  return roots.flatMap((root, index) => {
    const range = ranges[index];
    return range === undefined ? [] : [{ ...range, root }];
  });
}

/** Joins it with those on its left, up to the wall. */
function append(trees: Perfect[], next: Perfect, wall: number): void {
  let merged = next;
  for (let left = trees.at(-1); left !== undefined && left.to !== wall; left = trees.at(-1)) {
    const leaves = left.to - left.from;
    if (leaves !== merged.to - merged.from || left.from % (leaves * 2) !== 0) break;
    trees.pop();
    merged = { from: left.from, to: merged.to, root: nodeHash(left.root, merged.root) };
  }
  trees.push(merged);
}

export interface Growth extends PathBuilder {
  /** What is needed to go on from here. */
  readonly grown: () => Grown;
}

/** The proof that the tree begins with its first `old` leaves. It takes the leaves that come. */
export function makeGrowth({ old, roots, ...from }: Grown): Growth {
  let { size } = from;
  const trees = perfectTrees(rangesOfGrown(old, size), roots);
  return {
    push: (leaf) => {
      append(trees, { from: size, to: size + 1, root: leaf }, old);
      size += 1;
    },
    path: () =>
      (old === 0 ? [] : rangesOfGrowth(old, { from: 0, to: size }, true)).map(({ from: first, to }) =>
        joined(trees.filter((tree) => tree.from >= first && tree.to <= to).map(({ root }) => root)),
      ),
    grown: () => ({ old, size, roots: trees.map(({ root }) => root) }),
  };
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
