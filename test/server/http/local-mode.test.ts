import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { startGateway } from '../../../server/compose.js';
import { call, openGateway, raw, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;

beforeAll(async () => {
  open = await openGateway({ mode: { kind: 'local' } });
});

afterAll(async () => {
  await open.dispose();
});

describe('local mode', () => {
  it('answers as the unrestricted single user, without a credential', async () => {
    const reply = await call(open.port, { method: 'GET', path: '/api/v1/whoami' });
    expect(reply.json).toMatchObject({ id: 'local', kind: 'local', identities: [], namespaceRestrictions: null });
    expect(reply.json?.['credentialScopes']).toHaveLength(10);
  });

  it('queries with the same relations as everybody', async () => {
    const reply = await call(open.port, { body: { family: 'namespace', namespace: '/' } });
    expect(reply.json).toMatchObject({
      family: 'namespace',
      namespace: '/',
      reach: 'lineage',
      items: [{ namespace: '/' }],
    });
    expect(reply.json?.['snapshot']).toBe(open.gateway.policies.current().policy.digest);
  });

  it('shows the page of problems', async () => {
    const reply = await raw(
      open.port,
      `GET /docs/problems HTTP/1.1\r\nHost: localhost:${String(open.port)}\r\nConnection: close\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 200 .*<!doctype html>.*<\/html>\n$/s);
    expect(await raw(open.port, 'GET /docs/problems HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 421 /,
    );
  });

  it('distinguishes a missing namespace from an empty one', async () => {
    const reply = await call(open.port, { body: { family: 'resource', namespace: '/nowhere' } });
    expect([reply.status, reply.json?.['code']]).toEqual([404, 'namespace.not_found']);
  });

  test.each([
    [{ host: 'attacker.example' }, 421],
    [{ host: 'localhost:1' }, 421],
    [{ origin: 'https://evil.example' }, 421],
    [{ origin: 'null' }, 421],
    [{ authorization: 'Bearer x' }, 200],
  ])('given %j answers %s', async (headers, status) => {
    const reply = await call(open.port, { body: { family: 'resource', namespace: '/' }, headers });
    expect(reply.status).toBe(status);
    if (status === 421) expect(reply.json?.['code']).toBe('request.host');
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('takes the name of this machine with its port', async () => {
    const port = String(open.port);
    const headers = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    expect((await call(open.port, { method: 'GET', path: '/api/v1/whoami', headers })).status).toBe(200);
  });

  it('refuses a form that a web page posts', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', host: `localhost:${String(open.port)}` };
    const reply = await call(open.port, { body: 'family=resource', headers });
    expect(reply.json?.['code']).toBe('request.media_type');
  });

  it('does not listen where other machines are', async () => {
    const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    await expect(
      startGateway({
        mode: { kind: 'local' },
        db: open.db,
        listen: { host: '0.0.0.0', port: 0 },
        rate,
        concurrency: { perActor: 4 },
        log,
      }),
    ).rejects.toThrow('loopback address only');
  });
});
