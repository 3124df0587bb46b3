// who-can, what-can and explain against brute force over small worlds; what explain proposes has its own test.
import { describe, expect, it, test } from '@jest/globals';
import { oracleScopes } from '../oracle/oracle.js';
import fc from 'fast-check';
import {
  ALL_SCOPES,
  decide,
  formatIdentity,
  type Identity,
  type Instant,
  SCOPES,
  type ScopeSet,
} from '../../../engine/index.js';
import { explain } from '../../../engine/prove/explain/explain.js';
import { whatCan } from '../../../engine/prove/ask/what-can.js';
import { whoCan } from '../../../engine/prove/ask/who-can.js';
import {
  anyInstant,
  anyPath,
  IDENTITIES,
  pathOf,
  policyOf,
  STRANGER,
  UNIVERSE,
  exclusiveWorld as world,
  anyScope,
} from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { holds, isInRegion, load } from './brute.js';
import { ADA, ASKING, CREW_AND_ADA, decideAs, explainRequest, someone } from './requests.js';

describe('who-can', () => {
  it('names everyone who holds the scope, at any path, with all grants that carry it', () => {
    fc.assert(
      fc.property(world, anyScope, anyPath, anyInstant, (set, scope, namespace, at) => {
        const held = holds(set);
        const expected = IDENTITIES.map((identity) => ({
          identity: formatIdentity(identity),
          grants: held(identity, namespace, at).get(scope) ?? [],
        }))
          .filter(({ grants }) => grants.length > 0)
          .sort((a, b) => (a.identity < b.identity ? -1 : 1));
        const found = whoCan(load(set), { scope, namespace, at });
        expect(found.map(({ identity, grants }) => ({ identity, grants: grants.map((grant) => grant.id) }))).toEqual(
          expected,
        );
      }),
      testRuns({ usual: 50, deep: 100 }),
    );
  });
});

describe('what-can', () => {
  it('has regions whose union is exactly what is decided, a scope in one region at a time, with the grants that carry it', () => {
    fc.assert(
      fc.property(world, someone, anyInstant, (set, identity, at) => {
        const policy = load(set);
        const regions = whatCan(policy, { identities: [identity], at });
        const actor = {
          kind: 'request',
          identities: [identity],
          credentialScopes: ALL_SCOPES,
          namespaceRestrictions: null,
        } as const;
        for (const path of UNIVERSE) {
          const covering = regions.filter((region) => isInRegion(region, path));
          const decided = oracleScopes(set).filter(
            (scope) =>
              decide(policy, { actor, request: { kind: 'access', scope, context: path, target: path }, at })
                .decision === 'allow',
          );
          expect(covering.flatMap((region) => region.scopes).sort()).toEqual([...decided].sort());
        }
        const held = holds(set);
        for (const region of regions) {
          const paths = UNIVERSE.filter((path) => isInRegion(region, path));
          const carries = (id: string): boolean =>
            region.scopes.some((scope) =>
              paths.every((path) => held(identity, path, at).get(scope)?.includes(id) === true),
            );
          expect(region.grants.map((grant) => grant.id)).toEqual(set.grants.map((grant) => grant.id).filter(carries));
          expect(region.grants.length).toBeGreaterThan(0);
        }
      }),
      testRuns({ usual: 50, deep: 100 }),
    );
  });
});

describe('explain', () => {
  it('says what decide decides, each step in order up to the one that failed', () => {
    const order = [
      'canonicalize',
      'exclusive',
      'restriction',
      'no_matching_grant',
      'credential_scope',
      'target_relationship',
    ];
    fc.assert(
      fc.property(world, explainRequest, (set, request) => {
        const explanation = explain(load(set), request);
        const decision = decideAs(set, request);
        expect(explanation.decision).toBe(decision.decision);
        expect(explanation.step).toBe(decision.decision === 'deny' ? decision.step : undefined);
        if (decision.decision === 'allow')
          expect(explanation.grants.map(({ id }) => id)).toEqual(decision.grants.map(({ id }) => id));
        const steps = explanation.steps.map(({ step }) => step).filter((step) => step !== 'unknown_scope');
        const expected = order.filter((step) => step !== 'exclusive' || set.exclusive.length > 0);
        expect(steps).toEqual(expected.slice(0, steps.length));
        expect(explanation.steps.map(({ passed }) => passed)).toEqual(
          explanation.steps.map((_, i) => decision.decision === 'allow' || i < explanation.steps.length - 1),
        );
        expect(explanation.steps.length).toBe(
          decision.decision === 'allow' ? expected.length : explanation.steps.length,
        );
      }),
      testRuns({ usual: 100, deep: 200 }),
    );
  });

  it('names those of several identities that hold, each once', () => {
    const step = (identities: readonly Identity[], target = '/a'): unknown =>
      explain(load(CREW_AND_ADA), { ...ASKING, identities, context: target, target }).steps.at(2)?.text;
    const more = { provider: 'orcid', subject: 'ada' };
    expect(step([more, ADA, STRANGER, ADA])).toBe('2 grants give github:ada resource:read at /a');
    expect(step([more, ADA, STRANGER], '/a/b')).toBe(
      'no grant in force at 1970-01-01T00:00:00.000Z gives orcid:ada, github:ada or orcid:nobody resource:read at /a/b',
    );
    expect(step([])).toBe('the actor has no identity that a grant could name');
  });

  test.each([
    [
      'a namespace that is none',
      { target: '/A' },
      'canonicalize',
      'the namespace `/A` is not a namespace: segments are made of `a-z`, `0-9`, `.`, `_`, `~`, `-`; did you mean `/a`?',
    ],
    [
      'a scope that is none',
      { scope: 'resource:delete' },
      'unknown_scope',
      `\`resource:delete\` is not a scope: scopes are ${SCOPES.join(', ')}`,
    ],
    [
      'a restriction elsewhere',
      { namespaceRestrictions: ['/b'] },
      'restriction',
      'the credential is restricted to /b, and /a is not there',
    ],
    [
      'no grant',
      { scope: 'resource:write' },
      'no_matching_grant',
      'no grant in force at 1970-01-01T00:00:00.000Z gives github:ada resource:write at /a',
    ],
    ['a narrow credential', { credentialScopes: [] }, 'credential_scope', 'the credential carries no scope at all'],
    [
      'a write from below',
      { scope: 'namespace:write', context: '/a/b' },
      'target_relationship',
      'namespace:write works in the context namespace only, and /a is not /a/b',
    ],
  ])('says why: %s', (_name, more, step, text) => {
    const policy = load(
      policyOf(
        [],
        [
          {
            principal: { kind: 'identity', identity: ADA },
            namespace: pathOf('/a'),
            scopes: 3 as ScopeSet,
            inherit: true,
            notBefore: null,
            expires: null,
            reason: null,
            place: null,
          },
        ],
      ),
    );
    const request = {
      identities: [ADA],
      credentialScopes: null,
      namespaceRestrictions: null,
      scope: 'namespace:read',
      context: '/a',
      target: '/a',
      at: 0 as Instant,
      ...more,
    };
    const explanation = explain(policy, { ...request, context: 'context' in more ? request.context : request.target });
    expect([explanation.step, explanation.steps.at(-1)?.text]).toEqual([step, text]);
  });
});
