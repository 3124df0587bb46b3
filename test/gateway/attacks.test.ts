// Attacks on the front door and on keys, one per row, over real sockets, against two gateways on one store with their
// admin listeners. The identifier of a row says what it is about: A the front door, C credentials, O operations.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { instantOf } from '../../engine/index.js';
import { call, callAdmin, openGateway, raw, type Reply, type TestGateway } from '../support/gateway.js';
import { type OpenedStore, testStores } from '../support/stores.js';

let store: OpenedStore | undefined;
let one: TestGateway;
let two: TestGateway;
let key: string;
let admin: string;

beforeAll(async () => {
  // A server of its own where there is one, as a fleet has it.
  store = await testStores().at(-1)?.open();
  if (store === undefined) throw new Error('there is no store');
  one = await openGateway({ db: store.database, admin: true });
  two = await openGateway({ db: store.database, admin: true });
  key = (await one.key()).text;
  admin = (await one.key({ actor: 'root', identities: [], admin: true })).text;
});

afterAll(async () => {
  await two.dispose();
  await one.dispose();
  await store?.dispose();
});

function outcome({ status, json }: Reply): string {
  const code = json?.['code'];
  return typeof code === 'string' ? `${String(status)} ${code}` : String(status);
}

interface Sent {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly port?: number;
}

/** The status and code of the one answer. */
async function send({ method = 'POST', target, headers = [], port = one.port }: Sent): Promise<string> {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: 127.0.0.1:${String(port)}`, 'Connection: close', ...headers];
  const answer = await raw(port, `${lines.join('\r\n')}\r\n\r\n`);
  expect(answer.match(/^HTTP\/1\.1 /gm) ?? []).toHaveLength(1);
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none';
  return `${status} ${/"code":"([^"]+)"/.exec(answer)?.[1] ?? ''}`.trim();
}

const whoami = (gateway: TestGateway, text: string): Promise<string> =>
  call(gateway.port, { method: 'GET', path: '/api/v1/whoami', key: text }).then(outcome);

describe('the front door', () => {
  test.each<[string, string]>([
    ['A02 in capitals', '/ADMIN/V1/KEYS'],
    ['A03 with a slash at its end', '/admin/v1/keys/'],
    ['A04 with an encoded letter', '/%61dmin/v1/keys'],
    ['A05 with two slashes', '//admin/v1/keys'],
    ['A06 with an encoded slash', '/admin%2Fv1/keys'],
    ['A06 with an encoded backslash', '/admin%5Cv1%5Ckeys'],
    ['A07 through a dot segment', '/livez/../admin/v1/keys'],
    ['A07 through a parameter of a dot segment', '/livez/..;/admin/v1/keys'],
    ['A08 encoded twice', '/%2561dmin/v1/keys'],
    ['A08 in bytes that are no UTF-8', '/%c0%ae%c0%ae/admin/v1/keys'],
    ['A08 in half of a character', '/admin/v1/%E0%A4%A'],
    ['A09 with a parameter', '/admin/v1/keys;admin=1'],
    ['A15 by a name of a prototype', '/admin/v1/__proto__'],
  ])('%s leads to no route for admins, with and without a key', async (_, target) => {
    const port = one.admin?.port ?? 0;
    for (const headers of [[], [`Authorization: Bearer ${admin}`]]) {
      expect(await send({ method: 'GET', target, headers, port })).toBe('404 route.not_found');
    }
  });

  test.each<[string, string, string]>([
    ['A10 a query string of no route', '/admin/v1/nothing?admin=1', '404 route.not_found'],
    ['A10 a fragment', '/admin/v1/keys#/livez', '400 request.malformed'],
    ['A12 another authority', 'http://evil.example/admin/v1/keys', '400 request.malformed'],
  ])('%s is refused before anybody is asked who they are', async (_, target, expected) => {
    expect(await send({ method: 'GET', target, port: one.admin?.port ?? 0 })).toBe(expected);
  });

  it('A10 a query string opens nothing: the credential comes first, then what the route takes', async () => {
    const asked = { method: 'GET', target: '/admin/v1/keys?admin=1', port: one.admin?.port ?? 0 };
    expect(await send(asked)).toBe('401 auth.required');
    const headers = [`Authorization: Bearer ${admin}`];
    expect(await send({ ...asked, headers })).toBe('400 request.schema');
  });

  test.each([
    'X-Forwarded-For: 127.0.0.1',
    'Forwarded: for=127.0.0.1;host=localhost',
    'X-Real-IP: 127.0.0.1',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Uri: /livez',
    'X-Original-URL: /livez',
    'X-Rewrite-URL: /livez',
    'User-Agent: GoogleHC/1.0',
    'X-HTTP-Method-Override: GET',
  ])('A16 %s opens no route for admins', async (header) => {
    expect(await send({ method: 'GET', target: '/admin/v1/keys', headers: [header], port: one.admin?.port ?? 0 })).toBe(
      '401 auth.required',
    );
  });

  test.each(['TRACE', 'PROPFIND', 'OPTIONS', 'DELETE', 'PUT'])('A17 %s runs nothing', async (method) => {
    const answer = await send({
      method,
      target: '/admin/v1/keys',
      headers: [`Authorization: Bearer ${admin}`],
      port: one.admin?.port ?? 0,
    });
    expect(answer).toMatch(/^405/);
  });
});

