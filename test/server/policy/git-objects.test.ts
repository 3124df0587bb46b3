// How long the objects of a repository may be read: git must answer in time, and what is done with its answers does not count.
import { expect, it } from '@jest/globals';
import { type GitObjects, openObjects } from '../../../server/policy/sources/git-objects.js';
import { interruptedGit } from '../../support/git-forgeries.js';
import { makeRepository, PROGRAMS } from '../../support/git-repository.js';

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
