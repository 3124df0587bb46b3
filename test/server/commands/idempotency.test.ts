// Repeated requests, and what else may happen to one. Each row is an attack or an accident with its id, and the
// expected result. Whatever is done, is done once.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { type Answered, openCommandDoors, type Sending, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ACTORS = {
  ada: { '/': '*:*' },
  wes: { '/': '*:write' },
  ben: { '/': '*:*' },
  alice: { '/a': '*:*' },
};
const DAY = 86_400_000;

describeOnStores('a request', (store) => {
  const { doors, send } = useCommandDoors(store, ACTORS, ['/a', '/b']);
  let names = 0;
  const create = (sending: Sending, actor = 'ada'): Promise<Answered> => send('POST /api/v1/resources', sending, actor);
  const fresh = (): { readonly namespace: string; readonly name: string } => ({
    namespace: '/a',
    name: `n${String((names += 1))}`,
  });
  const countOf = async (name: string): Promise<number> => {
    const body = { family: 'resource', namespace: '/', reach: 'subtree', where: { name: { eq: name } } };
    return Number((await send('POST /api/v1/query/count', { body })).json['count']);
  };

  it('I01: is done once, however often it is sent', async () => {
    const body = fresh();
    const first = await create({ body, key: 'i01' });
    for (let times = 0; times < 20; times += 1) {
      const again = await create({ body, key: 'i01' });
      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(['etag', 'location', 'idempotency-replayed'].map(again.header)).toEqual([
        '"1"',
        first.header('location'),
        'true',
      ]);
    }
    expect(first.header('idempotency-replayed')).toBeUndefined();
    expect(await countOf(body.name)).toBe(1);
  });

  it('I01: is done once, however many are sent at once', async () => {
    const body = fresh();
    const answers = await Promise.all(Array.from({ length: 40 }, () => create({ body, key: 'i01-parallel' })));
    const told = new Set(answers.map((answer) => (answer.status === 201 ? answer.text : codeOf(answer))));
    const ids = [...told].filter((text) => text.startsWith('{'));
    expect(ids.length).toBe(1);
    expect([...told].filter((text) => !text.startsWith('{') && text !== '409 idempotency.in_progress')).toEqual([]);
    expect((await create({ body, key: 'i01-parallel' })).text).toBe(ids[0]);
    expect(await countOf(body.name)).toBe(1);
  });

  it('I02: with the same key and another body is another request, which has none', async () => {
    const { name } = fresh();
    const text = `{"namespace":"/a","name":"${name}","properties":{"n":1,"t":"x"}}`;
    const first = await create({ body: text, key: 'i02' });
    const alike = [
      `{"name":"${name}","namespace":"/a","properties":{"t":"x","n":1.0}}`,
      ` { "namespace" : "\\/a", "name":"${name}", "properties":{"n":10e-1,"t":"\\u0078"}}`,
    ];
    for (const body of alike) expect((await create({ body, key: 'i02' })).text).toBe(first.text);
    for (const body of [text.replace('1', '2'), text.replace('"x"', 'null'), text.replace(',"t":"x"', '')]) {
      expect(codeOf(await create({ body, key: 'i02' }))).toBe('422 idempotency.key_reused');
    }
    // What is told first of a refused request is told first here, too.
    expect(codeOf(await create({ body: { namespace: '/none', name }, key: 'i02' }))).toBe('404 namespace.not_found');
    expect(codeOf(await create({ body: { namespace: '/a' }, key: 'i02' }))).toBe('400 request.schema');
    expect(await countOf(name)).toBe(1);
  });

  it('I03: has a key of its own on each path, for each actor and each credential', async () => {
    const body = fresh();
    await doors().narrow('ada-at-a', 'ada', { restrictions: ['/a'] as never });
    const answers = [
      await create({ body, key: 'i03' }),
      await create({ body, key: 'i03' }, 'ben'),
      await create({ body, key: 'i03' }, 'ada-at-a'),
      await send('POST /api/v1/process-runs', { body, key: 'i03' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ json }) => json['id'])).size).toBe(4);
  });

  it('I04: is decided again when it is sent again', async () => {
    const body = fresh();
    const first = await create({ body, key: 'i04' });
    const copying = { body: { destination: '/b' }, key: 'i04-copy' };
    const path = `POST /api/v1/resources/${String(first.json['id'])}/copies`;
    const copied = await send(path, copying);
    expect([first.status, copied.status]).toEqual([201, 201]);
    doors().decree({ ...ACTORS, ada: { '/': '*:read' } });
    expect([codeOf(await create({ body, key: 'i04' })), codeOf(await send(path, copying))]).toEqual([
      '403 authz.denied',
      '403 authz.denied',
    ]);
    doors().decree({ ...ACTORS, ada: { '/': '*:write' } });
    const untold = await create({ body, key: 'i04' });
    expect([untold.status, untold.text]).toEqual([201, `{"id":"${String(first.json['id'])}","revision":1}`]);
    // The source of a copy has to be readable.
    expect(codeOf(await send(path, copying))).toBe('404 record.not_found');
    doors().decree({ ...ACTORS, ada: { '/a': '*:read', '/b': '*:write' } });
    expect((await send(path, copying)).text).toBe(`{"id":"${String(copied.json['id'])}","revision":1}`);
    doors().decree(ACTORS);
    expect((await create({ body, key: 'i04' })).text).toBe(first.text);
    expect((await send(path, copying)).text).toBe(copied.text);
  });

  it('I05: is the same after a restart, and another one when its answer has expired', async () => {
    const body = fresh();
    const first = await create({ body, key: 'i05' });
    const restarted = await openCommandDoors({ db: store.db, actors: {} });
    await restarted.close();
    const again = await create({ body, key: 'i05' });
    expect(again.text).toBe(first.text);
    const now = Date.now();
    doors().setTime(instantOf(now + DAY - 60_000));
    expect((await create({ body, key: 'i05' })).text).toBe(first.text);
    doors().setTime(instantOf(now + DAY + 60_000));
    const later = await create({ body, key: 'i05' });
    expect(later.status).toBe(201);
    expect(later.json['id']).not.toBe(first.json['id']);
    expect((await create({ body, key: 'i05' })).text).toBe(later.text);
    // Others that have expired are swept away by then.
    for (let times = 0; times < 10; times += 1) await create({ body: fresh() });
    const { rows } = await store.db.knex.raw<{ rows: readonly { n: string }[] }>(
      'SELECT count(*) AS n FROM kept_answers WHERE kept_until <= ?',
      [new Date(now + DAY + 60_000)],
    );
    expect(Number(rows[0]?.n)).toBe(0);
    doors().setTime(null);
  });

  it.each([
    ['no key', null],
    ['an empty one', ''],
    ['one of 10 KiB', 'k'.repeat(10_240)],
    ['one of 256 characters', 'k'.repeat(256)],
    ['a blank in it', 'a b'],
    ['letters of others', 'schlüssel'],
    ['a control character', 'a\u0001'],
  ])('I06: is refused with %s', async (_, key) => {
    expect(codeOf(await create({ body: fresh(), key }))).toBe('400 request.schema');
  });

  it('I06: is refused with two keys', async () => {
    const refused = await create({ body: fresh(), key: null, headers: { 'idempotency-key': ['1', '2'] } });
    expect(codeOf(refused)).toBe('400 request.malformed');
    const joined = await create({ body: fresh(), key: '1, 2' });
    expect(codeOf(joined)).toBe('400 request.schema');
  });

  it('I08: whose answer was lost is answered when it is sent again', async () => {
    const body = fresh();
    const leaving = new AbortController();
    const lost = create({ body, key: 'i08', gone: leaving.signal }).catch(() => null);
    await new Promise(setImmediate);
    leaving.abort();
    await lost;
    const again = await create({ body, key: 'i08' });
    expect(again.status).toBe(201);
    expect(await countOf(body.name)).toBe(1);
  });

  it('I09: changes the revision that it names or nothing', async () => {
    const { json } = await create({ body: fresh() });
    const path = `PATCH /api/v1/resources/${String(json['id'])}`;
    const body = { name: 'changed' };
    expect(codeOf(await send(path, { body }))).toBe('428 request.precondition_required');
    for (const ifMatch of ['*', '"1", "2"', 'W/"1"', '1', '""1"']) {
      expect([ifMatch, codeOf(await send(path, { body, ifMatch }))]).toEqual([ifMatch, '400 request.schema']);
    }
    for (const ifMatch of ['"0"', '"2"', '"01"', '""', '"1 "']) {
      const expected = ifMatch === '"1 "' ? '400 request.schema' : '412 record.precondition';
      expect([ifMatch, codeOf(await send(path, { body, ifMatch }))]).toEqual([ifMatch, expected]);
    }
    const twice = await send(path, { body, headers: { 'if-match': ['"1"', '"1"'] } });
    expect(codeOf(twice)).toBe('400 request.malformed');
    expect((await send(path, { body, ifMatch: 1 })).status).toBe(200);
  });

  it.each([
    'owner',
    'id',
    'createdAt',
    'createdBy',
    'updatedAt',
    'archivedAt',
    '_version',
    'revision',
    'copiedFrom',
    'family',
  ])('I10: sets nothing that is not its to set: %s', async (member) => {
    expect(codeOf(await create({ body: { ...fresh(), [member]: 'x' } }))).toBe('400 request.schema');
  });

  it('I10: has no key that is never accepted', async () => {
    const hostile = '{"namespace":"/a","name":"x","properties":{"__proto__":{"a":1}}}';
    expect(codeOf(await create({ body: hostile }))).toBe('400 request.forbidden_key');
  });

  it('I11: writes nowhere but where it may, and moves nothing', async () => {
    const refused = await create({ body: { namespace: '/b', name: 'x' } }, 'alice');
    expect([codeOf(refused), refused.json['step']]).toEqual(['403 authz.denied', 'no_matching_grant']);
    const { json } = await create({ body: { namespace: '/b', name: 'x' } });
    const moved = await send(`PATCH /api/v1/resources/${String(json['id'])}`, {
      body: { namespace: '/a' },
      ifMatch: 1,
    });
    expect(codeOf(moved)).toBe('400 request.schema');
    const hidden = await send(`PATCH /api/v1/resources/${String(json['id'])}`, { body: {}, ifMatch: 1 }, 'alice');
    expect(codeOf(hidden)).toBe('404 record.not_found');
  });

  it('I12: shows nothing that the actor may not read', async () => {
    const body = { ...fresh(), properties: { secret: 1 } };
    const made = await create({ body }, 'wes');
    expect(made.text).toMatch(/^\{"id":"[0-9a-f-]{36}","revision":1\}$/);
    const ids = { ifMatch: 1 };
    const path = `resources/${String(made.json['id'])}`;
    const changed = await send(`PATCH /api/v1/${path}`, { body: { description: 'x' }, ...ids }, 'wes');
    const archived = await send(`POST /api/v1/${path}/archive`, { ifMatch: 2 }, 'wes');
    for (const { text } of [changed, archived]) expect(text).not.toMatch(/secret|description|createdAt/);
  });

  it.each(['constructor', '__proto__', 'toString', '../x', '%2e%2e', 'Archive', 'archive/', ''])(
    'I13: that names the command %j is no request',
    async (name) => {
      const { json } = await create({ body: fresh() });
      const unknown = await send(`POST /api/v1/resources/${String(json['id'])}/unknown`, { ifMatch: 1 });
      const asked = await send(`POST /api/v1/resources/${String(json['id'])}/${name}`, { ifMatch: 1 });
      expect([asked.status, asked.text]).toEqual([404, unknown.text]);
    },
  );

  it('I16: keeps its order where clocks do not', async () => {
    const now = Date.now();
    doors().setTime(instantOf(now));
    const { json } = await create({ body: fresh() });
    doors().setTime(instantOf(now - 3_600_000));
    const id = String(json['id']);
    const changed = await send(`PATCH /api/v1/resources/${id}`, { body: {}, ifMatch: 1 });
    const archived = await send(`POST /api/v1/resources/${id}/archive`, { ifMatch: 2 });
    doors().setTime(null);
    expect([changed.json['updatedAt'], changed.json['revision']]).toEqual([json['updatedAt'], 2]);
    expect([archived.json['archivedAt'], archived.json['revision']]).toEqual([json['updatedAt'], 3]);
  });

  it('leaves one event in the outbox for what it does, none for what it does not', async () => {
    const events = async (id: unknown): Promise<readonly unknown[]> => {
      const { rows } = await store.db.knex.raw<{ rows: readonly { event: string }[] }>(
        'SELECT event FROM audit_outbox WHERE event LIKE ? ORDER BY position',
        [`%${String(id)}%`],
      );
      return rows.map(({ event }) => {
        const { kind, operation, outcome, status, grants } = JSON.parse(event) as Readonly<Record<string, unknown>>;
        return { kind, operation, outcome, status, grants };
      });
    };
    const body = fresh();
    const { json } = await create({ body, key: 'events' });
    await send(`PATCH /api/v1/resources/${String(json['id'])}`, { body: {}, ifMatch: 7 });
    await create({ body: { ...body, description: 'other' }, key: 'events' });
    const done = { outcome: 'allowed', grants: ['g1'] };
    expect(await events(json['id'])).toEqual([{ ...done, kind: 'command', operation: 'resource.create', status: 201 }]);
    await create({ body, key: 'events' });
    await send(`POST /api/v1/resources/${String(json['id'])}/copies`, { body: { destination: '/b' } });
    await send(`POST /api/v1/resources/${String(json['id'])}/archive`, { ifMatch: 1 });
    expect((await events(json['id'])).slice(1)).toEqual([
      { ...done, kind: 'query', operation: 'resource.read', status: 200 },
      { ...done, kind: 'command', operation: 'resource.copy', status: 201 },
      { ...done, kind: 'command', operation: 'resource.archive', status: 200 },
    ]);
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
