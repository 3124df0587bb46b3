// Decisions and visibility against the slow evaluator, on generated worlds.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  comparePaths,
  decide,
  type Decision,
  FAMILIES,
  heldScopes,
  isWithin,
  type NamespacePath,
  type Reach,
  type Request,
  ROOT,
  type Visibility,
  visibility,
  visibilityDigest,
} from '../../engine/index.js';
import { scopeSetOf } from '../../engine/model/scope-set.js';
import { testRuns } from '../support/test-runs.js';
import { oracleDecide, oracleScopes, oracleVisible, spell } from './oracle/oracle.js';
import {
  anyActor,
  anyInstant,
  anyPath,
  grantBody,
  UNIVERSE,
  exclusiveWorld as world,
  world as plainWorld,
  anyScope,
} from './oracle/worlds.js';
import { load } from './table-world.js';

const READS = scopeSetOf(FAMILIES.map((family) => `${family}:read` as const));
/** One person. */
const [READER, ALIAS] = [
  { provider: 'orcid', subject: 'reader' },
  { provider: 'orcid', subject: 'alias' },
];

/** Nothing is listed twice or under something else that is listed, and everything is in path order. */
function expectMinimal({ exact, subtrees }: Extract<Visibility, { readonly kind: 'some' }>): void {
  const all = [...exact, ...subtrees];
  expect(all.length).toBeGreaterThan(0);
  for (const path of all) {
    expect(all.filter((other) => other === path || (subtrees.includes(other) && isWithin(path, other)))).toEqual([
      path,
    ]);
  }
  for (const list of [exact, subtrees]) expect([...list].sort(comparePaths)).toEqual(list);
  expect(subtrees).not.toContain('/');
}

function plain(decision: Decision): object {
  return decision.decision === 'allow' ? { ...decision, grants: decision.grants.map((grant) => grant.id) } : decision;
}

const request: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('access' as const),
      scope: anyScope,
      context: anyPath,
      target: anyPath,
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({ scope: anyScope, path: anyPath })
      .map(({ scope, path }) => ({ kind: 'access' as const, scope, context: path, target: path })),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create-namespace' as const), namespace: anyPath }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('copy' as const), source: anyPath, destination: anyPath }) },
);

describe('decide', () => {
  it('answers as the slow evaluator does: decision, step, cause and grants', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(
        world,
        fc.array(fc.record({ actor: anyActor, request, at: anyInstant }), { minLength: 20, maxLength: 30 }),
        (set, asked) => {
          const policy = load(set);
          for (const input of asked) {
            const expected = oracleDecide(set, input);
            expect(plain(decide(policy, input))).toEqual(expected);
            const key = expected.step ?? expected.decision;
            seen.set(key, (seen.get(key) ?? 0) + 1);
          }
        },
      ),
      testRuns({ usual: 100, deep: 200 }),
    );
    for (const kind of [
      'allow',
      'exclusive',
      'restriction',
      'no_matching_grant',
      'credential_scope',
      'target_relationship',
      'source_read',
      'destination_write',
      'canonicalize',
    ]) {
      expect([kind, (seen.get(kind) ?? 0) > 2]).toEqual([kind, true]);
    }
  });

  it('never takes an allowed access away when a grant, a scope of the credential or an identity is added', () => {
    fc.assert(
      fc.property(
        plainWorld,
        grantBody,
        anyActor,
        anyActor,
        request,
        anyInstant,
        (set, extra, actor, other, asked, at) => {
          if (decide(load(set), { actor, request: asked, at }).decision === 'deny') return;
          const more = { ...set, grants: [...set.grants, { ...extra, id: 'more' }] };
          const wider = { ...actor, identities: [...actor.identities, ...other.identities] };
          expect(decide(load(more), { actor, request: asked, at }).decision).toBe('allow');
          expect(decide(load(set), { actor: wider, request: asked, at }).decision).toBe('allow');
        },
      ),
      testRuns({ usual: 50, deep: 100 }),
    );
  });
});

