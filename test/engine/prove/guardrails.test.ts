// Every kind of guardrail against brute force over small worlds with windows, nested roles and grants that do not inherit: the same
// verdicts, every witness, and a minimal repair that works.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { formatIdentity, type Identity, type NamespacePath, scopeNames, type ScopeSet } from '../../../engine/index.js';
import type { Exemption, GuardrailRule, PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { anyPath, IDENTITIES, orOwnScopes, pathOf, STRANGER, UNIVERSE, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { checkOne, EVERYONE, holds, isDuring, isInRegion, TIMES } from './brute.js';

type Texts = readonly string[];

function withoutGrants(set: PolicySet, left: readonly string[]): PolicySet {
  return { ...set, grants: set.grants.filter((grant) => !left.includes(grant.id)) };
}

const scopeSet = orOwnScopes(fc.integer({ min: 1, max: 1023 }).map((bits) => bits as ScopeSet));
const fewScopes = orOwnScopes(fc.constantFrom(...[1, 2, 3, 16, 32, 48].map((bits) => bits as ScopeSet)));
const exemption: fc.Arbitrary<Exemption> = fc.record({
  roles: fc.subarray(['crew', 'leads', 'staff'], { maxLength: 1 }),
  identities: fc.subarray([...IDENTITIES, STRANGER], { maxLength: 1 }),
});

function isExempt(set: PolicySet, { roles, identities }: Exemption, identity: Identity): boolean {
  const text = formatIdentity(identity);
  const isIn = (name: string): boolean =>
    set.roles
      .find((role) => role.name === name)
      ?.members.some((member) =>
        member.kind === 'role' ? isIn(member.role) : formatIdentity(member.identity) === text,
      ) ?? false;
  return identities.some((other) => formatIdentity(other) === text) || roles.some(isIn);
}

/** The repair makes the rule hold, and with any one of its grants back it does not. */
function expectMinimalRepair(
  set: PolicySet,
  rule: GuardrailRule,
  violation: GuardrailViolation,
  isBroken: (set: PolicySet) => boolean,
): void {
  const repair = violation.repair.map((grant) => grant.id);
  expect(isBroken(withoutGrants(set, repair))).toBe(false);
  expect(checkOne(withoutGrants(set, repair), rule)).toBeNull();
  for (const spared of repair)
    expect(
      isBroken(
        withoutGrants(
          set,
          repair.filter((id) => id !== spared),
        ),
      ),
    ).toBe(true);
}

/** Of each class at or below a namespace that need not be a node one path at least. */
function pathsUnder(under: NamespacePath): readonly NamespacePath[] {
  const all = new Set([...UNIVERSE, under, pathOf(under === '/' ? '/z' : `${under}/z`)]);
  return [...all].filter((path) => isAtOrBelow(path, under));
}

/** Cells, as texts with the grants that carry the scope, that break `never` or `separate`. */
function brokenCells(
  set: PolicySet,
  rule: GuardrailRule & { kind: 'never' | 'separate' },
): ReadonlyMap<string, readonly string[]> {
  const held = holds(set);
  const broken = new Map<string, readonly string[]>();
  for (const identity of IDENTITIES.filter((who) => !isExempt(set, rule.except, who))) {
    for (const path of pathsUnder(rule.under)) {
      for (const at of TIMES) {
        const here = held(identity, path, at);
        const sides =
          rule.kind === 'never' ? [] : rule.sides.filter((side) => scopeNames(side).some((scope) => here.has(scope)));
        const counted =
          rule.kind === 'never' ? scopeNames(rule.scopes) : sides.length < 2 ? [] : sides.flatMap(scopeNames);
        for (const scope of counted) {
          const grants = here.get(scope);
          if (grants !== undefined) broken.set(`${formatIdentity(identity)} ${scope} ${path} ${String(at)}`, grants);
        }
      }
    }
  }
  return broken;
}

/** What the witnesses stand for; a cell of two witnesses would show as a repeated text. */
function witnessedCells(violation: GuardrailViolation | null, under: NamespacePath): readonly string[] {
  return (violation?.witnesses ?? []).flatMap((witness) =>
    witness.identities.flatMap((identity) =>
      pathsUnder(under)
        .filter((path) => isInRegion(witness, path))
        .flatMap((path) =>
          TIMES.filter((at) => isDuring(witness, at)).flatMap((at) =>
            witness.scopes.map((scope) => `${identity} ${scope} ${path} ${String(at)}`),
          ),
        ),
    ),
  );
}

describe('never', () => {
  it('is broken by exactly the cells of its witnesses, by their grants, and repaired minimally', () => {
    const outcomes = { broken: 0, held: 0 };
    const property = fc.property(world, scopeSet, anyPath, exemption, (set, scopes, under, except) => {
      const rule = { kind: 'never', scopes, under, to: null, except } as const;
      const violation = checkOne(set, rule);
      const cells = brokenCells(set, rule);
      expect([...new Set(witnessedCells(violation, under))].sort()).toEqual([...cells.keys()].sort());
      outcomes[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null) return;
      for (const witness of violation.witnesses) {
        const carrying = witnessedCells({ ...violation, witnesses: [witness] }, under).map(
          (cell) => cells.get(cell) ?? [],
        );
        for (const { id } of witness.grants) expect(carrying.every((grants) => grants.includes(id))).toBe(true);
      }
      expectMinimalRepair(set, rule, violation, (changed) => brokenCells(changed, rule).size > 0);
    });
    fc.assert(property, testRuns({ usual: 30, deep: 60 }));
    expect(Math.min(outcomes.broken, outcomes.held)).toBeGreaterThan(4);
  });
});

describe('separate', () => {
  it('is broken by exactly the cells of its witnesses, by their grants, and repaired minimally', () => {
    const outcomes = { broken: 0, held: 0 };
    const sides = fc.array(fewScopes, { minLength: 2, maxLength: 3 });
    const property = fc.property(world, sides, anyPath, exemption, (set, chosen, under, except) => {
      const rule = { kind: 'separate', sides: chosen, under, to: null, except } as const;
      const violation = checkOne(set, rule);
      const cells = brokenCells(set, rule);
      expect([...witnessedCells(violation, under)].sort()).toEqual([...cells.keys()].sort());
      outcomes[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null) return;
      expectGrantsOfCells(violation, under, cells);
      expectMinimalRepair(set, rule, violation, (changed) => brokenCells(changed, rule).size > 0);
    });
    fc.assert(property, testRuns({ usual: 30, deep: 60 }));
    expect(Math.min(outcomes.broken, outcomes.held)).toBeGreaterThan(4);
  });
});

/** A witness names the grants that carry one of its cells, and no others. */
function expectGrantsOfCells(
  violation: GuardrailViolation,
  under: NamespacePath,
  cells: ReadonlyMap<string, readonly string[]>,
): void {
  for (const witness of violation.witnesses) {
    const carrying = witnessedCells({ ...violation, witnesses: [witness] }, under).flatMap(
      (cell) => cells.get(cell) ?? [],
    );
    const named = witness.grants.map((grant) => grant.id);
    expect(named).toEqual([...new Set(carrying)].sort());
  }
}

describe('atLeast and atMost', () => {
  const place = fc.oneof(
    fc.constant({ kind: 'every-top-level' } as const),
    anyPath.map((path) => ({ kind: 'path', path }) as const),
  );
  const rule = fc
    .record({
      kind: fc.constantFrom('atLeast' as const, 'atMost' as const),
      groups: fc.constant(0),
      identities: fc.integer({ min: 0, max: 3 }),
      scopes: fc.oneof(fewScopes, scopeSet),
      at: place,
    })
    .map(({ kind, ...count }) => (kind === 'atLeast' ? { kind, ...count } : { kind, ...count, ...EVERYONE }));

  const cellText = (path: string, time: number, holding: { who: string; scopes: Texts; grants: Texts }): string =>
    `${path} @${String(time)}: ${holding.who} ${holding.scopes.join()} by ${holding.grants.join()}`;

  /** Wherever too few or too many hold: what each of them holds by which grants; of nobody, all that is counted. */
  function brokenPlaces(
    set: PolicySet,
    { kind, identities, scopes, at }: GuardrailRule & { kind: 'atLeast' | 'atMost' },
  ): readonly string[] {
    const held = holds(set);
    const topLevel = set.grants.map((grant) => grant.namespace.split('/')[1] ?? '').filter((segment) => segment !== '');
    const places = at.kind === 'path' ? [at.path] : [...new Set(topLevel)].map((segment) => pathOf(segment));
    return places.flatMap((path) =>
      TIMES.flatMap((time) => {
        const holding = IDENTITIES.flatMap((identity) => {
          const counted = [...held(identity, path, time)].filter(([scope]) => scopeNames(scopes).includes(scope));
          const grants = [...new Set(counted.flatMap(([, by]) => by))].sort();
          const own = { who: formatIdentity(identity), scopes: counted.map(([scope]) => scope).sort(), grants };
          return counted.length === 0 ? [] : [own];
        });
        const broken = kind === 'atLeast' ? holding.length < identities : holding.length > identities;
        const nobody = { who: 'nobody', scopes: [...scopeNames(scopes)].sort(), grants: [] };
        const told = holding.length === 0 ? [nobody] : holding;
        return broken ? told.map((own) => cellText(path, time, own)) : [];
      }),
    );
  }

  it('count distinct identities in every interval, and witness what each of them holds where that breaks them', () => {
    const outcomes = new Map<string, number>();
    const property = fc.property(world, rule, (set, chosen) => {
      const violation = checkOne(set, chosen);
      const witnesses = (violation?.witnesses ?? []).map((witness) => ({
        ...witness,
        ids: witness.grants.map(({ id }) => id),
      }));
      const witnessed = witnesses.flatMap((witness) =>
        TIMES.filter((at) => isDuring(witness, at)).flatMap((at) =>
          (witness.identities.length === 0 ? ['nobody'] : witness.identities).map((who) =>
            cellText(witness.namespace, at, { who, scopes: witness.scopes, grants: witness.ids }),
          ),
        ),
      );
      expect([...witnessed].sort()).toEqual([...brokenPlaces(set, chosen)].sort());
      // Who holds alike is named together, and a stretch is not cut where nothing that they hold begins or ends.
      const alike = witnesses.map(({ namespace, scopes, from, until, ids }) =>
        [namespace, scopes.join(), String(from), String(until), ids.join()].join(' '),
      );
      expect(new Set(alike).size).toBe(alike.length);
      for (const { until, identities, namespace, ids } of witnesses) {
        const next = witnesses.filter((other) => other.from === until && other.namespace === namespace);
        const more = next.filter((other) => other.ids.join() === ids.join() && until !== null);
        expect(more.flatMap((other) => other.identities.filter((who) => identities.includes(who)))).toEqual([]);
      }
      const key = `${chosen.kind} ${violation === null ? 'held' : 'broken'}`;
      outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
      if (violation === null) return;
      if (chosen.kind === 'atLeast') expect(violation.repair).toEqual([]);
      else expectMinimalRepair(set, chosen, violation, (changed) => brokenPlaces(changed, chosen).length > 0);
    });
    fc.assert(property, testRuns({ usual: 75, deep: 150 }));
    for (const key of ['atLeast held', 'atLeast broken', 'atMost held', 'atMost broken'])
      expect([key, (outcomes.get(key) ?? 0) > 5]).toEqual([key, true]);
  });
});

describe('expires', () => {
  it('asks a window of every grant that reaches one of the providers, and of no other', () => {
    const within = fc.constantFrom(5, 10, 20);
    const providers = fc.subarray(['github', 'orcid', 'nobody'], { minLength: 1 });
    fc.assert(
      fc.property(world, within, providers, (set, withinMilliseconds, names) => {
        const rule = { kind: 'expires', providers: names, withinMilliseconds, each: true } as const;
        const reached = (grant: PolicyGrant): readonly string[] =>
          IDENTITIES.filter((who) => names.includes(who.provider))
            .filter((who) =>
              isExempt(
                set,
                grant.principal.kind === 'role'
                  ? { roles: [grant.principal.role], identities: [] }
                  : { roles: [], identities: [grant.principal.identity] },
                who,
              ),
            )
            .map(formatIdentity)
            .sort();
        const tooLong = (grant: PolicyGrant): boolean =>
          grant.notBefore === null || grant.expires === null || grant.expires - grant.notBefore > withinMilliseconds;
        const expected = set.grants.filter((grant) => tooLong(grant) && reached(grant).length > 0);
        const violation = checkOne(set, rule);
        expect(violation?.repair.map((grant) => grant.id) ?? []).toEqual(expected.map((grant) => grant.id).sort());
        const witnessed = (violation?.witnesses ?? []).flatMap((witness) =>
          witness.grants.map((grant) => `${grant.id} ${witness.namespace} ${witness.extent}`),
        );
        expect([...witnessed].sort()).toEqual(
          expected.map((grant) => `${grant.id} ${grant.namespace} ${grant.inherit ? 'subtree' : 'exact'}`).sort(),
        );
        for (const witness of violation?.witnesses ?? []) {
          const byIds = expected.filter((grant) => witness.grants.some((ref) => ref.id === grant.id));
          expect(witness.identities).toEqual([...new Set(byIds.flatMap(reached))].sort());
        }
      }),
      testRuns({ usual: 30, deep: 60 }),
    );
  });
});
