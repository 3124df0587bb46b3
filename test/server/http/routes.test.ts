import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { declaredRoutes } from '../../support/api-description.js';
import type { Input } from '../../../server/http/route.js';
import { call, openGateway, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;

beforeAll(async () => {
  open = await openGateway();
});

afterAll(async () => {
  await open.dispose();
});

/** With the query parameters that the route needs, as its description shows them. */
function withQuery(path: string, { query = {} }: Input): string {
  const pairs = Object.entries(query).map(([name, { example }]): [string, string] => [name, example]);
  const asked = new URLSearchParams(pairs).toString();
  return asked === '' ? path : `${path}?${asked}`;
}

describe('the routes', () => {
  it('are these, each with its access', () => {
    const listed = declaredRoutes().map(({ method, path, access, input }) => [
      method,
      path,
      access,
      input.body === undefined ? 'none' : 'json',
    ]);
    expect(listed).toEqual([
      ['POST', '/api/v1/query', 'visibility', 'json'],
      ['POST', '/api/v1/query/count', 'visibility', 'json'],
      ['POST', '/api/v1/query/aggregate', 'visibility', 'json'],
      ['GET', '/api/v1/namespaces{path}', 'visibility', 'none'],
      ['GET', '/api/v1/resource-templates/{id}', 'record', 'none'],
      ['GET', '/api/v1/resources/{id}', 'record', 'none'],
      ['GET', '/api/v1/process-templates/{id}', 'record', 'none'],
      ['GET', '/api/v1/process-runs/{id}', 'record', 'none'],
      ['GET', '/api/v1/changes', 'visibility', 'none'],
      ['PUT', '/api/v1/namespaces{path}', 'command', 'json'],
      ['PATCH', '/api/v1/namespaces{path}', 'command', 'json'],
      ['POST', '/api/v1/namespaces{path}/archive', 'command', 'json'],
      ['POST', '/api/v1/namespaces{path}/restore', 'command', 'json'],
      ['PUT', '/api/v1/resources/by-name', 'command', 'json'],
      ...['resource-templates', 'resources', 'process-templates', 'process-runs'].flatMap((collection) => [
        ['POST', `/api/v1/${collection}`, 'command', 'json'],
        ['PATCH', `/api/v1/${collection}/{id}`, 'command', 'json'],
        ['POST', `/api/v1/${collection}/{id}/archive`, 'command', 'json'],
        ['POST', `/api/v1/${collection}/{id}/restore`, 'command', 'json'],
        ['DELETE', `/api/v1/${collection}/{id}`, 'command', 'none'],
        ['POST', `/api/v1/${collection}/{id}/move`, 'command', 'json'],
      ]),
      ['POST', '/api/v1/resources/{id}/copies', 'command', 'json'],
      ['POST', '/api/v1/process-runs/{id}/copies', 'command', 'json'],
      ['POST', '/api/v1/resource-templates/{id}/versions', 'command', 'json'],
      ['POST', '/api/v1/process-templates/{id}/versions', 'command', 'json'],
      ['POST', '/api/v1/batch', 'command', 'json'],
      ['GET', '/api/v1/whoami', 'self', 'none'],
      ['GET', '/api/v1/permissions', 'self', 'none'],
      ['POST', '/api/v1/decide', 'ask', 'json'],
      ['POST', '/api/v1/explain', 'ask', 'json'],
      ['POST', '/api/v1/who-can', 'ask', 'json'],
      ['POST', '/api/v1/what-can', 'ask', 'json'],
      ['POST', '/api/v1/visible', 'ask', 'json'],
      ['GET', '/livez', 'health', 'none'],
      ['GET', '/readyz', 'health', 'none'],
      ['GET', '/docs/problems', 'public', 'none'],
      ['GET', '/openapi.json', 'public', 'none'],
      ['GET', '/docs', 'public', 'none'],
    ]);
  });

  it('are each called by a name of its own, a verb first, and say what they do', () => {
    const routes = declaredRoutes();
    expect(new Set(routes.map(({ operationId }) => operationId)).size).toBe(routes.length);
    for (const { operationId, summary, input } of routes) {
      expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(summary).toMatch(/^[A-Z].{10,70}[^.]$/);
      const { body } = input;
      if (body !== undefined) expect(body.shape.read(structuredClone(body.example))).toEqual(body.example);
    }
  });

  it('are all there, and none answers without a credential but those that say so', async () => {
    const all = declaredRoutes();
    const routes = all.filter(({ access }) => access !== 'public' && access !== 'health');
    const replies = await Promise.all(
      routes.map(({ method, path, input }) =>
        call(open.port, { method, path: withQuery(path.replace('{path}', '/'), input) }),
      ),
    );
    expect(replies.map((reply) => [reply.status, reply.json?.['code']])).toEqual(
      routes.map(() => [401, 'auth.required']),
    );
    expect(all.length - routes.length).toBe(5);
  });
});