describe('visibility', () => {
  it('is exactly what the slow evaluator allows one by one, minimal and in path order', () => {
    const kinds = new Map<string, number>();
    const asked = fc.record({
      actor: anyActor,
      request: fc.record({
        family: fc.constantFrom(...FAMILIES),
        context: fc.oneof({ weight: 3, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant(ROOT) }),
        reach: fc.constantFrom<Reach>('lineage', 'exact', 'subtree'),
      }),
      at: anyInstant,
    });
    fc.assert(
      fc.property(world, fc.array(asked, { minLength: 8, maxLength: 12 }), (set, inputs) => {
        const policy = load(set);
        for (const input of inputs) {
          const answer = visibility(policy, input);
          kinds.set(answer.kind, (kinds.get(answer.kind) ?? 0) + 1);
          expect(spell(answer, UNIVERSE)).toEqual(oracleVisible(set, { ...input, universe: UNIVERSE }));
          const { family, context } = input.request;
          const own = decide(policy, {
            ...input,
            request: { kind: 'access', scope: `${family}:read`, context, target: context },
          });
          if (answer.kind === 'none') {
            expect(own).toMatchObject({ decision: 'deny', step: answer.step });
          } else if (answer.kind === 'some') {
            expectMinimal(answer);
          } else {
            expect(input.request).toMatchObject({ context: '/', reach: 'subtree' });
          }
        }
      }),
      testRuns({ usual: 75, deep: 150 }),
    );
    for (const kind of ['none', 'some', 'all']) expect([kind, (kinds.get(kind) ?? 0) > 3]).toEqual([kind, true]);
  });

  it('is minimal where grants and restrictions meet, above the context and below', () => {
    const met = { above: 0, below: 0, both: 0 };
    // Few enough that some are alike, or within each other.
    const near = fc.record({ isAbove: fc.boolean(), pick: fc.nat(5) });
    const held = fc.array(fc.record({ grant: grantBody, near }), { minLength: 2, maxLength: 5, size: 'max' });
    const restricted = fc.option(fc.array(near, { minLength: 1, maxLength: 3 }), { freq: 3 });
    const request = fc.record({
      family: fc.constantFrom(...FAMILIES),
      context: anyPath,
      reach: fc.constantFrom<Reach>('lineage', 'exact', 'subtree', 'subtree'),
    });
    fc.assert(
      fc.property(plainWorld, held, request, restricted, anyInstant, (set, extra, asked, restrictions, at) => {
        const { context } = asked;
        const place = ({ isAbove, pick }: { readonly isAbove: boolean; readonly pick: number }): NamespacePath => {
          const paths = UNIVERSE.filter((path) => (isAbove ? isWithin(context, path) : isWithin(path, context)));
          return paths[pick % paths.length] ?? ROOT;
        };
        const namespaceRestrictions = restrictions?.map(place) ?? null;
        const grants = extra.map(({ grant, near: where }, index) => {
          const identity = index % 2 === 0 ? READER : ALIAS;
          const principal = { kind: 'identity' as const, identity };
          const own = { id: `reader-${String(index)}`, principal, scopes: READS, namespace: place(where) };
          return { ...grant, ...own, notBefore: null, expires: null };
        });
        const actor = { kind: 'request' as const, identities: [READER, ALIAS], credentialScopes: ALL_SCOPES, namespaceRestrictions }; // prettier-ignore
        const world = { ...set, grants: [...set.grants, ...grants] };
        const answer = visibility(load(world), { actor, request: asked, at });
        expect(spell(answer, UNIVERSE)).toEqual(
          oracleVisible(world, { actor, request: asked, at, universe: UNIVERSE }),
        );
        if (answer.kind === 'some') expectMinimal(answer);
        if (answer.kind === 'none' || asked.reach !== 'subtree' || namespaceRestrictions === null) return;
        const above = namespaceRestrictions.filter((root) => root !== context && isWithin(context, root)).length;
        const below = namespaceRestrictions.filter((root) => root !== context && isWithin(root, context)).length;
        met.above += above > 0 ? 1 : 0;
        met.below += above === 0 && below > 0 ? 1 : 0;
        met.both += above > 0 && below > 0 ? 1 : 0;
      }),
      testRuns({ usual: 500, deep: 3_000 }),
    );
    for (const [where, count] of Object.entries(met)) expect([where, count > 5]).toEqual([where, true]);
  });

  it('has one digest for one visibility', () => {
    const some = (exact: readonly string[], subtrees: readonly string[]): string =>
      visibilityDigest({ kind: 'some', exact: exact as never, subtrees: subtrees as never });
    const digests = [
      some(['/a'], []),
      some([], ['/a']),
      some(['/a'], ['/b']),
      some(['/a', '/b'], []),
      visibilityDigest({ kind: 'all' }),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    expect(some(['/a'], ['/b'])).toBe(some(['/a'], ['/b']));
    expect(digests[0]).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('heldScopes', () => {
  it('lists the scopes that decide allows at the namespace, with the same grants', () => {
    fc.assert(
      fc.property(world, anyActor, anyPath, anyInstant, (set, actor, namespace, at) => {
        const policy = load(set);
        const held = heldScopes(policy, { actor, namespace, at });
        const expected = [...oracleScopes(set)].sort().flatMap((scope) => {
          const answer = oracleDecide(set, {
            actor,
            request: { kind: 'access', scope, context: namespace, target: namespace },
            at,
          });
          return answer.decision === 'allow' ? [{ scope, grants: (answer.grants ?? []).map((id) => ({ id })) }] : [];
        });
        expect(held).toEqual(expected);
      }),
      testRuns({ usual: 50, deep: 100 }),
    );
  });
});
