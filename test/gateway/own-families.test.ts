// Families that the policy declares, as clients of a gateway meet them: what they may do is decided, and there are no records of them.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf, isScopeName, scopeSetOf, type ScopeSet } from '../../engine/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { ask, vocabularyOf } from '../support/authzen-client.js';
import { call, openGateway, snapshotOf, type TestGateway } from '../support/gateway.js';
import { runCli } from '../support/run-cli.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { type IssuerKey, makeIssuerKey, openIssuer, sign, type TokenIssuer } from '../support/token-issuer.js';
import { ISSUER_SETTINGS } from '../support/token-world.js';

const ANN = { provider: 'okta', subject: 'ann' };
const { bytes, policy } = snapshotOf([[ANN, '/emea', ['invoice:read', 'invoice:approve', 'resource:read']]], 'erp', [
  { name: 'invoice', actions: ['approve', 'pay'], description: null },
]);
const setOf = (...scopes: readonly string[]): ScopeSet => scopeSetOf(scopes.filter(isScopeName));

let dataDir: string;
let db: Database;
let open: TestGateway;
/** The same, with the names of an enforcement point of AuthZEN. */
let worded: TestGateway;
let portal: string;
let signer: IssuerKey;
let issuer: TokenIssuer;

const BASE_URL = 'https://pdp.example.org';
const WORDS = {
  subjects: { user: { provider: 'okta' } },
  resources: { company: { ids: { de: '/emea/de', jp: '/apac/jp' } } },
  actions: { approve_invoice: 'invoice:approve', pay_invoice: 'invoice:pay', void_invoice: 'invoice:void' },
};

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  const at = instantOf(Date.now());
  await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at });
  signer = await makeIssuerKey('k1');
  issuer = await openIssuer([signer.jwk]);
  const mode = { kind: 'serve', policy } as const;
  open = await openGateway({
    ...{ db, mode, authzen: { baseUrl: BASE_URL, vocabulary: null } },
    authentication: {
      keys: { enabled: true },
      oidc: [{ ...ISSUER_SETTINGS, issuer: issuer.url, provider: 'okta', scopeClaim: 'scope' }],
      introspection: [],
      mtls: null,
      revocationsFile: null,
    },
  });
  worded = await openGateway({ db, mode, authzen: { baseUrl: BASE_URL, vocabulary: vocabularyOf(WORDS) } });
  portal = (await open.key({ actor: 'portal', identities: [], decide: true })).text;
});
afterAll(async () => {
  await worded.dispose();
  await open.dispose();
  await issuer.stop();
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

it('has no changes of them, and says so', async () => {
  const key = (await open.key({ actor: 'ann', identities: [ANN] })).text;
  for (const families of ['invoice', 'resource,invoice']) {
    const path = `/api/v1/changes?families=${families}`;
    const { status, json } = await call(open.port, { method: 'GET', path, key });
    expect([status, JSON.stringify(json)]).toEqual([
      400,
      expect.stringContaining('process-run: there are records of these families only'),
    ]);
  }
});

it('has no routes for them', async () => {
  const key = (await open.key({ actor: 'ann', identities: [ANN] })).text;
  const body = { namespace: '/emea', name: 'INV-1' };
  for (const path of ['/api/v1/invoices', '/api/v1/invoice']) {
    const created = await call(open.port, { path, key, body, headers: { 'idempotency-key': 'a' } });
    expect([created.status, created.json]).toMatchObject([404, { code: 'route.not_found' }]);
  }
  const aggregated = await call(open.port, {
    ...{ path: '/api/v1/query/aggregate', key },
    body: { family: 'invoice', namespace: '/emea', values: [{ count: true }] },
  });
  expect([aggregated.status, JSON.stringify(aggregated.json)]).toEqual([
    400,
    expect.stringContaining('there are records of these families only'),
  ]);
});

describe('a token', () => {
  const token = (claims: Readonly<Record<string, unknown>>): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    return sign(signer, { iss: issuer.url, sub: 'ann', aud: 'bailiwick', iat: now, exp: now + 600, ...claims });
  };

  it('carries the scopes of its claim, those of the policy included', async () => {
    expect(await held(await token({ scope: 'openid invoice:approve resource:read read:org' }), '/emea/de')).toEqual([
      'invoice:approve',
      'resource:read',
    ]);
    expect(await held(await token({ scope: ['invoice:read', 'invoice:void'] }), '/emea/de')).toEqual(['invoice:read']);
    expect(await held(await token({ scope: 'invoice:*' }), '/emea/de')).toEqual([]);
    expect(await held(await token({}), '/emea/de')).toEqual([]);
    const { status } = await call(open.port, {
      ...{ method: 'GET', path: '/api/v1/whoami' },
      key: await token({ scope: 'invoice:approve resource:approve' }),
    });
    expect(status).toBe(401);
  });
});

describe('can-i', () => {
  it('answers about them, and knows a misspelled one', async () => {
    const { text } = await open.key({ actor: 'ann', identities: [ANN], scopes: setOf('invoice:approve') });
    const cwd = await makeFolder({ 'key.txt': text });
    const canI = async (scope: string): Promise<unknown> => {
      const { status, stdout, stderr } = await runCli(
        ['can-i', scope, '/emea/de', '--url', open.gateway.url, '--key-file', 'key.txt'],
        { cwd },
      );
      return [status, stdout + stderr];
    };
    expect(await canI('invoice:approve')).toEqual([0, 'yes: invoice:approve /emea/de, by g1\n']);
    expect(await canI('invoice:read')).toEqual([7, 'no: invoice:read /emea/de\n']);
    expect(await canI('invoice:aprove')).toEqual([
      2,
      'error: `invoice:aprove` is not a scope of the policy\n  help: did you mean `invoice:approve`?\n',
    ]);
    expect(await canI('Invoice:approve')).toEqual([
      2,
      'error: `Invoice:approve` is not a scope\n  help: did you mean `invoice:approve`?\n',
    ]);
  });
});

describe('AuthZEN', () => {
  it('warns of names that mean scopes which the policy does not know, now and under the next policy', async () => {
    const own = { name: 'invoice', actions: ['approve', 'pay', 'void'], description: null };
    const next = snapshotOf([[ANN, '/emea', ['invoice:read', 'invoice:void']]], 'erp', [own]);
    const other = await openGateway({
      ...{ db, mode: { kind: 'serve', policy: next.policy } },
      authzen: { baseUrl: BASE_URL, vocabulary: vocabularyOf(WORDS) },
    });
    const warned = (): readonly string[] =>
      other.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    try {
      expect(warned()).toEqual([]);
      other.gateway.policies.activate({ policy }, 'without a word');
      expect(warned()).toEqual([
        'the action `void_invoice` means invoice:void, which is not a scope of the policy, so everybody is denied it; did you mean `invoice:read`?',
      ]);
    } finally {
      await other.dispose();
    }
  });

  const say = async (path: string, body: object, { port } = open): Promise<unknown> => {
    const said = await ask(port, path, { body, key: portal });
    expect(said.status).toBe(200);
    return said.body;
  };
  const user = { type: 'okta', id: 'ann' };
  const at = (id: string): object => ({ type: 'namespace', id });
  const names = (...all: readonly string[]): object => ({ results: all.map((name) => ({ name })) });

  it('decides about them, one by one and in batches', async () => {
    const asked = { subject: user, action: { name: 'invoice:approve' }, resource: at('/emea/de') };
    expect(await say('/access/v1/evaluation', asked)).toMatchObject({ decision: true });
    const evaluations = [
      {},
      { action: { name: 'invoice:pay' } },
      { action: { name: 'invoice:void' } },
      { resource: at('/apac') },
      { resource: at('/emea'), context: { namespace: '/emea/de' } },
      { action: { name: 'invoice:read' }, resource: at('/emea'), context: { namespace: '/emea/de' } },
      // There are no records of the family, so this names nothing.
      { action: { name: 'approve' }, resource: { type: 'invoice', id: '17' } },
    ];
    const { evaluations: told } = (await say('/access/v1/evaluations', { ...asked, evaluations })) as {
      readonly evaluations: readonly { readonly decision: boolean }[];
    };
    expect(told.map(({ decision }) => decision)).toEqual([true, false, false, false, false, true, false]);
  });

  it('searches for who, where and what', async () => {
    const action = { name: 'invoice:approve' };
    expect(
      await say('/access/v1/search/subject', { subject: { type: 'okta' }, action, resource: at('/emea/de') }),
    ).toMatchObject({ results: [user] });
    expect(
      await say('/access/v1/search/resource', { subject: user, action, resource: { type: 'namespace' } }),
    ).toMatchObject({ results: [{ ...at('/emea'), properties: { extent: 'subtree' } }] });
    expect(
      await say('/access/v1/search/resource', {
        ...{ subject: user, action, resource: { type: 'namespace' } },
        context: { namespace: '/emea/de' },
      }),
    ).toMatchObject({ results: [{ ...at('/emea/de'), properties: { extent: 'node' } }] });
    expect(await say('/access/v1/search/action', { subject: user, resource: at('/emea/de') })).toMatchObject(
      names('invoice:approve', 'invoice:read', 'resource:read'),
    );
  });

  it('knows the names of a vocabulary and no others, and says which vocabulary it was', async () => {
    const asked = { subject: { type: 'user', id: 'ann' }, resource: { type: 'company', id: 'de' } };
    const decided = async (name: string, more: object = {}): Promise<unknown> =>
      ((await say('/access/v1/evaluation', { ...asked, action: { name }, ...more }, worded)) as { decision: unknown })
        .decision;
    expect(await decided('approve_invoice')).toBe(true);
    expect(await decided('pay_invoice')).toBe(false);
    // Of a scope that the policy does not know, and a scope that the vocabulary does not name.
    expect(await decided('void_invoice')).toBe(false);
    expect(await decided('invoice:approve')).toBe(false);
    expect(await decided('approve_invoice', { resource: { type: 'company', id: 'jp' } })).toBe(false);
    expect(await say('/access/v1/search/action', asked, worded)).toMatchObject(names('approve_invoice'));
    expect(
      await say(
        '/access/v1/search/resource',
        { ...asked, action: { name: 'approve_invoice' }, resource: { type: 'company' } },
        worded,
      ),
    ).toMatchObject({ results: [{ type: 'company', id: 'de' }] });
    const { digest } = vocabularyOf(WORDS);
    expect(vocabularyOf({ ...WORDS, actions: { ...WORDS.actions, pay_invoice: 'invoice:write' } }).digest).not.toBe(
      digest,
    );
    expect(vocabularyOf({ actions: WORDS.actions, resources: WORDS.resources, subjects: WORDS.subjects }).digest).toBe(
      digest,
    );
  });

  it('stays within the scopes of the key that asks', async () => {
    const narrow = await open.key({ actor: 'pep', identities: [], decide: true, scopes: setOf('invoice:read') });
    for (const [name, decision] of [
      ['invoice:read', true],
      ['invoice:approve', false],
    ]) {
      const body = { subject: user, action: { name }, resource: at('/emea') };
      const said = await ask(open.port, '/access/v1/evaluation', { body, key: narrow.text });
      expect(said.body).toMatchObject({ decision });
    }
  });
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
