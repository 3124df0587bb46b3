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
      grants: { principal: new Int32Array(rights.length), inherit: rights.map(({ inherit }) => (inherit ? 1 : 0)) },
    } as unknown as PolicyTables,
    timelines: makeTimelines(Infinity),
    grantsAt: (row) => Int32Array.from(lists[row - first] ?? []),
    holdersOf: () => Int32Array.of(7),
    timelineOf: (grant) => rights[grant]?.scopes ?? 0,
  });
  expect(rule.kindOf(at)).toBe('full');
  return [...rule.leastOf(at)];
}

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
