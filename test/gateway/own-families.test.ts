// Families that the policy declares, as clients of a gateway meet them: what they may do is decided, and there are no records of them.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf, isScopeName, scopeSetOf, type ScopeSet } from '../../engine/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { call, openGateway, snapshotOf, type TestGateway } from '../support/gateway.js';
import { newDataDir } from '../support/stores.js';

const ANN = { provider: 'okta', subject: 'ann' };
const { bytes, policy } = snapshotOf([[ANN, '/emea', ['invoice:read', 'invoice:approve', 'resource:read']]], 'erp', [
  { name: 'invoice', actions: ['approve', 'pay'], description: null },
]);
const setOf = (...scopes: readonly string[]): ScopeSet => scopeSetOf(scopes.filter(isScopeName));

let dataDir: string;
let db: Database;
let open: TestGateway;
let portal: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir });
  const at = instantOf(Date.now());
  await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at });
  open = await openGateway({ db, mode: { kind: 'serve', policy } });
  portal = (await open.key({ actor: 'portal', identities: [], decide: true })).text;
});
afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const held = async (key: string, namespace: string): Promise<unknown> => {
  const { json } = await call(open.port, { method: 'GET', path: `/api/v1/permissions?namespace=${namespace}`, key });
  return (json as { scopes: readonly { scope: string }[] }).scopes.map(({ scope }) => scope);
};

it('says what a key may do, as far as the key carries it', async () => {
  const whole = (await open.key({ actor: 'ann', identities: [ANN] })).text;
  expect(await held(whole, '/emea/de')).toEqual(['invoice:approve', 'invoice:read', 'resource:read']);
  expect(await held(whole, '/apac')).toEqual([]);
  const narrow = (await open.key({ actor: 'ann', identities: [ANN], scopes: setOf('invoice:approve', 'order:ship') }))
    .text;
  expect(await held(narrow, '/emea/de')).toEqual(['invoice:approve']);
  const records = (await open.key({ actor: 'ann', identities: [ANN], scopes: setOf('resource:read') })).text;
  expect(await held(records, '/emea/de')).toEqual(['resource:read']);
});

it('has no records of them, and says so', async () => {
  const key = (await open.key({ actor: 'ann', identities: [ANN] })).text;
  for (const path of ['/api/v1/query', '/api/v1/query/count']) {
    const { status, json } = await call(open.port, { path, key, body: { family: 'invoice', namespace: '/emea' } });
    expect([status, json]).toMatchObject([
      400,
      {
        code: 'request.schema',
        errors: [{ pointer: '/family', message: expect.stringContaining('there are records of these families only') }],
      },
    ]);
  }
});

describe('a key that asks about others', () => {
  const decided = async (scope: string, target: string, context = target): Promise<unknown> => {
    const items = [{ actor: { identities: [ANN] }, request: { kind: 'access', scope, target, context } }];
    const { json } = await call(open.port, { path: '/api/v1/decide', key: portal, body: { items } });
    const [result] = (json as { results: readonly { decision: string; step?: string }[] }).results;
    return result?.step ?? result?.decision;
  };

  it('is answered about every scope of the policy', async () => {
    expect(await decided('invoice:approve', '/emea/de')).toBe('allow');
    expect(await decided('invoice:pay', '/emea/de')).toBe('no_matching_grant');
    expect(await decided('invoice:void', '/emea/de')).toBe('unknown_scope');
    expect(await decided('invoice:read', '/emea', '/emea/de')).toBe('allow');
    expect(await decided('invoice:approve', '/emea', '/emea/de')).toBe('target_relationship');
  });

  it('is told who may approve, and where somebody may', async () => {
    const who = await call(open.port, {
      path: '/api/v1/who-can',
      key: portal,
      body: { scope: 'invoice:approve', namespace: '/emea/de' },
    });
    expect(JSON.stringify(who.json)).toContain('okta:ann');
    const seen = await call(open.port, {
      path: '/api/v1/visible',
      key: portal,
      body: { actor: { identities: [ANN] }, family: 'invoice', action: 'approve', namespace: '/', reach: 'subtree' },
    });
    expect(seen.json).toMatchObject({ kind: 'some', subtrees: ['/emea'] });
    const wrong = await call(open.port, {
      path: '/api/v1/who-can',
      key: portal,
      body: { scope: 'invoice:aprove', namespace: '/emea/de' },
    });
    expect([wrong.status, JSON.stringify(wrong.json)]).toEqual([400, expect.stringContaining('invoice:approve')]);
  });
});
