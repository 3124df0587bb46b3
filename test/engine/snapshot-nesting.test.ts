// Roles inside roles in a snapshot that somebody made by hand: a cycle is refused, and so is what is nested too deeply.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SnapshotBody } from '../../engine/snapshot/document.js';
import { nestingFault } from '../../engine/snapshot/nesting-fault.js';
import { testRuns } from '../support/test-runs.js';

/** Members by role: numbers of roles, and of identities behind them. */
type Nesting = readonly (readonly number[])[];

function faultOf(roles: Nesting, limit: number): string | null {
  return nestingFault(
    {
      roles: { name: roles.map((_, role) => `r${String(role)}`) },
      members: { perRole: roles.map(({ length }) => length), member: roles.flat() },
    } as unknown as SnapshotBody,
    limit,
  );
}

/** How deep roles are nested from one on, which itself counts; Infinity with a cycle. */
function depthOf(roles: Nesting, role: number, outer: readonly number[] = []): number {
  if (outer.includes(role)) return Infinity;
  const inner = (roles[role] ?? []).filter((member) => member < roles.length);
  return 1 + Math.max(0, ...inner.map((member) => depthOf(roles, member, [...outer, role])));
}

const CYCLE = 'members: a role is a member of itself';
const DEEP = 'members: roles are nested too deeply';

it('has nothing against roles without a cycle up to the limit', () => {
  const met = new Map<string | null, number>();
  const anyRoles = fc
    .nat(6)
    .chain((count) =>
      fc.array(fc.uniqueArray(fc.nat(count + 2), { maxLength: 3 }), { minLength: count, maxLength: count }),
    );
  // Roles that have only earlier ones for members have no cycle.
  const withoutCycle = anyRoles.map((roles) =>
    roles.map((members, role) => members.filter((member) => member < role || member >= roles.length)),
  );
  fc.assert(
    fc.property(fc.oneof(anyRoles, withoutCycle), fc.integer({ min: 1, max: 5 }), (roles, limit) => {
      const deepest = Math.max(0, ...roles.map((_, role) => depthOf(roles, role)));
      const fault = faultOf(roles, limit);
      met.set(fault, (met.get(fault) ?? 0) + 1);
      if (deepest === Infinity) expect([CYCLE, DEEP]).toContain(fault);
      else expect(fault).toBe(deepest > limit ? DEEP : null);
    }),
    testRuns({ usual: 500, deep: 5000 }),
  );
  for (const fault of [null, CYCLE, DEEP]) expect([fault, (met.get(fault) ?? 0) > 20]).toEqual([fault, true]);
});

it.each<readonly [string, Nesting, string | null]>([
  ['no roles', [], null],
  ['a role of identities', [[1, 2]], null],
  ['a role in itself', [[0]], CYCLE],
  ['two in each other', [[1], [0]], CYCLE],
  ['one in two others', [[2], [2], [3]], null],
  ['three inside one another, the outer first', [[1], [2], []], DEEP],
  ['three inside one another, the inner first', [[], [0], [1]], DEEP],
  ['three of which the last is met from two sides', [[2], [0, 2], []], DEEP],
])('says of %s whether it is taken', (_, roles, expected) => {
  expect(faultOf(roles, 2)).toBe(expected);
});
