// Snapshots that admins send, one after the other: nobody waits for ever for those before, and who has given up holds nothing.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mock } from 'node:test';
import type { AdminActor } from '../../../server/auth/admin-actor.js';
import { makeUploadRoute } from '../../../server/http/routes/upload.js';
import type { Call } from '../../../server/http/route.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { instantOf } from '../../../engine/index.js';
import { A, make, NOON } from '../../support/followed-policy.js';
import { snapshotOf } from '../../support/gateway.js';

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
});
afterEach(() => {
  mock.timers.reset();
});

/** A store that is as slow as it is told to be. */
function makeRoute(): { readonly route: ReturnType<typeof makeUploadRoute>; readonly finish: () => void } {
  let finish: () => void = () => undefined;
  const isFree = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const route = makeUploadRoute({
    activator: {
      snapshots: { put: () => isFree } as never,
      activations: { list: () => Promise.resolve([]) } as never,
      tables: null,
    },
    policies: {} as never,
    rule: null,
    clock: { now: () => instantOf(NOON) },
    nextId: () => 'id',
  });
  return { route, finish };
}

interface Sent {
  readonly by: string;
  readonly bytes: Uint8Array;
  /** As many as this count, whatever was sent. */
  readonly weighs?: number;
  readonly gone?: AbortSignal;
}

function callOf({ by, bytes, weighs = bytes.length, gone = new AbortController().signal }: Sent): Call<AdminActor> {
  const upload = {
    read: (took: (bytes: number) => void): Promise<readonly Uint8Array[]> => {
      took(weighs);
      return Promise.resolve([new Uint8Array(bytes)]);
    },
  };
  return { actor: { kind: 'key', id: by }, at: NOON, requestId: 'r', gone, upload } as never;
}

const LARGE = snapshotOf(
  Array.from({ length: 2_000 }, (_, n) => [
    { provider: 'orcid', subject: `s${String(n)}` } as never,
    `/a${String(n)}`,
    ['namespace:read'],
  ]),
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function turns(times = 20): Promise<void> {
  for (let n = 0; n < times; n += 1) await turn();
}

it('one that waits too long for those before is refused, may be sent again, and holds nothing', async () => {
  const { route, finish } = makeRoute();
  const first = route.run(callOf({ by: 'a', bytes: A.bytes }));
  const weighs = POLICY_LIMITS.uploadBytes - A.bytes.length;
  const second = expect(route.run(callOf({ by: 'b', bytes: A.bytes, weighs }))).rejects.toMatchObject({
    code: 'snapshot.busy',
    detail: { retryAfter: 1 },
  });
  await turns();
  // There is no room beside them.
  await expect(route.run(callOf({ by: 'c', bytes: A.bytes }))).rejects.toMatchObject({ code: 'limit.rate' });
  mock.timers.tick(POLICY_LIMITS.uploadPatience);
  await second;
  const gone = new AbortController();
  const third = expect(route.run(callOf({ by: 'b', bytes: A.bytes, weighs, gone: gone.signal }))).rejects.toThrow(
    'hung up',
  );
  await turns();
  gone.abort(new Error('hung up'));
  await third;
  const fourth = route.run(callOf({ by: 'c', bytes: make('/c').bytes, weighs }));
  await turns();
  finish();
  expect((await first).status).toBe(201);
  expect((await fourth).status).toBe(201);
});

it('one that takes too long by itself ends, and the next has its turn', async () => {
  const { route, finish } = makeRoute();
  finish();
  expect(LARGE.bytes.length).toBeGreaterThan(POLICY_LIMITS.small.snapshotBytes);
  const slow = expect(route.run(callOf({ by: 'a', bytes: LARGE.bytes }))).rejects.toMatchObject({
    code: 'snapshot.busy',
  });
  await turns();
  mock.timers.tick(1);
  const next = route.run(callOf({ by: 'b', bytes: A.bytes }));
  await turns();
  mock.timers.tick(POLICY_LIMITS.uploadPatience - 1);
  await slow;
  expect((await next).status).toBe(201);
});
