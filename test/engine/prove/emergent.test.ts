// What only a merge opens, against brute force over small worlds: the cells that the merged policy holds, and neither the base nor any
// reviewed change. And what only a merge lets past a guardrail: each is told.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  acceptedFindings,
  areChecksWeaker,
  type CheckedChange,
  type CheckedPolicy,
  diffChecks,
  type DiffRow,
  diffPolicies,
  emergentChecks,
  findEmergent,
} from '../../../engine/compiler.js';
import { formatIdentity, type Identity, type NamespacePath, scopeNames, SCOPES } from '../../../engine/index.js';
import type { GuardrailRule, PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { scopeSetOf } from '../../../engine/model/scope-set.js';
import { namedIdentities } from '../../../engine/snapshot/resolve-parties.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { grantBody, IDENTITIES, pathOf, policyOf, UNIVERSE, windowedWorld, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { holds, isDuring, isInRegion, load, TIMES } from './brute.js';

/** All cells that a policy holds, as texts. */
function cellsHeld(set: PolicySet, paths: readonly NamespacePath[], times: readonly number[]): ReadonlySet<string> {
  const held = holds(set);
  return new Set(
    IDENTITIES.flatMap((identity) =>
      paths.flatMap((path) =>
        times.flatMap((at) =>
          [...held(identity, path, at).keys()].map(
            (scope) => `${formatIdentity(identity)} ${scope} ${path} ${String(at)}`,
          ),
        ),
      ),
    ),
  );
}

interface Merge {
  readonly base: PolicySet;
  readonly reviewed: readonly PolicySet[];
  readonly merged: PolicySet;
}

function emergentCells(
  { base, reviewed, merged }: Merge,
  paths: readonly NamespacePath[],
  times: readonly number[],
): readonly string[] {
  const known = [base, ...reviewed].map((set) => cellsHeld(set, paths, times));
  return [...cellsHeld(merged, paths, times)].filter((cell) => !known.some((held) => held.has(cell)));
}

function cellsOf(rows: readonly DiffRow[]): readonly string[] {
  return rows.flatMap((row) =>
    row.identities.flatMap((identity) =>
      UNIVERSE.filter((path) => isInRegion(row, path)).flatMap((path) =>
        TIMES.filter((at) => isDuring(row, at)).flatMap((at) =>
          row.scopes.map((scope) => `${identity} ${scope} ${path} ${String(at)}`),
        ),
      ),
    ),
  );
}

/** One change: whoever is in a role, or what grants give, or both. */
type Change = (set: PolicySet) => PolicySet;

const changeLike = (any: fc.Arbitrary<PolicySet>): fc.Arbitrary<Change> =>
  fc.oneof(
    fc.tuple(any, fc.nat(2)).map(([other, row]): Change => (set) => ({
      ...set,
      roles: set.roles.map((role, i) => (i === row ? (other.roles[i] ?? role) : role)),
    })),
    fc.tuple(grantBody, fc.nat(7)).map(([body, row]): Change => (set) => ({
      ...set,
      grants: set.grants.map((grant, i): PolicyGrant => (i === row ? { ...body, id: grant.id } : grant)),
    })),
    fc
      .tuple(grantBody, fc.string({ unit: fc.constantFrom('p', 'q', 'r'), minLength: 3, maxLength: 5 }))
      .map(([body, id]): Change => (set) => ({
        ...set,
        grants: [...set.grants.filter((grant) => grant.id !== id), { ...body, id }],
      })),
  );

/** A base, one to three changes of it, each reviewed alone, and all of them together; sometimes with something that nobody reviewed. */
const mergeOf = (any: fc.Arbitrary<PolicySet>): fc.Arbitrary<Merge> =>
  fc
    .tuple(any, fc.array(changeLike(any), { minLength: 1, maxLength: 3 }), fc.option(changeLike(any), { freq: 3 }))
    .map(([base, changes, more]) => ({
      base,
      reviewed: changes.map((one) => one(base)),
      merged: [...changes, ...(more === null ? [] : [more])].reduce((set, one) => one(set), base),
    }));

const emergentOf = ({ base, merged, reviewed }: Merge): ReturnType<typeof findEmergent> =>
  findEmergent(
    load(base),
    load(merged),
    reviewed.map((one) => ({ policy: load(one), from: null })),
  );

describe('what only a merge opens', () => {
  it('is exactly what the merge holds, and neither the base nor a reviewed change', () => {
    const outcomes = { none: 0, some: 0 };
    fc.assert(
      fc.property(mergeOf(windowedWorld), (one) => {
        const { rows } = emergentOf(one);
        const expected = [...emergentCells(one, UNIVERSE, TIMES)].sort();
        expect([...cellsOf(rows)].sort()).toEqual(expected);
        for (const row of rows) expect(row.causes.length).toBeGreaterThan(0);
        outcomes[expected.length === 0 ? 'none' : 'some'] += 1;
      }),
      testRuns({ usual: 50, deep: 400 }),
    );
    expect(Math.min(outcomes.none, outcomes.some)).toBeGreaterThan(8);
  });

  it('counts what a change opens beyond what it was made from, however old that is', () => {
    let staleOnes = 0;
    fc.assert(
      fc.property(mergeOf(windowedWorld), changeLike(windowedWorld), ({ base, merged }, change) => {
        // The base moved on after the change was made from `fork`.
        const fork = change(base);
        const reviewed = { ...fork, grants: fork.grants.slice(1) };
        const { rows } = findEmergent(load(base), load(merged), [{ policy: load(reviewed), from: load(fork) }]);
        const [known, before, held] = [base, fork, reviewed].map((set) => cellsHeld(set, UNIVERSE, TIMES));
        const expected = [...cellsHeld(merged, UNIVERSE, TIMES)].filter(
          (cell) => known?.has(cell) === false && (held?.has(cell) === false || before?.has(cell) === true),
        );
        expect([...cellsOf(rows)].sort()).toEqual(expected.sort());
        if (expected.some((cell) => held?.has(cell) === true)) staleOnes += 1;
      }),
      testRuns({ usual: 50, deep: 400 }),
    );
    expect(staleOnes).toBeGreaterThan(0);
  });

  it('is counted in cells of all of the policies', () => {
    fc.assert(
      fc.property(mergeOf(world), (one) => {
        const sets = [one.base, one.merged, ...one.reviewed];
        const nodes = new Set<NamespacePath>([
          pathOf('/'),
          ...sets.flatMap(({ grants }) => grants.map(({ namespace }) => namespace)),
        ]);
        const bounds = sets.flatMap(({ grants }) => grants.flatMap(({ notBefore, expires }) => [notBefore, expires]));
        const instants = [...new Set(bounds.filter((instant) => instant !== null))];
        const paths = [...nodes].flatMap((node) => [node, pathOf(node === '/' ? '/z' : `${node}/z`)]);
        const starts = [Math.min(0, ...instants) - 1, ...instants];
        expect(emergentOf(one).cells).toBe(BigInt(emergentCells(one, paths, starts).length));
      }),
      testRuns({ usual: 25, deep: 200 }),
    );
  });

  it('is all that is gained if nothing was reviewed, and nothing of what was', () => {
    fc.assert(
      fc.property(mergeOf(windowedWorld), ({ base, merged }) => {
        const [from, to] = [load(base), load(merged)];
        expect(findEmergent(from, to, []).rows).toEqual(diffPolicies(from, to).gained);
        expect(findEmergent(from, to, [{ policy: to, from: null }])).toEqual({ rows: [], cells: 0n });
      }),
      testRuns({ usual: 30, deep: 100 }),
    );
  });

  it('is what a member who joined gets of a scope that the role gained', () => {
    const ann: Identity = { provider: 'github', subject: 'ada' };
    const setOf = (members: readonly Identity[], scopes: readonly (typeof SCOPES)[number][]): PolicySet =>
      policyOf(
        [
          {
            ...{ name: 'crew', description: null, place: null },
            members: members.map((identity) => ({ kind: 'identity', identity, place: null })),
          },
        ],
        [
          {
            ...{ principal: { kind: 'role', role: 'crew' }, namespace: pathOf('/a'), scopes: scopeSetOf(scopes) },
            ...{ inherit: true, notBefore: null, expires: null, reason: null, place: null },
          },
        ],
      );
    const one = {
      base: setOf([], ['resource:read']),
      reviewed: [setOf([ann], ['resource:read']), setOf([], ['resource:read', 'resource:write'])],
      merged: setOf([ann], ['resource:read', 'resource:write']),
    };
    const { rows, cells } = emergentOf(one);
    expect(cells).toBe(2n);
    expect(rows).toMatchObject([
      {
        ...{ namespace: '/a', extent: 'subtree', identities: ['github:ada'], scopes: ['resource:write'] },
        causes: [
          { change: 'changed', kind: 'grant', fields: ['scopes'] },
          { change: 'added', kind: 'member', role: 'crew', member: 'github:ada' },
        ],
      },
    ]);
  });
});

/** Who is in one of the roles. Members of these worlds have no windows. */
function membersOf(set: PolicySet, roles: readonly string[]): ReadonlySet<string> {
  const isIn = (role: string, identity: string): boolean =>
    (set.roles.find(({ name }) => name === role)?.members ?? []).some((member) =>
      member.kind === 'identity' ? formatIdentity(member.identity) === identity : isIn(member.role, identity),
    );
  return new Set(IDENTITIES.map(formatIdentity).filter((identity) => roles.some((role) => isIn(role, identity))));
}

/** What a guardrail `never` forbids: who may not hold what where. Nothing if it is gone. */
function forbiddenBy(set: PolicySet): ReadonlySet<string> {
  return new Set(
    set.guardrails.flatMap(({ rule }) => {
      if (rule.kind !== 'never') return [];
      const { to, except, scopes, under } = rule;
      const spared = membersOf(set, except.roles);
      const meant = to === null ? null : membersOf(set, to.roles);
      const listed = (list: readonly Identity[], text: string): boolean => list.map(formatIdentity).includes(text);
      return IDENTITIES.map(formatIdentity)
        .filter((text) => !spared.has(text) && !listed(except.identities, text))
        .filter(
          (text) =>
            to === null ||
            meant?.has(text) === true ||
            listed(to.identities, text) ||
            to.providers.includes(text.split(':')[0] ?? ''),
        )
        .flatMap((text) =>
          scopeNames(scopes).flatMap((scope) =>
            UNIVERSE.filter((path) => isAtOrBelow(path, under)).map((path) => `${text} ${scope} ${path}`),
          ),
        );
    }),
  );
}

const someIdentities = fc.subarray([...IDENTITIES], { maxLength: 2 });
const someRoles = fc.subarray(['crew', 'leads', 'staff'], { maxLength: 2 });
const never: fc.Arbitrary<GuardrailRule & { readonly kind: 'never' }> = fc
  .record({
    scopes: fc.subarray(SCOPES.slice(4, 8), { minLength: 1 }).map(scopeSetOf),
    under: fc.constantFrom('/', '/a', '/a/b').map(pathOf),
    to: fc.option(
      fc.record({
        providers: fc.subarray(['github', 'orcid'], { maxLength: 1 }),
        roles: someRoles,
        identities: someIdentities,
      }),
      { freq: 1 },
    ),
    except: fc.record({ roles: someRoles, identities: someIdentities }),
  })
  .map((rule) => ({ kind: 'never', ...rule }));

/** One part of the rule replaced, the rule gone, or a change of a role that it names. */
const checkChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(never, fc.constantFrom('scopes', 'under', 'to', 'except'))
      .map(([other, part]): Change => (set) => ({
        ...set,
        guardrails: set.guardrails.map((one) => ({
          ...one,
          rule: { ...one.rule, [part]: other[part] },
        })),
      })),
  },
  { weight: 1, arbitrary: fc.constant((set: PolicySet): PolicySet => ({ ...set, guardrails: [] })) },
  { weight: 4, arbitrary: changeLike(world) },
);

