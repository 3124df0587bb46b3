// Questions about others that are refused because of what they say, wherever the key that asks reaches.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scopeSetOf } from '../../engine/index.js';
import type { NewKey } from '../../server/auth/api-keys.js';
import { call, openGateway, pathOf, type Reply, type TestGateway } from '../support/gateway.js';

let open: TestGateway;

beforeAll(async () => {
  open = await openGateway();
});
afterAll(async () => {
  await open.dispose();
});

const asker = async (fields: Partial<NewKey> = {}): Promise<string> =>
  (await open.key({ actor: 'portal', identities: [], decide: true, ...fields })).text;

const post = (path: string, key: string, body: object): Promise<Reply> => call(open.port, { path, key, body });

const read = (target: string, context?: string): object => ({
  kind: 'access',
  scope: 'resource:read',
  target,
  ...(context === undefined ? {} : { context }),
});
const about = (identity: string, request: object, more: object = {}): object => ({
  actor: { identities: [identity], ...more },
  request,
});

it('a question takes as many identities, scopes and restrictions of a subject as a credential may have, and says so', async () => {
  const lists = [
    ['identities', 1_032, 'orcid:ada'],
    ['credentialScopes', 100, 'resource:read'],
    ['namespaceRestrictions', 1_000, '/labs'],
  ] as const;
  const key = await asker();
  const { components } = (await call(open.port, { method: 'GET', path: '/openapi.json' })).json as {
    readonly components: { readonly schemas: Readonly<Record<string, object>> };
  };
  for (const [name, most, one] of lists) {
    const subject = (length: number): object => ({
      identities: ['orcid:ada'],
      [name]: Array.from({ length }, () => one),
    });
    expect(components.schemas['Subject']).toMatchObject({ properties: { [name]: { maxItems: most } } });
    const visible = { family: 'resource', namespace: '/labs' };
    const decided = (length: number): Promise<Reply> =>
      post('/api/v1/decide', key, {
        items: [about('orcid:ada', read('/labs')), { actor: subject(length), request: read('/labs') }],
      });
    const seen = (length: number): Promise<Reply> =>
      post('/api/v1/visible', key, { ...visible, actor: subject(length) });
    expect([name, (await decided(most)).status, (await seen(most)).status]).toEqual([name, 200, 200]);
    const message = `must have at most ${String(most)} elements`;
    for (const [reply, pointer] of [
      [await decided(most + 1), `/items/1/actor/${name}`],
      [await seen(most + 1), `/actor/${name}`],
    ] as const)
      expect([reply.status, reply.json?.['errors']]).toEqual([400, [{ pointer, code: 'request.schema', message }]]);
  }
});

it('POST /api/v1/explain refuses what is no scope and no namespace, wherever the key reaches, and says what to write', async () => {
  const items = [
    about('orcid:ada', { kind: 'access', scope: 'resource:raed', target: '/labs' }),
    about('orcid:ada', read('/labs')),
    about('orcid:ada', read('/labs/../x')),
    about('orcid:ada', read('/labs', '/labs/?')),
    about('orcid:ada', read('/labs'), { namespaceRestrictions: ['/labs', '/Labs'] }),
  ];
  for (const key of [await asker(), await asker({ restrictions: [pathOf('/vault')], scopes: scopeSetOf([]) })]) {
    const reply = await post('/api/v1/explain', key, { items });
    expect([reply.status, reply.json?.['code'], reply.json?.['errors']]).toEqual([
      400,
      'request.schema',
      [
        [
          '/items/0/request/scope',
          expect.stringMatching(/^is not a scope of the policy; did you mean `resource:read`\?$/),
        ],
        ['/items/2/request/target', expect.stringMatching(/^is not a namespace: /)],
        ['/items/3/request/context', expect.stringMatching(/^is not a namespace: /)],
        ['/items/4/actor/namespaceRestrictions/1', expect.stringMatching(/^is not a namespace: /)],
      ].map(([pointer, message]) => ({ pointer, code: 'request.schema', message })),
    ]);
  }
});
