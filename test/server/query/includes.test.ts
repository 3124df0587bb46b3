// What a query includes, at its limits and at the edges of a page. That it includes the right records for whom it may is
// tested on generated worlds (test/gateway/agreement.test.ts).
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { QUERY_LIMITS } from '../../../server/limits/queries.js';
import { parseQuery } from '../../support/parse-query.js';
import { call, openGateway, pathOf, policyOf, type Reply, type TestGateway } from '../../support/gateway.js';
import { loadLines } from '../../support/loaded-records.js';

const ada = { provider: 'orcid', subject: 'ada' };
const idOf = (n: number): string => `0190c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const MANY = QUERY_LIMITS.included;
const LARGE = 'x'.repeat(1_000_000);

const resource = (n: number, namespace: string, more: object = {}): object => ({
  ...{ family: 'resource', id: idOf(n), namespace, name: `r${String(n)}` },
  ...more,
});
const run = (n: number, slots: readonly number[], more: object = {}): object => ({
  ...{ family: 'process-run', id: idOf(n), namespace: '/labs/x', name: `run${String(n)}` },
  resources: Object.fromEntries(slots.map((slot) => [`s${String(slot)}`, idOf(slot)])),
  ...more,
});
const span = (first: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => first + n);

const LARGE_ONES = span(2_000, 10);
const RECORDS = [
  ...span(0, MANY + 1).map((n) => resource(n, '/labs')),
  ...LARGE_ONES.map((n) => resource(n, '/labs', { properties: { large: LARGE, small: n } })),
  { family: 'resource-template', id: idOf(3_000), namespace: '/labs', name: 'kind', version: '1', schema: {} },
  resource(3_001, '/labs/x', { template: idOf(3_000) }),
  resource(3_002, '/labs', { archivedAt: '2030-01-01T00:00:00.000Z', createdAt: '2029-01-01T00:00:00.000Z' }),
  run(4_000, span(0, MANY)),
  run(4_001, [MANY]),
  run(4_002, LARGE_ONES),
  run(4_003, [3_002, 5], { properties: { large: LARGE } }),
  ...span(4_004, 10).map((n) => run(n, [n - 4_000], { properties: { large: LARGE } })),
];

let open: TestGateway;
let key: string;
let narrow: string;

beforeAll(async () => {
  const policy = policyOf([[ada, '/', ['resource:read', 'resource-template:read', 'process-run:read']]]);
  open = await openGateway({ mode: { kind: 'serve', policy } });
  key = (await open.key()).text;
  narrow = (await open.key({ restrictions: [pathOf('/labs/x')] })).text;
  await loadLines(
    open.db,
    RECORDS.map((record) => JSON.stringify(record)),
  );
});
afterAll(async () => {
  await open.dispose();
});

const ask = (body: object, by = key): Promise<Reply> =>
  call(open.port, { key: by, body: { family: 'process-run', namespace: '/labs/x', ...body } });
const included = ({ json }: Reply): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  json?.['included'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
const named = (name: string): object => ({ where: { name: { eq: name } } });

describe('includes', () => {
  it('gives records by id, archived ones too, and only what was selected of them', async () => {
    const reply = await ask({
      ...named('run4003'),
      select: ['id'],
      includes: { resources: { select: ['name'] }, template: {} },
    });
    expect(reply.json).toMatchObject({ items: [{ id: idOf(4_003) }] });
    expect(included(reply)).toEqual({
      resources: { [idOf(3_002)]: { name: 'r3002' }, [idOf(5)]: { name: 'r5' } },
      template: {},
    });
  });

  it('leaves out what another credential of the same actor may not read, without a trace', async () => {
    const body = { family: 'resource', includes: { template: {}, namespace: {} }, ...named('r3001') };
    expect(Object.keys(included(await ask(body))['template'] ?? {})).toEqual([idOf(3_000)]);
    const reply = await ask(body, narrow);
    expect(reply.json).toMatchObject({ items: [{ name: 'r3001' }] });
    // Nobody of them may read namespaces.
    expect(included(reply)).toEqual({ template: {}, namespace: {} });
  });

  it('gives as many as a page may name, and refuses one more', async () => {
    const select = { select: ['id', 'name'] };
    const most = await ask({ ...named('run4000'), includes: { resources: select } });
    expect(Object.keys(included(most)['resources'] ?? {})).toHaveLength(MANY);
    const more = await ask({ where: { name: { in: ['run4000', 'run4001'] } }, includes: { resources: select } });
    expect([more.status, more.json?.['code']]).toEqual([400, 'query.limit']);
    expect(more.json?.['errors']).toMatchObject([{ pointer: '/includes/resources', code: 'query.limit' }]);
    const first = await ask({
      where: { name: { in: ['run4000', 'run4001'] } },
      includes: { resources: select },
      page: { size: 1 },
    });
    expect(first.status).toBe(200);
  });

  it('refuses more than fits into an answer, and gives parts of the same records', async () => {
    const more = await ask({ ...named('run4002'), includes: { resources: {} } });
    expect([more.status, more.json?.['code']]).toEqual([400, 'query.limit']);
    const parts = await ask({ ...named('run4002'), includes: { resources: { select: ['properties.small'] } } });
    expect(included(parts)['resources']?.[idOf(2_003)]).toEqual({ properties: { small: 2_003 } });
  });

  it('includes what the records of the page name, where the page ends early', async () => {
    const reply = await ask({
      where: { 'properties.large': { isNull: false } },
      includes: { resources: { select: ['id'] } },
    });
    const items = reply.json?.['items'] as readonly { readonly resources: object }[];
    expect(items.length).toBeGreaterThan(4);
    expect(items.length).toBeLessThan(11);
    expect(reply.json?.['page']).toMatchObject({ next: expect.any(String) });
    const ids = items.flatMap(({ resources }) => Object.values(resources) as readonly string[]);
    expect(Object.keys(included(reply)['resources'] ?? {}).sort()).toEqual([...new Set(ids)].sort());
  });

  it('has its members on a page without records and on one of size 0', async () => {
    for (const body of [named('none'), { page: { size: 0 } }]) {
      expect(included(await ask({ ...body, includes: { resources: {}, namespace: {} } }))).toEqual({
        resources: {},
        namespace: {},
      });
    }
    expect(included(await ask(named('run4001')))).toBeUndefined();
  });

  it.each([
    [{ parent: {} }, 'query.unknown_field', '/includes/parent'],
    [{ template: { select: ['nmae'] } }, 'query.unknown_field', '/includes/template/select/0'],
    [{ template: { fields: ['name'] } }, 'request.schema', '/includes/template/fields'],
    [{ template: true }, 'request.schema', '/includes/template'],
    [['template'], 'request.schema', '/includes'],
  ])('refuses %j', async (includes, code, pointer) => {
    const { json } = await ask({ includes });
    expect(json).toMatchObject({ code, errors: [{ pointer, code }] });
  });

  it('may change from page to page', () => {
    const body = { family: 'process-run', namespace: '/labs/x' };
    expect(parseQuery({ ...body, includes: { template: {} } }, 'query').digest).toBe(parseQuery(body, 'query').digest);
  });
});
