// Redundant grants, judged by the decision digest on generated worlds: the reported grants can be removed, each alone and all at once,
// and afterwards none is redundant, whoever a grant goes to and wherever paths end.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Diagnostic, lintPolicy, type PolicySet } from '../../engine/compiler.js';
import type { ScopeSet } from '../../engine/index.js';
import { RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import type { PolicyGrant, PolicyRole } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { compile } from './full-policy.js';
import { grantBody, pathOf, policyOf, world } from './oracle/worlds.js';

const IDLE = /REDUNDANT|UNREACHABLE/;

function lint(policy: PolicySet): readonly Diagnostic[] {
  const input = { policy, sources: new Map<string, string>(), outlines: [] };
  return lintPolicy(input, { at: null, soonMilliseconds: 0, levels: new Map() }).filter(({ code }) => IDLE.test(code));
}

function idsOf(found: readonly Diagnostic[]): ReadonlySet<string> {
  return new Set(found.map(({ message }) => /^the grant `([^`]+)`/.exec(message)?.[1] ?? message));
}

const decisions = (set: PolicySet): string => compile(set).decisions;
const without = (set: PolicySet, ids: ReadonlySet<string>): PolicySet => ({
  ...set,
  grants: set.grants.filter(({ id }) => !ids.has(id)),
});

/** Gives how many were found. */
function judge(set: PolicySet): number {
  const found = idsOf(lint(set));
  const whole = decisions(set);
  const left = without(set, found);
  expect(decisions(left)).toBe(whole);
  for (const id of found) expect(decisions(without(set, new Set([id])))).toBe(whole);
  for (const { id } of left.grants) expect(decisions(without(left, new Set([id])))).not.toBe(whole);
  return found.size;
}

const role = (name: string, subjects: readonly string[]): PolicyRole => ({
  name,
  description: null,
  members: subjects.map((subject) => ({ kind: 'identity', identity: { provider: 'orcid', subject }, place: null })),
  place: null,
});

const grant = (to: string, path: string, change: Partial<PolicyGrant> = {}): Omit<PolicyGrant, 'id'> => ({
  principal: to.startsWith('@')
    ? { kind: 'role', role: to.slice(1) }
    : { kind: 'identity', identity: { provider: 'orcid', subject: to } },
  namespace: pathOf(path),
  scopes: 1 as ScopeSet,
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
  ...change,
});

const told = (set: PolicySet): readonly string[] => lint(set).map(({ message }) => message);

describe('redundant grants', () => {
  it('to a role are those that each of its members has otherwise', () => {
    const roles = [role('staff', ['a', 'b']), role('all', ['a', 'b', 'c'])];
    expect(told(policyOf(roles, [grant('@staff', '/a'), grant('@all', '/a')]))).toEqual([
      'the grant `g0` adds nothing to `g1`',
    ]);
    const apart = [grant('@staff', '/a/b'), grant('a', '/a'), grant('b', '/', { scopes: RECORD_SCOPE_SET })];
    expect(told(policyOf(roles, apart))).toEqual(['the grant `g0` adds nothing to `g1` and `g2`']);
    expect(told(policyOf(roles, apart.slice(0, 2)))).toEqual([]);
  });

  it('are covered by few that are named, or by a number that is exact', () => {
    const names = Array.from({ length: 12 }, (_, index) => `m${String(index)}`);
    const own = names.map((name) => grant(name, '/a'));
    const report = lint(policyOf([role('all', names)], [grant('@all', '/a/b'), ...own]));
    expect(report.map(({ message }) => message)).toEqual(['the grant `g0` adds nothing to 12 other grants']);
    // Half of them have it by way of a role, and their own grants are then the ones to go.
    const half = policyOf(
      [role('all', names), role('half', names.slice(0, 10))],
      [grant('@half', '/'), ...own, grant('@all', '/a/b')],
    );
    expect(told(half)).toContain('the grant `g13` adds nothing to `g0` and `g11` and `g12`');
    judge(half);
  });

  it('can be removed at once, and leave none to spare: brute force over small worlds', () => {
    let found = 0;
    fc.assert(
      fc.property(world, (set) => {
        found += judge(set);
      }),
      testRuns({ usual: 75, deep: 150 }),
    );
    expect(found).toBeGreaterThan(50);
  });

  const deep = (segments: number): string => '/s'.repeat(segments);

  it('and where paths end, at the limit of depth', () => {
    const at = fc.constantFrom(deep(30), deep(31), deep(32)).map((path) => ({ namespace: pathOf(path) }));
    const bodies = fc.array(
      fc.tuple(grantBody, at).map(([body, there]) => ({ ...body, ...there })),
      { maxLength: 7 },
    );
    fc.assert(
      fc.property(world, bodies, (set, grants) => {
        judge(policyOf(set.roles, grants));
      }),
      testRuns({ usual: 30, deep: 60 }),
    );
    const only = policyOf([], [grant('a', deep(32)), grant('a', deep(32), { inherit: false })]);
    expect(told(only)).toEqual(['the grant `g1` adds nothing to `g0`']);
  });

  it('and where all that can stand below a namespace is named', () => {
    const long = `/${'s'.repeat(63)}`.repeat(15) + `/${'s'.repeat(61)}`;
    const letters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789_~-');
    expect(long.length).toBe(1022);
    const below = letters.slice(0, 38).map((letter) => grant('a', `${long}/${letter}`));
    const here = grant('a', long, { inherit: false });
    const all = policyOf([], [here, ...below, grant('a', `${long}/-`), grant('a', long)]);
    expect(told(all)).toEqual(['the grant `g40` adds nothing to 40 other grants']);
    expect(judge(all)).toBe(1);
    const some = policyOf([], [here, ...below.slice(1), grant('a', `${long}/-`), grant('a', long)]);
    expect(judge(some)).toBe(39);
  });
});
