// Namespaces with grants at every possible child, which is only possible near the limits of paths. What is below them is computed in
// time linear in their number.
import { describe, expect, it } from '@jest/globals';
import { NAMESPACE_LIMITS } from '../../engine/index.js';
import type { PolicyTables } from '../../engine/model/tables.js';
import { makeBelowRule } from '../../engine/snapshot/below.js';
import { makeTimelines } from '../../engine/snapshot/numbered-timelines.js';
import { stopCpu } from '../support/cpu-time.js';

/** All that one character can be, but `.`, which is no segment. */
const ONE = Array.from('-0123456789_abcdefghijklmnopqrstuvwxyz~');

/** `count` namespaces with room for one character below each, and all of their children. */
function crowd(count: number): PolicyTables {
  const filler = 'x'.repeat(NAMESPACE_LIMITS.segmentLength);
  const parent = [-1];
  const segment = [-1];
  // Fifteen long segments, then one that leaves a slash and a character: 15 * 64 + 62 + 2 bytes.
  for (let level = 0; level < 15; level += 1) {
    parent.push(level);
    segment.push(ONE.length);
  }
  const names = Array.from({ length: count }, (_, i) => String(i).padStart(61, '0'));
  for (let i = 0; i < count; i += 1) {
    const row = parent.length;
    parent.push(15);
    segment.push(ONE.length + 1 + i);
    for (let child = 0; child < ONE.length; child += 1) {
      parent.push(row);
      segment.push(child);
    }
  }
  return {
    segments: [...ONE, filler, ...names],
    namespaces: { parent: Int32Array.from(parent), segment: Int32Array.from(segment) },
  } as unknown as PolicyTables;
}

function timeOf(count: number): number {
  const tables = crowd(count);
  const nothing = new Int32Array(0);
  const rule = makeBelowRule({
    tables,
    timelines: makeTimelines(Infinity),
    grantsAt: () => nothing,
    holdersOf: () => nothing,
    timelineOf: () => 0,
  });
  const full = Array.from(tables.namespaces.parent.keys()).filter((row) => rule.kindOf(row) === 'full');
  expect(full.length).toBe(count);
  const cpu = stopCpu();
  for (const row of full) rule.leastOf(row);
  return cpu();
}

/** What a class has below, where each child gives it rights of its own. */
function leastOf(
  of: (child: number) => readonly { readonly scopes: number; readonly inherit: boolean }[],
  at = 16,
): unknown {
  const tables = crowd(1);
  const rights: { readonly scopes: number; readonly inherit: boolean }[] = [];
  const first = 17;
  const lists = Array.from(ONE, (_, child) => of(child).map((one) => rights.push(one) - 1));
  const rule = makeBelowRule({
    tables: {
      ...tables,
      grants: {
        principal: new Int32Array(rights.length).fill(1),
        inherit: rights.map(({ inherit }) => (inherit ? 1 : 0)),
      },
    } as unknown as PolicyTables,
    timelines: makeTimelines(Infinity),
    grantsAt: (row) => Int32Array.from(lists[row - first] ?? []),
    holdersOf: (principal) => Int32Array.of(6 + principal),
    timelineOf: (grant) => rights[grant]?.scopes ?? 0,
  });
  expect(rule.kindOf(at)).toBe('full');
  return [...rule.leastOf(at)];
}

interface Right {
  readonly scopes: number;
  readonly inherit: boolean;
}

/** A namespace with room for three characters below it, and all of its children; below `b` all that fit, too. */
function nested(): { readonly tables: PolicyTables; readonly names: readonly string[] } {
  const any = [...ONE, '.'];
  const two = any.flatMap((one) => any.map((other) => one + other));
  const all = [...ONE, ...two.filter((one) => one !== '..'), ...two.flatMap((one) => any.map((other) => one + other))];
  const above = [...Array.from({ length: 15 }, () => 'x'.repeat(NAMESPACE_LIMITS.segmentLength)), 'y'.repeat(59)];
  const rows = [
    ...above.map((text, parent) => ({ name: '', text, parent })),
    ...all.flatMap((text, i) => [
      { name: text, text, parent: 16 },
      // Below `a`, which stands before `b`, is one row.
      ...(text === 'a' ? [{ name: 'a/0', text: '0', parent: 17 + i }] : []),
      ...(text === 'b' ? ONE.map((one) => ({ name: `b/${one}`, text: one, parent: 18 + i })) : []),
    ]),
  ];
  const segments = [...new Set(rows.map(({ text }) => text))];
  const numbers = new Map(segments.map((text, i) => [text, i]));
  const namespaces = {
    parent: Int32Array.from([-1, ...rows.map(({ parent }) => parent)]),
    segment: Int32Array.from([-1, ...rows.map(({ text }) => numbers.get(text) ?? 0)]),
  };
  return { tables: { segments, namespaces } as unknown as PolicyTables, names: ['', ...rows.map(({ name }) => name)] };
}

