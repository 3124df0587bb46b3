// Rights that past decisions did without, compared with trying: a policy is compiled without each right, and everything that was asked is
// decided again.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy, runPolicyTests } from '../../../engine/compiler.js';
import {
  ALL_SCOPES,
  type Actor,
  decide,
  formatIdentity,
  instantOf,
  loadSnapshot,
  type NamespacePath,
  type Policy,
  type Reach,
  type ScopeName,
  visibility,
  visibilityDigest,
} from '../../../engine/index.js';
import { scopeNames } from '../../../engine/model/scope-set.js';
import type { PolicySet } from '../../../engine/model/policy-set.js';
import { findUnused, type Smaller, withoutRights } from '../../../engine/prove/unused/find-unused.js';
import { makeNeeds, type Needs, promisedBy } from '../../../engine/prove/unused/needs.js';
import { rightsOf } from '../../../engine/prove/unused/rights.js';
import { anyPath, anyScope, IDENTITIES, INSTANTS, windowedWorld } from '../oracle/worlds.js';

type Asked =
  | { readonly kind: 'access'; readonly scope: ScopeName; readonly path: NamespacePath }
  | { readonly kind: 'query'; readonly family: string; readonly path: NamespacePath; readonly reach: Reach };
type Question = Asked & { readonly actor: Actor; readonly at: ReturnType<typeof instantOf> };

const actor: fc.Arbitrary<Actor> = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...IDENTITIES), { minLength: 1, maxLength: 2 }),
    fc.option(fc.array(anyPath, { maxLength: 2 })),
  )
  .map(([identities, namespaceRestrictions]) => ({
    ...{ kind: 'key' as const, identities, credentialScopes: ALL_SCOPES, namespaceRestrictions },
  }));
const asked: fc.Arbitrary<Asked> = fc.oneof(
  fc.record({ kind: fc.constant('access' as const), scope: anyScope, path: anyPath }),
  fc.record({
    kind: fc.constant('query' as const),
    family: fc.constantFrom('namespace', 'resource', 'process-run'),
    path: anyPath,
    reach: fc.constantFrom<Reach>('lineage', 'exact', 'subtree'),
  }),
);
const question: fc.Arbitrary<Question> = fc
  .tuple(asked, actor, fc.constantFrom(...INSTANTS))
  .map(([one, who, at]) => ({ ...one, actor: who, at: instantOf(at) }));

