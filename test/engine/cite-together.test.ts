// The grants of several accesses together: those of the decisions one by one, however the accesses meet, found only once.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Access,
  ALL_SCOPES,
  citeAs,
  type CreateNamespace,
  decideAs,
  instantOf,
  LOCAL_ACTOR,
  type NamespacePath,
  resolveActor,
  type ResolvedActor,
  scopeSetOf,
  unrestrictedPolicy,
} from '../../engine/index.js';
import type { PolicyGrant } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { anyActor, anyInstant, anyPath, anyScope, exclusiveWorld as world, pathOf, policyOf } from './oracle/worlds.js';
import { load } from './prove/brute.js';

const access = (scope: Access['scope'], target: NamespacePath, context = target): Access => ({
  ...{ kind: 'access', scope, context, target },
});

/** Mostly of few scopes, so that places of one scope follow each other. */
const anyAccess: fc.Arbitrary<Access | CreateNamespace> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('access' as const), scope: fc.constantFrom('resource:read' as const, 'resource:write' as const), context: anyPath, target: anyPath }).map((one) => ({ ...one, context: one.target })) }, // prettier-ignore
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('access' as const), scope: anyScope, context: anyPath, target: anyPath }) }, // prettier-ignore
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create-namespace' as const), namespace: anyPath }) },
);

it('has the grants of each access that is allowed, in the order of ids', () => {
  fc.assert(
    fc.property(
      world,
      anyActor,
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
        expect(citeAs(resolved, { accesses, at, most, steps: Infinity })).toEqual({
          grants: expected.slice(0, most),
          omitted: Math.max(0, expected.length - most),
        });
      },
    ),
    testRuns({ usual: 500, deep: 10_000 }),
  );
});

const [AT, PARTS, INHERITED] = [instantOf(0), 100, 5_000];
const READ = 'resource:read';
const ADA = { provider: 'orcid', subject: 'ada' };
const PLACES = Array.from({ length: PARTS }, (_, index) => pathOf(`/t/n${String(index)}`));

function readerBy(grants: readonly Pick<PolicyGrant, 'namespace' | 'inherit'>[]): ResolvedActor {
  const principal = { kind: 'identity', identity: ADA } as const;
  const grant = { principal, scopes: scopeSetOf([READ]), notBefore: null, expires: null, reason: null, place: null };
  const actor = { kind: 'request', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null } as const; // prettier-ignore
  const policy = load(
    policyOf(
      [],
      grants.map((own) => ({ ...grant, ...own })),
    ),
  );
  return resolveActor(policy, actor);
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

it('meets what many accesses rely on once, and ends after so many steps', () => {
  const resolved = readerBy([
    ...Array.from({ length: INHERITED }, () => ({ namespace: pathOf('/t'), inherit: true })),
    ...PLACES.map((namespace) => ({ namespace, inherit: true })),
  ]);
  const accesses = PLACES.map((place) => access(READ, place));
  const cited = (steps: number): number => {
    const { grants, omitted } = citeAs(resolved, { accesses, at: AT, most: 10, steps });
    return grants.length + omitted;
  };
  // One step for each grant, and one for each access.
  const enough = INHERITED + 2 * PARTS;
  expect(cited(enough)).toBe(INHERITED + PARTS);
  expect([cited(enough - 2), cited(8), cited(0)]).toEqual([INHERITED + PARTS - 1, 8, 0]);
});

it('needs no grants under the unrestricted policy', () => {
  const resolved = resolveActor(unrestrictedPolicy(), LOCAL_ACTOR);
  const accesses = [access(READ, pathOf('/a'))];
  expect(citeAs(resolved, { accesses, at: AT, most: 1, steps: 1 })).toEqual({ grants: [], omitted: 0 });
});
