// The normal form of what a policy is compiled under, written out: the digests of published snapshots are of exactly these
// texts. What authors may order as they like is given here in another order than that of the form.
import { describe, expect, it, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ALL_SCOPES, instantOf, type RecordScope, type ScopeSet, scopeSetOf } from '../../engine/index.js';
import { CHECK_KINDS } from '../../engine/model/checks.js';
import type { GuardrailRule, PolicySet, PolicyTest } from '../../engine/model/policy-set.js';
import { type CheckForm, checkForms, digestChecks, noChecks } from '../../engine/snapshot/checks.js';
import { ADA, BOB, FULL } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

const EVE = { provider: 'github', subject: 'eve' };
const EVERYBODY = { to: null, except: { roles: [], identities: [] } };
const scopes = (...names: readonly RecordScope[]): ScopeSet => scopeSetOf(names);
const WRITE = scopes('resource:write', 'process-run:write');
const READ = scopes('resource:read');

describe('the form of a guardrail', () => {
  test.each<[string, GuardrailRule, string]>([
    [
      'never',
      {
        ...{ kind: 'never', scopes: WRITE, under: pathOf('/labs') },
        to: { providers: ['orcid', 'github', 'orcid'], roles: ['leads', 'crew'], identities: [BOB, EVE, BOB] },
        except: { roles: [], identities: [BOB, ADA] },
      },
      '{"except":["orcid:ada","orcid:bób"],"never":["process-run:write","resource:write"],' +
        '"to":{"identities":["github:eve","orcid:bób"],"providers":["github","orcid"],"roles":["crew","leads"]},"under":"/labs"}',
    ],
    [
      'separate',
      { kind: 'separate', sides: [READ, WRITE], under: pathOf('/'), ...EVERYBODY },
      '{"except":[],"separate":[["process-run:write","resource:write"],["resource:read"]],"to":null,"under":"/"}',
    ],
    [
      'atLeast at a place',
      { kind: 'atLeast', identities: 2, scopes: WRITE, at: { kind: 'path', path: pathOf('/labs') } },
      '{"at":"/labs","atLeast":2,"scopes":["process-run:write","resource:write"]}',
    ],
    [
      'atLeast at every first segment',
      { kind: 'atLeast', identities: 1, scopes: READ, at: { kind: 'every-top-level' } },
      '{"at":"every-top-level","atLeast":1,"scopes":["resource:read"]}',
    ],
    [
      'atMost under a place, without groups',
      {
        ...{ kind: 'atMost', groups: 0, identities: 3, scopes: READ, at: { kind: 'under', path: pathOf('/labs') } },
        ...EVERYBODY,
      },
      '{"atMost":3,"except":[],"scopes":["resource:read"],"to":null,"under":"/labs"}',
    ],
    [
      'atMost with groups',
      {
        ...{ kind: 'atMost', groups: 1, identities: 0, scopes: READ, at: { kind: 'path', path: pathOf('/') } },
        ...EVERYBODY,
      },
      '{"at":"/","atMost":0,"except":[],"groups":1,"scopes":["resource:read"],"to":null}',
    ],
    [
      'expires, together',
      { kind: 'expires', providers: ['orcid', 'github'], withinMilliseconds: 5, each: false },
      '{"expires":["github","orcid"],"within":5}',
    ],
    [
      'expires, each',
      { kind: 'expires', providers: ['orcid'], withinMilliseconds: 5, each: true },
      '{"each":true,"expires":["orcid"],"within":5}',
    ],
  ])('%s', (_, rule, text) => {
    const set: PolicySet = { ...FULL, guardrails: [{ id: 'a', description: 'why', rule, place: null }] };
    expect(checkForms(set).guardrails).toEqual([{ name: 'a', text }]);
  });
});

const WIDE: PolicyTest = {
  ...{ name: 't', identities: [BOB, ADA], credentialScopes: ALL_SCOPES, at: instantOf(7), place: null },
  namespaceRestrictions: ['/labs/z', '/labs/a'].map(pathOf),
  allow: ['/labs/z', '/labs/a'].map((path) => ({ scope: 'resource:read', namespace: pathOf(path), place: null })),
  deny: (['resource:write', 'process-run:write'] as const).map((scope) => ({
    ...{ scope, namespace: pathOf('/'), place: null },
  })),
  sees: [
    { family: 'resource', context: pathOf('/labs'), namespaces: ['/labs', '/'].map(pathOf), place: null },
    { family: 'process-run', context: pathOf('/labs'), namespaces: [], place: null },
  ],
};
const TEN =
  '["namespace:read","namespace:write","process-run:read","process-run:write","process-template:read",' +
  '"process-template:write","resource-template:read","resource-template:write","resource:read","resource:write"]';

