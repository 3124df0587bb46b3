// The policy in force: replaced as a whole, counted, remembered for a while, and told to whoever listens.
import { describe, expect, it } from '@jest/globals';
import { applyPatches, type Patch } from 'immer';
import { instantOf, type Policy } from '../../../engine/index.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { makeActivePolicy, type PolicyChange, type PolicyState } from '../../../server/policy/active-policy.js';
import { policyOf } from '../../support/gateway.js';

const START = Date.parse('2027-01-01T00:00:00Z');
const grantAt = (namespace: string): Policy =>
  policyOf([[{ provider: 'orcid', subject: 'ada' }, namespace, ['resource:read']]]);
const [A, B] = [grantAt('/a'), grantAt('/b')];

function open() {
  let now = START;
  const lines: string[] = [];
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: object, message: string) => void lines.push(message),
  };
  const policies = makeActivePolicy(
    { policy: A, source: { kind: 'file', path: '/srv/a.json' } },
    { clock: { now: () => instantOf((now += 1_000)) }, log },
  );
  return { policies, lines };
}

describe('the active policy', () => {
  it('is one value, which who pinned it keeps', () => {
    const { policies } = open();
    const pinned = policies.current();
    expect(pinned).toEqual({
      policy: A,
      generation: 1,
      source: { kind: 'file', path: '/srv/a.json' },
      labels: 'verified',
      statement: null,
      signers: [],
      askedBy: null,
      since: START + 1_000,
    });
    expect(pinned.policy).toBe(A);
    const next = policies.activate({ policy: B }, 'the labs moved');
    expect(pinned.policy).toBe(A);
    expect(policies.current()).toBe(next);
    expect(next).toEqual({
      policy: B,
      generation: 2,
      source: { kind: 'memory' },
      labels: 'verified',
      statement: null,
      signers: [],
      askedBy: null,
      since: START + 2_000,
    });
    expect(next.policy).toBe(B);
    expect(Object.isFrozen(pinned) && Object.isFrozen(next) && Object.isFrozen(next.source)).toBe(true);
  });

  it('counts a return to an earlier policy as an activation of its own', () => {
    const { policies } = open();
    policies.activate({ policy: B }, 'forward');
    expect(policies.activate({ policy: A }, 'back')).toMatchObject({ generation: 3, policy: { digest: A.digest } });
    expect(
      Object.values(policies.state().history).map(({ generation, snapshot, reason }) => [generation, snapshot, reason]),
    ).toEqual([
      [1, A.digest, 'start'],
      [2, B.digest, 'forward'],
      [3, A.digest, 'back'],
    ]);
  });

  it('goes on from the generation that it is given', () => {
    const options = { clock: { now: () => instantOf(START) }, log: console, generation: 41 };
    expect(makeActivePolicy({ policy: A }, options).current().generation).toBe(41);
  });

  it(`remembers the last ${String(POLICY_LIMITS.history)} activations and no policy but the active one`, () => {
    const { policies } = open();
    const activations = POLICY_LIMITS.history + 5;
    for (let i = 1; i < activations; i += 1) policies.activate({ policy: i % 2 === 0 ? A : B }, `change ${String(i)}`);
    const kept = Object.values(policies.state().history);
    expect(kept).toHaveLength(POLICY_LIMITS.history);
    expect([kept[0]?.generation, kept.at(-1)?.generation]).toEqual([6, activations]);
    expect(kept.some((entry) => 'policy' in entry)).toBe(false);
  });
});

describe('listeners', () => {
  it('learn what changed, with patches that turn the old state into the new one', () => {
    const { policies } = open();
    const before = policies.state();
    const told: PolicyChange[] = [];
    const stop = policies.subscribe((change) => told.push(change));
    policies.activate({ policy: B }, 'reviewed in 4711');
    const [change] = told;
    expect(change).toMatchObject({
      from: { generation: 1, policy: { digest: A.digest } },
      to: { generation: 2, policy: { digest: B.digest } },
      reason: 'reviewed in 4711',
    });
    expect(change?.to).toBe(policies.current());
    const patches = change?.patches as Patch[];
    expect(applyPatches<PolicyState>(before, patches)).toEqual(policies.state());
    const paths = patches.map(({ path }) => path.join('/')).sort();
    expect(paths).toEqual(['active', 'confirmedAt', 'confirmedTick', 'history/2']);
    stop();
    policies.activate({ policy: A }, 'back');
    expect(told).toHaveLength(1);
  });

  it('that fail undo nothing, and the others still hear of it', () => {
    const { policies, lines } = open();
    const told: number[] = [];
    policies.subscribe(() => {
      throw new Error('no');
    });
    policies.subscribe(({ to }) => told.push(to.generation));
    expect(policies.activate({ policy: B }, 'forward').policy).toBe(B);
    expect(told).toEqual([2]);
    expect(lines).toEqual(['a listener to policy changes failed']);
  });
});
