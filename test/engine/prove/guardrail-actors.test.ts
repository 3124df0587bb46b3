// Guardrails over every actor that can exist (docs/meaning.md "Actors"), against brute force: each person with each set of groups of
// their providers is built, what it holds is found grant by grant, and each verdict, witness and repair is held to that.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { formatIdentity, type Identity, scopeNames, type ScopeSet } from '../../../engine/index.js';
import type {
  Audience,
  Exemption,
  GuardrailRule,
  Parties,
  PolicyGrant,
  PolicyMember,
  PolicyRole,
  PolicySet,
} from '../../../engine/model/policy-set.js';
import { ENGINE_LIMITS } from '../../../engine/compiler.js';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { testRuns } from '../../support/test-runs.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { pathOf } from '../oracle/worlds.js';
import { EVERYONE, holds, isDuring, isInRegion, load, TIMES } from './brute.js';

const id = (text: string): Identity => {
  const cut = text.indexOf(':');
  return { provider: text.slice(0, cut), subject: text.slice(cut + 1) };
};
const PEOPLE = ['ad:ana', 'ad:bob', 'okta:ana', 'okta:eve'].map(id);
const GROUPS = ['ad-group:x', 'okta-group:x', 'okta-group:y', 'okta-group:z'].map(id);
const STRANGERS = ['ad:?', 'okta:?'].map(id);
const PATHS = ['/', '/a', '/a/b', '/c'].map(pathOf);
const PLACES = [...PATHS, ...['/a/b/z', '/a/z', '/z', '/c/z'].map(pathOf)];
const PROVIDERS = ['ad', 'okta'];
const READ = 16;
const WRITE = 32;
const RUN = 512;

