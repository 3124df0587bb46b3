import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { instantOf, scopeSetOf } from '../../../engine/index.js';
import { loadDataset } from '../../../server/load/load-dataset.js';
import { call, openGateway, pathOf, policyOf, type Reply, type TestGateway } from '../../support/gateway.js';

const ada = { provider: 'orcid', subject: 'ada' };
const bob = { provider: 'orcid', subject: 'bob' };
const policy = policyOf([
  [ada, '/labs/optics', ['resource:read', 'namespace:read']],
  [bob, '/labs/optics', ['resource:read']],
  [bob, '/labs/cryo', ['process-run:read']],
]);

let open: TestGateway;
let adaKey: string;
let bobKey: string;

beforeAll(async () => {
  open = await openGateway({ mode: { kind: 'serve', policy } });
  adaKey = (await open.key()).text;
  bobKey = (await open.key({ actor: 'bob', identities: [bob] })).text;
});

afterAll(async () => {
  await open.dispose();
});

function query(key: string, body: Readonly<Record<string, unknown>>): Promise<Reply> {
  return call(open.port, { key, body });
}

async function* linesOf(
  records: readonly unknown[],
): AsyncGenerator<{ readonly number: number; readonly bytes: Uint8Array }[]> {
  yield await Promise.resolve(
    records.map((record, index) => ({ number: index + 1, bytes: Buffer.from(JSON.stringify(record)) })),
  );
}

beforeAll(async () => {
  const resource = (namespace: string, name: string, properties = {}): unknown => ({
    family: 'resource',
    namespace,
    name,
    properties,
  });
  const records = [
    resource('/labs', 'bench'),
    resource('/labs/optics', 'lens', { rank: 3 }),
    resource('/labs/optics', 'mirror', { rank: 1 }),
    resource('/labs/optics/run-7', 'beam', { rank: 2 }),
    resource('/labs/cryo', 'dewar'),
  ];
  const report = await loadDataset(open.db, linesOf(records), { onConflict: 'report', now: instantOf(0) });
  if (report.bad > 0) throw new Error(JSON.stringify(report.faults));
});

function names(reply: Reply): unknown {
  const items = reply.json?.['items'];
  return Array.isArray(items) ? items.map((item: { name?: unknown }) => item.name) : reply.json;
}

