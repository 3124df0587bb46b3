// Records that go to another namespace, and records that go for good: what is decided, what refers to what, what others learn of it, and
// what a repeated request does.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { afterRead } from '../../support/after-read.js';
import { type Answered, type Sending, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';
const DAY = 86_400_000;
const ACTORS = {
  ada: { '/': '*:*' },
  wes: { '/': '*:write' },
  ray: { '/': '*:read' },
  una: {},
  // Writes at both places and reads at one.
  half: { '/a': 'resource:write', '/b': 'resource:read resource:write' },
  // Reads and writes at one, and at the other only reads.
  leaver: { '/a': 'resource:read resource:write', '/b': 'resource:read' },
  staff: { '/a': 'resource:read', '/b': 'resource:read resource:write' },
  // Sees nothing of what is below.
  top: { '/a': 'resource:read resource:write', '/b': 'resource:write' },
};

describeOnStores('records that move and end', (store) => {
  const { doors, send, make } = useCommandDoors(store, ACTORS, ['/a', '/a/b', '/a/b/c', '/a/x', '/b', '/old']);
  const move = (path: string, namespace: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send(`POST /api/v1/${path}/move`, { body: { namespace }, ifMatch: 1, ...sending }, actor);
  const events = async (): Promise<readonly { readonly operation: string; readonly access: object }[]> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly { event: string }[] }>(
      'DELETE FROM audit_outbox RETURNING event',
    );
    return rows.map(({ event }) => JSON.parse(event) as never);
  };

  beforeAll(async () => {
    await send('POST /api/v1/namespaces/old/archive', { ifMatch: 1 });
  });

  describe('a move', () => {
    it('keeps everything but the namespace and leaves one event', async () => {
      const id = await make('resources', { namespace: '/a', name: 'lens', properties: { n: 1 } });
      const before = await send(`GET /api/v1/resources/${id}`);
      await events();
      const moved = await move(`resources/${id}`, 'b/');
      expect([moved.status, moved.header('etag')]).toEqual([200, '"2"']);
      expect(moved.json).toEqual({
        ...before.json,
        namespace: '/b',
        revision: 2,
        updatedAt: expect.any(String),
      });
      expect((await send(`GET /api/v1/resources/${id}`)).text).toBe(moved.text);
      expect(await events()).toEqual([
        expect.objectContaining({
          operation: 'resource.move',
          access: { destination: '/b', family: 'resource', moves: true, source: '/a' },
          records: [id],
          outcome: 'allowed',
        }),
      ]);
      for (const [namespace, count] of [
        ['/a', 0],
        ['/b', 1],
      ] as const) {
        const body = { family: 'resource', namespace, reach: 'exact', where: { id: { eq: id } } };
        expect((await send('POST /api/v1/query/count', { body })).json['count']).toBe(count);
        const { rows } = await store.db.knex.raw<{ rows: { n: string; m: string }[] }>(
          `SELECT (SELECT COALESCE(sum(active), 0) FROM record_counts WHERE family = 2 AND path = ?) AS n,
            (SELECT count(*) FROM records WHERE family = 2 AND archived_at IS NULL AND path = ?) AS m`,
          [`${namespace}/`, `${namespace}/`],
        );
        expect(rows[0]?.n).toBe(rows[0]?.m);
      }
      // The same once more is another change, which has the wrong revision.
      expect((await move(`resources/${id}`, '/b')).json['code']).toBe('record.precondition');
    });

    it.each([
      ['who may neither read nor write', 'una', '/b', 404, 'record.not_found', undefined],
      [
        'who may write and not read, so that nobody moves a record to where it can be read',
        'wes',
        '/b',
        404,
        'record.not_found',
        undefined,
      ],
      ['who may write at both places and read at the other', 'half', '/b', 404, 'record.not_found', undefined],
      ['who may read and not write', 'ray', '/b', 403, 'authz.denied', 'no_matching_grant'],
      ['who may write there and not here', 'staff', '/b', 403, 'authz.denied', 'no_matching_grant'],
      ['who may write here and not there', 'leaver', '/b', 403, 'authz.denied', 'destination_write'],
      [
        'where there is nothing, whoever may not write there',
        'leaver',
        '/none',
        403,
        'authz.denied',
        'destination_write',
      ],
      ['where there is nothing', 'ada', '/none', 404, 'namespace.not_found', undefined],
      ['where everything is archived', 'ada', '/old', 409, 'record.archived', undefined],
      ['to no path', 'ada', '/B', 400, 'namespace.invalid', undefined],
    ])('is refused to %s', async (_who, actor, to, status, code, step) => {
      const id = await make('resources', { namespace: '/a', name: 'kept' });
      const refused = await move(`resources/${id}`, to, {}, actor);
      expect([refused.status, refused.json['code'], refused.json['step']]).toEqual([status, code, step]);
      if (status === 404 && code === 'record.not_found')
        expect(refused.text).toBe((await move(`resources/${ABSENT}`, to, {}, actor)).text);
      expect((await send(`GET /api/v1/resources/${id}`)).json).toMatchObject({ namespace: '/a', revision: 1 });
    });

    it('of an archived record, without a revision or with a wrong one is refused', async () => {
      const id = await make('resources', { namespace: '/a', name: 'kept' });
      expect((await send(`POST /api/v1/resources/${id}/move`, { body: { namespace: '/b' } })).status).toBe(428);
      expect((await move(`resources/${id}`, '/b', { ifMatch: 2 })).status).toBe(412);
      await send(`POST /api/v1/resources/${id}/archive`, { ifMatch: 1 });
      expect((await move(`resources/${id}`, '/b', { ifMatch: 2 })).json['code']).toBe('record.archived');
    });

    it('needs references that the destination may have', async () => {
      const schema = {};
      const template = await make('resource-templates', { namespace: '/a', name: 't', version: '1', schema });
      const made = await make('resources', { namespace: '/a/b', name: 'made', template });
      const refused = await move(`resources/${made}`, '/b');
      expect([refused.status, refused.json['code'], refused.json['errors']]).toEqual([
        422,
        'reference.not_found',
        [expect.objectContaining({ pointer: '/namespace' })],
      ]);
      expect((await move(`resources/${made}`, '/a/x')).status).toBe(200);
      const run = await make('process-runs', { namespace: '/a/x', resources: { sample: made } });
      expect((await move(`process-runs/${run}`, '/a/b')).status).toBe(422);
    });

    it('leaves nothing behind that refers to it, as far as the actor sees', async () => {
      const schema = {};
      const template = await make('resource-templates', { namespace: '/a', name: 't', version: '1', schema });
      const slotted = await make('process-templates', {
        namespace: '/a/b',
        name: 'p',
        version: '1',
        schema,
        slots: [{ name: 'in', template }],
      });
      const sample = await make('resources', { namespace: '/a', name: 's', template });
      const run = await make('process-runs', { namespace: '/a/b/c', template: slotted, resources: { in: sample } });
      const refusals: readonly (readonly [string, string, string])[] = [
        [`resource-templates/${template}`, '/a/b', sample],
        [`process-templates/${slotted}`, '/a/x', run],
        [`resources/${sample}`, '/a/x', run],
      ];
      for (const [path, to, named] of refusals) {
        const refused = await move(path, to);
        expect([path, refused.status, refused.json['code']]).toEqual([path, 409, 'record.referenced']);
        expect(refused.text).toContain(named);
      }
      // All that refers to it is at or below.
      expect((await move(`resources/${sample}`, '/a/b')).status).toBe(200);
      expect((await move(`process-templates/${slotted}`, '/a/b/c')).status).toBe(200);
      // Upwards it always is.
      expect((await move(`resource-templates/${template}`, '/')).status).toBe(200);
    });

    it('says nothing about what the actor may not see', async () => {
      const ids = await Promise.all(['seen', 'unseen'].map((name) => make('resources', { namespace: '/a', name })));
      const [alone = '', used = ''] = ids;
      await make('process-runs', { namespace: '/a/b', resources: { in: used } });
      const answers = await Promise.all([alone, used].map((id) => move(`resources/${id}`, '/b', {}, 'top')));
      expect(answers.map(({ status, json }) => [status, Object.keys(json)])).toEqual([
        [200, ['id', 'revision']],
        [200, ['id', 'revision']],
      ]);
      expect((await send(`GET /api/v1/resources/${used}`)).json['namespace']).toBe('/b');
    });

    it('stands in a batch, and what comes after it finds the record in its new place', async () => {
      const ids = [
        await make('resources', { namespace: '/a', name: 'one' }),
        await make('resources', { namespace: '/a', name: 'two' }),
      ];
      const path = `/api/v1/resources/${ids[0] ?? ''}`;
      const commands = [
        { method: 'POST', path: `${path}/move`, body: { namespace: '/b' }, ifMatch: '"1"' },
        { method: 'PATCH', path, body: { name: 'moved' }, ifMatch: '"2"' },
        {
          method: 'POST',
          path: `/api/v1/resources/${ids[1] ?? ''}/move`,
          body: { namespace: '/none' },
          ifMatch: '"1"',
        },
      ];
      const refused = await send('POST /api/v1/batch', { body: { commands } });
      expect([refused.status, refused.json['command']]).toEqual([404, 2]);
      const done = await send('POST /api/v1/batch', { body: { commands: commands.slice(0, 2) }, key: 'moved' });
      expect(done.json['results']).toMatchObject([
        { body: { namespace: '/b' } },
        { body: { namespace: '/b', revision: 3 } },
      ]);
      const again = await send('POST /api/v1/batch', { body: { commands: commands.slice(0, 2) }, key: 'moved' });
      expect([again.text, again.header('idempotency-replayed')]).toEqual([done.text, 'true']);
    });

    it('is done once by many who try at the same time', async () => {
      const id = await make('resources', { namespace: '/a', name: 'raced' });
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) => move(`resources/${id}`, n % 2 === 0 ? '/b' : '/a/x')),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 11 }, () => 412)]);
      const won = answers.find(({ status }) => status === 200);
      expect((await send(`GET /api/v1/resources/${id}`)).text).toBe(won?.text);
    });

    it('that comes between the decision and the lock is noticed', async () => {
      const id = await make('resources', { namespace: '/a', name: 'chased' });
      const [moved, ...changed] = await Promise.all([
        move(`resources/${id}`, '/b'),
        ...Array.from({ length: 8 }, () =>
          send(`PATCH /api/v1/resources/${id}`, { body: { description: 'x' }, ifMatch: 1 }, 'leaver'),
        ),
      ]);
      // Who wrote in the old place may not write in the new one, whenever that was decided.
      for (const { status } of changed) expect([200, 403, 412]).toContain(status);
      expect(moved.status === 200 || changed.some(({ status }) => status === 200)).toBe(true);
      const now = (await send(`GET /api/v1/resources/${id}`)).json;
      expect(now['revision']).toBe(2);
    });
  });

  describe('a deletion', () => {
    const archived = async (collection = 'resources', body: object = {}): Promise<string> => {
      const id = await make(collection, { namespace: '/a', name: 'secret content', ...body });
      await send(`POST /api/v1/${collection}/${id}/archive`, { ifMatch: 1 });
      return id;
    };
    const remove = (id: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
      send(`DELETE /api/v1/resources/${id}`, { ifMatch: 2, ...sending }, actor);

    it('leaves the id, a revision and an event, and nothing of the content', async () => {
      const id = await archived();
      await events();
      const gone = await remove(id);
      expect([gone.status, gone.json, gone.header('etag')]).toEqual([200, { id, revision: 3 }, undefined]);
      expect(await events()).toEqual([
        expect.objectContaining({
          operation: 'resource.delete',
          access: { context: '/a', family: 'resource', scope: 'resource:write', target: '/a' },
          records: [id],
        }),
      ]);
      const { rows } = await store.db.knex.raw<{ rows: object[] }>('SELECT * FROM tombstones WHERE id = ?::uuid', [id]);
      expect(rows).toEqual([{ id, family: 2, path: '/a/', revision: 3, deleted_at: expect.anything() }]);
      const absent = await send(`GET /api/v1/resources/${ABSENT}`);
      for (const request of [
        `GET /api/v1/resources/${id}`,
        `PATCH /api/v1/resources/${id}`,
        `POST /api/v1/resources/${id}/restore`,
      ]) {
        const body = request.startsWith('PATCH') ? { body: {} } : {};
        const sent = request.startsWith('GET') ? {} : { ifMatch: 3, ...body };
        expect((await send(request, sent)).text).toBe(absent.text);
      }
      const body = { family: 'resource', namespace: '/a', includeArchived: true, where: { id: { eq: id } } };
      expect((await send('POST /api/v1/query/count', { body })).json['count']).toBe(0);
    });

    it('repeated with the same revision gives the same answer, and with another none', async () => {
      const id = await archived();
      const answers = await Promise.all(Array.from({ length: 8 }, () => remove(id)));
      expect(new Set(answers.map(({ status, text }) => `${String(status)} ${text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(200);
      const absent = (await remove(ABSENT)).text;
      expect((await remove(id, { ifMatch: 3 })).text).toBe(absent);
      for (const actor of ['ray', 'una']) expect((await remove(id, {}, actor)).text).toBe(absent);
      expect((await remove(id, {}, 'wes')).json).toEqual({ id, revision: 3 });
    });

    it.each([
      ['who may neither read nor write', 'una', 2, 404, 'record.not_found'],
      ['who may only read', 'ray', 2, 403, 'authz.denied'],
      ['with a wrong revision', 'ada', 1, 412, 'record.precondition'],
    ])('is refused to %s', async (_who, actor, ifMatch, status, code) => {
      const id = await archived();
      const refused = await remove(id, { ifMatch }, actor);
      expect([refused.status, refused.json['code']]).toEqual([status, code]);
      if (status === 404) expect(refused.text).toBe((await remove(ABSENT, { ifMatch }, actor)).text);
      expect((await send(`GET /api/v1/resources/${id}`)).status).toBe(200);
    });

    it('needs a revision, and an archived record', async () => {
      const id = await make('resources', { namespace: '/a', name: 'active' });
      expect((await send(`DELETE /api/v1/resources/${id}`)).status).toBe(428);
      expect((await remove(id, { ifMatch: 1 })).json['code']).toBe('record.active');
      expect((await remove(id, { ifMatch: 1, body: {} })).status).toBe(400);
    });

    it('leaves references that lead nowhere, whoever may see them', async () => {
      const id = await make('resources', { namespace: '/a', name: 'used' });
      const run = await make('process-runs', { namespace: '/a/b', resources: { in: id } });
      await send(`POST /api/v1/resources/${id}/archive`, { ifMatch: 1 });
      expect((await remove(id, {}, 'top')).status).toBe(200);
      expect((await send(`GET /api/v1/process-runs/${run}`)).json['resources']).toEqual({ in: id });
      const copied = await send(`POST /api/v1/process-runs/${run}/copies`, { body: { destination: '/a/b' } });
      expect(copied.json['code']).toBe('reference.not_found');
    });

    it('ends what was kept under a key: the answer says only that there was a record', async () => {
      const body = { namespace: '/a', name: 'secret content' };
      const made = await send('POST /api/v1/resources', { body, key: 'once' });
      const id = String(made.json['id']);
      expect((await send('POST /api/v1/resources', { body, key: 'once' })).text).toBe(made.text);
      await send(`POST /api/v1/resources/${id}/archive`, { ifMatch: 1 });
      await remove(id);
      const replayed = await send('POST /api/v1/resources', { body, key: 'once' });
      expect([replayed.status, replayed.json]).toEqual([201, { id, revision: 1 }]);
    });

    it('stands in a batch with what archives the record', async () => {
      const id = await make('resources', { namespace: '/a', name: 'both' });
      const path = `/api/v1/resources/${id}`;
      const commands = [
        { method: 'POST', path: `${path}/archive`, ifMatch: '"1"' },
        { method: 'DELETE', path, ifMatch: '"2"' },
      ];
      const done = await send('POST /api/v1/batch', { body: { commands } });
      expect(done.json['results']).toMatchObject([{ status: 200 }, { status: 200, body: { id, revision: 3 } }]);
    });
  });

  describe('a request under a key that was done is answered again, and not as if there had been no record,', () => {
    const batch = (commands: readonly object[], key: string, actor?: string): Promise<Answered> =>
      send('POST /api/v1/batch', { body: { commands }, key }, actor);
    const bodies = ({ json }: Answered): readonly unknown[] =>
      (json['results'] as readonly { readonly body: unknown }[]).map(({ body }) => body);
    const remove = async (id: string): Promise<void> => {
      const archived = await send(`POST /api/v1/resources/${id}/archive`, { ifMatch: 1 });
      const deleted = await send(`DELETE /api/v1/resources/${id}`, { ifMatch: 2 });
      expect([archived.status, deleted.status]).toEqual([200, 200]);
    };

    it('if it deleted what it changed and copied', async () => {
      const id = await make('resources', { namespace: '/a', name: 'brief' });
      const path = `/api/v1/resources/${id}`;
      const commands = [
        { method: 'POST', path: `${path}/copies`, body: { destination: '/b' } },
        { method: 'POST', path: `${path}/move`, body: { namespace: '/a/b' }, ifMatch: '"1"' },
        { method: 'POST', path: `${path}/archive`, ifMatch: '"2"' },
        { method: 'DELETE', path, ifMatch: '"3"' },
      ];
      const all = await Promise.all(Array.from({ length: 12 }, () => batch(commands, 'brief')));
      // Nobody is told that there is no record, whenever it came.
      const refused = all.filter(({ status }) => status !== 200).map(({ json }) => json['code']);
      expect(refused.filter((code) => code !== 'idempotency.in_progress')).toEqual([]);
      const [done] = all.filter(({ status, header }) => status === 200 && header('idempotency-replayed') === undefined);
      if (done === undefined) throw new Error('all were repetitions');
      const [copied] = bodies(done);
      const again = await batch(commands, 'brief');
      expect([again.status, again.header('idempotency-replayed')]).toEqual([200, 'true']);
      expect(bodies(again)).toEqual([copied, ...[2, 3, 4].map((revision) => ({ id, revision }))]);
      const other = await batch(commands.slice(0, 2), 'brief');
      expect([other.json['code'], other.json['command']]).toEqual(['record.not_found', 0]);
    });

    it.each([2, 1])(
      'if it moved the record to where the actor may not read, as the last of %d commands',
      async (size) => {
        const id = await make('resources', { namespace: '/a/x', name: 'given away' });
        const path = `/api/v1/resources/${id}`;
        const moved = { method: 'POST', path: `${path}/move`, body: { namespace: '/b' }, ifMatch: `"${String(size)}"` };
        const changed = { method: 'PATCH', path, body: { name: 'given' }, ifMatch: '"1"' };
        const commands = [changed, moved].slice(-size);
        const key = `given-${String(size)}`;
        const done = await batch(commands, key, 'top');
        expect(bodies(done).at(-1)).toEqual({ id, revision: size + 1 });
        const again = await batch(commands, key, 'top');
        expect([again.status, bodies(again).at(-1)]).toEqual([200, bodies(done).at(-1)]);
        // Whoever may not write there any more learns nothing of where it is.
        doors().decree({ ...ACTORS, top: { '/a': 'resource:*' } });
        const refused = await batch(commands, key, 'top');
        expect([refused.json['code'], refused.json['command']]).toEqual(['record.not_found', 0]);
        doors().decree(ACTORS);
      },
    );

    it('if what it copied or made has been deleted since', async () => {
      const source = await make('resources', { namespace: '/a', name: 'copied before' });
      const copying = { body: { destination: '/b' }, key: 'copied-before' };
      const copied = await send(`POST /api/v1/resources/${source}/copies`, copying);
      await remove(source);
      expect((await send(`POST /api/v1/resources/${source}/copies`, copying)).text).toBe(copied.text);
      const unkeyed = await send(`POST /api/v1/resources/${source}/copies`, { body: copying.body });
      expect(unkeyed.json['code']).toBe('record.not_found');
      const commands = [
        { method: 'POST', path: '/api/v1/resources', body: { namespace: '/a', name: 'made' }, as: 'r' },
        { method: 'POST', path: '/api/v1/resources/$r/copies', body: { destination: '/b' } },
      ];
      const done = await batch(commands, 'made');
      const [made, second] = bodies(done) as readonly { readonly id: string }[];
      await remove(String(made?.id));
      expect(bodies(await batch(commands, 'made'))).toEqual([{ id: made?.id, revision: 1 }, second]);
    });

    it('but not with the answer to another, which took the key once it had expired', async () => {
      const source = await make('resources', { namespace: '/a', name: 'copied long ago' });
      const copying = [{ method: 'POST', path: `/api/v1/resources/${source}/copies`, body: { destination: '/b' } }];
      const other = [{ method: 'POST', path: '/api/v1/resources', body: { namespace: '/b', name: 'another' } }];
      expect((await batch(copying, 'twice')).status).toBe(200);
      await remove(source);
      const end = afterRead(store.db, 'SELECT pg_try_advisory_xact_lock', async () => {
        doors().setTime(instantOf(Date.now() + 2 * DAY));
        expect((await batch(other, 'twice')).status).toBe(200);
      });
      const again = await batch(copying, 'twice');
      end();
      doors().setTime(null);
      expect([again.status, again.json['code']]).toEqual([404, 'record.not_found']);
    });
  });
});
