// Where two revisions left each other: what git says of an honest repository, and never what it was made to say.
import { describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { forkOf } from '../../../server/policy/sources/revision.js';
import { loosePath, OTHER_PARENTS } from '../../support/git-forgeries.js';
import { makeHistory, type MadeHistory } from '../../support/git-history.js';
import { PROGRAMS } from '../../support/git-repository.js';
import { testRuns } from '../../support/test-runs.js';

function forkIn({ path: cwd }: MadeHistory, first: string, second: string): ReturnType<typeof forkOf> {
  return forkOf([first, second], { cwd, programs: PROGRAMS });
}

/** Each commit is of a time of its own choice, and has up to three parents among those before. */
const HISTORY = fc
  .array(fc.record({ hour: fc.nat(9), parents: fc.array(fc.nat(99), { maxLength: 3 }) }), {
    minLength: 2,
    maxLength: 14,
  })
  .map((commits) =>
    commits.map(({ hour, parents }, i) => ({
      files: { text: String(i) },
      hour,
      parents: i === 0 ? [] : [...new Set(parents.map((parent) => parent % i))],
    })),
  );

describe('the fork of two revisions', () => {
  it('is one of those that git finds, and that of the latest time', async () => {
    let several = 0;
    await fc.assert(
      fc.asyncProperty(HISTORY, fc.constantFrom('sha1', 'sha256'), async (commits, format) => {
        const history = await makeHistory(commits, format);
        const pairs = history.names.flatMap((one, i) => history.names.slice(i).map((other) => [one, other] as const));
        for (const [one, other] of pairs.slice(-6)) {
          const bases = basesOf(history, one, other);
          const found = await forkIn(history, one, other);
          if (bases.length === 0) expect(found).toBeNull();
          else expect(bases).toContain(found);
          const hourOf = (name: unknown): number => commits[history.names.findIndex((one) => one === name)]?.hour ?? -1;
          expect(hourOf(found)).toBe(Math.max(-1, ...bases.map(hourOf)));
          if (bases.length > 1) several += 1;
        }
      }),
      testRuns({ usual: 8, deep: 200 }),
    );
    expect(several).toBeGreaterThan(0);
  });

  it.each(OTHER_PARENTS)('is not moved by %s', async (_, forge) => {
    const history = await makeHistory(
      [[], [0], [1], [0]].map((parents, i) => ({ files: { text: String(i) }, parents })),
    );
    const [first = '', second = '', side = '', main = ''] = history.names;
    forge(history, second, main);
    expect(basesOf(history, main, side)).toEqual([main]);
    expect(await forkIn(history, main, side)).toBe(first);
  });

  it('is not known where a commit on the way is missing', async () => {
    const history = await makeHistory(
      [[], [0], [1], [1]].map((parents, i) => ({ files: { text: String(i) }, parents })),
    );
    const [older = '', newer = '', side = '', main = ''] = history.names;
    expect(await forkIn(history, main, side)).toBe(newer);
    rmSync(loosePath(history.objects, older));
    expect(await forkIn(history, main, side)).toBe(newer);
    rmSync(loosePath(history.objects, newer));
    expect(await forkIn(history, main, side)).toBeNull();
  });
});

function basesOf({ run }: MadeHistory, one: string, other: string): readonly string[] {
  try {
    return run('merge-base', '--all', one, other).split('\n');
  } catch {
    // None: git says so by its status.
    return [];
  }
}
