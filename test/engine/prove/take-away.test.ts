// What `explain` proposes to deny an allowed access, against brute force over small worlds: each edit is made and the policy compiled
// again, and then the access is denied, which without any one of its changes it is not; nothing as small was missed; and what it takes
// away, breaks and fails is what `diff` and `check` say of the edited policy.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkGuardrails,
  type ClosingEdit,
  diffPolicies,
  ENGINE_LIMITS,
  explain,
  type ExplainRequest,
  proveEdits,
  type Removal,
  runPolicyTests,
  takeAway,
} from '../../../engine/compiler.js';
import { formatIdentity, type Instant, isScopeName, type ScopeName, type ScopeSet } from '../../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicySet, PolicyTest } from '../../../engine/model/policy-set.js';
import {
  haveCommon,
  NO_SCOPES,
  scopeBit,
  scopeNames,
  scopeSetOf,
  scopesWithout,
} from '../../../engine/model/scope-set.js';
import { ALL_SCOPES } from '../../../engine/model/vocabulary.js';
import { testRuns } from '../../support/test-runs.js';
import { oracleDecide, oracleScopes } from '../oracle/oracle.js';
import { exclusiveWorld, pathOf, windowedWorld } from '../oracle/worlds.js';
import { writable } from './apply-edit.js';
import { EVERYONE, load } from './brute.js';
import { aimed, decideAs, explainRequest } from './requests.js';

/** A role states the scopes of those of its grants that name none. */
function withRoleScopes(set: PolicySet, chosen: number): PolicySet {
  const stated = new Map<string, ScopeSet>();
  const grants = set.grants.map((grant, i): PolicyGrant => {
    if (grant.principal.kind !== 'role' || ((chosen >> i) & 1) === 0) return grant;
    const scopes = stated.get(grant.principal.role) ?? grant.scopes;
    stated.set(grant.principal.role, scopes);
    return { ...grant, scopes, isRoleScoped: true };
  });
  return { ...set, grants };
}

const anyWorld: fc.Arbitrary<PolicySet> = fc
  .tuple(fc.oneof(windowedWorld, windowedWorld, exclusiveWorld), fc.nat(255))
  .map(([set, chosen]) => withRoleScopes(writable(set), chosen));

const textOf = (member: PolicyMember): string =>
  member.kind === 'identity' ? formatIdentity(member.identity) : `role ${member.role}`;

/** The change as an author would make it. */
function apply(set: PolicySet, change: Removal): PolicySet {
  const ofGrant = (edit: (grant: PolicyGrant) => readonly PolicyGrant[]): PolicySet => ({
    ...set,
    grants: set.grants.flatMap((grant) => ('grant' in change && grant.id === change.grant.id ? edit(grant) : [grant])),
  });
  const ofMember = (edit: (member: PolicyMember) => readonly PolicyMember[]): PolicySet => ({
    ...set,
    roles: set.roles.map((role) => ({
      ...role,
      members: role.members.flatMap((member) =>
        'member' in change && role.name === change.role && textOf(member) === change.member ? edit(member) : [member],
      ),
    })),
  });
  switch (change.kind) {
    case 'drop-grant':
      return ofGrant(() => []);
    case 'drop-scope':
      return ofGrant(({ isRoleScoped: _, ...grant }) => [{ ...grant, scopes: scopeSetOf(change.scopes) }]);
    case 'end-grant':
      return ofGrant((grant) => [{ ...grant, expires: change.expires }]);
    case 'narrow':
      return ofGrant((grant) => [{ ...grant, inherit: false }]);
    case 'drop-member':
      return ofMember(() => []);
    case 'end-member':
      return ofMember((member) => [{ ...member, expires: change.expires }]);
    case 'drop-role-scope':
      return {
        ...set,
        grants: set.grants.map((grant) =>
          grant.isRoleScoped === true && grant.principal.kind === 'role' && grant.principal.role === change.role
            ? { ...grant, scopes: scopeSetOf(change.scopes) }
            : grant,
        ),
      };
  }
}

const applyAll = (set: PolicySet, changes: readonly Removal[]): PolicySet => changes.reduce(apply, set);

function changesOf({ change }: ClosingEdit): readonly Removal[] | null {
  if (change.kind === 'narrow-credential') return null;
  return change.kind === 'several' ? change.changes : [change];
}

/** Places and texts aside. */
function labelOf(change: Removal): string {
  return JSON.stringify([
    change.kind,
    'grant' in change ? change.grant.id : change.role,
    'member' in change ? change.member : '',
  ]);
}

