// The policy in force: replaced as a whole, counted, and told to whoever listens.
import { describe, expect, it } from '@jest/globals';
import { instantOf, type Policy } from '../../../engine/index.js';
import { type ActiveChange, makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { momentNow } from '../../../server/lib/moment.js';
import { isLeaseExpired } from '../../../server/policy/active/staleness.js';
import { policyOf } from '../../support/gateway.js';

const START = Date.parse('2027-01-01T00:00:00Z');
const grantAt = (namespace: string): Policy =>
  policyOf([[{ provider: 'orcid', subject: 'ada' }, namespace, ['resource:read']]]);
const [A, B] = [grantAt('/a'), grantAt('/b')];

function open(moments = momentNow) {
  let now = START;
  const lines: string[] = [];
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: object, message: string) => void lines.push(message),
  };
  const policies = makeActivePolicy(
    { policy: A, source: { kind: 'file', path: '/srv/a.json' } },
    { clock: { now: () => instantOf((now += 1_000)) }, log, moments },
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
      reason: 'start',
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
      reason: 'the labs moved',
      since: START + 2_000,
    });
    expect(next.policy).toBe(B);
    expect(Object.isFrozen(pinned) && Object.isFrozen(next) && Object.isFrozen(next.source)).toBe(true);
  });

  it('counts a return to an earlier policy as an activation of its own', () => {
    const { policies } = open();
    policies.activate({ policy: B }, 'forward');
    expect(policies.activate({ policy: A }, 'back')).toMatchObject({ generation: 3, policy: { digest: A.digest } });
  });

  it('goes on from the generation that it is given', () => {
    const options = { clock: { now: () => instantOf(START) }, log: console, generation: 41 };
    expect(makeActivePolicy({ policy: A }, options).current().generation).toBe(41);
  });
});

describe('listeners', () => {
  it('learn what changed', () => {
    const { policies } = open();
    const told: ActiveChange[] = [];
    const stop = policies.subscribe((change) => told.push(change));
    policies.activate({ policy: B }, 'reviewed in 4711');
    const [change] = told;
    expect(change).toMatchObject({
      from: { generation: 1, policy: { digest: A.digest } },
      to: { generation: 2, policy: { digest: B.digest }, reason: 'reviewed in 4711' },
    });
    expect(change?.to).toBe(policies.current());
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

describe('after a pause', () => {
  const pauses = [
    ['its process', { tick: 20, time: 20 }],
    ['its machine, with the clock of the process', { tick: 0, time: 20 }],
    ['its machine, with the clock of the day', { tick: 20, time: 0 }],
  ] as const;
  it.each(pauses)('of %s it decides nothing until the store has answered a question from after it', (_, pause) => {
    const now = { tick: 1000, time: 1000 };
    const { policies } = open(() => ({ ...now }));
    const isExpired = (): boolean => isLeaseExpired(policies.state(), now);
    policies.beat(10);
    expect(isExpired()).toBe(false);
    const before = now.tick;
    policies.startLease(60_000);
    now.tick += pause.tick + 1;
    now.time += pause.time;
    expect(isExpired()).toBe(true);
    policies.renewLease(before);
    policies.beat(60_000);
    policies.activate({ policy: B }, 'forward');
    expect(isExpired()).toBe(true);
    policies.startLease(60_000);
    expect(isExpired()).toBe(true);
    policies.renewLease(now.tick);
    expect(isExpired()).toBe(false);
  });

  it('notices another pause at once, before it has shown by itself that it is awake', () => {
    const now = { tick: 1000, time: 1000 };
    const { policies } = open(() => ({ ...now }));
    policies.beat(10);
    now.time += 20;
    // The store answers what was asked before the first pause, and then what is asked after it.
    policies.renewLease(now.tick - 1);
    policies.renewLease(now.tick);
    expect(isLeaseExpired(policies.state(), now)).toBe(false);
    now.time += 20;
    expect(isLeaseExpired(policies.state(), now)).toBe(true);
  });
});
