// What changed of the guardrails of two policies, in words, and which change makes one weaker; and whom `except` leaves out.
import { describe, expect, it, test } from '@jest/globals';
import { instantOf, scopeSetOf } from '../../engine/index.js';
import type { Exemption, GuardrailRule, PolicyGrant, PolicyMember, PolicySet } from '../../engine/model/policy-set.js';
import { guardrailChanges } from '../../engine/snapshot/guardrail-changes.js';
import { makeResolve, namedIdentities, pastExceptions } from '../../engine/snapshot/resolve-parties.js';
import {
  BOTH,
  EVE,
  EVERYONE,
  grantIn,
  guarded,
  inner,
  NOBODY,
  person,
  PLAIN,
  READ,
  role,
  WRITE,
} from './checked-policies.js';
import { ADA, BOB } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

const DAY = 86_400_000;

describe('a guardrail that changed', () => {
  const [ROOT, A, B] = [pathOf('/'), pathOf('/a'), pathOf('/a/b')];
  const never = (change: object = {}): GuardrailRule => ({
    ...{ kind: 'never', scopes: BOTH, under: A, ...EVERYONE, ...change },
  });
  const atLeast = (change: object = {}): GuardrailRule => ({
    ...{ kind: 'atLeast', identities: 2, scopes: READ, at: { kind: 'path', path: B }, ...change },
  });
  const atMost = (change: object = {}): GuardrailRule => ({
    ...{ kind: 'atMost', identities: 2, groups: 1, scopes: READ, at: { kind: 'under', path: A }, ...EVERYONE },
    ...change,
  });
  const expires = (change: object = {}): GuardrailRule => ({
    ...{ kind: 'expires', providers: ['github', 'orcid'], withinMilliseconds: 2 * DAY, each: false },
    ...change,
  });
  const separate = (...sides: readonly (typeof READ)[]): GuardrailRule => ({
    ...{ kind: 'separate', sides, under: A, ...EVERYONE },
  });
  const NAMESPACE = scopeSetOf(['namespace:write']);

  // Forwards it is weaker or not, and backwards.
  test.each<[GuardrailRule, GuardrailRule, readonly [string, boolean], readonly [string, boolean]]>([
    [never(), never({ scopes: READ }), ['scopes lost resource:write', true], ['scopes gained resource:write', false]],
    [never(), never({ under: B }), ['under /a → /a/b', true], ['under /a/b → /a', false]],
    [never(), never({ under: ROOT }), ['under /a → /', false], ['under / → /a', true]],
    [atLeast(), atLeast({ identities: 3 }), ['identities 2 → 3', false], ['identities 3 → 2', true]],
    [atMost(), atMost({ identities: 3 }), ['identities 2 → 3', true], ['identities 3 → 2', false]],
    [atMost(), atMost({ groups: 2 }), ['groups 1 → 2', true], ['groups 2 → 1', false]],
    [atMost(), atMost({ scopes: BOTH }), ['scopes gained resource:write', false], ['scopes lost resource:write', true]],
    [
      atLeast(),
      atLeast({ scopes: BOTH }),
      ['scopes gained resource:write', true],
      ['scopes lost resource:write', false],
    ],
    [
      atLeast(),
      atLeast({ at: { kind: 'under', path: A } }),
      ['at /a/b → under /a', false],
      ['under /a → at /a/b', true],
    ],
    [
      atLeast(),
      atLeast({ at: { kind: 'every-top-level' } }),
      ['at /a/b → every-top-level', true],
      ['every-top-level → at /a/b', true],
    ],
    [
      atLeast({ at: { kind: 'every-top-level' } }),
      atLeast({ at: { kind: 'under', path: ROOT } }),
      ['every-top-level → under /', true],
      ['under / → every-top-level', true],
    ],
    [atLeast(), atLeast({ at: { kind: 'path', path: A } }), ['at /a/b → at /a', true], ['at /a → at /a/b', true]],
    [expires(), expires({ providers: ['orcid'] }), ['providers lost github', true], ['providers gained github', false]],
    [expires(), expires({ withinMilliseconds: 3 * DAY }), ['within 2d → 3d', true], ['within 3d → 2d', false]],
    [expires(), expires({ each: true }), ['each false → true', true], ['each true → false', false]],
    [never(), separate(READ, WRITE), ['never → separate', true], ['separate → never', true]],
    [
      separate(READ, WRITE),
      separate(READ, WRITE, NAMESPACE),
      ['scopes resource:read, resource:write → namespace:write, resource:read, resource:write', false],
      ['scopes namespace:write, resource:read, resource:write → resource:read, resource:write', true],
    ],
    [
      separate(READ, NAMESPACE),
      separate(BOTH, NAMESPACE),
      ['scopes namespace:write, resource:read → namespace:write, resource:read|resource:write', true],
      ['scopes namespace:write, resource:read|resource:write → namespace:write, resource:read', true],
    ],
  ])('%j to %j', (one, other, forwards, backwards) => {
    const told = (was: GuardrailRule, is: GuardrailRule): unknown =>
      guardrailChanges(guarded(was), guarded(is)).map(({ id, changes, weaker }) => [id, ...changes, weaker]);
    expect(told(one, other)).toEqual([['g', ...forwards]]);
    expect(told(other, one)).toEqual([['g', ...backwards]]);
    expect(told(one, one)).toEqual([]);
  });

  it('is not one that is new or gone', () => {
    expect(guardrailChanges(PLAIN, guarded(never()))).toEqual([]);
    expect(guardrailChanges(guarded(never()), PLAIN)).toEqual([]);
  });

  it('has each reason for which it is weaker by itself, where there are several things', () => {
    const less = never({ scopes: scopeSetOf(['namespace:read']), under: B });
    expect(guardrailChanges(guarded(never()), guarded(less))).toEqual([
      {
        id: 'g',
        weaker: true,
        changes: ['scopes lost resource:read, resource:write', 'scopes gained namespace:read', 'under /a → /a/b'],
        weakenings: [
          { field: 'scopes', text: 'scopes lost resource:read', isOneOfSeveral: true },
          { field: 'scopes', text: 'scopes lost resource:write', isOneOfSeveral: true },
          { field: 'under', text: 'under /a → /a/b', isOneOfSeveral: false },
        ],
      },
    ]);
  });

  it('shows eight names and counts the others', () => {
    const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `p${String(i)}`);
    const changes = (count: number): unknown =>
      guardrailChanges(guarded(expires({ providers: [] })), guarded(expires({ providers: names(count) })))[0]?.changes;
    expect(changes(8)).toEqual(['providers gained p0, p1, p2, p3, p4, p5, p6, p7']);
    expect(changes(10)).toEqual(['providers gained p0, p1, p2, p3, p4, p5, p6, p7 and 2 more']);
  });

  const roles = [role('crew', person(ADA)), role('leads', person(BOB), inner('crew'))];
  const toOf = (change: object): GuardrailRule =>
    never({ to: { providers: [], roles: [], identities: [], ...change } });
  const groups = { provider: 'orcid-group', subject: 'ops' };
  // Whoever is named by a grant is still in the policy.
  const here = [ADA, BOB, EVE, groups].map((identity, i): PolicyGrant => ({
    ...grantIn(`g${String(i)}`, null),
    principal: { kind: 'identity', identity },
  }));
  test.each<[string, GuardrailRule, GuardrailRule, readonly string[], boolean]>([
    ['everyone', never(), toOf({ roles: ['crew'] }), ['`to` was everyone'], true],
    ['everyone again', toOf({ roles: ['crew'] }), never(), ['`to` is everyone'], false],
    [
      'a role more',
      toOf({ roles: ['crew'] }),
      toOf({ roles: ['leads'] }),
      ['`to` roles lost crew', '`to` roles gained leads'],
      false,
    ],
    [
      'a role less',
      toOf({ roles: ['leads'] }),
      toOf({ roles: ['crew'] }),
      ['`to` roles lost leads', '`to` roles gained crew', '`to` lost orcid:bób'],
      true,
    ],
    ['an identity less', toOf({ identities: [EVE, ADA] }), toOf({ identities: [ADA] }), ['`to` lost orcid:eve'], true],
    [
      'a provider less, and its groups',
      toOf({ providers: ['orcid'] }),
      toOf({ identities: [ADA] }),
      ['`to` providers lost orcid', '`to` lost orcid-group:ops, orcid:bób, orcid:eve'],
      true,
    ],
    [
      'a provider more',
      toOf({ roles: ['crew'] }),
      toOf({ roles: ['crew'], providers: ['orcid'] }),
      ['`to` providers gained orcid'],
      false,
    ],
    [
      'a role whose people a provider has',
      toOf({ roles: ['crew'] }),
      toOf({ providers: ['orcid'] }),
      ['`to` providers gained orcid', '`to` roles lost crew'],
      true,
    ],
    [
      'a provider of which there is nobody',
      toOf({ providers: ['github'] }),
      toOf({ identities: [ADA] }),
      ['`to` providers lost github'],
      true,
    ],
    [
      'an exception more',
      never({ except: { roles: ['crew'], identities: [] } }),
      never({ except: { roles: ['leads'], identities: [] } }),
      ['`except` gained role leads: orcid:bób'],
      true,
    ],
    [
      'an exception of somebody',
      never(),
      never({ except: { roles: [], identities: [EVE] } }),
      ['`except` gained orcid:eve'],
      true,
    ],
    [
      'an exception of an empty role',
      never(),
      never({ except: { roles: ['none'], identities: [] } }),
      ['`except` gained role none'],
      true,
    ],
    [
      'an exception less',
      never({ except: { roles: [], identities: [EVE] } }),
      never(),
      ['`except` lost orcid:eve'],
      false,
    ],
  ])('speaks of others: %s', (_, was, is, changes, weaker) => {
    const more = { roles, grants: here };
    expect(guardrailChanges(guarded(was, more), guarded(is, more))).toMatchObject([{ changes, weaker }]);
  });

  it('leaves out each by itself, for those who compare', () => {
    const is = never({ except: { roles: ['crew'], identities: [EVE] } });
    expect(guardrailChanges(guarded(never(), { roles }), guarded(is, { roles }))[0]?.weakenings).toEqual(
      ['role crew', 'orcid:ada', 'orcid:eve'].map((one) => ({
        ...{ field: '`except`', text: `\`except\` gained ${one}`, isOneOfSeveral: true },
      })),
    );
    const [was, lost] = [toOf({ roles: ['leads'] }), toOf({ roles: [] })];
    expect(guardrailChanges(guarded(was, { roles }), guarded(lost, { roles }))[0]?.weakenings).toEqual(
      ['roles lost crew', 'roles lost leads', 'lost orcid:ada', 'lost orcid:bób'].map((one) => ({
        ...{ field: '`to`', text: `\`to\` ${one}`, isOneOfSeveral: true },
      })),
    );
  });

  it('speaks of who joined a role before it was let off, and of nobody who left with it', () => {
    const to = toOf({ roles: ['crew'] });
    const before = guarded(to, { roles: [role('crew', person(ADA), person(BOB))] });
    const changes = (is: Partial<PolicySet>): unknown =>
      guardrailChanges(before, guarded(toOf({ roles: [] }), is)).map((one) => [one.changes, one.weaker]);
    expect(changes({ roles: [role('crew', person(EVE))], grants: here.slice(1, 2) })).toEqual([
      [['`to` roles lost crew', '`to` lost orcid:bób, orcid:eve'], true],
    ]);
    expect(changes({})).toEqual([[['`to` roles lost crew'], false]]);
  });

  it('lets off those of a group that left, who are still there', () => {
    const named = toOf({ identities: [groups, EVE] });
    expect(guardrailChanges(guarded(named, { grants: here }), guarded(toOf({})))).toMatchObject([
      { changes: ['`to` lost orcid-group:ops'], weaker: true },
    ]);
  });

  it('compares each two sides once, however many guardrails have them', () => {
    const rules = (rule: GuardrailRule): PolicySet['guardrails'] =>
      ['a', 'b'].map((id) => ({ id, description: null, rule, place: null }));
    const [all, crew] = [never(), toOf({ roles: ['crew'] })];
    const also = (rule: GuardrailRule): PolicySet['guardrails'] => [{ id: 'c', description: null, rule, place: null }];
    const changes = guardrailChanges(
      { ...PLAIN, roles, guardrails: [...rules(toOf({ identities: [EVE] })), ...also(all)] },
      { ...PLAIN, roles, guardrails: [...rules(toOf({ identities: [ADA] })), ...also(crew)] },
    );
    expect(changes.map(({ id, weakenings }) => [id, weakenings.map(({ field, text }) => [field, text])])).toEqual([
      ['a', [['`to`', '`to` lost orcid:eve']]],
      ['b', [['`to`', '`to` lost orcid:eve']]],
      ['c', [['`to`', '`to` was everyone']]],
    ]);
    const elsewhere = guardrailChanges(guarded(atLeast()), guarded(atLeast({ at: { kind: 'path', path: A } })));
    expect(elsewhere[0]?.weakenings.map(({ field }) => field)).toEqual(['at']);
  });
});

