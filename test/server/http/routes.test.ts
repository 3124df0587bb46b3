import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeRoutes } from '../../../server/http/routes.js';
import { call, openGateway, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;

beforeAll(async () => {
  open = await openGateway();
});

afterAll(async () => {
  await open.dispose();
});

describe('the routes', () => {
  it('are these, each with its access', () => {
    const listed = makeRoutes({ db: open.db, cursorKey: new Uint8Array(32) }).map(({ method, path, access, input }) => [
      method,
      path,
      access,
      input.body === undefined ? 'none' : 'json',
    ]);
    expect(listed).toEqual([
      ['POST', '/api/v1/query', 'visibility', 'json'],
      ['POST', '/api/v1/query/count', 'visibility', 'json'],
      ['GET', '/api/v1/namespaces{path}', 'visibility', 'none'],
      ['GET', '/api/v1/resource-templates/{id}', 'record', 'none'],
      ['GET', '/api/v1/resources/{id}', 'record', 'none'],
      ['GET', '/api/v1/process-templates/{id}', 'record', 'none'],
      ['GET', '/api/v1/process-runs/{id}', 'record', 'none'],
      ['GET', '/api/v1/whoami', 'self', 'none'],
      ['GET', '/docs/problems', 'public', 'none'],
      ['GET', '/openapi.json', 'public', 'none'],
      ['GET', '/docs', 'public', 'none'],
    ]);
  });

  it('are each called by a name of its own, a verb first, and say what they do', () => {
    const routes = makeRoutes({ db: open.db, cursorKey: new Uint8Array(32) });
    expect(new Set(routes.map(({ operationId }) => operationId)).size).toBe(routes.length);
    for (const { operationId, summary, input } of routes) {
      expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(summary).toMatch(/^[A-Z].{10,70}[^.]$/);
      const { body } = input;
      if (body !== undefined) expect(body.shape.read(structuredClone(body.example))).toEqual(body.example);
    }
  });

  it('are all there, and none answers without a credential but those that say so', async () => {
    const all = makeRoutes({ db: open.db, cursorKey: new Uint8Array(32) });
    const routes = all.filter(({ access }) => access !== 'public');
    const replies = await Promise.all(
      routes.map(({ method, path }) => call(open.port, { method, path: path.replace('{path}', '/') })),
    );
    expect(replies.map((reply) => [reply.status, reply.json?.['code']])).toEqual(
      routes.map(() => [401, 'auth.required']),
    );
    expect(all.length - routes.length).toBe(3);
  });
});