function policyOf(set: PolicySet): Policy {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

/** What was answered, as far as anybody would notice a change. */
function answer(policy: Policy, one: Question): string {
  const { actor: who, at } = one;
  if (one.kind === 'access') {
    const request = { kind: 'access', scope: one.scope, context: one.path, target: one.path } as const;
    return decide(policy, { actor: who, request, at }).decision;
  }
  const seen = seenBy(policy, one);
  return seen.kind === 'none' ? 'deny' : visibilityDigest(seen);
}

function seenBy(
  policy: Policy,
  { actor: who, at, ...one }: Question & { readonly kind: 'query' },
): ReturnType<typeof visibility> {
  const reach = one.family === 'process-run' ? 'exact' : one.reach;
  return visibility(policy, { actor: who, request: { family: one.family, context: one.path, reach }, at });
}

function note(needs: Needs, policy: Policy, one: Question): void {
  if (answer(policy, one) === 'deny') return;
  const identities = one.actor.identities.map(formatIdentity);
  if (one.kind === 'access') needs.addAccess(identities, { scope: one.scope, namespace: one.path, at: one.at });
  else {
    const visible = seenBy(policy, one);
    if (visible.kind === 'none') throw new Error('nothing was seen');
    const reach = one.family === 'process-run' ? 'exact' : one.reach;
    const scope = `${one.family}:read` as ScopeName;
    needs.addVisible(identities, { scope, context: one.path, reach, visible, at: one.at });
  }
}

const NONE = { grants: new Set<number>(), memberships: new Set<number>() };
const nothing: Smaller = { grants: new Set(), scopes: new Map(), memberships: new Set() };

/** Each right alone, as something to leave out. */
function eachRight(set: PolicySet): ReadonlyMap<string, Smaller> {
  const all = new Map<string, Smaller>();
  for (const [at, { scopes }] of set.grants.entries()) {
    all.set(`grant ${String(at)}`, { ...nothing, grants: new Set([at]) });
    for (const scope of scopeNames(scopes))
      all.set(`scope ${String(at)} ${scope}`, { ...nothing, scopes: new Map([[at, new Set([scope])]]) });
  }
  for (const at of set.roles.flatMap(({ members }) => members).keys())
    all.set(`member ${String(at)}`, { ...nothing, memberships: new Set([at]) });
  return all;
}

/** No grant may have no scopes: that is no grant. */
function left(set: PolicySet, smaller: Smaller): PolicySet {
  const some = withoutRights(set, smaller);
  return { ...some, grants: some.grants.filter(({ scopes }) => scopeNames(scopes).length > 0) };
}

describe('unused rights', () => {
  it('are those that change nothing that was asked, each alone; and the smaller policy changes nothing and has nothing to spare', () => {
    let [found, together] = [0, 0];
    fc.assert(
      fc.property(windowedWorld, fc.array(question, { maxLength: 25, size: 'max' }), (set, questions) => {
        const policy = policyOf(set);
        const rights = rightsOf(set);
        const needs = makeNeeds(rights);
        for (const one of questions) note(needs, policy, one);
        const { rights: unused, smaller } = findUnused(rights, needs.all(), NONE);
        const before = questions.map((one) => answer(policy, one));
        const changes = (some: Smaller): boolean => {
          const after = policyOf(left(set, some));
          return questions.some((one, i) => answer(after, one) !== before[i]);
        };
        const spare = new Set(
          unused.flatMap((one) => {
            if (one.kind === 'grant') return [`grant ${String(one.grant)}`, ...scopesIn(set, one.grant)];
            if (one.kind === 'member') return [`member ${String(one.membership)}`];
            // A part of a grant that is listed as a whole.
            return one.scopes.map((scope) => `scope ${String(one.grant)} ${scope}`);
          }),
        );
        const each = eachRight(set);
        for (const [name, one] of each) expect([name, spare.has(name)]).toEqual([name, !changes(one)]);
        found += spare.size;
        expect(changes(smaller)).toBe(false);
        // Whatever else were left out would change something, or is a membership by which nothing is held.
        for (const one of each.values()) {
          const more = {
            grants: new Set([...smaller.grants, ...one.grants]),
            scopes: new Map(smaller.scopes),
            memberships: new Set([...smaller.memberships, ...one.memberships]),
          };
          for (const [grant, scopes] of one.scopes)
            more.scopes.set(grant, new Set([...(smaller.scopes.get(grant) ?? []), ...scopes]));
          const isGone = isIn(smaller, one);
          if (isGone) continue;
          if (!changes(more)) expect(policyOf(left(set, more)).decisions).toBe(policyOf(left(set, smaller)).decisions);
        }
        together += smaller.grants.size + smaller.memberships.size + smaller.scopes.size;
      }),
      { numRuns: 40 },
    );
    expect(found).toBeGreaterThan(100);
    expect(together).toBeGreaterThan(100);
  });

  it('that were never cited have no last time, and the others have that of the last decision that cited them', () => {
    fc.assert(
      fc.property(windowedWorld, fc.array(question, { maxLength: 25, size: 'max' }), (set, questions) => {
        const policy = policyOf(set);
        const rights = rightsOf(set);
        const needs = makeNeeds(rights);
        const accesses = questions.filter(({ kind }) => kind === 'access');
        for (const one of accesses) note(needs, policy, one);
        for (const right of findUnused(rights, needs.all(), NONE).rights) {
          if (right.kind !== 'grant') continue;
          const id = set.grants[right.grant]?.id ?? '';
          const times = accesses.flatMap((one) => {
            if (one.kind !== 'access') return [];
            const request = { kind: 'access', scope: one.scope, context: one.path, target: one.path } as const;
            const said = decide(policy, { actor: one.actor, request, at: one.at });
            return said.decision === 'allow' && said.grants.some((grant) => grant.id === id) ? [one.at] : [];
          });
          expect(right.last).toBe(times.length === 0 ? null : Math.max(...times));
          expect(right.use).toBe(times.length === 0 ? 'never_cited' : 'not_needed');
        }
      }),
    );
  });

  it('by which tests of the policy pass stay, and the others go', () => {
    let stayed = 0;
    fc.assert(
      fc.property(windowedWorld, fc.array(question, { minLength: 20, maxLength: 30 }), (world, questions) => {
        const policy = policyOf(world);
        const tests = questions.flatMap((one, i): PolicySet['tests'] => {
          if (
            one.kind !== 'access' ||
            answer(policy, { ...one, actor: { ...one.actor, namespaceRestrictions: null } }) === 'deny'
          )
            return [];
          const allow = [{ scope: one.scope, namespace: one.path, place: null }];
          const who = { identities: one.actor.identities, credentialScopes: ALL_SCOPES, namespaceRestrictions: null };
          return [{ ...who, name: `t${String(i)}`, at: one.at, allow, deny: [], sees: [], place: null }];
        });
        const set = { ...world, tests };
        const rights = rightsOf(set);
        const { smaller, rights: unused } = findUnused(rights, [], { ...NONE, promised: promisedBy(set, rights) });
        expect(unused.every(({ use }) => use === 'never_cited')).toBe(true);
        const left = withoutRights(set, smaller);
        expect(runPolicyTests(left, policyOf(left)).failed).toBe(0);
        stayed += left.grants.length;
        expect(left.grants.length).toBeLessThanOrEqual(tests.length);
      }),
    );
    expect(stayed).toBeGreaterThan(5);
  });

  it('that may not go stay', () => {
    fc.assert(
      fc.property(windowedWorld, (set) => {
        const rights = rightsOf(set);
        const all = { grants: new Set(rights.grants.keys()), memberships: new Set(rights.memberships.keys()) };
        const { rights: unused, smaller } = findUnused(rights, [], all);
        expect(unused.filter(({ dropped }) => dropped)).toEqual([]);
        expect(smaller).toEqual(nothing);
        expect(findUnused(rights, [], NONE).smaller.grants.size).toBe(set.grants.length);
      }),
    );
  });
});

function scopesIn(set: PolicySet, grant: number): readonly string[] {
  return scopeNames(set.grants[grant]?.scopes ?? (0 as never)).map((scope) => `scope ${String(grant)} ${scope}`);
}

function isIn(smaller: Smaller, { grants, scopes, memberships }: Smaller): boolean {
  return (
    [...grants].some((one) => smaller.grants.has(one)) ||
    [...memberships].some((one) => smaller.memberships.has(one)) ||
    [...scopes].some(
      ([grant, some]) =>
        smaller.grants.has(grant) || [...some].some((one) => smaller.scopes.get(grant)?.has(one) === true),
    )
  );
}
