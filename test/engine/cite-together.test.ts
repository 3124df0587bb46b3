// The grants of several accesses together: those of the decisions one by one, however the accesses meet, found only once.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Access,
  type Actor,
  ALL_SCOPES,
  citeAs,
  type CreateNamespace,
  decideAs,
  instantOf,
  LOCAL_ACTOR,
  type NamespacePath,
  type OwnFamily,
  resolveActor,
  type ResolvedActor,
  scopeSetOf,
  unrestrictedPolicy,
  vocabularyOf,
} from '../../engine/index.js';
import type { PolicyGrant } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import {
  anyActor,
  anyInstant,
  anyPath,
  anyScope,
  grantBody,
  IDENTITIES,
  MANY,
  pathOf,
  policyOf,
  windowedWorld,
} from './oracle/worlds.js';
import { load } from './prove/brute.js';

const RUNS = testRuns({ usual: 500, deep: 10_000 });
const access = (scope: Access['scope'], target: NamespacePath, context = target): Access => ({
  ...{ kind: 'access', scope, context, target },
});

/** Mostly of few scopes, so that places of one scope follow each other. */
const anyAccess: fc.Arbitrary<Access | CreateNamespace> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('access' as const), scope: fc.constantFrom('resource:read' as const, 'resource:write' as const), context: anyPath, target: anyPath }).map((one) => ({ ...one, context: one.target })) }, // prettier-ignore
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('access' as const), scope: anyScope, context: anyPath, target: anyPath }) }, // prettier-ignore
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create-namespace' as const), namespace: anyPath }) },
);

/** With so many grants that most actors hold several, one inside the other. */
const world = fc.tuple(windowedWorld, fc.array(grantBody, { minLength: 8, maxLength: 24 })).map(([set, more]) => {
  const scopes = scopeSetOf(['resource:read', 'resource:write']);
  return { ...set, ...policyOf(set.roles, [...set.grants, ...more.map((grant) => ({ ...grant, scopes }))]) };
});

/** Mostly with all that their identities hold. */
const holder: fc.Arbitrary<Actor> = fc.oneof(
  { weight: 1, arbitrary: anyActor },
  { weight: 4, arbitrary: fc.subarray([...IDENTITIES], { minLength: 1 }).map((identities): Actor => ({ kind: 'request', identities, credentialScopes: ALL_SCOPES, namespaceRestrictions: null })) }, // prettier-ignore
);

it('has the grants of each access that is allowed, in the order of ids', () => {
  let several = 0;
  fc.assert(
    fc.property(
      world,
      holder,
      fc.array(anyAccess, { minLength: 1, maxLength: 12 }),
      anyInstant,
      fc.integer({ min: 0, max: 4 }),
      (set, actor, accesses, at, most) => {
        const resolved = resolveActor(load(set), actor);
        const all = accesses.flatMap((request) => {
          const decision = decideAs(resolved, { request, at });
          return decision.decision === 'allow' ? decision.grants : [];
        });
        const expected = [...new Map(all.map((grant) => [grant.id, grant])).values()].sort((a, b) => (a.id < b.id ? -1 : 1)); // prettier-ignore
        if (expected.length > 1) several += 1;
        expect(citeAs(resolved, { accesses, at, most, steps: Infinity })).toEqual({
          grants: expected.slice(0, most),
          omitted: Math.max(0, expected.length - most),
        });
      },
    ),
    RUNS,
  );
  // It would be true of actors who hold nothing, too.
  expect(several).toBeGreaterThanOrEqual(Math.floor(RUNS.numRuns / 10));
});

const [AT, PARTS, INHERITED] = [instantOf(0), 100, 5_000];
const READ = 'resource:read';
const ADA = { provider: 'orcid', subject: 'ada' };
const PLACES = Array.from({ length: PARTS }, (_, index) => pathOf(`/t/n${String(index)}`));

type OwnGrant = Pick<PolicyGrant, 'namespace' | 'inherit'> & Partial<Pick<PolicyGrant, 'id' | 'scopes'>>;

function readerBy(grants: readonly OwnGrant[], families: readonly OwnFamily[] = []): ResolvedActor {
  const principal = { kind: 'identity', identity: ADA } as const;
  const grant = { principal, scopes: scopeSetOf([READ]), notBefore: null, expires: null, reason: null, place: null };
  const actor = { kind: 'request', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null } as const; // prettier-ignore
  const written = grants.map((own, index) => ({ id: `g${String(index)}`, ...grant, ...own }));
  return resolveActor(load({ ...policyOf([], []), families, grants: written }), actor);
}

it('has what counts at a namespace alone, whichever of the places below it come first', () => {
  const [above, below] = [pathOf('/a'), pathOf('/a/b')];
  const resolved = readerBy([
    { namespace: above, inherit: false },
    { namespace: above, inherit: true },
    { namespace: below, inherit: false },
    { namespace: pathOf('/'), inherit: true },
  ]);
  for (const places of [
    [below, above],
    [above, below],
    [above, pathOf('/a/z'), below, above],
  ]) {
    const accesses = places.map((place) => access(READ, place));
    const { grants } = citeAs(resolved, { accesses, at: AT, most: 9, steps: Infinity });
    expect(grants.map(({ id }) => id)).toEqual(['g0', 'g1', 'g2', 'g3']);
  }
});

it('tells each scope of a policy that has many from every other one, at one place', () => {
  const { own } = vocabularyOf({ families: MANY });
  const scopes = [READ, ...own] as const;
  const resolved = readerBy(
    scopes.map((scope) => ({ namespace: pathOf('/'), inherit: true, scopes: scopeSetOf([scope]) })),
    MANY,
  );
  for (const [index, scope] of own.entries()) {
    const accesses = [access(READ, pathOf('/a')), access(scope, pathOf('/a'))];
    const { grants } = citeAs(resolved, { accesses, at: AT, most: 9, steps: Infinity });
    expect(grants.map(({ id }) => id)).toEqual(['g0', `g${String(index + 1)}`]);
  }
});

it('tells grants apart whose ids differ in their first letter alone', () => {
  const resolved = readerBy(['a1', 'b1'].map((id) => ({ id, namespace: pathOf('/'), inherit: true })));
  const accesses = [access(READ, pathOf('/a'))];
  expect(citeAs(resolved, { accesses, at: AT, most: 1, steps: Infinity })).toEqual({ grants: [{ id: 'a1' }], omitted: 1 }); // prettier-ignore
});

it('meets what many accesses rely on once, and ends after so many steps', () => {
  const resolved = readerBy([
    ...Array.from({ length: INHERITED }, () => ({ namespace: pathOf('/t'), inherit: true })),
    ...PLACES.map((namespace) => ({ namespace, inherit: true })),
  ]);
  const accesses = [pathOf('/t'), ...PLACES].map((place) => access(READ, place));
  const cited = (steps: number): number => {
    const { grants, omitted } = citeAs(resolved, { accesses, at: AT, most: 10, steps });
    return grants.length + omitted;
  };
  // One step for each grant, and one for each access.
  const enough = INHERITED + 2 * PARTS + 1;
  expect(cited(enough)).toBe(INHERITED + PARTS);
  expect([cited(enough - 2), cited(8), cited(0)]).toEqual([INHERITED + PARTS - 1, 8, 0]);
});

it('needs no grants under the unrestricted policy', () => {
  const resolved = resolveActor(unrestrictedPolicy(), LOCAL_ACTOR);
  const accesses = [access(READ, pathOf('/a'))];
  expect(citeAs(resolved, { accesses, at: AT, most: 1, steps: 1 })).toEqual({ grants: [], omitted: 0 });
});
