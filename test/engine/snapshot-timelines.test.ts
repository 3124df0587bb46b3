// Numbers that stand for rights over all of time, and digests of sets of identities, with their limits.
import { expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { compileTables } from '../../engine/compile/compile-tables.js';
import { fromParts, type ScopeSet } from '../../engine/model/scope-set.js';
import type { HolderClasses } from '../../engine/model/holders.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import type { PolicyTables } from '../../engine/model/tables.js';
import { makeHolderSets } from '../../engine/snapshot/holder-sets.js';
import { makeTimelines, NEVER } from '../../engine/snapshot/numbered-timelines.js';
import { makeGrouping, makeRightsText, pairKey } from '../../engine/snapshot/rights-text.js';
import type { RowRights } from '../../engine/snapshot/cells.js';
import { grantIn, PLAIN } from './checked-policies.js';
import { IDENTITIES } from './oracle/worlds.js';

type Bits = ScopeSet & number;
const [READ, WRITE, BOTH] = [1, 2, 3] as unknown as readonly [Bits, Bits, Bits];

it('a timeline that never changes is its set, and another one has a number of its own', () => {
  const timelines = makeTimelines(Infinity);
  const { during, text, intervals, kept } = timelines;
  expect(during(READ, -Infinity, Infinity)).toBe(READ);
  expect(during(READ, 5, 5)).toBe(NEVER);
  expect(kept()).toBe(0);
  const [early, late] = [during(READ, -Infinity, 10), during(READ, 10, Infinity)];
  expect([early, late, during(READ, -Infinity, 10)]).toEqual([1024, 1025, 1024]);
  expect(kept()).toBe(4);
  expect([READ, early, late, during(WRITE, 0, 10)].map(text)).toEqual([
    '[[null,1]]',
    '[[null,1],[10,0]]',
    '[[null,0],[10,1]]',
    '[[null,0],[0,2],[10,0]]',
  ]);
  expect([READ, early, 1026].map(intervals)).toEqual([1, 2, 3]);
  expect(() => text(1027)).toThrow('timelines are made here only');
  expect(() => intervals(1027)).toThrow('timelines are made here only');
});

it('scopes beside the ten are told by their names', () => {
  const { during, text } = makeTimelines(Infinity);
  const own = fromParts(3, ['invoice:pay', 'order:ship']);
  expect(text(during(own, -Infinity, 10))).toBe('[[null,[3,"invoice:pay","order:ship"]],[10,0]]');
  expect(text(during(own, -Infinity, Infinity))).toBe('[[null,[3,"invoice:pay","order:ship"]]]');
});

it('unions and intersections are of each instant', () => {
  const { during, union, unionOf, intersection, text } = makeTimelines(Infinity);
  const [early, late, middle] = [during(READ, -Infinity, 10), during(READ, 10, Infinity), during(BOTH, 5, 15)];
  expect(union(READ, WRITE)).toBe(BOTH);
  expect(intersection(READ, BOTH)).toBe(READ);
  expect(intersection(READ, WRITE)).toBe(NEVER);
  for (const [a, b] of [
    [early, late],
    [late, early],
  ] as const)
    expect([union(a, b), intersection(a, b)]).toEqual([READ, NEVER]);
  for (const one of [early, late, middle]) {
    expect([union(one, one), union(NEVER, one), union(one, NEVER)]).toEqual([one, one, one]);
    expect([intersection(one, one), intersection(NEVER, one), intersection(one, NEVER)]).toEqual([one, NEVER, NEVER]);
    expect([unionOf([]), unionOf([one]), unionOf([one, one])]).toEqual([NEVER, one, one]);
  }
  expect(text(union(early, middle))).toBe('[[null,1],[5,3],[15,0]]');
  expect(text(union(WRITE, early))).toBe('[[null,3],[10,2]]');
  expect(text(intersection(early, middle))).toBe('[[null,0],[5,1],[10,0]]');
  expect(text(intersection(middle, WRITE))).toBe('[[null,0],[5,2],[15,0]]');
  expect(unionOf([early, late, WRITE])).toBe(BOTH);
  expect(unionOf([early, middle, NEVER])).toBe(union(early, middle));
  expect(unionOf([late, middle, NEVER])).toBe(union(late, middle));
});

it('results are counted once, and one is asked for again without', () => {
  const { during, union, unionOf, intersection, kept } = makeTimelines(Infinity);
  const spent = (work: () => unknown): number => {
    const before = kept();
    work();
    return kept() - before;
  };
  const [a, b, c] = [during(READ, 0, 10), during(READ, 20, 30), during(READ, 40, 50)];
  expect(kept()).toBe(9);
  const work: readonly (readonly [() => unknown, number])[] = [
    [() => union(a, b), 6],
    [() => union(b, a), 1],
    [() => union(NEVER, a), 0],
    [() => intersection(a, b), 1],
    [() => unionOf([a, b]), 0],
    [() => unionOf([a, b, c]), 10],
    [() => unionOf([c, b, a]), 3],
    [() => union(READ, WRITE), 0],
    [() => intersection(a, a), 0],
  ];
  for (const [one, least] of work) expect([spent(one), spent(one)]).toEqual([least, 0]);
});

it('are full past the limit, and then give nothing that is new', () => {
  const { during, union, unionOf, isFull, kept } = makeTimelines(9);
  const [a, b, c] = [during(READ, 0, 10), during(READ, 20, 30), during(READ, 40, 50)];
  expect([kept(), isFull()]).toEqual([9, false]);
  expect(union(a, b)).toBe(NEVER);
  expect([isFull(), kept() > 9]).toEqual([true, true]);
  const kept9 = kept();
  expect([union(b, c), unionOf([a, b, c]), kept()]).toEqual([NEVER, NEVER, kept9]);
  expect(during(READ, 0, 10)).toBe(a);
});

it('tells apart long timelines that begin alike', () => {
  const { during, unionOf, text } = makeTimelines(Infinity);
  const hours = Array.from({ length: 400 }, (_, i) => during(READ, 2 * i, 2 * i + 1));
  const [all, others] = [unionOf(hours), unionOf(hours.slice(0, -1))];
  expect(all).not.toBe(others);
  expect(unionOf(hours)).toBe(all);
  expect(unionOf(hours.toReversed())).toBe(all);
  expect(text(all).startsWith(text(others).slice(0, -1))).toBe(true);
});

/** Each identity has a grant of its own, and so a class of its own. */
function eachAlone(): { readonly tables: PolicyTables; readonly holders: HolderClasses } {
  const set: PolicySet = {
    ...PLAIN,
    grants: IDENTITIES.map((identity, i) => ({
      ...grantIn(`g${String(i)}`, null),
      principal: { kind: 'identity', identity },
    })),
  };
  const { tables, holders } = compileTables(set);
  const classes = holders(Infinity);
  if (classes === null) throw new Error('there is no limit');
  return { tables, holders: classes };
}

function digestOfThose(...rows: readonly number[]): string {
  const hash = createHash('sha256');
  for (const row of rows) {
    const { provider = '', subject = '' } = IDENTITIES[row] ?? {};
    hash.update(
      createHash('sha256')
        .update(JSON.stringify([provider, subject]))
        .digest(),
    );
  }
  return `sha256:${hash.digest('hex')}`;
}

it('the digest of a set is of the hashes of its identities, in order of provider and subject', () => {
  const { tables, holders } = eachAlone();
  const { digestOf } = makeHolderSets(tables, holders, Infinity);
  const digestOfRows = (...rows: readonly number[]): string | null =>
    digestOf(Int32Array.from(rows, (row) => holders.classOf[row] ?? 0).sort());
  for (const rows of [[0], [1], [0, 1], [2, 3], [0, 1, 2, 3], [], [0], [1, 3], [0, 1, 2, 3]])
    expect(digestOfRows(...rows)).toBe(digestOfThose(...rows));
});

it('a set that was hashed is not counted again, and others are up to the limit', () => {
  const { tables, holders } = eachAlone();
  const { digestOf } = makeHolderSets(tables, holders, 5);
  const of = (...classes: readonly number[]): boolean => digestOf(Int32Array.from(classes)) !== null;
  expect([of(0, 1), of(0, 1), of(0, 1), of(1, 2, 3), of(0, 1), of(1, 2, 3), of(0)]).toEqual([
    ...[true, true, true, true, true, true],
    false,
  ]);
  expect([of(0, 1), of(0)]).toEqual([true, false]);
});

it('classes are grouped by what they hold at a row and below it', () => {
  const numbers = [NEVER, 1023, 1024];
  const pairs = numbers.flatMap((at) => numbers.map((below) => ({ at, below })));
  expect(new Set(pairs.map(pairKey)).size).toBe(pairs.length);
  const group = makeGrouping(3);
  const column = (of: (one: RowRights) => number, rights: readonly RowRights[]): Int32Array =>
    Int32Array.from(rights, of);
  for (const first of pairs)
    for (const second of pairs)
      for (const third of pairs) {
        const rights = [first, second, third];
        const expected = new Map<string, number[]>();
        rights.forEach(({ at, below }, holder) => {
          if (at + below === NEVER) return;
          const key = `${String(at)} ${String(below)}`;
          expected.set(key, [...(expected.get(key) ?? []), holder]);
        });
        const classes = Int32Array.of(0, 1, 2);
        const groups = group({
          count: 3,
          classes,
          at: column(({ at }) => at, rights),
          below: column(({ below }) => below, rights),
        });
        const found = groups.map(({ at, below, classes: those }) => [
          `${String(at)} ${String(below)}`,
          Array.from(those),
        ]);
        if (JSON.stringify(found) !== JSON.stringify([...expected])) expect(found).toEqual([...expected]);
      }
  expect(
    group({ count: 0, classes: Int32Array.of(0, 1, 2), at: Int32Array.of(1, 1, 1), below: Int32Array.of(1, 1, 1) }),
  ).toEqual([]);
});

it('what a row writes is counted up to the limits, beyond the first interval of each', () => {
  const { tables, holders } = eachAlone();
  const written = (intervals: number, rows: number): unknown => {
    const timelines = makeTimelines(Infinity);
    const window = timelines.during(READ, 0, 10);
    const sets = makeHolderSets(tables, holders, rows);
    const rightsOf = makeRightsText(timelines, { sets, intervals });
    const one = (at: number, below: number, holder: number): string | readonly string[] =>
      rightsOf([{ at, below, classes: Int32Array.of(holder) }]);
    return [one(window, READ, 0), one(READ, window, 1), one(READ, READ, 2)];
  };
  const whole = '[[null,0],[0,1],[10,0]]';
  const texts = [
    [`[${whole},[[null,1]],"${digestOfThose(0)}"]`],
    [`[[[null,1]],${whole},"${digestOfThose(1)}"]`],
    [`[[[null,1]],[[null,1]],"${digestOfThose(2)}"]`],
  ];
  expect(written(4, 3)).toEqual(texts);
  expect(written(3, 3)).toEqual([texts[0], 'intervals', 'intervals']);
  expect(written(1, 3)).toEqual(['intervals', 'intervals', 'intervals']);
  expect(written(4, 2)).toEqual([texts[0], texts[1], 'expandedRows']);
});