const anyIdentity = fc.constantFrom(...PEOPLE, ...GROUPS, ...GROUPS);
const someScopes = fc.constantFrom(READ, WRITE, RUN, READ | WRITE, WRITE | RUN).map((bits) => bits as ScopeSet);
const role: fc.Arbitrary<PolicyRole> = fc.uniqueArray(anyIdentity, { maxLength: 3 }).map((members) => ({
  name: 'crew',
  description: null,
  members: members.map((identity): PolicyMember => ({ kind: 'identity', identity, place: null })),
  place: null,
}));
const grant: fc.Arbitrary<Omit<PolicyGrant, 'id'>> = fc.record({
  principal: fc.oneof(
    { weight: 4, arbitrary: anyIdentity.map((identity) => ({ kind: 'identity', identity }) as const) },
    { weight: 1, arbitrary: fc.constant({ kind: 'role', role: 'crew' } as const) },
  ),
  namespace: fc.constantFrom(...PATHS),
  scopes: someScopes,
  inherit: fc.boolean(),
  notBefore: fc.constantFrom(null, null, 0, 10) as fc.Arbitrary<PolicyGrant['notBefore']>,
  expires: fc.constantFrom(null, null, 10, 20) as fc.Arbitrary<PolicyGrant['expires']>,
  reason: fc.constant(null),
  place: fc.constant(null),
});
/** Half of the policies keep some identities apart. */
const lists: fc.Arbitrary<readonly (readonly Identity[])[]> = fc.oneof(
  fc.constant([]),
  fc.array(fc.subarray([...PEOPLE, ...GROUPS], { minLength: 2, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
);
const person = fc.subarray(PEOPLE, { minLength: 1, maxLength: 3 });
const policies: fc.Arbitrary<PolicySet> = fc
  .record({
    crew: role,
    grants: fc.array(grant, { minLength: 2, maxLength: 6 }),
    named: fc.option(person, { freq: 3 }),
    lists,
  })
  .map(({ crew, grants, named, lists: apart }) => ({
    name: 'world',
    providers: PROVIDERS.map((name) => ({ name, description: null })),
    roles: [crew],
    exclusive: apart.map((identities) => ({ identities, place: null })),
    folders: [],
    people: named === null ? [] : [{ name: 'pat', identities: named, place: null }],
    grants: grants.map((one, i) => ({ id: `g${String(i)}`, ...one })),
    tests: [],
    guardrails: [],
  }));

const exemption: fc.Arbitrary<Exemption> = fc.record({
  roles: fc.subarray(['crew'], { maxLength: 1 }).map((roles) => (roles.length > 0 ? [] : roles)),
  identities: fc.subarray([...PEOPLE, ...GROUPS], { maxLength: 1 }),
});
const audience: fc.Arbitrary<Audience> = fc.record({
  providers: fc.subarray(PROVIDERS, { maxLength: 1 }),
  roles: fc.subarray(['crew']),
  identities: fc.subarray([...PEOPLE, ...GROUPS, id('okta:unseen')], { maxLength: 2 }),
});
const parties: fc.Arbitrary<Parties> = fc.record({ to: fc.option(audience, { freq: 3 }), except: exemption });

/** A human, and what all of their actors may carry. */
interface Human {
  readonly label: string;
  readonly own: readonly Identity[];
}

const isGroup = ({ provider }: Identity): boolean => provider.endsWith('-group');
const text = formatIdentity;

function humansOf(set: PolicySet): readonly Human[] {
  const named = set.people.map(({ name, identities }) => ({ label: name, own: identities }));
  const owned = new Set(named.flatMap(({ own }) => own.map(text)));
  const others = [...PEOPLE, ...STRANGERS, id('okta:unseen')].filter((one) => !owned.has(text(one)));
  return [...named, ...others.map((one) => ({ label: text(one), own: [one] }))];
}

function subsets<T>(of: readonly T[]): readonly (readonly T[])[] {
  return of.reduce<readonly (readonly T[])[]>((sets, one) => [...sets, ...sets.map((those) => [...those, one])], [[]]);
}

/** A group that neither the policy nor the rule names does not exist for a proof. */
function groupsNamed({ grants, roles, exclusive }: PolicySet, { to, except }: Parties): readonly Identity[] {
  const principals = grants.flatMap(({ principal }) => (principal.kind === 'identity' ? [principal.identity] : []));
  const members = roles.flatMap((one) => one.members.flatMap((m) => (m.kind === 'identity' ? [m.identity] : [])));
  const parties = [...(to?.identities ?? []), ...except.identities];
  const named = [...principals, ...members, ...exclusive.flatMap(({ identities }) => identities), ...parties].map(text);
  return GROUPS.filter((group) => named.includes(text(group)));
}

/** Everything that actors of a human carry: some identities of theirs, and any of these groups of their providers. */
function carriedBy(
  { exclusive }: PolicySet,
  { own }: Human,
  groupsOfAll: readonly Identity[],
): readonly (readonly Identity[])[] {
  const isAllowed = (carried: readonly Identity[]): boolean =>
    !exclusive.some(({ identities }) => {
      const listed = new Set(identities.map(text));
      return carried.filter((one) => listed.has(text(one))).length > 1;
    });
  return (exclusive.length === 0 ? [own] : subsets(own)).flatMap((some) => {
    const groups = groupsOfAll.filter(({ provider }) => some.some((one) => provider === `${one.provider}-group`));
    return subsets(groups)
      .map((those) => [...some, ...those])
      .filter(isAllowed);
  });
}

function isNamed(set: PolicySet, named: Exemption & Partial<Audience>, one: Identity): boolean {
  return (
    named.identities.some((other) => text(other) === text(one)) ||
    (named.roles.length > 0 &&
      set.roles.some(({ members }) =>
        members.some((member) => member.kind === 'identity' && text(member.identity) === text(one)),
      )) ||
    (named.providers ?? []).some((provider) => one.provider === provider || one.provider === `${provider}-group`)
  );
}

/** What each actor that the rule speaks of carries, without what `except` leaves out. */
function actorsOf(set: PolicySet, { to, except }: Parties): readonly { human: Human; carried: readonly Identity[] }[] {
  const isLeft = (one: Identity): boolean => isNamed(set, except, one);
  const groups = groupsNamed(set, { to, except });
  return humansOf(set).flatMap((human) => {
    const isSpokenOf = to === null || human.own.some((one) => !isLeft(one) && isNamed(set, to, one));
    return carriedBy(set, human, groups)
      .map((carried) => carried.filter((one) => !isLeft(one)))
      .filter((carried) => isSpokenOf || carried.some((one) => isNamed(set, to, one)))
      .map((carried) => ({ human, carried }));
  });
}

/** Each cell in which the rule is broken by some actor. */
function brokenCells(
  set: PolicySet,
  rule: GuardrailRule & { readonly kind: 'never' | 'separate' },
): ReadonlySet<string> {
  const held = holds(set);
  const cells = new Set<string>();
  for (const { carried } of actorsOf(set, rule)) {
    for (const path of PLACES.filter((one) => isAtOrBelow(one, rule.under))) {
      for (const at of TIMES) {
        const scopes = new Set(carried.flatMap((one) => [...held(one, path, at).keys()]));
        const those = (bits: ScopeSet): string[] => scopeNames(bits).filter((scope) => scopes.has(scope));
        const sides = rule.kind === 'never' ? [] : rule.sides.filter((side) => those(side).length > 0);
        const found = rule.kind === 'never' ? those(rule.scopes) : sides.length < 2 ? [] : sides.flatMap(those);
        for (const scope of found) cells.add(`${path} ${scope} ${String(at)}`);
      }
    }
  }
  return cells;
}

function witnessedCells(violation: GuardrailViolation | null, under: string): ReadonlySet<string> {
  const cells = new Set<string>();
  for (const witness of violation?.witnesses ?? []) {
    for (const path of PLACES.filter((one) => isAtOrBelow(one, under) && isInRegion(witness, one)))
      for (const at of TIMES.filter((one) => isDuring(witness, one)))
        for (const scope of witness.scopes) cells.add(`${path} ${scope} ${String(at)}`);
  }
  return cells;
}

function checkOne(set: PolicySet, rule: GuardrailRule, limits = ENGINE_LIMITS): GuardrailViolation | null {
  const guarded = { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
  return checkGuardrails(guarded, load(guarded), limits).violations[0] ?? null;
}

function expectMinimalRepair(
  set: PolicySet,
  violation: GuardrailViolation,
  isBroken: (changed: PolicySet) => boolean,
): void {
  const without = (left: readonly string[]): PolicySet => ({
    ...set,
    grants: set.grants.filter((one) => !left.includes(one.id)),
  });
  const repair = violation.repair.map((one) => one.id);
  expect(isBroken(without(repair))).toBe(false);
  for (const spared of repair) expect(isBroken(without(repair.filter((one) => one !== spared)))).toBe(true);
}

/** Whoever a witness names is an actor that the rule speaks of, and its grants are held by what the actor carries. */
function expectActors(set: PolicySet, rule: Parties, violation: GuardrailViolation): void {
  const actors = actorsOf(set, rule).map(({ carried }) => new Set(carried.map(text)));
  const isIn = (member: PolicyGrant['principal'], one: string): boolean =>
    member.kind === 'identity'
      ? text(member.identity) === one
      : set.roles.some(({ members }) => members.some((m) => m.kind === 'identity' && text(m.identity) === one));
  for (const { identities, beside = [], grants } of violation.witnesses) {
    for (const identity of identities) {
      const actor = actors.find((carried) => [identity, ...beside].every((one) => carried.has(one)));
      expect([identity, beside, actor !== undefined]).toEqual([identity, beside, true]);
    }
    for (const { id: grantId } of grants) {
      const principal = set.grants.find((one) => one.id === grantId)?.principal;
      const isHeld = [...identities, ...beside].some((one) => principal !== undefined && isIn(principal, one));
      expect([grantId, identities, isHeld]).toEqual([grantId, identities, true]);
    }
  }
}

/** The rule holds by the lists that are named, and by none less. Whether any are. */
function expectReliances(set: PolicySet, rule: GuardrailRule, isBroken: (changed: PolicySet) => boolean): boolean {
  const guarded = { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
  const { reliesOn = [] } = checkGuardrails(guarded, load(guarded));
  const named = (reliesOn[0]?.pairs ?? []).map((texts) => ({ identities: texts.map(id), place: null }));
  const needs = !isBroken(set) && isBroken({ ...set, exclusive: [] });
  expect(named.length > 0).toBe(needs);
  if (!needs) return false;
  expect(isBroken({ ...set, exclusive: named })).toBe(false);
  for (const spared of named) expect(isBroken({ ...set, exclusive: named.filter((one) => one !== spared) })).toBe(true);
  return true;
}

const under = fc.constantFrom(...PATHS, pathOf('/a/b/z'));

describe('never and separate', () => {
  const rule: fc.Arbitrary<GuardrailRule & { readonly kind: 'never' | 'separate' }> = fc
    .record({ kind: fc.constantFrom('never' as const, 'separate' as const), a: someScopes, under, parties })
    .map(({ kind, a, under: place, parties: who }) =>
      kind === 'never'
        ? { kind, scopes: a, under: place, ...who }
        : { kind, sides: [WRITE, a === WRITE ? RUN : a].map((bits) => bits as ScopeSet), under: place, ...who },
    );

  it('are broken by exactly what some actor can hold', () => {
    const seen = { held: 0, broken: 0, together: 0, spoken: 0 };
    const property = fc.property(policies, rule, (set, chosen) => {
      const violation = checkOne(set, chosen);
      const expected = brokenCells(set, chosen);
      expect([...witnessedCells(violation, chosen.under)].sort()).toEqual([...expected].sort());
      seen[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null) return;
      if (violation.witnesses.some(({ beside = [] }) => beside.length > 0))
        seen[chosen.kind === 'separate' ? 'together' : 'spoken'] += 1;
      expectActors(set, chosen, violation);
      expectMinimalRepair(set, violation, (changed) => brokenCells(changed, chosen).size > 0);
    });
    fc.assert(property, testRuns({ usual: 200, deep: 3_000 }));
    expect([seen, Math.min(...Object.values(seen)) > 4]).toEqual([seen, true]);
  });
});

it('a guardrail that holds by exclusive lists alone names those without which it does not', () => {
  const few = ['okta:ana', 'okta:eve', 'ad:ana', 'okta-group:x', 'okta-group:y'].map(id);
  const one = fc.record({ who: fc.constantFrom(...few), scopes: fc.constantFrom(WRITE, RUN) });
  const apart = fc.array(fc.subarray(few, { minLength: 2, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  const small = fc.tuple(policies, fc.array(one, { minLength: 2, maxLength: 3 }), apart).map(([set, grants, keep]) => ({
    ...set,
    exclusive: keep.map((identities) => ({ identities, place: null })),
    grants: grants.map(({ who, scopes }, i) => ({
      id: `g${String(i)}`,
      principal: { kind: 'identity' as const, identity: who },
      namespace: pathOf('/a'),
      scopes: scopes as ScopeSet,
      inherit: true,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    })),
  }));
  const sides = [WRITE, RUN].map((bits) => bits as ScopeSet);
  const rules = fc.oneof(
    fc.constant({ kind: 'separate', sides, under: pathOf('/'), ...EVERYONE } as const),
    parties.map((who) => ({ kind: 'never', scopes: WRITE as ScopeSet, under: pathOf('/'), ...who }) as const),
  );
  let relied = 0;
  const property = fc.property(small, rules, (set, rule) => {
    if (expectReliances(set, rule, (changed) => brokenCells(changed, rule).size > 0)) relied += 1;
  });
  fc.assert(property, testRuns({ usual: 300, deep: 1_500 }));
  expect(relied).toBeGreaterThan(10);
});

it('several violated guardrails have one set of grants that mends all of them, and none of it could stay', () => {
  const rules = fc.array(
    fc.record({ kind: fc.constantFrom('never' as const, 'separate' as const), a: someScopes, under }),
    { minLength: 2, maxLength: 4 },
  );
  let seen = 0;
  const property = fc.property(policies, rules, (set, chosen) => {
    const guardrails = chosen.map(({ kind, a, under: place }, i) => ({
      id: `rule-${String(i)}`,
      description: null,
      rule:
        kind === 'never'
          ? ({ kind, scopes: a, under: place, ...EVERYONE } as const)
          : ({ kind, sides: [WRITE, RUN].map((bits) => bits as ScopeSet), under: place, ...EVERYONE } as const),
      place: null,
    }));
    const check = (left: readonly string[]): ReturnType<typeof checkGuardrails> => {
      const changed = { ...set, guardrails, grants: set.grants.filter((one) => !left.includes(one.id)) };
      return checkGuardrails(changed, load(changed));
    };
    const { violated, repair } = check([]);
    expect(repair === undefined).toBe(violated < 2);
    if (repair === undefined) return;
    seen += 1;
    const all = repair.map((one) => one.id);
    expect(check(all).violated).toBe(0);
    for (const spared of all) expect(check(all.filter((one) => one !== spared)).violated).toBeGreaterThan(0);
  });
  fc.assert(property, testRuns({ usual: 100, deep: 400 }));
  expect(seen).toBeGreaterThan(10);
});

describe('atLeast and atMost', () => {
  const rule = fc.record({
    kind: fc.constantFrom('atLeast' as const, 'atMost' as const),
    identities: fc.integer({ min: 1, max: 2 }),
    groups: fc.integer({ min: 0, max: 1 }),
    scopes: someScopes,
    at: fc.constantFrom(...PATHS).map((path) => ({ kind: 'path', path }) as const),
    parties,
  });

  /** At each time, how many people hold any of the scopes by identities of theirs, and how many groups somebody may be in. */
  function countsOf(set: PolicySet, { scopes, path, who }: { scopes: ScopeSet; path: string; who: Parties }) {
    const held = holds(set);
    return TIMES.map((at) => {
      const people = new Set<string>();
      const groups = new Set<string>();
      for (const { human, carried } of actorsOf(set, who)) {
        for (const one of carried) {
          const keys = [...held(one, pathOf(path), at).keys()];
          if (!keys.some((scope) => (scopeNames(scopes) as string[]).includes(scope))) continue;
          if (isGroup(one)) groups.add(text(one));
          else people.add(human.label);
        }
      }
      return { people: people.size, groups: groups.size };
    });
  }

  it('count people, and groups by themselves', () => {
    const seen = { held: 0, broken: 0, byGroups: 0 };
    const property = fc.property(policies, rule, (set, { kind, identities, groups, scopes, at, parties: given }) => {
      const who = kind === 'atLeast' ? EVERYONE : given;
      const chosen: GuardrailRule =
        kind === 'atLeast' ? { kind, identities, scopes, at } : { kind, identities, groups, scopes, at, ...who };
      const isBroken = (changed: PolicySet): boolean =>
        countsOf(changed, { scopes, path: at.path, who }).some((count) =>
          kind === 'atLeast' ? count.people < identities : count.people > identities || count.groups > groups,
        );
      const violation = checkOne(set, chosen);
      expect(violation !== null).toBe(isBroken(set));
      seen[violation === null ? 'held' : 'broken'] += 1;
      if (violation === null || kind === 'atLeast') return;
      if (violation.witnesses.every((witness) => witness.identities.every((one) => one.includes('-group:'))))
        seen.byGroups += 1;
      expectActors(set, who, violation);
      expectMinimalRepair(set, violation, isBroken);
    });
    fc.assert(property, testRuns({ usual: 400, deep: 2_000 }));
    expect([seen, Math.min(...Object.values(seen)) > 4]).toEqual([seen, true]);
  });
});

test('a proof beyond the limit of steps counts as violated, and says what to do', () => {
  const to = (identity: string, scopes: number): Omit<PolicyGrant, 'id'> => ({
    principal: { kind: 'identity', identity: id(identity) },
    namespace: pathOf('/a'),
    scopes: scopes as ScopeSet,
    inherit: true,
    notBefore: null,
    expires: null,
    reason: null,
    place: null,
  });
  const set: PolicySet = {
    name: 'world',
    providers: PROVIDERS.map((name) => ({ name, description: null })),
    roles: [],
    people: [],
    exclusive: [],
    folders: [],
    grants: [to('okta:ana', WRITE), to('okta-group:x', RUN)].map((one, i) => ({ id: `g${String(i)}`, ...one })),
    tests: [],
    guardrails: [],
  };
  const sides = [WRITE, RUN].map((bits) => bits as ScopeSet);
  const rule: GuardrailRule = { kind: 'separate', sides, under: pathOf('/'), ...EVERYONE };
  expect(checkOne(set, rule, { ...ENGINE_LIMITS, proofSteps: 1 })).toMatchObject({ unproved: true, witnesses: [] });
  expect(checkOne(set, rule)).toMatchObject({
    witnesses: [{ identities: ['okta:ana'], beside: ['okta-group:x'] }],
  });
});
