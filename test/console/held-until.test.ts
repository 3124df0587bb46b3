// What is held until an instant is held until just before it and by none of these grants then; what never ends is held forever.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readPolicy, whatCan } from '../../engine/compiler.js';
import { ALL_SCOPES, decide, type Decision, instantOf, type Policy, type ScopeName } from '../../engine/index.js';
import { heldUntil, type RegionUntil } from '../../server/authoring/held-until.js';
import { load } from '../engine/prove/brute.js';
import { IDENTITIES, INSTANTS, pathOf, windowedWorld, world } from '../engine/oracle/worlds.js';
import { testRuns } from '../support/test-runs.js';

const FOREVER = 1e12;

interface Asked {
  readonly identities: typeof IDENTITIES;
  readonly scope: ScopeName;
  readonly region: RegionUntil;
}

function decided(policy: Policy, { identities, scope, region }: Asked, at: number): Decision {
  const { namespace, extent } = region;
  const path = extent === 'below' ? pathOf(`${namespace === '/' ? '' : namespace}/zz`) : namespace;
  const actor = { kind: 'request', identities, credentialScopes: ALL_SCOPES, namespaceRestrictions: null } as const;
  const request = { kind: 'access', scope, context: path, target: path } as const;
  return decide(policy, { actor, request, at: instantOf(at) });
}

test('each scope of each region', () => {
  let ending = 0;
  fc.assert(
    fc.property(
      fc.oneof(world, windowedWorld),
      fc.constantFrom(...INSTANTS),
      fc.subarray([...IDENTITIES], { minLength: 1 }),
      (set, at, identities) => {
        const policy = load(set);
        const asked = { identities, at: instantOf(at) };
        const regions = heldUntil(policy, asked);
        const cells = (all: ReturnType<typeof whatCan>): readonly string[] =>
          all
            .flatMap(({ namespace, extent, scopes }) => scopes.map((scope) => `${namespace} ${extent} ${scope}`))
            .sort();
        expect(cells(regions)).toEqual(cells(whatCan(policy, asked)));
        for (const region of regions) {
          expect(region.grants.length).toBeGreaterThan(0);
          for (const scope of region.scopes) {
            const of = { identities, scope, region };
            expect(decided(policy, of, region.until === null ? FOREVER : region.until - 1).decision).toBe('allow');
            if (region.until === null) continue;
            ending += 1;
            const then = decided(policy, of, region.until);
            const by = then.decision === 'allow' ? then.grants.map(({ id }): string => id) : [];
            expect(region.grants.filter(({ id }) => by.includes(id))).toEqual([]);
          }
        }
      },
    ),
    testRuns({ usual: 200, deep: 2000 }),
  );
  expect(ending).toBeGreaterThan(100);
});

test('what goes on by a membership that begins before another ends', () => {
  const files = {
    'policy.yaml': 'bailiwick: 1\nname: labs\nproviders: { p: {} }\n',
    'team.yaml': `roles:
  inner: { members: [{ identity: "p:a", notBefore: 2026-05-20T00:00:00Z, expires: 2026-09-01T00:00:00Z }] }
  team: { members: [{ identity: "p:a", expires: 2026-06-01T00:00:00Z }, { role: inner }] }
grants: [{ id: team, role: team, namespace: /labs, scopes: [resource:read] }]
`,
  };
  const { policy: set } = readPolicy(
    Object.entries(files).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) })),
  );
  if (set === null) throw new Error('the policy is right');
  const at = instantOf(Date.parse('2026-05-10T00:00:00Z'));
  const held = heldUntil(load(set), { identities: [{ provider: 'p', subject: 'a' }] as typeof IDENTITIES, at });
  expect(held.map(({ until }) => until)).toEqual([Date.parse('2026-09-01T00:00:00Z')]);
});
