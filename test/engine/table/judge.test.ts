// Grants one inside the other, and beside each other, where only some are in force, count below, or carry what is wanted.
import { describe, expect, it } from '@jest/globals';
import { heldScopes, instantOf, type Policy, type ScopeName, scopeSetOf, visibility } from '../../../engine/index.js';
import type { PolicyGrant } from '../../../engine/model/policy-set.js';
import { pathOf, policyOf } from '../oracle/worlds.js';
import { actorOf, ADA, ask, grant, load, NOW } from '../table-world.js';

const LATER = instantOf(10);
const NOW_ONLY = { expires: LATER };
const NOT_YET = { notBefore: LATER };
const OWN_ONLY = { inherit: false };
/** Somebody whose grants stand before those of the one who asks. */
const FIRST = { kind: 'identity', identity: { provider: 'orcid', subject: 'a' } } as const;
const OTHERS = ['/', '/a', '/a/b', '/a/c', '/b'].map((path) => grant(path, { principal: FIRST }));
const scopes = (...names: readonly ScopeName[]): Partial<PolicyGrant> => ({ scopes: scopeSetOf(names) });

/** Alone, and behind the grants of somebody else, which makes their namespaces known too. */
function policies(...grants: readonly Omit<PolicyGrant, 'id'>[]): readonly Policy[] {
  return [grants, [...grants, ...OTHERS]].map((all) => load(policyOf([], all)));
}

describe('a decision', () => {
  it('is made by the only grant, if it is in force', () => {
    for (const policy of policies(grant('/a', NOW_ONLY))) expect(ask(policy, ADA, '/a/b')).toBe('g0');
    for (const policy of policies(grant('/a', NOT_YET))) expect(ask(policy, ADA, '/a/b')).toBe('no_matching_grant');
  });

  it('is not made by a grant beside the place, though one above would be in force later', () => {
    for (const policy of policies(grant('/', NOT_YET), grant('/a/b', NOW_ONLY), grant('/b', NOT_YET))) {
      expect(['/a/b', '/a/b/x', '/a', '/a/c', '/a/c/x', '/b'].map((path) => ask(policy, ADA, path))).toEqual([
        ...['g1', 'g1', ...Array.from({ length: 4 }, () => 'no_matching_grant')],
      ]);
    }
  });
});

describe('what is held', () => {
  const held = (policy: Policy, path: string, carried?: Partial<PolicyGrant>): readonly string[] =>
    heldScopes(policy, {
      actor: { ...actorOf(ADA), ...(carried?.scopes === undefined ? {} : { credentialScopes: carried.scopes }) },
      namespace: pathOf(path),
      at: NOW,
    }).map(({ scope }) => scope);

  it('is what each grant above carries that is in force, and of that what the credential carries', () => {
    const nested = policies(
      grant('/', { ...NOW_ONLY, ...scopes('namespace:read') }),
      grant('/a', { ...NOW_ONLY, ...scopes('resource:read', 'resource:write') }),
      grant('/a/b', { ...NOT_YET, ...scopes('namespace:write') }),
      grant('/a/b', { ...NOW_ONLY, ...scopes('process-run:read') }),
    );
    for (const policy of nested) {
      expect(held(policy, '/a/b/x')).toEqual([
        ...['namespace:read', 'process-run:read', 'resource:read', 'resource:write'],
      ]);
      expect(held(policy, '/a/c')).toEqual(['namespace:read', 'resource:read', 'resource:write']);
      expect(held(policy, '/b')).toEqual(['namespace:read']);
      const carried = scopes('resource:read', 'process-run:read');
      expect(held(policy, '/a/b', carried)).toEqual(['process-run:read', 'resource:read']);
    }
  });
});

describe('what is visible', () => {
  const seen = (policy: Policy, path: string): unknown =>
    visibility(policy, {
      actor: actorOf(ADA),
      request: { family: 'resource', context: pathOf(path), reach: 'subtree' },
      at: NOW,
    });

  it('is the subtree, if a grant above is inherited, whatever others stand between', () => {
    const others = [grant('/a', OWN_ONLY), grant('/a/b', OWN_ONLY), grant('/a/b', { ...OWN_ONLY, ...NOW_ONLY })];
    for (const policy of policies(grant('/'), ...others)) {
      expect(seen(policy, '/')).toEqual({ kind: 'all' });
      for (const path of ['/a', '/a/b', '/a/b/x']) expect(seen(policy, path)).toMatchObject({ subtrees: [path] });
    }
  });

  it('is the namespace alone, if its grant is not inherited', () => {
    for (const policy of policies(grant('/', OWN_ONLY)))
      expect(seen(policy, '/')).toEqual({ kind: 'some', exact: ['/'], subtrees: [] });
    for (const policy of policies(grant('/a', OWN_ONLY), grant('/a/b', OWN_ONLY), grant('/b')))
      expect(seen(policy, '/')).toEqual({ kind: 'some', exact: ['/a', '/a/b'], subtrees: ['/b'] });
  });
});
