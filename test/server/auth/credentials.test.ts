import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { type Instant, instantOf, scopeSetOf } from '../../../engine/index.js';
import { listKeys, revokeKey } from '../../../server/auth/api-keys.js';
import { formatKey, makeKeyText } from '../../../server/auth/key-text.js';
import type { Database } from '../../../server/db/database.js';
import { call, openGateway, pathOf, type Reply, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;
let now = instantOf(Date.parse('2027-01-01T00:00:00Z'));

beforeAll(async () => {
  open = await openGateway({ clock: { now: () => now } });
});

afterAll(async () => {
  await open.dispose();
});

const WHOAMI = { method: 'GET', path: '/api/v1/whoami' };

function whoami(key?: string): Promise<Reply> {
  return call(open.port, { ...WHOAMI, ...(key === undefined ? {} : { key }) });
}

/** The answer without what differs between any two. */
function stable({ status, headers, text, json }: Reply): unknown {
  const { date: _date, 'x-request-id': id, ...rest } = headers;
  return { status, headers: rest, text: text.replace(String(id), ''), code: json?.['code'] };
}

describe('whoami', () => {
  it('shows the actor of the key and nothing secret', async () => {
    const { text, id } = await open.key({
      actor: 'ana',
      identities: [
        { provider: 'orcid', subject: 'a:b' },
        { provider: 'github', subject: 'Ana' },
      ],
      scopes: scopeSetOf(['resource:read', 'namespace:write']),
      restrictions: [pathOf('/labs/optics')],
    });
    const reply = await whoami(text);
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      id: 'ana',
      kind: 'key',
      identities: [
        { provider: 'orcid', subject: 'a:b' },
        { provider: 'github', subject: 'Ana' },
      ],
      credentialScopes: ['namespace:write', 'resource:read'],
      namespaceRestrictions: ['/labs/optics'],
      credentialFingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(reply.text).not.toContain(text.slice(-43));
    expect(reply.text).not.toContain(id);
  });

  it('shows what is not narrowed as all scopes and null', async () => {
    const reply = await whoami((await open.key()).text);
    expect(reply.json?.['credentialScopes']).toHaveLength(10);
    expect(reply.json?.['namespaceRestrictions']).toBeNull();
  });

  it('keeps empty lists empty', async () => {
    const reply = await whoami((await open.key({ scopes: scopeSetOf([]), restrictions: [], identities: [] })).text);
    expect(reply.json).toMatchObject({ credentialScopes: [], namespaceRestrictions: [], identities: [] });
  });

  it('gives two keys of one actor two fingerprints, each always the same', async () => {
    const [first, second] = [await open.key(), await open.key()];
    const seen = await Promise.all(
      [first, first, second].map(async ({ text }) => (await whoami(text)).json?.['credentialFingerprint']),
    );
    expect(seen[0]).toBe(seen[1]);
    expect(seen[0]).not.toBe(seen[2]);
  });
});

describe('a request without a valid credential', () => {
  test.each([WHOAMI, { method: 'POST', path: '/api/v1/query' }, { method: 'POST', path: '/api/v1/query/count' }])(
    'is 401 on $method $path, before its body is looked at',
    async (route) => {
      const reply = await call(open.port, { ...route, body: '{"not json', headers: { 'content-type': 'text/plain' } });
      expect([reply.status, reply.json?.['code']]).toEqual([401, 'auth.required']);
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="bailiwick"');
    },
  );

  it('C02 C03 gets the same bytes for every reason', async () => {
    const good = await open.key();
    const revoked = await open.key();
    await revokeKey(open.db, { id: revoked.id, now });
    const expired = await open.key({ expires: now });
    const secret = good.text.slice(-43);
    const spellings: readonly string[] = [
      'Bearer',
      'Bearer  ',
      'Bearer x',
      'Bearer a.b.c.d',
      `Bearer ${'x'.repeat(9_000)}`,
      'Basic YWRhOmFkYQ==',
      `Basic ${good.text}`,
      good.text,
      `Bearer\t${good.text}`,
      `Bearer ${good.text}, Bearer ${good.text}`,
      `Bearer bwk_${good.id}_${secret.slice(0, -1)}`,
      `Bearer bwk_${good.id}_${secret.toUpperCase()}`,
      `Bearer bwk_${good.id}_${secret}=`,
      `Bearer bwk_${good.id}_${revoked.text.slice(-43)}`,
      `Bearer bwk_${'0'.repeat(16)}_${secret}`,
      `Bearer bwk_${good.id.toUpperCase()}_${secret}`,
      `Bearer BWK_${good.id}_${secret}`,
      `Bearer ${revoked.text}`,
      `Bearer ${expired.text}`,
    ];
    const replies = await Promise.all(
      spellings.map((authorization) => call(open.port, { ...WHOAMI, headers: { authorization } })),
    );
    const [first] = replies;
    expect(first?.json?.['code']).toBe('auth.invalid');
    expect(first?.headers['www-authenticate']).toBe('Bearer realm="bailiwick", error="invalid_token"');
    expect(new Set(replies.map((reply) => JSON.stringify(stable(reply)))).size).toBe(1);
    expect((await whoami(good.text)).status).toBe(200);
  });

  it('leaves the reason, and never the credential, in the log', async () => {
    const key = await open.key();
    await revokeKey(open.db, { id: key.id, now });
    await whoami(key.text);
    expect(open.lines.at(-1)).toMatchObject({ status: 401, code: 'auth.invalid', reason: 'revoked' });
    expect(JSON.stringify(open.lines)).not.toContain(key.text.slice(-43));
  });

  it('takes the scheme in any case', async () => {
    const { text } = await open.key();
    expect((await call(open.port, { ...WHOAMI, headers: { authorization: `bEARER ${text}` } })).status).toBe(200);
  });
});

describe('a key', () => {
  it('ends with its expiry, to the millisecond', async () => {
    const expires = (now + 1_000) as Instant;
    const { text } = await open.key({ expires });
    const before = now;
    now = (expires - 1) as Instant;
    expect((await whoami(text)).status).toBe(200);
    now = expires;
    expect((await whoami(text)).status).toBe(401);
    now = before;
  });

  it('C22 ends with its revocation at the next request, on a connection that is open too', async () => {
    const [revoked, other] = [await open.key(), await open.key()];
    expect((await whoami(revoked.text)).status).toBe(200);
    expect(await revokeKey(open.db, { id: revoked.id, now })).toMatchObject({ at: now });
    expect((await whoami(revoked.text)).status).toBe(401);
    expect((await whoami(other.text)).status).toBe(200);
  });

  it('keeps its first revocation, and a key that does not exist is not revoked', async () => {
    const { id } = await open.key();
    await revokeKey(open.db, { id, now });
    expect(await revokeKey(open.db, { id, now: (now + 5_000) as Instant })).toMatchObject({ at: now });
    expect(await revokeKey(open.db, { id: '0'.repeat(16), now })).toBeNull();
  });

  it('notes its last use, at most once a minute', async () => {
    const { text, id } = await open.key();
    const lastUse = async (): Promise<unknown> => (await listKeys(open.db)).find((key) => key.id === id)?.lastUsedAt;
    const start = now;
    expect(await lastUse()).toBeNull();
    await whoami(text);
    await expectSoon(lastUse, start);
    now = (start + 59_999) as Instant;
    await whoami(text);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await lastUse()).toBe(start);
    now = (start + 60_000) as Instant;
    await whoami(text);
    await expectSoon(lastUse, now);
    now = start;
  });

  it('is stored as a hash alone', async () => {
    const { text, id } = await open.key();
    const rows: readonly unknown[] = await open.db.knex('api_keys').where({ id });
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(text.slice(-43));
  });

  it('whose row was tampered with is a fault of ours, never a wider key', async () => {
    const { text, id } = await open.key({ scopes: scopeSetOf([]) });
    await open.db
      .knex('api_keys')
      .where({ id })
      .update({ scopes: JSON.stringify(['resource:*']) });
    expect((await whoami(text)).json?.['code']).toBe('internal');
  });
});