describe('whom `except` leaves out', () => {
  const window = (bounds: Pick<PolicyMember, 'notBefore' | 'expires'>): PolicyMember => ({ ...person(EVE), ...bounds });
  const roles = (member: PolicyMember): PolicySet => ({
    ...PLAIN,
    roles: [role('crew', person(BOB), inner('leads'), member), role('leads', inner('crew'), person(ADA))],
  });
  it.each([
    [{}, ['orcid:ada', 'orcid:bób', 'orcid:eve']],
    [{ notBefore: null, expires: null }, ['orcid:ada', 'orcid:bób', 'orcid:eve']],
    [{ notBefore: instantOf(0) }, ['orcid:ada', 'orcid:bób']],
    [{ expires: instantOf(0) }, ['orcid:ada', 'orcid:bób']],
  ])('is whoever is always in its roles, also in roles around each other: %j', (bounds, texts) => {
    expect(makeResolve(roles(window(bounds)))({ roles: ['crew'], identities: [] })).toEqual(texts);
  });
  it('is whoever it names, and nobody of a role that there is not', () => {
    expect(makeResolve(PLAIN)({ roles: ['crew'], identities: [EVE, ADA, EVE] })).toEqual(['orcid:ada', 'orcid:eve']);
  });

  it('may be as many members of roles as the limit, counted for each guardrail', () => {
    const rule = (except: Exemption): GuardrailRule => ({
      kind: 'never',
      scopes: READ,
      under: pathOf('/'),
      to: null,
      except,
    });
    const [crew, none] = [{ roles: ['crew', 'gone'], identities: [] }, NOBODY];
    const set: PolicySet = {
      ...roles(window({})),
      guardrails: [
        rule(none),
        { kind: 'expires' as const, providers: [], withinMilliseconds: 1, each: true },
        rule(crew),
        rule({ roles: ['leads'], identities: [] }),
      ].map((one, i) => ({ id: `g${String(i)}`, description: null, rule: one, place: null })),
    };
    // Three members and two, for both of the guardrails.
    expect([10, 9, 5, 4, 2].map((limit) => pastExceptions(set, limit)?.id)).toEqual([
      undefined,
      'g3',
      'g3',
      'g2',
      'g2',
    ]);
  });

  it('does not ask who is named: roles, grants, people and exclusive lists do', () => {
    const named = (set: Partial<PolicySet>): unknown => namedIdentities({ ...PLAIN, ...set });
    expect(named({ roles: [role('a', inner('b'), person(ADA))] })).toEqual([ADA]);
    expect(
      named({ grants: [{ ...grantIn('a', null), principal: { kind: 'role', role: 'a' } }, grantIn('b', null)] }),
    ).toEqual([ADA]);
    expect(named({ people: [{ name: 'bob', identities: [BOB, EVE], place: null }] })).toEqual([BOB, EVE]);
    expect(named({ exclusive: [{ identities: [EVE, ADA], place: null }] })).toEqual([EVE, ADA]);
  });
});
