// What the index of a policy says of one name is what the whole policy says.
import { expect, test } from '@jest/globals';
import { draftPolicy, type PolicySet, whatCan } from '../../engine/compiler.js';
import { formatIdentity, type Identity, instantOf } from '../../engine/index.js';
import { indexPolicy } from '../../server/authoring/policy-index.js';
import { makeFolderChecker } from '../../server/lsp/policy-folder.js';
import { fromRoot } from '../support/root.js';

const AT = instantOf(Date.parse('2026-12-01T00:00:00Z'));

async function setOf(folder: string): Promise<PolicySet> {
  for await (const { set } of makeFolderChecker(fromRoot(folder)).check(new Map(), AT)) if (set !== null) return set;
  throw new Error(`${folder} has mistakes`);
}

test.each(['policies', 'docs/examples/erp'])(
  'each identity of %s holds by itself what it holds in the whole',
  async (folder) => {
    const set = await setOf(folder);
    const policy = draftPolicy(set);
    if (policy === null) throw new Error('the policy is within the limits');
    const identities = new Map<string, Identity>();
    for (const { members } of set.roles)
      for (const one of members)
        if (one.kind === 'identity') identities.set(formatIdentity(one.identity), one.identity);
    for (const { principal } of set.grants)
      if (principal.kind === 'identity') identities.set(formatIdentity(principal.identity), principal.identity);
    expect(identities.size).toBeGreaterThan(5);
    for (const identity of identities.values())
      expect(indexPolicy(set).heldBy(identity, AT)).toEqual(whatCan(policy, { identities: [identity], at: AT }));
  },
);

test('members, grants and declarations are those of the policy', async () => {
  const set = await setOf('policies');
  const index = indexPolicy(set);
  expect(indexPolicy(set)).toBe(index);
  for (const role of set.roles) {
    expect(index.role(role.name)).toBe(role);
    expect(index.grantsTo(role.name)).toEqual(
      set.grants.filter(({ principal }) => principal.kind === 'role' && principal.role === role.name),
    );
  }
  for (const grant of set.grants) expect(index.grant(grant.id)).toBe(grant);
  expect(index.grant('no-such-grant')).toBeUndefined();
});
