// What a snapshot states about the guardrails, tests and people that it was compiled with. If one is removed or weakened, the snapshot
// digest changes and no decision does. Files of the previous format, which states nothing, can always be read.
import { describe, expect, it, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readPolicy } from '../../engine/compiler.js';
import { decideRaw, instantOf, loadSnapshot, type ScopeSet, verifyDecisions } from '../../engine/index.js';
import { CHECK_KINDS } from '../../engine/model/checks.js';
import type { GuardrailRule, PolicyGuardrail, PolicySet } from '../../engine/model/policy-set.js';
import { checkForms, digestChecks } from '../../engine/snapshot/checks.js';
import { fromRoot } from '../support/root.js';
import { compile, FULL } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

const EVE = { provider: 'orcid', subject: 'eve' };
const WRITE = 32 as ScopeSet;

function withRule(rule: GuardrailRule): PolicySet {
  return { ...FULL, guardrails: [{ id: 'a', description: null, rule, place: null }] };
}

const except = { roles: [] as readonly string[], identities: [] as readonly (typeof EVE)[] };
const never = { kind: 'never', scopes: WRITE, under: pathOf('/labs'), to: null, except } as const;
const atMost = {
  kind: 'atMost',
  groups: 0,
  identities: 2,
  scopes: WRITE,
  at: { kind: 'every-top-level' },
  to: null,
  except,
} as const;
const separate = { kind: 'separate', sides: [16, 32] as ScopeSet[], under: pathOf('/'), to: null, except } as const;

describe('a guardrail that asks something else', () => {
  test.each<[string, GuardrailRule, GuardrailRule]>([
    ['other scopes', never, { ...never, scopes: 2 as ScopeSet }],
    ['another place', never, { ...never, under: pathOf('/labs/optics') }],
    ['of somebody', never, { ...never, to: { ...except, providers: ['orcid'] } }],
    [
      'of somebody else',
      { ...never, to: { ...except, providers: [], roles: ['crew'] } },
      { ...never, to: { ...except, providers: [], roles: ['leads'] } },
    ],
    ['but of somebody', never, { ...never, except: { roles: ['leads'], identities: [] } }],
    ['another kind', { ...atMost }, { kind: 'atLeast', identities: 2, scopes: WRITE, at: { kind: 'every-top-level' } }],
    ['another number', atMost, { ...atMost, identities: 3 }],
    ['other sides', separate, { ...separate, sides: [16, 48] as ScopeSet[] }],
    [
      'another time',
      { kind: 'expires', providers: ['orcid'], withinMilliseconds: 5, each: true },
      { kind: 'expires', providers: ['orcid'], withinMilliseconds: 6, each: true },
    ],
  ])('%s', (_name, rule, other) => {
    const [one, two] = [withRule(rule), withRule(other)];
    expect(digestChecks(one).guardrails.digest).not.toBe(digestChecks(two).guardrails.digest);
    expect(compile(one).digest).not.toBe(compile(two).digest);
    expect(compile(one).decisions).toBe(compile(two).decisions);
  });

  it('also does so if somebody joins a role that it leaves out', () => {
    const before = withRule({ ...never, except: { roles: ['leads'], identities: [] } });
    const joined = before.roles.map((role) =>
      role.name === 'leads'
        ? { ...role, members: [...role.members, { kind: 'identity' as const, identity: EVE, place: null }] }
        : role,
    );
    expect(digestChecks({ ...before, roles: joined }).guardrails).not.toEqual(digestChecks(before).guardrails);
  });
});

