// A policy that is compiled after an earlier version, with what that one has left, is the same to the byte as one that is compiled from
// nothing, whatever was edited in between, and is refused alike. So are the findings of lint and the witnesses of guardrails.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkGuardrails,
  compilePolicy,
  ENGINE_LIMITS,
  type EngineLimits,
  lintPolicy,
  type RememberedPolicy,
  openCompiled,
  openUnread,
} from '../../engine/compiler.js';
import { instantOf, packedOf, type Policy, scopeSetOf } from '../../engine/index.js';
import type { GuardrailRule, PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { exclusiveWorld, grantBody, IDENTITIES, pathOf, policyOf, windowedWorld } from './oracle/worlds.js';

const EVERYONE = { to: null, except: { roles: [], identities: [] } } as const;
const [WRITE, OTHER] = [
  scopeSetOf(['resource:read', 'resource:write']),
  scopeSetOf(['namespace:read', 'namespace:write']),
];
const [ROOT, UNDER] = [pathOf('/'), pathOf('/a')];
/** Of each kind, for everybody and for a few. */
const RULES: readonly GuardrailRule[] = [
  { kind: 'never', scopes: WRITE, under: UNDER, to: null, except: { roles: ['crew'], identities: [] } },
  { kind: 'separate', sides: [WRITE, OTHER], under: ROOT, ...EVERYONE },
  {
    ...{ kind: 'separate', sides: [WRITE, OTHER], under: UNDER, except: EVERYONE.except },
    to: { providers: ['orcid'], roles: ['staff'], identities: [] },
  },
  { kind: 'atLeast', identities: 2, scopes: WRITE, at: { kind: 'every-top-level' } },
  { kind: 'atMost', identities: 1, groups: 0, scopes: OTHER, at: { kind: 'under', path: UNDER }, ...EVERYONE },
  { kind: 'expires', providers: ['orcid'], withinMilliseconds: 12, each: false },
];
const PEOPLE: PolicySet['people'] = [{ name: 'ada', identities: IDENTITIES.slice(0, 2), place: null }];

const anyWorld = fc.oneof(exclusiveWorld, windowedWorld).map((set): PolicySet => ({
  ...set,
  people: PEOPLE,
  guardrails: RULES.map((rule, i) => ({ id: `rule-${String(i)}`, description: null, rule, place: null })),
}));

type Change = (set: PolicySet) => PolicySet;

/** One grant or role in place of another one, or none. */
function exchange<T>(list: readonly T[], at: number, by: (one: T) => readonly T[]): readonly T[] {
  return list.flatMap((one, i) => (i === at % list.length ? by(one) : [one]));
}

const grants =
  (by: (grant: PolicyGrant, others: PolicySet) => readonly PolicyGrant[]) =>
  (at: number): Change =>
  (set) => ({ ...set, grants: exchange(set.grants, at, (grant) => by(grant, set)) });

/** What somebody does to a policy between two versions of it. */
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  fc
    .tuple(fc.nat(), fc.string({ unit: fc.constantFrom('a', 'h', 'z'), minLength: 1, maxLength: 2 }), grantBody)
    .map(([at, id, body]): Change => ({ grants: all, ...set }) => ({
      ...set,
      // Ids decide in which order everything stands.
      grants: all.some((one) => one.id === id) ? all : all.toSpliced(at % (all.length + 1), 0, { ...body, id }),
    })),
  fc.nat().map(grants(() => [])),
  fc.tuple(fc.nat(), grantBody).map(([at, body]) => grants((grant) => [{ ...body, id: grant.id }])(at)),
  fc.tuple(fc.nat(), grantBody).map(([at, { scopes }]) => grants((grant) => [{ ...grant, scopes }])(at)),
  fc.tuple(fc.nat(), grantBody).map(([at, { namespace }]) => grants((grant) => [{ ...grant, namespace }])(at)),
  fc.tuple(fc.nat(), grantBody).map(([at, { expires }]) => grants((grant) => [{ ...grant, expires }])(at)),
  fc.tuple(fc.nat(), grantBody).map(([at, { notBefore }]) => grants((grant) => [{ ...grant, notBefore }])(at)),
  fc.tuple(fc.nat(), grantBody).map(([at, { principal }]) => grants((grant) => [{ ...grant, principal }])(at)),
  fc.nat().map(grants((grant) => [{ ...grant, inherit: !grant.inherit }])),
  fc.nat().map((at): Change => (set) => ({
    ...set,
    roles: exchange(set.roles, at, (role) => [{ ...role, members: role.members.slice(1) }]),
  })),
  // A role gets the members that it has elsewhere.
  fc.tuple(fc.nat(), anyWorld).map(([at, other]): Change => (set) => ({
    ...set,
    roles: exchange(set.roles, at, (role) => other.roles.filter(({ name }) => name === role.name)),
  })),
  fc.constant<Change>((set) => ({ ...set, grants: set.grants.toReversed(), roles: set.roles.toReversed() })),
  fc.constant<Change>((set) => ({ ...set, exclusive: [] })),
  // Only the order of rows changes, or only what is proved.
  fc.nat().map((at): Change => (set) => {
    const taken = new Set(set.grants.map(({ id }) => id));
    const free = ['a', 'h', 'z'].filter((id) => !taken.has(id));
    return { ...set, grants: exchange(set.grants, at, (grant) => [{ ...grant, id: free[at % 3] ?? grant.id }]) };
  }),
  fc.nat().map((at): Change => (set) => ({ ...set, guardrails: exchange(set.guardrails, at, () => []) })),
  fc.constant<Change>((set) => ({ ...set, people: [] })),
  fc.constant<Change>((set) => set),
  anyWorld.map(
    (other): Change =>
      () =>
        other,
  ),
);