async function expectSoon(read: () => Promise<unknown>, value: unknown): Promise<void> {
  for (let i = 0; i < 100 && (await read()) !== value; i += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await read()).toBe(value);
}

describe('failed authentications', () => {
  it('C30 are limited by address, and do not lock out who succeeds', async () => {
    const limited = await openGateway({ db: open.db, rate: { unauthenticated: 3 } });
    const { text } = await limited.key();
    const begun = performance.now();
    const replies = await Promise.all(Array.from({ length: 8 }, () => call(limited.port, { ...WHOAMI, key: 'wrong' })));
    const seconds = (performance.now() - begun) / 1_000;
    const refused = replies.filter((reply) => reply.status === 429);
    const passed = replies.filter((reply) => reply.status === 401).length;
    expect(passed).toBeGreaterThanOrEqual(3);
    expect(passed).toBeLessThanOrEqual(3 + 3 * seconds);
    expect(refused).toHaveLength(8 - passed);
    expect(refused[0]?.json).toMatchObject({ code: 'limit.rate', retryAfter: 1 });
    expect(refused[0]?.headers).toMatchObject({
      'retry-after': '1',
      ratelimit: '"unauthenticated";r=0;t=1',
      'ratelimit-policy': '"unauthenticated";q=3;w=1',
    });
    expect((await call(limited.port, { ...WHOAMI, key: text })).status).toBe(200);
    // The id of the answer finds the line.
    const logged = limited.lines.filter(({ status }) => status === 429).map(({ requestId }) => requestId);
    expect(logged.sort()).toEqual(refused.map(({ json }) => json?.['requestId']).sort());
    await limited.dispose();
  });

  it('C30 with unknown keys of the right form, many at once, cost few look-ups, and a key that was right is answered meanwhile', async () => {
    const lookedUp: string[] = [];
    const vital: Database['vital'] = (statement, ...rest) => {
      if (statement.text.includes('api_keys')) lookedUp.push(...statement.bindings.flat().map(String));
      return open.db.vital(statement, ...rest);
    };
    const quota = 5;
    const limited = await openGateway({ db: { ...open.db, vital }, rate: { unauthenticated: quota } });
    const { text, id } = await limited.key();
    expect((await call(limited.port, { ...WHOAMI, key: text })).status).toBe(200);
    const [waves, wave] = [20, 25];
    const begun = performance.now();
    const statuses: number[] = [];
    for (let i = 0; i < waves; i += 1) {
      const flood = Array.from({ length: wave }, async () => {
        statuses.push((await call(limited.port, { ...WHOAMI, key: formatKey(makeKeyText()) })).status);
      });
      expect((await call(limited.port, { ...WHOAMI, key: text })).status).toBe(200);
      await Promise.all(flood);
    }
    const seconds = (performance.now() - begun) / 1_000;
    const unknown = lookedUp.filter((asked) => asked !== id).length;
    process.stdout.write(
      `${String(waves * wave)} unknown keys in ${seconds.toFixed(1)} s: ${String(unknown)} looked up\n`,
    );
    // Of each limiter a second's worth is in hand.
    expect(unknown).toBeLessThanOrEqual(2 * quota + Math.ceil(2 * quota * seconds));
    expect(statuses).toHaveLength(waves * wave);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    await limited.dispose();
  });

  it('and actors have their own limit', async () => {
    const limited = await openGateway({ db: open.db, rate: { perActor: 2 } });
    const [one, other] = [await limited.key(), await limited.key({ actor: 'bob' })];
    const ask = async (key: string): Promise<number> => (await call(limited.port, { ...WHOAMI, key })).status;
    expect([await ask(one.text), await ask(one.text), await ask(one.text), await ask(other.text)]).toEqual([
      200, 200, 429, 200,
    ]);
    await limited.dispose();
  });
});