/** Every single change that takes something away and that a file could state. */
function everySingle(set: PolicySet, scope: ScopeName, at: Instant): readonly Removal[] {
  const scopesLeft = (scopes: ScopeSet): readonly ScopeName[] => scopeNames(scopesWithout(scopes, scopeBit(scope)));
  const ends = ({ notBefore = null, expires = null }: Pick<PolicyMember, 'notBefore' | 'expires'>): boolean =>
    (notBefore ?? -Infinity) < at && at < (expires ?? Infinity);
  const ofGrants = set.grants.flatMap((one): readonly Removal[] => {
    const grant = { id: one.id };
    const scopes = scopesLeft(one.scopes);
    return [
      { kind: 'drop-grant', grant },
      ...(haveCommon(one.scopes, scopeBit(scope)) && scopes.length > 0
        ? [{ kind: 'drop-scope', grant, scope, scopes } as const]
        : []),
      ...(ends(one) ? [{ kind: 'end-grant', grant, expires: at } as const] : []),
      ...(one.inherit ? [{ kind: 'narrow', grant, inherit: false } as const] : []),
    ];
  });
  const ofRoles = set.roles.flatMap(({ name, members }): readonly Removal[] => {
    const scopes = scopesLeft(
      set.grants.find(
        ({ isRoleScoped, principal }) => isRoleScoped === true && principal.kind === 'role' && principal.role === name,
      )?.scopes ?? NO_SCOPES,
    );
    return [
      ...(scopes.length > 0 ? [{ kind: 'drop-role-scope', role: name, scope, scopes } as const] : []),
      ...members.flatMap((member): readonly Removal[] => {
        const ref = { role: name, member: textOf(member) };
        return [
          { kind: 'drop-member', ...ref },
          ...(ends(member) ? [{ kind: 'end-member', ...ref, expires: at } as const] : []),
        ];
      }),
    ];
  });
  return [...ofGrants, ...ofRoles];
}

/** All sets of up to `most` changes that deny and of which no part does. */
function everyMinimal(
  singles: readonly Removal[],
  denies: (changes: readonly Removal[]) => boolean,
  most: number,
): readonly string[] {
  const found: (readonly Removal[])[] = [];
  let level: readonly { readonly chosen: readonly Removal[]; readonly next: number }[] = [{ chosen: [], next: 0 }];
  for (let size = 1; size <= most; size += 1) {
    const larger: { readonly chosen: readonly Removal[]; readonly next: number }[] = [];
    for (const { chosen, next } of level) {
      for (let i = next; i < singles.length; i += 1) {
        const set = [...chosen, ...singles.slice(i, i + 1)];
        if (found.some((smaller) => smaller.every((change) => set.includes(change)))) continue;
        if (denies(set)) found.push(set);
        else larger.push({ chosen: set, next: i + 1 });
      }
    }
    level = larger;
  }
  return found.map((changes) => changes.map(labelOf).sort().join(' '));
}