const anyLimits = fc.record({
  expandedRows: fc.integer({ min: 0, max: 60 }),
  intervals: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constant(ENGINE_LIMITS.intervals)),
  lintPairs: fc.integer({ min: 0, max: 60 }),
  proofSteps: fc.integer({ min: 0, max: 20_000 }),
});

/** What lint finds and what guardrails say, if the policy compiles. */
function judged(set: PolicySet, limits: EngineLimits, before: RememberedPolicy | null): unknown {
  const result = compilePolicy(set, limits, before);
  const guardrails = result.ok ? checkGuardrails(set, openUnread(set, result.snapshot), limits) : null;
  const files = { sources: new Map<string, string>(), outlines: [] };
  const options = { at: instantOf(5), soonMilliseconds: 10, levels: new Map() };
  return { guardrails, linted: lintPolicy({ policy: set, ...files }, options, limits) };
}

/** Everything that compiling gives, and the policy as it is opened by the bytes. */
function compiled(
  set: PolicySet,
  limits: EngineLimits,
  before: RememberedPolicy | null,
): { readonly said: unknown; readonly known: RememberedPolicy | null } {
  const result = compilePolicy(set, limits, before);
  if (!result.ok) return { said: result.diagnostics, known: before };
  const { snapshot, known } = result;
  const opened = openCompiled(snapshot);
  if (!opened.ok) throw new Error(opened.fault.message);
  expect(packed(openUnread(set, snapshot))).toEqual(packed(opened.policy));
  return { said: snapshot, known };
}

function packed(policy: Policy): unknown {
  const { facts, table } = packedOf(policy) ?? {};
  return { facts, ...table, buffer: Buffer.from(new Uint8Array(table?.buffer ?? new ArrayBuffer(0))).toString('hex') };
}

/** Compiles each version after the one before it, and from nothing. Returns how many subtrees were not computed again. */
function follow(
  first: PolicySet,
  changes: readonly Change[],
  limits: EngineLimits,
): { readonly kept: number; readonly refused: number } {
  let set = first;
  let { known } = compiled(set, limits, null);
  const seen = { kept: 0, refused: 0 };
  for (const change of changes) {
    set = change(set);
    // What is remembered of a set is not found by a copy of it.
    const [after, alone] = [compiled(set, limits, known), compiled({ ...set }, limits, null)];
    expect(after.said).toEqual(alone.said);
    expect(judged(set, limits, known)).toEqual(judged({ ...set }, limits, null));
    const [rows, rowsAlone] = [after, alone].map((one) => one.known?.digests?.spent.expandedRows ?? 0);
    // Which sets a digest remembers depends on where it begins, so nothing may rest on that.
    if (!Array.isArray(alone.said) && rows !== rowsAlone) expect(rows).toBeLessThanOrEqual(limits.expandedRows);
    if (Array.isArray(alone.said)) seen.refused += 1;
    // Compiling again spends what is walked again, and nothing for the rest.
    else if (
      (after.known?.digests?.spent.expandedRows ?? 0) - (known?.digests?.spent.expandedRows ?? 0) <
      (alone.known?.digests?.spent.expandedRows ?? 0)
    )
      seen.kept += 1;
    known = after.known;
  }
  return seen;
}

const anyHistory = fc.array(anyChange, { minLength: 2, maxLength: 6 });

describe('a policy that is compiled after an earlier version', () => {
  it('has the bytes, the digests and the table of one that is compiled from nothing', () => {
    let kept = 0;
    fc.assert(
      fc.property(anyWorld, anyHistory, (first, changes) => {
        kept += follow(first, changes, ENGINE_LIMITS).kept;
      }),
      testRuns({ usual: 150, deep: 6000 }),
    );
    expect(kept).toBeGreaterThan(100);
  });

  it('is refused where it would be refused alone, with the same words, whatever the limits', () => {
    let refused = 0;
    fc.assert(
      fc.property(anyWorld, anyHistory, anyLimits, (first, changes, some) => {
        refused += follow(first, changes, { ...ENGINE_LIMITS, ...some }).refused;
      }),
      testRuns({ usual: 150, deep: 6000 }),
    );
    expect(refused).toBeGreaterThan(100);
  });

  it('begins anew where what is below a namespace depends on all of its children', () => {
    const above = `/${'a'.repeat(63)}`.repeat(15) + `/${'b'.repeat(61)}`;
    const characters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789_~-');
    const staff = { kind: 'identity', identity: { provider: 'orcid', subject: 'ada' } } as const;
    const body = {
      principal: staff,
      scopes: 1,
      inherit: true,
      notBefore: null,
      expires: null,
      reason: null,
      place: null,
    };
    const granted = (paths: readonly string[]): PolicySet =>
      policyOf(
        [],
        paths.map((path) => ({ ...body, namespace: pathOf(path) }) as PolicyGrant),
      );
    const all = characters.map((character) => `${above}/${character}`);
    const most = compilePolicy(granted(all.slice(1)));
    const every = compilePolicy(granted(all), ENGINE_LIMITS, most.ok ? most.known : null);
    expect(most.ok && most.known.digests).not.toBeNull();
    expect(every.ok && every.known.digests).toBeNull();
    expect(every.ok && every.snapshot).toEqual(compiled(granted(all), ENGINE_LIMITS, null).said);
  });
});
