// The example of engine/README.md "The decision table", number by number.
import { expect, it } from '@jest/globals';
import { instantOf, type ScopeSet } from '../../../engine/index.js';
import { ROW } from '../../../engine/table/columns.js';
import { pathOf as textOf } from '../../../engine/table/locate.js';
import { stepsAt, windowedHead } from '../../../engine/table/steps.js';
import { policyOf } from '../oracle/worlds.js';
import { ADA, ask, grant, load } from '../table-world.js';
import { tableOf } from './table-of.js';

const [A, B, C, D] = [1, 2, 4, 16] as const;
const JUNE = instantOf(Date.UTC(2027, 5, 1));
const staff = { name: 'staff', description: null, members: [], place: null };
const OF_STAFF = { kind: 'role', role: 'staff' } as const;

const bits = (scopes: number): ScopeSet => scopes as ScopeSet;
const policy = load(
  policyOf(
    [staff],
    [
      grant('/labs', { principal: OF_STAFF, scopes: bits(A) }),
      grant('/labs/optics', { principal: OF_STAFF, scopes: bits(B), inherit: false }),
      grant('/labs', { scopes: bits(C), expires: JUNE }),
      grant('/tests', { scopes: bits(D) }),
    ],
  ),
);
const table = tableOf(policy);
const [ofStaff = 0, ofAda = 0] = table.runStart;

it('has four nodes, in the order of paths, and a place at each and below it', () => {
  expect(Array.from(table.nodeRow, (row) => textOf(table, row))).toEqual(['/', '/labs', '/labs/optics', '/tests']);
  expect(Array.from(table.nodeRow, (row) => table.rows[ROW.words * row + ROW.place])).toEqual([0, 2, 4, 6]);
});

it('has a step wherever what somebody holds changes: always, and at some time', () => {
  expect(stepsAt(table.runSets, ofStaff + 1)).toEqual({ places: [2, 4, 5, 6], sets: [A, A | B, A, 0] });
  expect(windowedHead(table.runs, ofStaff + 1)).toBe(-1);
  expect(stepsAt(table.runSets, ofAda + 1)).toEqual({ places: [6], sets: [D] });
  const then = windowedHead(table.runs, ofAda + 1);
  expect(stepsAt(table.runSets, then)).toEqual({ places: [2, 6], sets: [C, 0] });
});

it('ends where the last grant of a principal does, without a step beyond the last place', () => {
  expect(ask(policy, ADA, '/tests/x')).toBe('g3');
  expect(ask(policy, ADA, '/zzz')).toBe('no_matching_grant');
});

it('has room to keep the text of each path and a reference to each grant, and for no more', () => {
  expect([table.rows.length / ROW.words, table.paths.values.length]).toEqual([4, 4]);
  expect([table.grantFile.length, table.refs.values.length]).toEqual([4, 4]);
});