describe('the edits that deny an allowed access', () => {
  it('are all minimal sets of single changes, and close what diff says', () => {
    const seen = new Map<string, number>();
    const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
    fc.assert(
      fc.property(anyWorld, explainRequest, fc.noBias(fc.nat()), (set, asked, aim) => {
        const request = aimed(set, asked, aim);
        const policy = load(set);
        fc.pre(explain(policy, request).decision === 'allow' && isScopeName(request.scope));
        const scope = scopeIn(set, request);
        const { edits, isComplete } = takeAway(policy, request, { set });
        const denies = (changes: readonly Removal[]): boolean =>
          decideByOracle(applyAll(set, changes), request) === 'deny';
        for (const edit of edits) {
          const changes = changesOf(edit);
          if (changes === null) {
            count('narrow-credential');
            expect([edit.text, decideAs(set, withoutPart(request, edit)).decision]).toEqual([edit.text, 'deny']);
            continue;
          }
          for (const { kind } of changes) count(kind);
          count(String(changes.length));
          const edited = applyAll(set, changes);
          expect([edit.text, decideAs(edited, request).decision]).toEqual([edit.text, 'deny']);
          for (const change of changes)
            expect([edit.text, change, denies(changes.filter((other) => other !== change))]).toEqual([
              edit.text,
              change,
              false,
            ]);
          const { gained, lost, cells } = diffPolicies(policy, load(edited));
          expect([edit.text, gained, edit.closes.rows, edit.closes.cells]).toEqual([edit.text, [], lost, cells.lost]);
          const holders = new Set(request.identities.map(formatIdentity));
          expect(edit.closes.others).toBe(
            cells.lost -
              BigInt(
                [...holders].filter(
                  (text) =>
                    decideByOracle(set, {
                      ...request,
                      identities: request.identities.filter((identity) => formatIdentity(identity) === text),
                    }) === 'allow',
                ).length,
              ),
          );
        }
        const sizes = edits.map((edit) => changesOf(edit)?.length ?? 1);
        expect([...sizes].sort((a, b) => a - b)).toEqual(sizes);
        const labels = edits.flatMap((edit) => {
          const changes = changesOf(edit);
          return changes === null ? [] : [changes.map(labelOf).sort().join(' ')];
        });
        expect(new Set(labels).size).toBe(labels.length);
        if (!isComplete) count('cut');
        const carrying = oracleGrants(set, request);
        const singles = everySingle(set, scope, request.at).filter(
          (change) => !('grant' in change) || carrying.includes(change.grant.id),
        );
        const most = singles.length > 24 ? 2 : 3;
        const upTo = isComplete ? most : Math.min(most, (sizes.at(-1) ?? 1) - 1);
        const listed = labels.filter((_, i) => (labels[i] ?? '').split('] [').length <= upTo);
        expect([...listed].sort()).toEqual([...everyMinimal(singles, denies, upTo)].sort());
      }),
      testRuns({ usual: 60, deep: 400 }),
    );
    const kinds = ['drop-grant', 'drop-scope', 'end-grant', 'narrow', 'drop-member', 'end-member', 'drop-role-scope'];
    for (const what of [...kinds, 'narrow-credential', '1', '2', '3'])
      expect([what, (seen.get(what) ?? 0) > 0]).toEqual([what, true]);
  });

  it('say which guardrails and tests they break and repair', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(anyWorld, explainRequest, fc.noBias(fc.nat()), (any, asked, aim) => {
        const request = aimed(any, asked, aim);
        fc.pre(explain(load(any), request).decision === 'allow' && isScopeName(request.scope));
        const set = { ...any, ...claimsAbout(any, request) };
        const policy = load(set);
        const { edits } = takeAway(policy, request, { set });
        const guardrailsOf = (one: PolicySet): readonly string[] =>
          checkGuardrails(one, load(one)).violations.map(({ guardrail }) => guardrail);
        const testsOf = (one: PolicySet): readonly string[] =>
          runPolicyTests(one, load(one)).failures.map(({ test }) => test);
        const before = { guardrails: guardrailsOf(set), tests: testsOf(set) };
        for (const proved of proveEdits(edits.slice(0, 6), { policy, set })) {
          const edited = applyAll(set, changesOf(proved) ?? []);
          const after = { guardrails: guardrailsOf(edited), tests: testsOf(edited) };
          const only = (these: readonly string[], those: readonly string[]): readonly string[] =>
            [...new Set(these)].filter((one) => !those.includes(one)).sort();
          const expected = {
            breaks: only(after.guardrails, before.guardrails),
            repairs: only(before.guardrails, after.guardrails),
            breaksTests: only(after.tests, before.tests),
            repairsTests: only(before.tests, after.tests),
          };
          expect(proved).toMatchObject({ text: proved.text, ...expected });
          for (const [effect, names] of Object.entries(expected))
            seen.set(effect, (seen.get(effect) ?? 0) + names.length);
        }
      }),
      testRuns(25),
    );
    for (const effect of ['breaks', 'repairs', 'breaksTests', 'repairsTests'])
      expect([effect, (seen.get(effect) ?? 0) > 5]).toEqual([effect, true]);
  });
});

/** Whatever is allowed asks for a scope of the policy. */
function scopeIn(set: PolicySet, { scope }: ExplainRequest): ScopeName {
  return oracleScopes(set).find((name) => name === scope) ?? 'resource:read';
}

function decideByOracle(set: PolicySet, request: ExplainRequest): 'allow' | 'deny' {
  return oracleAnswer(set, request).decision;
}

function oracleGrants(set: PolicySet, request: ExplainRequest): readonly string[] {
  return oracleAnswer(set, request).grants ?? [];
}

function oracleAnswer(set: PolicySet, request: ExplainRequest): ReturnType<typeof oracleDecide> {
  const { identities, target, context, at, credentialScopes, namespaceRestrictions } = request;
  const actor = {
    kind: 'request',
    identities,
    credentialScopes: credentialScopes === null ? ALL_SCOPES : scopeSetOf(credentialScopes),
    namespaceRestrictions: namespaceRestrictions?.map(pathOf) ?? null,
  } as const;
  const access = {
    kind: 'access',
    scope: scopeIn(set, request),
    context: pathOf(context),
    target: pathOf(target),
  } as const;
  return oracleDecide(set, { actor, request: access, at });
}