describe('POST /api/v1/query', () => {
  it('answers what the actor may see, in the envelope that was asked', async () => {
    const body = {
      family: 'resource',
      namespace: '/labs/optics/run-7',
      orderBy: [{ name: 'asc' }],
      select: ['name', 'properties.rank'],
    };
    const reply = await query(adaKey, body);
    expect(reply.json).toEqual({
      family: 'resource',
      namespace: '/labs/optics/run-7',
      reach: 'lineage',
      items: [
        { name: 'beam', properties: { rank: 2 } },
        { name: 'lens', properties: { rank: 3 } },
        { name: 'mirror', properties: { rank: 1 } },
      ],
      page: { size: 50, next: null },
      snapshot: policy.digest,
    });
    expect(reply.headers['bailiwick-snapshot']).toBe(policy.digest);
  });

  it('takes a path in any accepted spelling and answers the canonical one', async () => {
    const reply = await query(adaKey, {
      family: 'resource',
      namespace: 'labs/optics/',
      reach: 'exact',
      orderBy: [{ name: 'asc' }],
    });
    expect([reply.json?.['namespace'], names(reply)]).toEqual(['/labs/optics', ['lens', 'mirror']]);
  });

  it('pages on with its cursor, which belongs to the actor and the query', async () => {
    const body = {
      family: 'resource',
      namespace: '/labs/optics',
      reach: 'subtree',
      orderBy: [{ 'properties.rank': 'desc' }],
      page: { size: 2 },
    };
    const first = await query(adaKey, body);
    expect(names(first)).toEqual(['lens', 'beam']);
    const next = (first.json?.['page'] as { readonly next: string }).next;
    const on = { ...body, page: { size: 2, after: next } };
    const second = await query(adaKey, on);
    expect([names(second), second.json?.['page']]).toEqual([['mirror'], { size: 2, next: null }]);
    const otherKey = (await open.key()).text;
    expect(names(await query(otherKey, on))).toEqual(['mirror']);
    expect((await query(bobKey, on)).json?.['code']).toBe('query.cursor');
    expect((await query(adaKey, { ...on, where: { name: { ne: 'x' } } })).json?.['code']).toBe('query.cursor');
  });

  it('denies with the step, even if there is no such namespace', async () => {
    for (const namespace of ['/labs/cryo', '/labs/nowhere']) {
      const reply = await query(adaKey, { family: 'resource', namespace });
      expect([reply.status, reply.json]).toEqual([
        403,
        expect.objectContaining({
          code: 'authz.denied',
          step: 'no_matching_grant',
          title: 'The actor may not do this',
        }),
      ]);
      expect(reply.headers['bailiwick-snapshot']).toBe(policy.digest);
    }
  });

  it('decides by scopes and restrictions of the key too', async () => {
    const noScope = (await open.key({ scopes: scopeSetOf(['namespace:read']) })).text;
    const elsewhere = (await open.key({ restrictions: [pathOf('/labs/cryo')] })).text;
    const body = { family: 'resource', namespace: '/labs/optics' };
    expect((await query(noScope, body)).json?.['step']).toBe('credential_scope');
    expect((await query(elsewhere, body)).json?.['step']).toBe('restriction');
  });

  it('tells only actors who may read the namespace that there is none', async () => {
    const body = { family: 'resource', namespace: '/labs/optics/typo', orderBy: [{ name: 'asc' }] };
    expect((await query(adaKey, body)).json?.['code']).toBe('namespace.not_found');
    expect(names(await query(bobKey, body))).toEqual(['lens', 'mirror']);
    expect(
      (
        await call(open.port, {
          path: '/api/v1/query/count',
          key: adaKey,
          body: { family: 'resource', namespace: '/labs/optics/typo' },
        })
      ).status,
    ).toBe(404);
  });

  it('refuses a bad request before it decides', async () => {
    const reply = await query(adaKey, { family: 'resource', namespace: '/labs/cryo', where: { rank: { like: 'x' } } });
    expect([reply.status, reply.json?.['errors']]).toEqual([
      400,
      expect.arrayContaining([expect.objectContaining({ pointer: expect.any(String) })]),
    ]);
  });
});

describe('POST /api/v1/query/count', () => {
  test.each([
    ['lineage', 3],
    ['exact', 1],
    ['subtree', 1],
  ])('counts what the query would list, in %s reach', async (reach, count) => {
    const body = { family: 'resource', namespace: '/labs/optics/run-7', reach };
    const reply = await call(open.port, { path: '/api/v1/query/count', key: adaKey, body });
    expect(reply.json).toEqual({ ...body, count, snapshot: policy.digest });
    expect(names(await query(adaKey, body))).toHaveLength(count);
  });

  it('takes no page', async () => {
    const reply = await call(open.port, {
      path: '/api/v1/query/count',
      key: adaKey,
      body: { family: 'resource', namespace: '/labs', page: { size: 1 } },
    });
    expect([reply.status, reply.json?.['code']]).toEqual([400, 'request.schema']);
  });
});

describe('a policy that is replaced', () => {
  it('decides the next request, and the answer names it', async () => {
    const nobody = policyOf([[bob, '/labs/cryo', ['resource:read']]]);
    open.gateway.policies.activate({ policy: nobody }, 'test');
    const reply = await query(adaKey, { family: 'resource', namespace: '/labs/optics' });
    expect([reply.status, reply.headers['bailiwick-snapshot']]).toEqual([403, nobody.digest]);
    open.gateway.policies.activate({ policy }, 'test');
    expect((await query(adaKey, { family: 'resource', namespace: '/labs/optics' })).status).toBe(200);
  });
});

describe('a store that fails', () => {
  it('is 503, without a word of what happened, and the gateway goes on', async () => {
    const broken = await openGateway({ mode: { kind: 'local' } });
    await broken.db.close();
    const reply = await call(broken.port, { body: { family: 'resource', namespace: '/' } });
    expect([reply.status, reply.json?.['code']]).toEqual([503, 'db.unavailable']);
    expect(Object.keys(reply.json ?? {}).sort()).toEqual(['code', 'requestId', 'status', 'title', 'type']);
    expect((await call(broken.port, { method: 'GET', path: '/api/v1/whoami' })).status).toBe(200);
    await broken.dispose();
  });
});
