// `expires` over grants that follow each other, and counting `under` a namespace, against brute force.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatIdentity, type NamespacePath, scopeNames, type ScopeSet } from '../../../engine/index.js';
import type { GuardrailRule, PolicySet } from '../../../engine/model/policy-set.js';
import { testRuns } from '../../support/test-runs.js';
import { isAtOrBelow, oracleScopes } from '../oracle/oracle.js';
import { anyPath, IDENTITIES, pathOf, UNIVERSE, world } from '../oracle/worlds.js';
import { checkOne, EVERYONE, holds, isDuring, isInRegion, TIMES } from './brute.js';

function without(set: PolicySet, left: readonly string[]): PolicySet {
  return { ...set, grants: set.grants.filter(({ id }) => !left.includes(id)) };
}

function expectMinimalRepair(set: PolicySet, repair: readonly string[], isBroken: (other: PolicySet) => boolean): void {
  expect(isBroken(without(set, repair))).toBe(false);
  for (const spared of repair) {
    const others = repair.filter((id) => id !== spared);
    expect([spared, isBroken(without(set, others))]).toEqual([spared, true]);
  }
}

describe('expires', () => {
  /** Every cell that an identity holds for too long without a break, with the time of it. */
  function tooLong(set: PolicySet, provider: string, within: number): readonly string[] {
    const held = holds(set);
    const byId = new Map(set.grants.map((grant) => [grant.id, grant]));
    return IDENTITIES.filter((who) => who.provider === provider).flatMap((who) =>
      UNIVERSE.flatMap((path) => {
        const heldHere = TIMES.map((at) => held(who, path, at));
        return oracleScopes(set).flatMap((scope) => {
          const ids = new Set(heldHere.flatMap((byScope) => byScope.get(scope) ?? []));
          const windows = [...ids]
            .map((id) => ({ from: byId.get(id)?.notBefore ?? -Infinity, until: byId.get(id)?.expires ?? Infinity }))
            .sort((a, b) => a.from - b.from);
          const joined: { from: number; until: number }[] = [];
          for (const { from, until } of windows) {
            const last = joined.at(-1);
            if (last !== undefined && from <= last.until) last.until = Math.max(last.until, until);
            else joined.push({ from, until });
          }
          return joined
            .filter(({ from, until }) => until - from > within)
            .flatMap(({ from, until }) => TIMES.filter((at) => from <= at && at < until))
            .map((at) => `${formatIdentity(who)} ${path} ${scope} ${String(at)}`);
        });
      }),
    );
  }

  it('counts what follows each other without a break', () => {
    const seen = { held: 0, broken: 0, following: 0 };
    const some = fc.record({ provider: fc.constantFrom('github', 'orcid'), within: fc.constantFrom(10, 15, 20) });
    const bounded = world.map((set) => ({
      ...set,
      // Mostly windows that are short by themselves. Every other grant goes on where the one before may have ended.
      grants: set.grants.map((grant, i) => {
        if (i === 5 || (grant.notBefore ?? 0) >= 20) return grant;
        const last = i % 2 === 1 ? set.grants[i - 1] : undefined;
        if (last !== undefined) {
          const { principal, namespace, scopes } = last;
          return { ...grant, principal, namespace, scopes, notBefore: 10, expires: 20 };
        }
        return { ...grant, notBefore: grant.notBefore ?? 0, expires: (grant.notBefore ?? 0) + 10 };
      }) as PolicySet['grants'],
    }));
    const property = fc.property(bounded, some, (set, { provider, within }) => {
      const rule: GuardrailRule = { kind: 'expires', providers: [provider], withinMilliseconds: within, each: false };
      const violation = checkOne(set, rule);
      const expected = new Set(tooLong(set, provider, within));
      const told = new Set<string>();
      for (const witness of violation?.witnesses ?? []) {
        const paths = UNIVERSE.filter((path) => isInRegion(witness, path));
        const times = TIMES.filter((at) => isDuring(witness, at));
        for (const who of witness.identities)
          for (const path of paths)
            for (const at of times)
              for (const scope of witness.scopes) told.add(`${who} ${path} ${scope} ${String(at)}`);
      }
      expect(violation === null).toBe(expected.size === 0);
      for (const cell of told) expect([cell, expected.has(cell)]).toEqual([cell, true]);
      const each = checkOne(set, { ...rule, each: true });
      seen[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null) return;
      if (each === null) {
        seen.following += 1;
        expect([...told].sort()).toEqual([...expected].sort());
      }
      const repair = violation.repair.map(({ id }) => id);
      expectMinimalRepair(set, repair, (other) => tooLong(other, provider, within).length > 0);
    });
    fc.assert(property, testRuns({ usual: 80, deep: 600 }));
    expect([seen, Math.min(...Object.values(seen)) > 4]).toEqual([seen, true]);
  });
});

describe('under', () => {
  function brokenPaths(
    set: PolicySet,
    rule: GuardrailRule & { readonly kind: 'atLeast' | 'atMost' },
  ): readonly string[] {
    const held = holds(set);
    const place = rule.at.kind === 'under' ? rule.at.path : pathOf('/');
    const wanted: readonly string[] = scopeNames(rule.scopes);
    return [...new Set<NamespacePath>([...UNIVERSE, place, pathOf(place === '/' ? '/zz' : `${place}/zz`)])]
      .filter((path) => isAtOrBelow(path, place))
      .flatMap((path) =>
        TIMES.filter((at) => {
          const holders = IDENTITIES.filter((who) =>
            [...held(who, path, at).keys()].some((one) => wanted.includes(one)),
          );
          return rule.kind === 'atLeast' ? holders.length < rule.identities : holders.length > rule.identities;
        }).map((at) => `${path} ${String(at)}`),
      );
  }

  it('asks everywhere at and below a namespace', () => {
    const seen = { held: 0, broken: 0 };
    const some = fc.record({
      kind: fc.constantFrom('atLeast' as const, 'atMost' as const),
      identities: fc.integer({ min: 1, max: 3 }),
      scopes: fc.constantFrom(1, 3, 16, 1023).map((bits) => bits as ScopeSet),
      path: anyPath,
    });
    const property = fc.property(world, some, (set, { kind, identities, scopes, path }) => {
      const count = { identities, scopes, at: { kind: 'under', path } as const };
      const rule = kind === 'atLeast' ? { kind, ...count } : { kind, groups: 0, ...count, ...EVERYONE };
      const violation = checkOne(set, rule);
      const told = new Set<string>();
      for (const witness of violation?.witnesses ?? [])
        for (const one of new Set([...UNIVERSE, path, pathOf(path === '/' ? '/zz' : `${path}/zz`)]))
          if (isInRegion(witness, one))
            for (const at of TIMES.filter((time) => isDuring(witness, time))) told.add(`${one} ${String(at)}`);
      expect([...told].sort()).toEqual([...brokenPaths(set, rule)].sort());
      seen[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null || kind === 'atLeast') return;
      const repair = violation.repair.map(({ id }) => id);
      expectMinimalRepair(set, repair, (other) => brokenPaths(other, rule).length > 0);
    });
    fc.assert(property, testRuns({ usual: 200, deep: 1_000 }));
    expect([seen, Math.min(...Object.values(seen)) > 10]).toEqual([seen, true]);
  });
});