describe('the form of a test', () => {
  const textOf = (changed: Partial<PolicyTest>, families = FULL.families ?? []): string =>
    checkForms({ ...FULL, families, tests: [{ ...WIDE, ...changed }] }).tests[0]?.text ?? '';

  it('has all that it expects, each list in order', () => {
    expect(textOf({})).toBe(
      `{"allow":["resource:read /labs/a","resource:read /labs/z"],"at":7,"credentialScopes":${TEN},` +
        '"deny":["process-run:write /","resource:write /"],"identities":["orcid:ada","orcid:bób"],' +
        '"namespaceRestrictions":["/labs/a","/labs/z"],"sees":[["process-run /labs",[]],["resource /labs",["/","/labs"]]]}',
    );
  });

  it.each<[string, Partial<PolicyTest>, string]>([
    ['no restriction', { namespaceRestrictions: null }, '"namespaceRestrictions":null,'],
    ['any time', { at: null }, '"at":null,'],
  ])('says %s', (_, changed, part) => {
    expect(textOf(changed)).toContain(part);
  });

  it('says that a credential is narrowed only where it could have more than the scopes of records', () => {
    const all = `"credentialScopes":${TEN},"deny"`;
    const some = '"credentialScopes":["resource:read"],';
    expect(textOf({}, [])).toContain(all);
    expect(textOf({ credentialScopes: READ }, [])).toContain(some);
    expect(textOf({ credentialScopes: READ }, [])).not.toContain('isNarrowed');
    expect(textOf({ credentialScopes: READ })).toContain(some);
    expect(textOf({ credentialScopes: READ })).toContain('"isNarrowed":true,');
    expect(textOf({})).not.toContain('isNarrowed');
  });
});

describe('the form of what else there is', () => {
  it('has each pair of exclusive identities once, in order, however the lists are written', () => {
    const of = (...lists: readonly (readonly (typeof ADA)[])[]): readonly CheckForm[] =>
      checkForms({ ...FULL, exclusive: lists.map((identities) => ({ identities, place: null })) }).exclusive;
    const expected = [
      { name: 'github:eve, orcid:ada', text: '["github:eve","orcid:ada"]' },
      { name: 'github:eve, orcid:bób', text: '["github:eve","orcid:bób"]' },
      { name: 'orcid:ada, orcid:bób', text: '["orcid:ada","orcid:bób"]' },
    ];
    expect(of([BOB, EVE, ADA])).toEqual(expected);
    expect(of([BOB, ADA], [ADA, EVE], [EVE, BOB], [ADA, BOB])).toEqual(expected);
  });

  it('has the names that a folder exports in order, and none where a file delegates nothing', () => {
    const within = pathOf('/labs');
    const folders = [
      { path: 'z', within, exports: ['leads', 'crew'], place: null },
      { path: 'a.yaml', within, exports: null, place: null },
    ];
    expect(checkForms({ ...FULL, folders }).delegation).toEqual([
      { name: 'a.yaml', text: '{"within":"/labs"}' },
      { name: 'z', text: '{"exports":["crew","leads"],"within":"/labs"}' },
    ]);
  });

  it('is sorted by name, and by text where names are the same', () => {
    const person = (name: string, identity: typeof ADA): PolicySet['people'][number] => ({
      ...{ name, identities: [identity], place: null },
    });
    const people = [person('b', BOB), person('a', EVE), person('b', ADA)];
    expect(checkForms({ ...FULL, people }).people.map(({ name, text }) => name + text)).toEqual([
      'a["github:eve"]',
      'b["orcid:ada"]',
      'b["orcid:bób"]',
    ]);
  });
});

test.each(CHECK_KINDS.map((kind) => [kind] as const))('the digest of %s is of the names and texts', (kind) => {
  const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const set: PolicySet = {
    ...FULL,
    tests: [WIDE, ...FULL.tests],
    people: [...FULL.people, { name: 'ada', identities: [ADA], place: null }],
  };
  const forms = checkForms(set)[kind];
  const texts = forms.map(({ name, text }) => `[${JSON.stringify(name)},${text}]`);
  expect(digestChecks(set)[kind]).toEqual({
    count: forms.length,
    digest: digest(`["bailiwick.${kind}",1,[${texts.join(',')}]]`),
  });
  expect(noChecks(kind)).toEqual({ count: 0, digest: digest(`["bailiwick.${kind}",1,[]]`) });
});