function withoutPart(request: ExplainRequest, { change }: ClosingEdit): ExplainRequest {
  if (change.kind !== 'narrow-credential') return request;
  const { credentialScopes: scopes = [], namespaceRestrictions: places = [] } = change;
  return {
    ...request,
    credentialScopes: request.credentialScopes?.filter((scope) => !scopes.includes(scope)) ?? null,
    namespaceRestrictions: request.namespaceRestrictions?.filter((text) => !places.includes(pathOf(text))) ?? null,
  };
}

/** At least one person must hold it there, and these may. One test fails from the beginning. */
function claimsAbout(set: PolicySet, request: ExplainRequest): Pick<PolicySet, 'guardrails' | 'tests'> {
  const { target, identities } = request;
  const scope = scopeIn(set, request);
  const scopes = scopeSetOf([scope]);
  const about = { description: null, place: null };
  const path = pathOf(target);
  const counted = { scopes, at: { kind: 'path', path } } as const;
  const access = [{ scope, namespace: path, place: null }];
  const test = (name: string, more: Partial<PolicyTest>): PolicyTest => ({
    ...{ name, identities, credentialScopes: ALL_SCOPES, namespaceRestrictions: null, at: null, place: null },
    ...{ allow: [], deny: [], sees: [] },
    ...more,
  });
  return {
    guardrails: [
      { id: 'one', rule: { kind: 'atLeast', identities: 1, ...counted }, ...about },
      { id: 'two', rule: { kind: 'atLeast', identities: 2, ...counted }, ...about },
      { id: 'none', rule: { kind: 'atMost', identities: 0, groups: 0, ...counted, ...EVERYONE }, ...about },
    ],
    tests: [test('may', { allow: access }), test('may not', { deny: access })],
  };
}

describe('an access that many grants carry', () => {
  const crowd = (count: number): PolicySet => ({
    name: 'crowd',
    providers: [{ name: 'github', description: null }],
    ...{ exclusive: [], folders: [], people: [], tests: [], guardrails: [] },
    roles: Array.from({ length: count }, (_, i) => ({
      ...{ name: `r${String(i)}`, description: null, place: null },
      members: [{ kind: 'identity', identity: { provider: 'github', subject: 'ada' }, place: null }],
    })),
    grants: Array.from({ length: count }, (_, i) => ({
      ...{ id: `g${String(i).padStart(3, '0')}`, principal: { kind: 'role', role: `r${String(i)}` } },
      ...{ namespace: pathOf('/a'), scopes: 16 as ScopeSet, inherit: true },
      ...{ notBefore: null, expires: null, reason: null, place: null },
    })),
  });
  const request = {
    identities: [{ provider: 'github', subject: 'ada' }],
    ...{ credentialScopes: null, namespaceRestrictions: null, scope: 'resource:read' },
    ...{ context: '/a', target: '/a', at: 0 as Instant },
  };

  it('has as many edits as the bound allows, none larger than need be, and says that there are more', () => {
    const set = crowd(40);
    const policy = load(set);
    const { edits, isComplete } = takeAway(policy, request, { set });
    expect([edits.length, isComplete]).toEqual([ENGINE_LIMITS.takeAways, false]);
    for (const edit of edits) {
      const changes = changesOf(edit) ?? [];
      expect(changes).toHaveLength(40);
      expect(decideAs(applyAll(set, changes), request).decision).toBe('deny');
    }
  });

  it('has all of them where they are no more than the bound', () => {
    const set = crowd(1);
    const policy = load(set);
    const all = takeAway(policy, request, { set });
    expect(all.isComplete).toBe(true);
    expect(all.edits.map(({ text }) => text)).toEqual([
      'drop grant `g000`',
      'end grant `g000` at 1970-01-01T00:00:00.000Z',
      'end the membership of github:ada in role `r0` at 1970-01-01T00:00:00.000Z',
      'remove github:ada from role `r0`',
    ]);
    const limits = { ...ENGINE_LIMITS, takeAways: all.edits.length, closedEntries: 1_000 };
    expect(takeAway(policy, request, { set, limits }).isComplete).toBe(true);
  });

  it('has one edit where the search for the smallest is given up', () => {
    const set = crowd(3);
    const limits = { ...ENGINE_LIMITS, takeAwaySteps: 1 };
    const { edits, isComplete } = takeAway(load(set), request, { set, limits });
    expect(isComplete).toBe(false);
    for (const edit of edits) expect(decideAs(applyAll(set, changesOf(edit) ?? []), request).decision).toBe('deny');
    expect(edits.length).toBeGreaterThan(0);
  });
});
