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

describe('namespaces with all of their children', () => {
  it('cost in proportion to how many there are', () => {
    const best = (count: number): number => Math.min(...Array.from({ length: 9 }, () => timeOf(count)));
    best(250);
    // Sixteen times as many: sixteen times as long, or 256 times if each looked at all.
    expect(best(4000) / best(250)).toBeLessThan(64);
  });
});
