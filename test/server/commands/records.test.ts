// Records of the four families that are made in a namespace: made, referred to, judged by templates, changed, archived.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answered, type Sending, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';
const SCHEMA = { type: 'object', properties: { n: { type: 'number', maximum: 9 } }, required: ['n'] };

describeOnStores('records', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    wes: { '/': '*:write' },
    ray: { '/': '*:read' },
    una: {},
    // Writes resources in a lab and reads templates there, none of those above.
    lab: { '/labs/optics': 'resource:* resource-template:read process-run:*' },
    blind: { '/labs': 'resource:*' },
  };
  const { send, make } = useCommandDoors(store, actors, ['/labs', '/labs/optics', '/labs/laser', '/labs/optics/deep']);
  const create = (collection: string, body: object, actor = 'ada'): Promise<Answered> =>
    send(`POST /api/v1/${collection}`, { body }, actor);
  const patch = (path: string, body: object, sending: Sending & { actor?: string } = {}): Promise<Answered> =>
    send(`PATCH /api/v1/${path}`, { body, ifMatch: 1, ...sending }, sending.actor);

  let template = '';
  let broken = '';
  beforeAll(async () => {
    template = await make('resource-templates', { namespace: '/labs', name: 't', version: '1', schema: SCHEMA });
    // As `load --schemas unchecked` and earlier releases let it in.
    broken = ABSENT.replace('dead', 'b0b0');
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, version, schema, revision, created_at, updated_at, created_by)
       VALUES (?::uuid, 1, '/labs/', 'broken', '{}', '1', '{"$ref":"#/nowhere"}', 1, now(), now(), 'load')`,
      [broken],
    );
  });

  it('are made with what the body says and nothing else', async () => {
    const made = await create('process-runs', {
      namespace: 'labs/optics/',
      parameters: { deep: { list: [1, null, 'x'] } },
      properties: { big: 6.02e23, tiny: 5e-324 },
    });
    expect(made.status).toBe(201);
    expect(made.header('location')).toBe(`/api/v1/process-runs/${String(made.json['id'])}`);
    expect(made.header('etag')).toBe('"1"');
    expect(made.json).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as unknown,
      namespace: '/labs/optics',
      name: null,
      description: null,
      properties: { big: 6.02e23, tiny: 5e-324 },
      template: null,
      parameters: { deep: { list: [1, null, 'x'] } },
      resources: {},
      state: 'pending',
      createdBy: 'ada',
      archivedAt: null,
    });
    const read = await send(`GET /api/v1/process-runs/${String(made.json['id'])}`);
    expect([read.text, read.header('etag')]).toEqual([made.text, '"1"']);
  });

  it.each([
    ['resources', {}, '400 request.schema'],
    ['resources', { namespace: '/labs' }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: '' }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: 'ä'.repeat(600) }, '400 request.schema'],
    ['resources', { namespace: '/Labs', name: 'r' }, '400 namespace.invalid'],
    ['resources', { namespace: '', name: 'r' }, '400 namespace.invalid'],
    ['resources', { namespace: '/labs', name: 'r', id: ABSENT }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: 'r', createdAt: '2027-01-01T00:00:00Z' }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: 'r', properties: [] }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: 'r', template: 'x' }, '400 request.schema'],
    ['resources', { namespace: '/labs', name: 'r', version: '1' }, '400 request.schema'],
    ['resources', '{"namespace":"/labs","name":"r","properties":{"n":9007199254740993}}', '400 request.malformed'],
    ['resources', '{"namespace":"/labs","name":"r","properties":{"n":1e999}}', '400 request.malformed'],
    ['resources', '{"namespace":"/labs","name":"r","properties":{"a":{"__proto__":1}}}', '400 request.forbidden_key'],
    ['resources', '{"namespace":"/labs","name":"r","name":"s"}', '400 request.duplicate_key'],
    ['process-runs', { namespace: '/labs', state: 'done' }, '400 request.schema'],
    ['process-runs', { namespace: '/labs', resources: { 'A slot': ABSENT } }, '400 request.schema'],
    ['resource-templates', { namespace: '/labs', name: 't', version: '1' }, '400 request.schema'],
    ['resource-templates', { namespace: '/labs', name: 't', schema: {} }, '400 request.schema'],
    [
      'process-templates',
      { namespace: '/labs', name: 't', version: '1', schema: {}, slots: [{ name: 'a' }, { name: 'a' }] },
      '400 request.schema',
    ],
    [
      'resource-templates',
      { namespace: '/labs', name: 't', version: '1', schema: { $async: true, required: ['n'] } },
      '422 record.invalid',
    ],
    ['resources', { namespace: '/none', name: 'r' }, '404 namespace.not_found'],
    ['resources', { namespace: '/labs', name: 'r', template: ABSENT }, '422 reference.not_found'],
  ])('are not made in %s of %j: %s', async (collection, body, expected) => {
    expect(codeOf(await send(`POST /api/v1/${collection}`, { body }))).toBe(expected);
  });

  it('are decided before anything is known of their namespace', async () => {
    for (const namespace of ['/labs', '/none']) {
      for (const actor of ['ray', 'una']) {
        const refused = await create('resources', { namespace, name: 'r', template: ABSENT }, actor);
        expect([codeOf(refused), refused.json['step']]).toEqual(['403 authz.denied', 'no_matching_grant']);
      }
    }
    expect(codeOf(await create('resources', { namespace: '/none', name: 'r' }, 'wes'))).toBe('404 namespace.not_found');
  });

  describe('refer to', () => {
    const reasons = async (body: object, actor = 'ada'): Promise<unknown> => {
      const answer = await create('resources', { name: 'r', ...body }, actor);
      return answer.status === 201 ? 201 : [codeOf(answer), answer.json['errors']];
    };
    const missing = (pointer: string, family = 'resource-template'): unknown => [
      '422 reference.not_found',
      [
        {
          pointer,
          code: 'reference.not_found',
          message: `is not the id of a ${family} that you may read, at the namespace or above it and not archived`,
        },
      ],
    ];

    it('what is in their lineage, may be read and is not archived; all else is one', async () => {
      const properties = { n: 1 };
      expect(await reasons({ namespace: '/labs/optics', template, properties })).toBe(201);
      expect(await reasons({ namespace: '/labs', template: template.toUpperCase(), properties })).toBe(201);
      expect(await reasons({ namespace: '/', template, properties })).toEqual(missing('/template'));
      // Read at the lab, which does not open those above.
      expect(await reasons({ namespace: '/labs/optics', template, properties }, 'lab')).toEqual(missing('/template'));
      expect(await reasons({ namespace: '/labs/optics', template, properties }, 'wes')).toEqual(missing('/template'));
      const here = { namespace: '/labs/optics', name: 't', version: '1', schema: {} };
      const own = await make('resource-templates', here);
      expect(await reasons({ namespace: '/labs/optics', template: own }, 'lab')).toBe(201);
      expect(await reasons({ namespace: '/labs/optics/deep', template: own })).toBe(201);
      expect(await reasons({ namespace: '/labs/laser', template: own })).toEqual(missing('/template'));
      await send(`POST /api/v1/resource-templates/${own}/archive`, { ifMatch: 1 });
      expect(await reasons({ namespace: '/labs/optics', template: own })).toEqual(missing('/template'));
      const resource = await make('resources', { namespace: '/labs', name: 'r' });
      expect(await reasons({ namespace: '/labs', template: resource })).toEqual(missing('/template'));
    });

    it('several things at once, and each is reported', async () => {
      const slots = [
        { name: 'a', template },
        { name: 'b', template: ABSENT },
        { name: 'c' },
        { name: 'd', template: ABSENT },
      ];
      const body = { namespace: '/labs', name: 't', version: '1', schema: {}, slots };
      const refused = await create('process-templates', body);
      const pointers = (refused.json['errors'] as readonly { pointer: string }[]).map(({ pointer }) => pointer);
      expect([codeOf(refused), pointers]).toEqual([
        '422 reference.not_found',
        ['/slots/1/template', '/slots/3/template'],
      ]);
      const made = await create('process-templates', { ...body, slots: slots.slice(0, 1) });
      expect(made.json['slots']).toEqual([{ name: 'a', template, required: false }]);
      const resource = await make('resources', { namespace: '/labs', name: 'r', template, properties: { n: 1 } });
      const run = await create('process-runs', {
        namespace: '/labs/optics',
        template: made.json['id'],
        resources: { a: resource.toUpperCase() },
      });
      expect(run.json).toMatchObject({ template: made.json['id'], resources: { a: resource } });
    });
  });

  describe('are judged by their template', () => {
    it('when they are made, with a pointer for each place', async () => {
      const body = { namespace: '/labs', name: 'r', template };
      const errorsOf = async (properties: object): Promise<unknown> =>
        (await create('resources', { ...body, properties })).json['errors'];
      expect(await errorsOf({ n: 10 })).toEqual([
        { pointer: '/properties/n', code: 'record.invalid', message: 'must be at most 9 (required by the template)' },
      ]);
      expect(await errorsOf({})).toEqual([
        { pointer: '/properties/n', code: 'record.invalid', message: 'is required by the template' },
      ]);
      expect((await create('resources', body)).status).toBe(422);
    });

    it('when they are changed', async () => {
      const id = await make('resources', { namespace: '/labs', name: 'r', template, properties: { n: 1 } });
      const refused = await patch(`resources/${id}`, { properties: { n: 'x' } });
      expect([codeOf(refused), refused.json['errors']]).toEqual([
        '422 record.invalid',
        [{ pointer: '/properties/n', code: 'record.invalid', message: 'must be a number (required by the template)' }],
      ]);
      // Whoever may not read the template is not told what it finds, and replaces what is there.
      for (const actor of ['blind', 'wes']) {
        const untold = await patch(`resources/${id}`, { properties: { n: 'x' } }, { actor });
        expect([codeOf(untold), untold.json['errors']]).toEqual(['422 record.invalid', undefined]);
      }
      expect(codeOf(await patch(`resources/${id}`, { properties: { m: 1 } }, { actor: 'wes' }))).toBe(
        '422 record.invalid',
      );
      expect((await patch(`resources/${id}`, { properties: { m: 1 } }, { actor: 'blind' })).json['properties']).toEqual(
        {
          n: 1,
          m: 1,
        },
      );
      const renamed = await patch(`resources/${id}`, { name: 'other', description: 'x' }, { ifMatch: 2 });
      expect(renamed.json).toMatchObject({ name: 'other', revision: 3 });
    });

    it('whose schema can be used, which is seen to when it is made', async () => {
      const body = { namespace: '/labs', name: 't', version: '1' };
      const faultOf = async (schema: object): Promise<unknown> => {
        const refused = await create('resource-templates', { ...body, schema });
        return [
          codeOf(refused),
          (refused.json['errors'] as readonly { pointer: string }[]).map(({ pointer }) => pointer),
        ];
      };
      expect(await faultOf({ properties: { a: { $ref: 'http://example.org/x' } } })).toEqual([
        '422 record.invalid',
        ['/schema/properties/a/$ref'],
      ]);
      expect(await faultOf({ type: 'nothing' })).toEqual(['422 record.invalid', ['/schema/type']]);
      expect(await faultOf({ pattern: '(?<=a)b' })).toEqual(['422 record.invalid', ['/schema/pattern']]);
    });

    it('and a stored schema that cannot be used is 422, never 500', async () => {
      const body = { namespace: '/labs', name: 'r', template: broken };
      const refused = await create('resources', body);
      expect([codeOf(refused), refused.json['errors']]).toEqual([
        '422 record.invalid',
        [
          {
            pointer: '/template',
            code: 'record.invalid',
            message: expect.stringContaining('the schema of this template cannot be used') as unknown,
          },
        ],
      ]);
    });

    it('again once it is replaced', async () => {
      const id = await make('resource-templates', { namespace: '/labs', name: 't', version: '1', schema: SCHEMA });
      const body = { namespace: '/labs', name: 'r', template: id, properties: { n: 10 } };
      expect((await create('resources', body)).status).toBe(422);
      await store.db.knex.raw(`UPDATE records SET schema = '{}', revision = revision + 1 WHERE id = ?::uuid`, [id]);
      expect((await create('resources', body)).status).toBe(201);
    });
  });

  it('are changed as a merge patch says, one revision at a time', async () => {
    const first = await make('resources', { namespace: '/labs', name: 'a' });
    const second = await make('resources', { namespace: '/labs', name: 'b' });
    const elsewhere = await make('resources', { namespace: '/labs/laser', name: 'c' });
    const id = await make('process-runs', {
      namespace: '/labs/optics',
      name: 'run',
      parameters: { a: 1, b: { c: 2, d: 3 } },
      resources: { one: first, two: second },
    });
    const path = `process-runs/${id}`;
    const changed = await patch(path, {
      name: null,
      parameters: { a: null, b: { c: 4 } },
      resources: { one: null, three: second.toUpperCase() },
      state: 'succeeded',
    });
    expect(changed.json).toMatchObject({
      name: null,
      parameters: { b: { c: 4, d: 3 } },
      resources: { two: second, three: second },
      state: 'succeeded',
      revision: 2,
    });
    const refused = await patch(path, { resources: { four: elsewhere } }, { ifMatch: 2 });
    expect([codeOf(refused), refused.json['errors']]).toEqual([
      '422 reference.not_found',
      [expect.objectContaining({ pointer: '/resources/four' })],
    ]);
    const back = await patch(path, { state: 'pending', parameters: null, resources: null }, { ifMatch: 2 });
    expect(back.json).toMatchObject({ state: 'pending', parameters: {}, resources: {}, revision: 3 });
    expect((await patch(path, {}, { ifMatch: 3 })).json['revision']).toBe(4);
    for (const body of [
      { createdBy: first },
      { namespace: '/labs' },
      { state: null },
      { copiedFrom: first },
      { version: 'x' },
    ]) {
      expect(codeOf(await patch(path, body, { ifMatch: 4 }))).toBe('400 request.schema');
    }
    expect(codeOf(await patch(`resources/${first}`, { name: null }))).toBe('400 request.schema');
    expect(codeOf(await patch(`resources/${first}`, { state: 'running' }))).toBe('400 request.schema');
  });

  it('cannot be distinguished from missing records, whatever is asked of them', async () => {
    const id = await make('resources', { namespace: '/labs', name: 'r' });
    const requests = (of: string): readonly (readonly [string, Sending])[] => [
      [`GET /api/v1/resources/${of}`, {}],
      [`PATCH /api/v1/resources/${of}`, { body: {}, ifMatch: 1 }],
      [`POST /api/v1/resources/${of}/archive`, { ifMatch: 1 }],
      [`POST /api/v1/resources/${of}/restore`, { ifMatch: 7 }],
      [`POST /api/v1/resources/${of}/copies`, { body: { destination: '/labs' } }],
    ];
    const absent = (await send(`GET /api/v1/resources/${ABSENT}`, {}, 'una')).text;
    for (const of of [id, ABSENT, 'no-id']) {
      for (const [request, sending] of requests(of)) {
        const answer = await send(request, sending, 'una');
        expect([request, answer.status, answer.text]).toEqual([request, 404, absent]);
      }
    }
    // Of another family.
    expect((await patch(`process-runs/${id}`, {})).text).toBe(absent);
    // Whoever reads and does not write is told the step; whoever writes and does not read does so unseen.
    const denied = await patch(`resources/${id}`, {}, { actor: 'ray' });
    expect([codeOf(denied), denied.json['step']]).toEqual(['403 authz.denied', 'no_matching_grant']);
    const untold = await patch(`resources/${id}`, { properties: { a: 1 } }, { actor: 'wes' });
    expect([untold.status, untold.text, untold.header('etag')]).toEqual([200, `{"id":"${id}","revision":2}`, '"2"']);
    for (const [request, sending] of [...requests(id).slice(0, 1), ...requests(id).slice(4)]) {
      expect((await send(request, sending, 'wes')).text).toBe(absent);
    }
  });

  it.each([
    ['B12 the last noncharacter', '\uffff'],
    ['B12 an override of the direction', 'a\u202eb'],
    ['B12 a character of four bytes', '\u{1f4a1}'],
    ['B13 an accented letter in one character', '\u00e9'],
    ['B13 the same letter in two', 'e\u0301'],
  ])('keep every text as it was sent: %s', async (_, name) => {
    const namespace = '/labs/laser';
    const made = await create('resources', { namespace, name, properties: { name } });
    expect(made.json).toMatchObject({ name, properties: { name } });
    for (const field of ['name', 'properties.name']) {
      const body = { family: 'resource', namespace, where: { [field]: { eq: name } }, select: ['id'] };
      expect((await send('POST /api/v1/query', { body })).json['items']).toEqual([{ id: made.json['id'] }]);
    }
  });

  it('are not written under a condition that the write does not take', async () => {
    const { id } = (await send('POST /api/v1/resources', { body: { namespace: '/labs', name: 'r' } })).json;
    const path = `/api/v1/resources/${String(id)}`;
    const writes: readonly (readonly [string, Sending])[] = [
      ['POST /api/v1/resources', { body: { namespace: '/labs', name: 'conditional' } }],
      [`POST ${path}/copies`, { body: { destination: '/labs', name: 'conditional' } }],
      ['PUT /api/v1/namespaces/labs/conditional', { body: {} }],
      ['POST /api/v1/batch', { body: { commands: [{ method: 'PUT', path: '/api/v1/namespaces/labs/conditional' }] } }],
    ];
    for (const [request, sending] of writes)
      for (const headers of [{ 'if-match': '"7"' }, { 'if-none-match': '*' }])
        expect(codeOf(await send(request, { ...sending, headers }))).toBe('400 request.schema');
    const both = { body: { name: 'conditional' }, ifMatch: 1, headers: { 'if-none-match': '*' } };
    expect(codeOf(await send(`PATCH ${path}`, both))).toBe('400 request.schema');
    for (const family of ['resource', 'namespace']) {
      const body = { family, namespace: '/labs', reach: 'subtree', where: { name: { contains: 'conditional' } } };
      expect((await send('POST /api/v1/query/count', { body })).json).toMatchObject({ count: 0 });
    }
  });

  it('are archived and restored, and in between neither changed, copied nor referred to', async () => {
    const id = await make('resources', { namespace: '/labs', name: 'r' });
    const path = `POST /api/v1/resources/${id}`;
    expect(codeOf(await send(`${path}/archive`))).toBe('428 request.precondition_required');
    expect(codeOf(await send(`${path}/archive`, { ifMatch: 1, body: { at: 1 } }))).toBe('400 request.schema');
    const archived = await send(`${path}/archive`, { ifMatch: 1 });
    expect(archived.json).toMatchObject({ revision: 2, archivedAt: archived.json['updatedAt'] });
    expect((await send(`GET /api/v1/resources/${id}`)).text).toBe(archived.text);
    for (const ifMatch of [1, 2]) {
      expect(codeOf(await patch(`resources/${id}`, {}, { ifMatch }))).toBe('409 record.archived');
      expect(codeOf(await send(`${path}/archive`, { ifMatch }))).toBe('409 record.archived');
    }
    expect(codeOf(await send(`${path}/copies`, { body: { destination: '/labs' } }))).toBe('409 record.archived');
    const run = await create('process-runs', { namespace: '/labs', resources: { a: id } });
    expect(codeOf(run)).toBe('422 reference.not_found');
    expect(codeOf(await send(`${path}/restore`, { ifMatch: 1 }))).toBe('412 record.precondition');
    const untold = await send(`${path}/restore`, { ifMatch: 2, body: {} }, 'wes');
    expect([untold.status, untold.text]).toEqual([200, `{"id":"${id}","revision":3}`]);
    expect((await send(`GET /api/v1/resources/${id}`)).json['archivedAt']).toBeNull();
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