it('what is below a child counts if paths without a row are there, or if all that are there have it', () => {
  const { tables, names } = nested();
  const leastWith = (given: Readonly<Record<string, readonly Right[]>>): unknown => {
    const rights: Right[] = [];
    const others = rights.push({ scopes: 7, inherit: true }) - 1;
    const lists = new Map(Object.entries(given).map(([name, list]) => [name, list.map((one) => rights.push(one) - 1)]));
    const rule = makeBelowRule({
      tables: {
        ...tables,
        grants: { principal: new Int32Array(9), inherit: rights.map(({ inherit }) => (inherit ? 1 : 0)) },
      } as unknown as PolicyTables,
      timelines: makeTimelines(Infinity),
      grantsAt: (row) =>
        Int32Array.from(lists.get(names[row] ?? '') ?? (names[row]?.includes('/') === true ? [] : [others])),
      holdersOf: () => Int32Array.of(0),
      timelineOf: (grant) => rights[grant]?.scopes ?? 0,
    });
    expect([16, names.indexOf('a'), names.indexOf('b'), names.indexOf('aa')].map(rule.kindOf)).toEqual([
      ...['full', 'open', 'full', 'nothing'],
    ]);
    return [...rule.leastOf(16)];
  };
  const grandchildren = (scopes: number): Readonly<Record<string, readonly Right[]>> =>
    Object.fromEntries(ONE.map((one) => [`b/${one}`, [{ scopes, inherit: false }]]));
  expect(
    leastWith({
      'a/0': [{ scopes: 7, inherit: false }],
      a: [
        { scopes: 1, inherit: true },
        { scopes: 2, inherit: false },
      ],
    }),
  ).toEqual([[0, 1]]);
  expect(
    leastWith({
      aa: [
        { scopes: 1, inherit: true },
        { scopes: 2, inherit: false },
      ],
    }),
  ).toEqual([[0, 3]]);
  expect(
    leastWith({
      b: [
        { scopes: 4, inherit: true },
        { scopes: 3, inherit: false },
      ],
      ...grandchildren(1),
    }),
  ).toEqual([[0, 5]]);
  expect(leastWith({ b: [{ scopes: 1, inherit: false }], ...grandchildren(3) })).toEqual([[0, 1]]);
  expect(leastWith({ b: [], ...grandchildren(3) })).toEqual([[0, 0]]);
});

describe('namespaces with all of their children', () => {
  const give = (scopes: number, inherit = false): { readonly scopes: number; readonly inherit: boolean } => ({
    ...{ scopes, inherit },
  });

  it('give below what each of their children gives', () => {
    expect(leastOf(() => [give(3)])).toEqual([[7, 3]]);
    expect(leastOf((child) => [give(child === 0 ? 1 : 3)])).toEqual([[7, 1]]);
    expect(leastOf((child) => [give(child === 38 ? 1 : 3)])).toEqual([[7, 1]]);
    expect(leastOf((child) => [give(1), give(child === 20 ? 4 : 2)])).toEqual([[7, 1]]);
    expect(leastOf((child) => (child === 38 ? [] : [give(3)]))).toEqual([[7, 0]]);
    expect(leastOf((child) => (child === 0 ? [] : [give(3)]))).toEqual([]);
  });

  it('cost in proportion to how many there are', () => {
    const best = (count: number): number => Math.min(...Array.from({ length: 9 }, () => timeOf(count)));
    best(250);
    // Sixteen times as many: sixteen times as long, or 256 times if each looked at all.
    expect(best(4000) / best(250)).toBeLessThan(64);
  });
});
