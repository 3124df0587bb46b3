// Why somebody holds a grant: chains of memberships against a walk of the policy as it was written.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PolicySet } from '../../../engine/compiler.js';
import { explain } from '../../../engine/prove/explain/explain.js';
import { whatCan } from '../../../engine/prove/ask/what-can.js';
import { whoCan } from '../../../engine/prove/ask/who-can.js';
import type { HeldGrant } from '../../../engine/prove/cells/held-grants.js';
import { formatIdentity, type Identity, parseIdentity } from '../../../engine/index.js';
import { testRuns } from '../../support/test-runs.js';
import { anyInstant, anyPath, anyScope, world } from '../oracle/worlds.js';
import { load } from './brute.js';
import { explainRequest, someone } from './requests.js';

/** How many memberships away a role is from the nearest of these identities; Infinity where none is in it. */
function distance(set: PolicySet, identities: readonly string[], role: string, seen: readonly string[] = []): number {
  const { members = [] } = set.roles.find(({ name }) => name === role) ?? {};
  return members.reduce((least, member) => {
    if (member.kind === 'identity') return identities.includes(formatIdentity(member.identity)) ? 1 : least;
    if (seen.includes(member.role)) return least;
    return Math.min(least, 1 + distance(set, identities, member.role, [...seen, role]));
  }, Infinity);
}

function expectChain(set: PolicySet, holders: readonly Identity[], { id, through }: HeldGrant): void {
  const identities = holders.map(formatIdentity);
  const principal = set.grants.find((grant) => grant.id === id)?.principal;
  if (principal === undefined || principal.kind === 'identity') {
    expect(through).toBeUndefined();
    return;
  }
  expect(through).toHaveLength(distance(set, identities, principal.role));
  expect(through?.at(-1)?.role).toBe(principal.role);
  through?.forEach(({ role }, i) => {
    const { members = [] } = set.roles.find(({ name }) => name === role) ?? {};
    const before = through[i - 1]?.role;
    const named = members.map((member) => (member.kind === 'role' ? member.role : formatIdentity(member.identity)));
    if (before === undefined) expect(named.some((name) => identities.includes(name))).toBe(true);
    else expect(named).toContain(before);
  });
}

it('is a shortest chain, each link of which is a membership, from the holder to the role of the grant', () => {
  fc.assert(
    fc.property(
      world,
      someone,
      anyScope,
      anyPath,
      anyInstant,
      explainRequest,
      (set, identity, scope, namespace, at, request) => {
        const policy = load(set);
        for (const holder of whoCan(policy, { scope, namespace, at })) {
          const parsed = parseIdentity(holder.identity);
          if (!parsed.ok) throw new Error(holder.identity);
          for (const grant of holder.grants) expectChain(set, [parsed.identity], grant);
        }
        for (const region of whatCan(policy, { identities: [identity], at }))
          for (const grant of region.grants) expectChain(set, [identity], grant);
        for (const grant of explain(policy, request).grants) expectChain(set, request.identities, grant);
      },
    ),
    testRuns({ usual: 75, deep: 150 }),
  );
});