describe('a guardrail that asks the same', () => {
  const bob = { provider: 'orcid', subject: 'bób' };

  test.each<[string, GuardrailRule, GuardrailRule]>([
    [
      'by role or by name',
      { ...never, except: { roles: ['leads'], identities: [] } },
      { ...never, except: { roles: [], identities: [bob] } },
    ],
    [
      'by a role that contains the other',
      { ...never, except: { roles: ['crew'], identities: [] } },
      { ...never, except: { roles: ['crew', 'leads'], identities: [] } },
    ],
    ['of sides in another order', separate, { ...separate, sides: [32, 16] as ScopeSet[] }],
  ])('%s', (_name, rule, other) => {
    expect(checkForms(withRule(rule))).toEqual(checkForms(withRule(other)));
  });

  it('in another order and other words', () => {
    const guardrails: PolicyGuardrail[] = [never, atMost].map((rule, i) => ({
      id: `g${String(i)}`,
      description: null,
      rule,
      place: null,
    }));
    const told = guardrails.toReversed().map((one) => ({ ...one, description: 'why' }));
    expect(digestChecks({ ...FULL, guardrails })).toEqual(digestChecks({ ...FULL, guardrails: told }));
  });
});

test.each<[string, PolicySet]>([
  ['a guardrail', { ...FULL, guardrails: [] }],
  ['a test', { ...FULL, tests: [] }],
  ['a person', { ...FULL, people: [] }],
])('taking %s away changes the snapshot digest and no decision', (_name, less) => {
  expect(compile(less).digest).not.toBe(compile(FULL).digest);
  expect(compile(less).decisions).toBe(compile(FULL).decisions);
});

test('the digest is of canonical JSON that anybody can write', () => {
  // Ada is in the role that `except` names for some time only, so she is not left out.
  expect(checkForms(FULL).guardrails).toEqual([
    {
      name: 'apart',
      text: '{"except":["orcid:bób"],"separate":[["resource:read"],["resource:write"]],"to":null,"under":"/labs"}',
    },
  ]);
  expect(checkForms(FULL).people).toEqual([{ name: 'bob', text: '["orcid:bób"]' }]);
  expect(checkForms(FULL).tests.map(({ name }) => name)).toEqual(['bob reads']);
});

describe('a file of format 2', () => {
  const loaded = loadSnapshot(readFileSync(fromRoot('fixtures/snapshots/format-2.json')));

  it('is read, and states its checks; what that format could not state, its policy did not have', () => {
    if (!loaded.ok) throw new Error(loaded.fault.message);
    const { format, checks } = loaded.policy;
    const none = digestChecks({ ...FULL, exclusive: [], folders: [] });
    expect(format).toBe(2);
    expect(Object.keys(checks ?? {})).toEqual([...CHECK_KINDS]);
    expect([checks?.delegation, checks?.exclusive]).toEqual([none.delegation, none.exclusive]);
    expect(checks?.tests.count).toBeGreaterThan(0);
  });

  it('has the decision digest that the same policy has today', () => {
    if (!loaded.ok) throw new Error(loaded.fault.message);
    expect(verifyDecisions(loaded.policy)).toBe(null);
  });
});

describe('a file of format 1, written by the release before', () => {
  const bytes = readFileSync(fromRoot('fixtures/snapshots/format-1.json'));
  const loaded = loadSnapshot(bytes);

  it('is read, and states nothing of what it was compiled under', () => {
    expect(loaded.ok && { format: loaded.policy.format, checks: loaded.policy.checks }).toEqual({
      format: 1,
      checks: null,
    });
  });

  it('decides as it did, so that past decisions can be replayed', () => {
    if (!loaded.ok) throw new Error(loaded.fault.message);
    const ask = (target: string): string =>
      decideRaw(loaded.policy, {
        actor: {
          kind: 'request',
          identities: [{ provider: 'orcid', subject: '0000-0002-1825-0097' }],
          credentialScopes: null,
          namespaceRestrictions: null,
        },
        request: { kind: 'access', scope: 'resource:read', context: target, target },
        at: instantOf(Date.UTC(2027, 0, 1)),
      }).decision;
    expect([ask('/beamlines/amx'), ask('/')]).toEqual(['allow', 'deny']);
    const folder = ['policy.yaml', 'roles/amx.yaml', 'grants/amx.yaml'].map((path) => ({
      path,
      bytes: new Uint8Array(readFileSync(fromRoot(`fixtures/policies/good/everything/${path}`))),
    }));
    const { policy: set } = readPolicy(folder);
    if (set === null) throw new Error('the folder is good');
    expect(compile(set).decisions).toBe(loaded.policy.decisions);
  });
});
