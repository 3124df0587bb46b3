// The comparison of live requests by itself: bounded in what it keeps and in the time that it takes, and never in the way.
import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_SCOPES, instantOf, resolveActor } from '../../../engine/index.js';
import { queryAsked } from '../../../server/audit/event.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { SHADOW_LIMITS } from '../../../server/limits/policy.js';
import {
  type Findings,
  type LiveComparison,
  makeLiveComparison,
  type Noted,
} from '../../../server/shadow/live-comparison.js';
import { SILENT } from '../../support/audit-log.js';
import { pathOf, policyOf } from '../../support/gateway.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LIVE = policyOf([[ADA, '/', ['resource:read']]]);
const CANDIDATE = policyOf([]);
const ACTOR = {
  ...{ id: 'ada', kind: 'key', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
  credentialFingerprint: 'f'.repeat(64),
} as unknown as RequestActor;
const RESOLVED = resolveActor(LIVE, ACTOR);

let live: LiveComparison;
afterEach(() => {
  live.close();
});

function noted(context = '/', snapshot = LIVE.digest): Noted {
  const access = queryAsked({ family: 'resource', context: pathOf(context), reach: 'subtree' });
  const judged = { operation: 'resource.query', asked: { access, resolved: RESOLVED } } as const;
  return { actor: ACTOR, at: instantOf(0), judged, snapshot };
}

async function all(questions: number): Promise<Findings['counts'] & { readonly examples: number }> {
  const sum = { compared: 0, gained: 0, lost: 0, both: 0, skipped: 0, examples: 0 };
  while (sum.compared + sum.skipped < questions) {
    const found = live.take();
    for (const [what, times] of Object.entries(found?.counts ?? {})) sum[what as 'compared'] += times;
    sum.examples = Math.max(sum.examples, found?.examples.length ?? 0);
    await sleep(1);
  }
  return sum;
}

function begin(resolve: typeof resolveActor = resolveActor): void {
  live = makeLiveComparison({ resolveActor: (policy, actor) => resolve(policy, actor), log: SILENT });
  live.follow({ era: 'one', policy: CANDIDATE, against: LIVE.digest });
}

it('keeps so many questions and counts the others, and so many examples', async () => {
  begin();
  const asked = SHADOW_LIMITS.waiting + 50;
  for (let index = 0; index < asked; index += 1) live.note(noted(`/n${String(index)}`));
  expect(live.take()?.counts).toMatchObject({ compared: 0, skipped: 50 });
  const { compared, lost, examples } = await all(SHADOW_LIMITS.waiting);
  expect([compared, lost]).toEqual([SHADOW_LIMITS.waiting, SHADOW_LIMITS.waiting]);
  expect(examples).toBeLessThanOrEqual(SHADOW_LIMITS.examples);
});

it('takes a small part of the time, in turns that end soon', async () => {
  let spent = 0;
  begin((policy, actor) => {
    const until = performance.now() + 0.5;
    while (performance.now() < until);
    spent += 0.5;
    return resolveActor(policy, actor);
  });
  const began = performance.now();
  for (let index = 0; index < 60; index += 1) live.note(noted());
  await all(60);
  expect(spent / (performance.now() - began)).toBeLessThan(2 * SHADOW_LIMITS.share);
});

it('counts what it cannot judge as skipped, and goes on', async () => {
  let times = 0;
  begin((policy, actor) => {
    times += 1;
    if (times === 1) throw new Error('a bug');
    return resolveActor(policy, actor);
  });
  live.note(noted());
  live.note(noted());
  expect(await all(2)).toMatchObject({ compared: 1, lost: 1, skipped: 1 });
  live.follow({ era: 'two', policy: null, against: LIVE.digest });
  live.note(noted());
  expect(live.take()).toMatchObject({ era: 'two', counts: { compared: 0, skipped: 1 } });
});

it('compares what the policy in force has decided, and nothing else', async () => {
  begin();
  live.note(noted('/', `sha256:${'0'.repeat(64)}`));
  live.note({ ...noted(), judged: { operation: 'resource.read', asked: null } });
  live.note(noted());
  expect(await all(1)).toMatchObject({ compared: 1, skipped: 0 });
  live.follow(null);
  live.note(noted());
  await sleep(5);
  expect(live.take()).toBeNull();
});
