// How long the objects of a repository may be read: git must answer in time, what is done with its answers does not count, and
// others have their turn meanwhile.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { SOURCE_LIMITS } from '../../../server/limits/policy.js';
import { contentAt } from '../../../server/policy/sources/git-content.js';
import { type GitObjects, openObjects } from '../../../server/policy/sources/git-objects.js';
import { interruptedGit } from '../../support/git-forgeries.js';
import { makeRepository, PROGRAMS } from '../../support/git-repository.js';
import { longestTurn } from '../../support/longest-turn.js';

const MIB = 1024 * 1024;

function open(repository: string, first: string, lookTime: number, programs = PROGRAMS): GitObjects {
  const { signal } = new AbortController();
  return openObjects({ repository, programs, signal, silence: 60_000 }, first, lookTime);
}

it('objects named by SHA-1 are read to the last, although the search for collisions takes longer than git may', async () => {
  const { path, feed } = await makeRepository();
  const names = Array.from({ length: 12 }, (_, i) => feed(Buffer.alloc(MIB, i), ['hash-object', '-w', '--stdin']));
  const lookTime = 1_000;
  const objects = open(path, names[0] ?? '', lookTime);
  const began = performance.now();
  for (const name of names) expect((await objects.find(name, MIB))?.size).toBe(MIB);
  objects.close();
  expect(performance.now() - began).toBeGreaterThan(2 * lookTime);
});

it('a git that never falls silent and never answers is given up after the time that it has', async () => {
  const { path, feed } = await makeRepository();
  const name = feed('text', ['hash-object', '-w', '--stdin']);
  const objects = open(path, name, 500, await interruptedGit('while :; do printf .; sleep 0.1; done'));
  const began = performance.now();
  await expect(objects.find(name, MIB)).rejects.toThrow('did not answer in time');
  objects.close();
  expect(performance.now() - began).toBeLessThan(30_000);
});

it('nobody waits for a large object to be hashed', async () => {
  const { path, feed } = await makeRepository('sha256');
  const bytes = Buffer.alloc(128 * MIB);
  const name = feed(bytes, ['hash-object', '-w', '--stdin']);
  const objects = open(path, name, 60_000);
  const tries: (readonly [hashing: number, longest: number])[] = [];
  // The best of them, because other programs take their turns, too.
  while (tries.length < 4) {
    const began = performance.now();
    createHash('sha256').update(bytes).digest();
    const hashing = performance.now() - began;
    const { longest } = await longestTurn(async () => {
      expect((await objects.find(name, bytes.length))?.bytes?.length).toBe(bytes.length);
    });
    tries.push([hashing, longest]);
  }
  const [hashing, longest] = [0, 1].map((i) => Math.min(...tries.map((one) => one[i] ?? 0)));
  objects.close();
  expect(longest).toBeLessThan((hashing ?? 0) / 2);
});

it('a folder with more entries than a policy has files is not read to its end, on the way to the policy either', async () => {
  const { path, rawTree, tree, feed } = await makeRepository('sha256');
  const blob = feed('x', ['hash-object', '-w', '--stdin']);
  const wide = (entries: number): string =>
    rawTree(
      Buffer.concat(
        Array.from({ length: entries }, (_, i) =>
          Buffer.concat([Buffer.from(`100644 f${String(i)}.txt\0`), Buffer.from(blob, 'hex')]),
        ),
      ),
    );
  const most = SOURCE_LIMITS.treeEntries;
  const [fits, tooWide] = [wide(most), wide(most + 1)];
  const objects = open(path, fits, 60_000);
  expect(await contentAt(objects, tree(`040000 tree ${fits}\tlabs`), 'labs/policies')).toBeNull();
  const told = `has a folder with more than 40000 files and folders: the tree ${tooWide}`;
  for (const root of [tooWide, tree(`040000 tree ${tooWide}\tlabs`)])
    await expect(contentAt(objects, root, 'labs/policies')).rejects.toThrow(told);
  objects.close();
});
