// What the gateway remembers about actors who come back must not outlive what it was derived from: another policy,
// another hour of a grant, a narrower key of the same actor. The sets are large enough to be remembered, and are asked
// for again and again in between.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { compilePolicy } from '../../engine/compiler.js';
import {
  type Instant,
  instantOf,
  loadSnapshot,
  type NamespacePath,
  type Policy,
  scopeSetOf,
} from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { StoreError } from '../../server/db/failures.js';
import { STORED_LIMITS } from '../../server/limits/policy.js';
import { loadDataset } from '../../server/load/load-dataset.js';
import { call, callAdmin, openGateway, pathOf, type TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const LABS = 60;
const NOON = instantOf(Date.parse('2027-01-01T12:00:00Z'));
const lab = (index: number): NamespacePath => pathOf(`/lab${String(index).padStart(2, '0')}`);
const QUERY = { family: 'resource', namespace: '/', reach: 'subtree', select: ['namespace'], page: { size: 100 } };

interface Grant {
  readonly lab: number;
  readonly expires?: Instant;
}

function policyOf(grants: readonly Grant[]): Policy {
  const compiled = compilePolicy({
    name: 'swapped',
    providers: [{ name: 'orcid', description: null }],
    roles: [],
    grants: grants.map(({ lab: index, expires }) => ({
      id: `g${String(index)}`,
      principal: { kind: 'identity', identity: { provider: 'orcid', subject: 'ada' } },
      namespace: lab(index),
      scopes: scopeSetOf(['resource:read']),
      inherit: true,
      notBefore: null,
      expires: expires ?? null,
      reason: null,
      place: null,
    })),
    tests: [],
    people: [],
    exclusive: [],
    folders: [],
    guardrails: [],
  });
  if (!compiled.ok) throw new Error('the policy does not compile');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.code);
  return loaded.policy;
}

const first = (count: number): Grant[] => Array.from({ length: count }, (_, index) => ({ lab: index }));

let served: TestGateway;
let now = NOON;

beforeAll(async () => {
  served = await openGateway({ mode: { kind: 'serve', policy: policyOf(first(40)) }, clock: { now: () => now } });
  const lines = Array.from({ length: LABS }, (_, index) => ({ family: 'resource', namespace: lab(index), name: 'x' }));
  async function* dataset(): AsyncGenerator<{ number: number; bytes: Buffer }[]> {
    yield lines.map((line, index) => ({ number: index + 1, bytes: Buffer.from(JSON.stringify(line)) }));
    await Promise.resolve();
  }
  expect(await loadDataset(served.db, dataset(), { onConflict: 'report', now: NOON })).toMatchObject({ loaded: LABS });
});
afterAll(() => served.dispose());

/** The namespaces that are listed and the number that is counted, which must agree, each asked for twice. */
async function seen(key: string): Promise<readonly unknown[]> {
  const found: unknown[][] = [];
  for (let round = 0; round < 2; round += 1) {
    const list = await call(served.port, { key, body: QUERY });
    const { select: _select, page: _page, ...counted } = QUERY;
    const count = await call(served.port, { key, path: '/api/v1/query/count', body: counted });
    const items = (list.json?.['items'] ?? []) as readonly { readonly namespace: string }[];
    expect([list.status, count.json?.['count'] ?? 0]).toEqual([count.status, items.length]);
    found.push(items.map(({ namespace }) => namespace).sort());
  }
  expect(found[0]).toEqual(found[1]);
  return found[0] ?? [];
}

const labs = (...indexes: readonly number[]): readonly string[] => indexes.map(lab).sort();
const upTo = (count: number): number[] => first(count).map(({ lab: index }) => index);

describe('what an actor sees', () => {
  it('follows each swap of the policy at once, there and back', async () => {
    const { text } = await served.key();
    const shorter = policyOf(first(39));
    const other = policyOf([...first(39), { lab: 50 }]);
    const original = served.gateway.policies.current().policy;
    for (let round = 0; round < 3; round += 1) {
      expect(await seen(text)).toEqual(labs(...upTo(40)));
      served.gateway.policies.activate({ policy: shorter }, 'test');
      expect(await seen(text)).toEqual(labs(...upTo(39)));
      served.gateway.policies.activate({ policy: other }, 'test');
      expect(await seen(text)).toEqual(labs(...upTo(39), 50));
      served.gateway.policies.activate({ policy: policyOf([]) }, 'test');
      expect((await call(served.port, { key: text, body: QUERY })).status).toBe(403);
      served.gateway.policies.activate({ policy: original }, 'test');
    }
  });

  it('follows the clock over the end of a grant', async () => {
    const { text } = await served.key();
    const original = served.gateway.policies.current().policy;
    served.gateway.policies.activate(
      { policy: policyOf([...first(40), { lab: 45, expires: instantOf(NOON + 1_000) }]) },
      'test',
    );
    expect(await seen(text)).toEqual(labs(...upTo(40), 45));
    now = instantOf(NOON + 999);
    expect(await seen(text)).toEqual(labs(...upTo(40), 45));
    now = instantOf(NOON + 1_000);
    expect(await seen(text)).toEqual(labs(...upTo(40)));
    now = NOON;
    served.gateway.policies.activate({ policy: original }, 'test');
  });

  it('is that of each key, also of one actor', async () => {
    const whole = await served.key();
    const narrow = await served.key({ restrictions: upTo(35).map(lab) });
    const nothing = await served.key({ scopes: scopeSetOf(['namespace:read']) });
    for (let round = 0; round < 3; round += 1) {
      expect(await seen(whole.text)).toEqual(labs(...upTo(40)));
      expect(await seen(narrow.text)).toEqual(labs(...upTo(35)));
      expect((await call(served.port, { key: nothing.text, body: QUERY })).status).toBe(403);
    }
  });
});

