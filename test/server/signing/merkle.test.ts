// The tree and its paths against the published vectors of RFC 6962 trees, and against the definition on small trees.
import { expect, it } from '@jest/globals';
import { checkpointText, parseCheckpoint, parseProof, proofText } from '../../../server/audit/checkpoint.js';
import {
  isGrown,
  leafHash,
  makeGrowth,
  makePath,
  makeTree,
  rootOfAll,
  rootOfPath,
  type TreeHash,
} from '../../../server/signing/merkle.js';
import { growsTo } from '../../support/witness.js';

/** Leaves and roots of the trees of the first 0 to 8 of them, as published with the Certificate Transparency code. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

const leaves = LEAVES.map((hex) => leafHash(Buffer.from(hex, 'hex')));

function pathOf(index: number, all: readonly TreeHash[]): readonly TreeHash[] {
  const builder = makePath(index, all.length);
  for (const leaf of all) builder.push(leaf);
  return builder.path();
}

it('has the published roots', () => {
  const tree = makeTree();
  const roots = [tree.root().toString('hex')];
  for (const leaf of leaves) {
    tree.push(leaf);
    roots.push(tree.root().toString('hex'));
  }
  expect(roots).toEqual(ROOTS);
  expect(ROOTS.map((_, size) => rootOfAll(leaves.slice(0, size)).toString('hex'))).toEqual(ROOTS);
});

it('has the same root over all leaves at once', () => {
  const many = Array.from({ length: 130 }, (_, n) => leafHash(`leaf ${String(n)}`));
  const tree = makeTree();
  for (const [i, leaf] of many.entries()) {
    tree.push(leaf);
    expect(rootOfAll(many.slice(0, i + 1))).toEqual(tree.root());
  }
});

it('has the published paths', () => {
  const hex = (index: number, size: number): readonly string[] =>
    pathOf(index, leaves.slice(0, size)).map((one) => one.toString('hex'));
  expect(hex(0, 1)).toEqual([]);
  expect(hex(2, 3)).toEqual([ROOTS[2]]);
  expect(hex(0, 8)).toEqual([
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]);
  expect(hex(4, 5)).toEqual([ROOTS[4]]);
});

it('proves that each tree begins with each smaller one, from what is kept of that, and with no other', () => {
  const many = Array.from({ length: 40 }, (_, n) => leafHash(`leaf ${String(n)}`));
  for (let old = 0; old <= many.length; old += 1) {
    const before = makeTree();
    for (const leaf of many.slice(0, old)) before.push(leaf);
    const first = { size: old, root: before.root() };
    for (let size = old; size <= many.length; size += 1) {
      let growth = makeGrowth({ old, ...before.frontier() });
      const tree = makeTree(before.frontier());
      for (const leaf of many.slice(old, size)) {
        growth.push(leaf);
        tree.push(leaf);
        // Whoever goes on from what is kept at any size comes to the same proof.
        expect(isGrown(growth.grown(), tree.frontier())).toBe(true);
        growth = makeGrowth(growth.grown());
      }
      const second = { size, root: tree.root() };
      expect(growsTo(first, second, growth.path())).toBe(true);
      if (old === 0 || old === size) continue;
      expect(growsTo({ ...first, root: leafHash('another') }, second, growth.path())).toBe(false);
      expect(growsTo(first, { ...second, root: leafHash('another') }, growth.path())).toBe(false);
    }
  }
});

it('takes what is kept of the growth of a tree for that of no other tree, size or beginning', () => {
  const tree = makeTree();
  for (const leaf of leaves.slice(0, 3)) tree.push(leaf);
  const growth = makeGrowth({ old: 3, ...tree.frontier() });
  for (const leaf of leaves.slice(3, 7)) {
    tree.push(leaf);
    growth.push(leaf);
  }
  const [grown, of] = [growth.grown(), tree.frontier()];
  expect([isGrown(grown, of), grown.roots.length]).toEqual([true, 5]);
  const [first = leafHash(''), ...others] = grown.roots;
  for (const other of [
    { ...grown, old: 2 },
    { ...grown, old: 9 },
    { ...grown, size: 6 },
    { ...grown, roots: others },
    { ...grown, roots: [] },
    { ...grown, roots: [...grown.roots, first] },
    { ...grown, roots: [...others, first] },
    { ...grown, roots: [first.subarray(1), ...others] },
    { ...grown, roots: [leafHash('other'), ...others] },
  ]) {
    expect([other, isGrown(other, of)]).toEqual([other, false]);
  }
  expect(isGrown(grown, { ...of, size: 6 })).toBe(false);
  expect(isGrown({ old: 0, size: 0, roots: [] }, makeTree().frontier())).toBe(true);
});

it('leads from each leaf of each tree to its root, and to no other place', () => {
  const many = Array.from({ length: 40 }, (_, n) => leafHash(`leaf ${String(n)}`));
  for (let size = 1; size <= many.length; size += 1) {
    const tree = makeTree();
    for (const leaf of many.slice(0, size)) tree.push(leaf);
    for (const [index, leaf] of many.slice(0, size).entries()) {
      const path = pathOf(index, many.slice(0, size));
      expect(rootOfPath(leaf, { index, size }, path)).toEqual(tree.root());
      for (const other of [index - 1, index + 1].filter((n) => n >= 0)) {
        const root = rootOfPath(leaf, { index: other, size }, path);
        expect(root?.equals(tree.root()) ?? false).toBe(false);
      }
      expect(rootOfPath(leaf, { index, size }, [...path, leaf])).toBeNull();
    }
  }
});

it('reads the checkpoints and proofs that it writes, and nothing else', () => {
  const root = leafHash('x');
  const text = checkpointText({ log: 'k3v9m2xqwe', size: 20_852_163, root });
  expect(text).toBe(`bailiwick/audit/k3v9m2xqwe\n20852163\n${root.toString('base64')}\n`);
  expect(parseCheckpoint(text)).toEqual({ log: 'k3v9m2xqwe', size: 20_852_163, root });
  for (const bad of [text.slice(0, -1), text.replace('20852163', '020852163'), text.replace('=', ''), `x${text}`]) {
    expect(parseCheckpoint(bad)).toBeNull();
  }
  const proof = { index: 0, line: '{"é":1}', path: [root, root], checkpoint: `${text}\nsignatures\n` };
  expect(parseProof(proofText(proof))).toEqual(proof);
  expect(proofText(proof).split('\n').slice(0, 3)).toEqual([
    'c2sp.org/tlog-proof@v1',
    `extra ${Buffer.from('{"é":1}').toString('base64')}`,
    'index 0',
  ]);
  expect(parseProof(proofText(proof).replace('index 0', 'index 00'))).toBeNull();
  expect(parseProof(proofText(proof).replace('@v1', '@v2'))).toBeNull();
});

it('takes a checkpoint or a proof for none where any part of it is in another form', () => {
  const root = leafHash('x');
  const text = checkpointText({ log: 'k3v9', size: 7, root });
  const more = `${text}another line\nand one more\n`;
  expect(parseCheckpoint(more)).toEqual({ log: 'k3v9', size: 7, root });
  expect(parseCheckpoint(checkpointText({ log: 'a'.repeat(32), size: 0, root }))?.size).toBe(0);
  expect(parseCheckpoint(checkpointText({ log: 'a', size: 999_999_999_999_999, root }))?.size).toBe(
    999_999_999_999_999,
  );
  const encoded = root.toString('base64');
  // The last character of a hash has two bits that say nothing, and stand for zero.
  const another = `${encoded.slice(0, -2)}${String.fromCharCode((encoded.at(-2) ?? 'A').charCodeAt(0) + 1)}=`;
  expect(Buffer.from(another, 'base64').equals(root)).toBe(true);
  for (const bad of [
    text.replace('k3v9', 'K3v9'),
    text.replace('k3v9', ''),
    text.replace('k3v9', 'a'.repeat(33)),
    text.replace('\n7\n', '\n-7\n'),
    text.replace('\n7\n', `\n1${'0'.repeat(15)}\n`),
    text.replace(encoded, another),
    text.replace(encoded, encoded.slice(1)),
    `${text}\n`,
    `${text}no end`,
    `${text}\nbelow an empty line\n`,
  ]) {
    expect([bad, parseCheckpoint(bad)]).toEqual([bad, null]);
  }
  const proof = { index: 12, line: 'l', path: [root], checkpoint: 'c\n\nd' };
  expect(proofText(proof)).toBe(`c2sp.org/tlog-proof@v1\nextra bA==\nindex 12\n${encoded}\n\nc\n\nd`);
  for (const path of [[], Array.from({ length: 64 }, () => root)]) {
    expect(parseProof(proofText({ ...proof, path }))).toEqual({ ...proof, path });
  }
  for (const bad of [
    proofText({ ...proof, path: Array.from({ length: 65 }, () => root) }),
    proofText(proof).replace('extra bA==', 'extra '),
    proofText(proof).replace('extra bA==', 'extra b!=='),
    proofText(proof).replace('c2sp.org', 'c2spxorg'),
    proofText(proof).replace(encoded, encoded.slice(1)),
    proofText(proof).replace('index 12', `index 1${'0'.repeat(15)}`),
    ` ${proofText(proof)}`,
  ]) {
    expect([bad, parseProof(bad)]).toEqual([bad, null]);
  }
});
