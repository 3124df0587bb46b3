// What guardrails say of contractors and of humans with two identities: the cases that people write them for.
import { describe, expect, test } from '@jest/globals';
import { compilePolicy, openCompiled } from '../../../engine/compiler.js';
import type { Identity, ScopeSet } from '../../../engine/index.js';
import type { GuardrailRule, Parties, PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { pathOf, policyOf } from '../oracle/worlds.js';
import { EVERYONE, load } from './brute.js';

function checkOne(set: PolicySet, rule: GuardrailRule): GuardrailViolation | null {
  const guarded = { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
  return checkGuardrails(guarded, load(guarded)).violations[0] ?? null;
}

const READ = 16 as ScopeSet;
const WRITE = 32 as ScopeSet;
const [STAFF, VENDOR]: readonly Identity[] = [
  { provider: 'ad', subject: 's1101' },
  { provider: 'vendor', subject: 's1101' },
];

function grant(identity: Identity | string | undefined, granted: ScopeSet): Omit<PolicyGrant, 'id'> {
  if (identity === undefined) throw new Error('there are two identities');
  return {
    principal: typeof identity === 'string' ? { kind: 'role', role: identity } : { kind: 'identity', identity },
    namespace: pathOf('/archive'),
    scopes: granted,
    inherit: true,
    notBefore: null,
    expires: null,
    reason: null,
    place: null,
  };
}

const ANA = { name: 'ana-ortiz', identities: [STAFF, VENDOR].filter((one) => one !== undefined), place: null };
const VENDORS: Parties = { to: { providers: ['vendor'], roles: [], identities: [] }, except: EVERYONE.except };
const vendorsNeverWrite: GuardrailRule = { kind: 'never', scopes: WRITE, under: pathOf('/archive'), ...VENDORS };

describe('contractors never write to the archive', () => {
  const staff = (...members: readonly (Identity | undefined)[]): PolicySet =>
    policyOf(
      [
        {
          name: 'staff',
          description: null,
          members: members
            .filter((one) => one !== undefined)
            .map((identity) => ({ kind: 'identity', identity, place: null })),
          place: null,
        },
      ],
      [grant('staff', WRITE)],
    );

  test('held while no vendor may', () => {
    expect(checkOne(staff(STAFF), vendorsNeverWrite)).toBeNull();
  });

  test('broken by a vendor who was put into a staff role', () => {
    const violation = checkOne(staff(STAFF, VENDOR), vendorsNeverWrite);
    expect(violation?.witnesses.map(({ identities }) => identities)).toEqual([['vendor:s1101']]);
    expect(violation?.repair.map(({ id }) => id)).toEqual(['g0']);
    expect(violation?.requires).toBe('nobody among provider vendor may hold resource:write at or below /archive');
  });

  test('broken by a vendor who writes by another identity of hers, though nothing names the vendor one', () => {
    const violation = checkOne({ ...staff(STAFF), people: [ANA] }, vendorsNeverWrite);
    expect(violation?.witnesses.map(({ identities, people }) => ({ identities, people }))).toEqual([
      {
        identities: ['ad:s1101'],
        people: [
          {
            person: 'ana-ortiz',
            identities: [{ identity: 'ad:s1101', scopes: ['resource:write'], grants: ['g0'] }],
            namedBy: ['vendor:s1101'],
          },
        ],
      },
    ]);
  });

  test('a person who is named by the identity that writes needs no other word', () => {
    const violation = checkOne({ ...staff(STAFF, VENDOR), people: [ANA] }, vendorsNeverWrite);
    expect(violation?.witnesses.flatMap(({ people = [] }) => people.map(({ namedBy }) => namedBy))).toEqual([
      undefined,
    ]);
  });

  test('broken by a group that vendors come with', () => {
    const crew = { provider: 'vendor-group', subject: 'crew' };
    expect(checkOne(staff(crew), vendorsNeverWrite)?.witnesses[0]?.identities).toEqual(['vendor-group:crew']);
  });

  test('an identity that `except` names neither counts nor makes its person one that is spoken of', () => {
    const except = { roles: [], identities: ANA.identities.slice(1) };
    const set = { ...staff(STAFF, VENDOR), people: [ANA] };
    expect(checkOne(set, { ...vendorsNeverWrite, except })).toBeNull();
  });
});

test('a human who designs by one identity and runs by another breaks a separation, and the witness says how', () => {
  const set = policyOf([], [grant(STAFF, READ), grant(VENDOR, WRITE)]);
  const rule: GuardrailRule = { kind: 'separate', sides: [READ, WRITE], under: pathOf('/'), ...EVERYONE };
  expect(checkOne(set, rule)).toBeNull();
  const violation = checkOne({ ...set, people: [ANA] }, rule);
  expect(violation?.witnesses).toEqual([
    {
      identities: ['ad:s1101', 'vendor:s1101'],
      people: [
        {
          person: 'ana-ortiz',
          identities: [
            { identity: 'ad:s1101', scopes: ['resource:read'], grants: ['g0'] },
            { identity: 'vendor:s1101', scopes: ['resource:write'], grants: ['g1'] },
          ],
        },
      ],
      namespace: '/archive',
      extent: 'subtree',
      scopes: ['resource:read', 'resource:write'],
      from: null,
      until: null,
      grants: [{ id: 'g0' }, { id: 'g1' }],
    },
  ]);
});

test('people change no decision: the decision digest is the same', () => {
  const set = policyOf([], [grant(STAFF, READ), grant(VENDOR, WRITE)]);
  const decisions = [set, { ...set, people: [ANA] }].map((one) => {
    const compiled = compilePolicy(one);
    const opened = compiled.ok ? openCompiled(compiled.snapshot) : null;
    return opened?.ok === true ? opened.policy.decisions : null;
  });
  expect(decisions[0]).not.toBeNull();
  expect(decisions[1]).toBe(decisions[0]);
});

test('a grant to a group that a provider claims must end as those to its identities do', () => {
  const crew = { provider: 'vendor-group', subject: 'crew' };
  const rule: GuardrailRule = { kind: 'expires', providers: ['vendor'], withinMilliseconds: 1000, each: false };
  expect(checkOne(policyOf([], [grant(crew, READ)]), rule)?.witnesses[0]?.identities).toEqual(['vendor-group:crew']);
});