describe('a store that does not say which activation is the newest', () => {
  it('has nothing decided by one that may have been replaced, until it says so', async () => {
    const waiting: (() => void)[] = [];
    let isSilent = false;
    const vital: Database['vital'] = async (statement, options) => {
      if (isSilent && statement.text.includes('FROM activations'))
        await new Promise((_, reject) => {
          waiting.push(() => {
            reject(new StoreError('store.timeout', 'it was silent'));
          });
        });
      return served.db.vital(statement, options);
    };
    const policy = policyOf(first(1));
    const db: Database = { ...served.db, kind: 'external', vital };
    const cut = await openGateway({ mode: { kind: 'serve', policy }, db, admin: true });
    const ready = (): ReturnType<typeof call> => callAdmin(cut.admin?.port ?? 0, { path: '/readyz' });
    try {
      const { text: key } = await cut.key();
      const ask = (): ReturnType<typeof call> =>
        call(cut.port, { key, body: { family: 'resource', namespace: lab(0) } });
      expect((await ask()).status).toBe(200);
      isSilent = true;
      const from = performance.now();
      const statuses = new Set<number>();
      while (performance.now() - from < STORED_LIMITS.silence.external) statuses.add((await ask()).status);
      expect([...statuses]).toEqual([200]);
      await sleep(STORED_LIMITS.poll + 100);
      expect(await ask()).toMatchObject({ status: 503, json: { code: 'snapshot.unavailable', retryAfter: 1 } });
      expect(await ready()).toMatchObject({ status: 503, json: { checks: { policy: 'failed', store: 'ok' } } });
      waiting.shift()?.();
      await until(() => cut.gateway.policies.state().lag !== null);
      expect((await callAdmin(cut.admin?.port ?? 0)).json).toMatchObject({ lastError: { code: 'activation.unknown' } });
      isSilent = false;
      waiting.shift()?.();
      await until(async () => (await ask()).status === 200);
      expect((await ready()).status).toBe(200);
      expect((await callAdmin(cut.admin?.port ?? 0)).json).toMatchObject({ lastError: null });
      // Paused for as long, as a virtual machine may be: what was known before may have been replaced meanwhile.
      isSilent = true;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STORED_LIMITS.silence.external + 100);
      expect((await ask()).status).toBe(503);
      isSilent = false;
      for (const end of waiting.splice(0)) end();
      await until(async () => (await ask()).status === 200);
    } finally {
      isSilent = false;
      for (const end of waiting) end();
      await cut.dispose();
    }
  });
});

describe('a policy that has become too old', () => {
  it('decides nothing, and says so, until its source has been heard of again', async () => {
    let at = NOON;
    const policy = policyOf(first(1));
    const old = await openGateway({
      mode: { kind: 'serve', policy },
      db: served.db,
      clock: { now: () => at },
      ages: { softAge: null, hardAge: 60_000 },
    });
    try {
      const { text: key } = await old.key();
      const ask = (path = '/api/v1/query'): ReturnType<typeof call> =>
        call(old.port, { key, path, body: { family: 'resource', namespace: lab(0) } });
      expect((await ask()).status).toBe(200);
      at = instantOf(NOON + 60_000);
      expect(await ask()).toMatchObject({ status: 503, json: { code: 'snapshot.expired', retryAfter: 5 } });
      expect((await ask('/api/v1/query/count')).status).toBe(503);
      expect((await call(old.port, { key, method: 'GET', path: '/api/v1/whoami' })).status).toBe(200);
      old.gateway.policies.confirm();
      expect((await ask()).status).toBe(200);
    } finally {
      await old.dispose();
    }
  });

  it('is not the one of local mode, which comes from nowhere', async () => {
    let at = NOON;
    const local = await openGateway({
      mode: { kind: 'local' },
      db: served.db,
      clock: { now: () => at },
      ages: { softAge: null, hardAge: 60_000 },
    });
    try {
      at = instantOf(NOON + 3_600_000);
      expect((await call(local.port, { body: { family: 'resource', namespace: lab(0) } })).status).toBe(200);
    } finally {
      await local.dispose();
    }
  });
});
