// What an answer cites: each grant that allows it, once, in the order of ids, with the place where it was written.
import { describe, expect, it } from '@jest/globals';
import { decide, type Identity, instantOf, type Policy } from '../../../engine/index.js';
import type { Principal } from '../../../engine/model/policy-set.js';
import { place } from '../full-policy.js';
import { pathOf, policyOf } from '../oracle/worlds.js';
import { actorOf, ADA, ask, grant, load, NOW } from '../table-world.js';

const WORK: Identity = { provider: 'orcid', subject: 'ada at work' };
const DEEP = pathOf('/a/b/c');
const CREW: Principal = { kind: 'role', role: 'crew' };

function citedBy(policy: Policy): readonly unknown[] {
  const request = { kind: 'access', scope: 'resource:read', context: DEEP, target: DEEP } as const;
  const decision = decide(policy, { actor: actorOf(ADA, WORK), request, at: NOW });
  return decision.decision === 'allow' ? decision.grants : [];
}

describe('cited grants', () => {
  it('are in the order of ids, each once, however many there are and whoever holds them', () => {
    const members = [ADA, WORK].map((identity) => ({ kind: 'identity', identity, place: null }) as const);
    const crew = { name: 'crew', description: null, members, place: null };
    const holders: readonly Principal[] = [ADA, WORK].map((identity) => ({ kind: 'identity', identity }));
    for (const count of [1, 2, 3, 7, 15, 16, 17, 18, 40]) {
      const grants = Array.from({ length: count }, (_, i) =>
        grant(['/a/b/c', '/', '/a/b', '/a'][i % 4] ?? '', { principal: [CREW, ...holders][i % 3] ?? CREW }),
      );
      const ids = grants.map((_, i) => ({ id: `g${String(i)}` })).sort((a, b) => (a.id < b.id ? -1 : 1));
      expect(citedBy(load(policyOf([crew], grants)))).toEqual(ids);
    }
  });

  it('are one grant where the memberships of several identities narrow it, and another beside it', () => {
    const members = [ADA, WORK].map(
      (identity) => ({ kind: 'identity', identity, expires: instantOf(5), place: null }) as const,
    );
    const crew = { name: 'crew', description: null, members, place: null };
    const grants = [grant('/a', { principal: CREW }), grant('/a/b', { principal: CREW }), grant('/')];
    expect(citedBy(load(policyOf([crew], grants)))).toEqual([{ id: 'g0' }, { id: 'g1' }, { id: 'g2' }]);
  });

  it('name the file and the line where each was written, as far as the policy was read from files', () => {
    const grants = [
      grant('/a', { place: place('b.yaml', 7) }),
      grant('/a', { place: null }),
      grant('/a', { place: place('a.yaml', 1) }),
      grant('/a', { place: place('b.yaml', 300) }),
    ];
    expect(citedBy(load(policyOf([], grants)))).toEqual([
      { id: 'g0', file: 'b.yaml', line: 7 },
      { id: 'g1' },
      { id: 'g2', file: 'a.yaml', line: 1 },
      { id: 'g3', file: 'b.yaml', line: 300 },
    ]);
  });

  it('cannot be changed by one caller for the next', () => {
    const policy = load(policyOf([], [grant('/a', { place: place('a.yaml', 1) })]));
    const [first] = citedBy(policy);
    expect(Object.isFrozen(first)).toBe(true);
    expect(ask(policy, ADA, '/a')).toBe('g0');
  });
});