const guardedMerge: fc.Arbitrary<Merge> = fc
  .tuple(world, never, fc.array(checkChange, { minLength: 1, maxLength: 3 }), fc.option(checkChange, { freq: 4 }))
  .map(([plain, rule, changes, more]) => {
    const base: PolicySet = { ...plain, guardrails: [{ id: 'closed', description: null, rule, place: null }] };
    return {
      base,
      reviewed: changes.map((one) => one(base)),
      merged: [...changes, ...(more === null ? [] : [more])].reduce((set, one) => one(set), base),
    };
  });

const changeOf = (set: PolicySet): CheckedChange => ({ policy: checkedOf(set), from: null });

function checkedOf(set: PolicySet): CheckedPolicy {
  const { digest, checks } = load(set);
  return { digest, checks, set, accepted: acceptedFindings(new Map()) };
}

describe('what only a merge weakens', () => {
  it('has every guardrail that only the merge lets somebody past', () => {
    const outcomes = { past: 0, told: 0, nothing: 0 };
    fc.assert(
      fc.property(guardedMerge, ({ base, merged, reviewed }) => {
        const found = emergentChecks(checkedOf(base), checkedOf(merged), reviewed.map(changeOf));
        const [before, after] = [forbiddenBy(base), forbiddenBy(merged)];
        const alone = reviewed.map(forbiddenBy);
        // Whoever left the policy holds nothing.
        const here = new Set(namedIdentities(merged).map(formatIdentity));
        const past = [...before]
          .filter((one) => here.has(one.split(' ')[0] ?? ''))
          .filter((one) => !after.has(one) && alone.every((forbidden) => forbidden.has(one)));
        const told = found.some(({ kind, name }) => kind === 'guardrails' && name === 'closed');
        if (past.length > 0) expect([past.slice(0, 3), found, told]).toEqual([past.slice(0, 3), found, true]);
        outcomes[past.length > 0 ? 'past' : told ? 'told' : 'nothing'] += 1;
      }),
      testRuns({ usual: 150, deep: 600 }),
    );
    expect([outcomes.past > 10, outcomes.nothing > 10]).toEqual([true, true]);
  });

  it('is what `--no-weaker-checks` refuses if nothing was reviewed, and nothing of what was', () => {
    fc.assert(
      fc.property(guardedMerge, ({ base, merged, reviewed }) => {
        const [from, to] = [checkedOf(base), checkedOf(merged)];
        expect(emergentChecks(from, to, []).length > 0).toBe(areChecksWeaker(diffChecks(from, to)));
        expect(emergentChecks(from, to, [...reviewed.map(changeOf), { policy: to, from: null }])).toEqual([]);
      }),
      testRuns({ usual: 60, deep: 200 }),
    );
  });
});