describe('credentials', () => {
  test.each([
    ['C26 X-User', 'X-User: adm'],
    ['C26 Remote-User', 'Remote-User: adm'],
    ['C26 X-Client-Cert', 'X-Client-Cert: -----BEGIN CERTIFICATE-----'],
    ['C26 X-Forwarded-Client-Cert', 'X-Forwarded-Client-Cert: Subject="CN=adm"'],
    ['C04 X-Api-Key', 'X-Api-Key: bwk_x'],
  ])('%s is no credential', async (_, header) => {
    expect(await send({ method: 'GET', target: '/api/v1/whoami', headers: [header] })).toBe('401 auth.required');
  });

  it('C05 in a query string or a body is refused, and stands in no log', async () => {
    const asked = { method: 'GET', target: `/api/v1/whoami?access_token=${key}` };
    expect(await send(asked)).toBe('401 auth.required');
    expect(await send({ ...asked, headers: [`Authorization: Bearer ${key}`] })).toBe('400 request.schema');
    const body = { family: 'resource', namespace: '/', apiKey: key };
    expect(outcome(await call(one.port, { key, body }))).toBe('400 request.schema');
    expect(JSON.stringify(one.lines)).not.toContain(key.slice(-43));
  });

  it('C28 two keys of one actor overlap; a revoked one is refused by every gateway in the next request', async () => {
    const [old, fresh] = [await one.key({ actor: 'eve' }), await one.key({ actor: 'eve' })];
    for (const gateway of [one, two]) {
      for (const { text } of [old, fresh]) expect(await whoami(gateway, text)).toBe('200');
    }
    const path = `/admin/v1/keys/${old.id}/revoke`;
    expect(outcome(await callAdmin(one.admin?.port ?? 0, { method: 'POST', path, key: admin }))).toBe('200');
    for (const gateway of [two, one]) expect(await whoami(gateway, old.text)).toBe('401 auth.invalid');
    for (const gateway of [two, one]) expect(await whoami(gateway, fresh.text)).toBe('200');
  });

  it('C28 a key that was revoked under load is right in no request that begins afterwards', async () => {
    const { text, id } = await one.key();
    let isRevoked = false;
    const late: string[] = [];
    const ask = async (gateway: TestGateway): Promise<void> => {
      for (let after = 0; after < 5;) {
        const began = isRevoked;
        const answer = await whoami(gateway, text);
        if (!began) continue;
        after += 1;
        late.push(answer);
      }
    };
    const revoke = async (): Promise<void> => {
      await callAdmin(two.admin?.socket ?? '', { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
      isRevoked = true;
    };
    expect(await whoami(one, text)).toBe('200');
    await Promise.all([ask(one), ask(two), ask(one), ask(two), revoke()]);
    expect(late).toEqual(Array.from({ length: 20 }, () => '401 auth.invalid'));
  });

  it('C28 an expired key is refused from its instant on', async () => {
    const { text } = await one.key({ expires: instantOf(Date.now() + 400) });
    expect(await whoami(one, text)).toBe('200');
    await sleep(450);
    expect(await whoami(one, text)).toBe('401 auth.invalid');
  });
});

describe('operations', () => {
  it('O03 health says nothing about the installation', async () => {
    for (const path of ['/livez', '/readyz']) {
      const { text } = await callAdmin(one.admin?.port ?? 0, { path });
      expect(text).not.toMatch(/postgres|embedded|sha256|version|\d/);
    }
  });

  it('O07 a page that was made to point here, and a form of one, reach no route for admins', async () => {
    const port = one.admin?.port ?? 0;
    const rebound = await callAdmin(port, { headers: { host: `attacker.example:${String(port)}` } });
    expect(outcome(rebound)).toBe('421 request.host');
    const form = { 'content-type': 'text/plain', origin: 'https://evil.example' };
    expect(
      outcome(await callAdmin(port, { method: 'POST', path: '/admin/v1/keys', headers: form, body: '{"actor":"x"}' })),
    ).toBe('421 request.host');
  });

  it('O01 a data key never administers, on either gateway and by either way in', async () => {
    for (const at of [one.admin?.port, two.admin?.port, one.admin?.socket, two.admin?.socket]) {
      expect(outcome(await callAdmin(at ?? 0, { path: '/admin/v1/keys', key }))).toBe('401 auth.invalid');
    }
    for (const gateway of [one, two]) expect(await whoami(gateway, admin)).toBe('401 auth.invalid');
  });
});

it('both serve on after all of this', async () => {
  for (const gateway of [one, two]) {
    expect(await whoami(gateway, key)).toBe('200');
    expect(gateway.lines.filter(({ level }) => level === 'error')).toEqual([]);
  }
});
