// Aggregates over HTTP: what is refused, with every fault at once, and what is too much for one answer. That their results are right, and
// that nothing invisible is in them, is in test/gateway/agreement.test.ts and non-interference.test.ts.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { openDatabase } from '../../../server/db/database.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('an aggregate', (store) => {
  let doors: CommandDoors;
  const ask = (body: object, actor = 'ada'): Promise<Answered> =>
    doors.send(actor, 'POST /api/v1/query/aggregate', { body: { family: 'resource', namespace: '/', ...body } });
  const faultsOf = ({ json }: Answered): readonly string[] =>
    (json['errors'] as { code: string; pointer: string }[]).map(({ code, pointer }) => `${code} ${pointer}`);
  /** Records with the properties of `of`, straight into the store. */
  const plant = async (path: string, count: number, of: string): Promise<void> => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
       SELECT gen_random_uuid(), 2, ?, 'r', ${of}, 1, now(), now(), 'test' FROM generate_series(1, ?) AS n`,
      [path, count],
    );
  };

  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' }, lab: { '/lab': 'resource:read' } } });
    for (const path of ['/lab', '/full', '/large', '/long'])
      await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  });

  afterAll(async () => {
    await doors.close();
  });

  const values = [{ count: true }];
  it.each([
    ['without values', {}, ['request.schema /values']],
    ['with no values', { values: [] }, ['request.schema /values']],
    ['with more than ten', { values: Array.from({ length: 11 }, () => ({ count: true })) }, ['request.schema /values']],
    ['of two kinds at once', { values: [{ count: true, min: 'name' }] }, ['request.schema /values/0']],
    ['of an unknown kind', { values: [{ avg: 'name' }] }, ['request.schema /values/0/avg']],
    ['that does not count', { values: [{ count: false }] }, ['request.schema /values/0/count']],
    ['in pages', { values, page: { size: 1 }, orderBy: [] }, ['request.schema /page', 'request.schema /orderBy']],
    [
      'of fields that cannot be',
      {
        groupBy: 'properties',
        values: [
          { sum: 'name' },
          { min: 'nmae' },
          { max: 'properties' },
          { sum: 'createdAt' },
          { min: 'properties.a.b.c.d.e' },
        ],
        where: { nmae: { eq: 1 } },
      },
      [
        'query.unknown_field /where/nmae',
        'query.type_mismatch /groupBy',
        'query.type_mismatch /values/0/sum',
        'query.unknown_field /values/1/min',
        'query.type_mismatch /values/2/max',
        'query.type_mismatch /values/3/sum',
        'query.too_complex /values/4/min',
      ],
    ],
  ])('%s is refused', async (_what, body, faults) => {
    const refused = await ask(body);
    expect([refused.status, faultsOf(refused)]).toEqual([400, faults]);
  });

  it('has as many groups as there may be, and one more is refused', async () => {
    await plant('/full/', 1_000, "jsonb_build_object('n', n)");
    const full = await ask({
      namespace: '/full',
      groupBy: 'properties.n',
      values: [...values, { sum: 'properties.n' }],
    });
    const groups = full.json['groups'] as readonly { readonly key: number; readonly values: readonly number[] }[];
    expect(groups).toEqual(Array.from({ length: 1_000 }, (_, n) => ({ key: n + 1, values: [1, n + 1] })));
    await plant('/full/', 1, "'{}'");
    const refused = await ask({ namespace: '/full', groupBy: 'properties.n', values });
    expect([refused.status, faultsOf(refused)]).toEqual([400, ['query.limit /groupBy']]);
    const narrowed = { where: { 'properties.n': { lt: 3 } }, groupBy: 'properties.n', values };
    expect((await ask({ namespace: '/full', ...narrowed })).json['groups']).toHaveLength(2);
    // Whoever may not see that record does not see it in this, either.
    expect((await ask({ namespace: '/lab', values }, 'lab')).json['groups']).toEqual([{ values: [0] }]);
  });

  it('of keys that are too large for an answer is refused', async () => {
    await plant('/large/', 20, "jsonb_build_object('text', repeat('x', 500000) || n)");
    const refused = await ask({ namespace: '/large', groupBy: 'properties.text', values });
    expect([refused.status, faultsOf(refused)]).toEqual([400, ['query.limit /groupBy']]);
    const whole = await ask({ namespace: '/large', values: [{ max: 'properties.text' }, { count: true }] });
    expect((whole.json['groups'] as { values: unknown[] }[])[0]?.values[1]).toBe(20);
    await plant('/large/', 1, "jsonb_build_object('text', repeat('y', 900000))");
    const large = await ask({
      namespace: '/large',
      values: Array.from({ length: 10 }, () => ({ max: 'properties.text' })),
    });
    expect([large.status, faultsOf(large)]).toEqual([400, ['query.limit /values']]);
  });

  it('ends itself when its time is up, also once all records have been read', async () => {
    // A PostgreSQL server stops it.
    if (store.name !== 'embedded') return;
    const text = "(SELECT string_agg(md5(n || '-' || i), '') FROM generate_series(1, 15000) AS i)";
    await plant('/long/', 40, `jsonb_build_object('n', n, 'text', ${text})`);
    const statementTimeout = 900;
    const db = await openDatabase({ ...store.config, statementTimeout });
    const hasty = await openCommandDoors({ db, actors: { ada: { '/': '*:*' } } });
    const body = { family: 'resource', namespace: '/long', groupBy: 'properties.n' };
    for (const count of [8, 9, 10]) {
      const texts = Array.from({ length: count }, () => ({ max: 'properties.text' }));
      const begun = performance.now();
      const { status } = await hasty.send('ada', 'POST /api/v1/query/aggregate', { body: { ...body, values: texts } });
      // Then it would have been given up, and the engine would still be busy with it.
      expect(performance.now() - begun).toBeLessThan(statementTimeout);
      expect([400, 504]).toContain(status);
    }
    await hasty.close();
    await db.close();
  });

  it('adds up decimals exactly, and tells numbers from strings', async () => {
    const made = async (n: unknown): Promise<void> => {
      const { status } = await doors.send('ada', 'POST /api/v1/resources', {
        body: { namespace: '/lab', name: 'x', properties: { n } },
      });
      expect(status).toBe(201);
    };
    for (const n of [0.1, 0.2, 1, '1', true, null, [1]]) await made(n);
    const answer = await ask({ namespace: '/lab', groupBy: 'properties.n', values: [{ count: true }] }, 'lab');
    expect(answer.json['groups']).toEqual(
      [0.1, 0.2, 1, '1', true, null].map((key) => ({ key, values: [key === null ? 2 : 1] })),
    );
    const all = await ask({
      namespace: '/lab',
      values: [{ sum: 'properties.n' }, { min: 'properties.n' }, { max: 'properties.n' }],
    });
    expect(all.text).toContain('"groups":[{"values":[1.3,0.1,true]}]');
    const none = await ask({
      namespace: '/lab',
      where: { name: { eq: 'y' } },
      values: [{ sum: 'revision' }, { min: 'name' }],
    });
    expect(none.json['groups']).toEqual([{ values: [0, null] }]);
  });
});
