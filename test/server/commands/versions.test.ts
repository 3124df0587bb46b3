// New versions of templates: what they have from the first one, what is judged, who may make them, and what is left of a request.
import { beforeAll, expect, it } from '@jest/globals';
import { type Answered, type Sending, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';

describeOnStores('versions of templates', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    wes: { '/': '*:write' },
    ray: { '/': '*:read' },
    una: {},
    own: { '/labs': 'process-template:*' },
  };
  const { send, make } = useCommandDoors(store, actors, ['/labs', '/old']);
  const version = (path: string, body: object, actor = 'ada', sending: Sending = {}): Promise<Answered> =>
    send(`POST /api/v1/${path}/versions`, { body, ...sending }, actor);
  const codeOf = ({ status, json }: Answered): unknown => [status, json['code']].filter((part) => part !== undefined);

  const SCHEMA = { properties: { n: { maximum: 9 } } };
  let crystal = '';
  beforeAll(async () => {
    crystal = await make('resource-templates', {
      namespace: '/labs',
      name: 'crystal',
      description: 'd',
      properties: { owner: 'x' },
      version: '1',
      schema: SCHEMA,
    });
  });

  it('have what the request does not state from the first, an id of their own and one event', async () => {
    await store.db.knex.raw('DELETE FROM audit_outbox');
    const first = await send(`GET /api/v1/resource-templates/${crystal}`);
    const made = await version(`resource-templates/${crystal}`, { version: '2' });
    const { id } = made.json;
    expect(made.header('location')).toBe(`/api/v1/resource-templates/${String(id)}`);
    expect([made.status, made.json]).toEqual([
      201,
      { ...first.json, id, version: '2', createdAt: expect.any(String), updatedAt: expect.any(String) },
    ]);
    const { rows } = await store.db.knex.raw<{ rows: readonly { event: string }[] }>('SELECT event FROM audit_outbox');
    expect(rows.map(({ event }) => JSON.parse(event) as object)).toEqual([
      expect.objectContaining({
        operation: 'resource-template.version',
        access: { destination: '/labs', family: 'resource-template', source: '/labs' },
        records: [id, crystal],
        outcome: 'allowed',
      }),
    ]);
    const stated = { version: '3', description: null, properties: {}, schema: { required: ['n'] } };
    expect((await version(`resource-templates/${crystal}`, stated)).json).toMatchObject({ name: 'crystal', ...stated });
    // The first one is as it was.
    expect((await send(`GET /api/v1/resource-templates/${crystal}`)).text).toBe(first.text);
  });

  it('keep the slots of a process template, or have others', async () => {
    const slots = [{ name: 'sample', template: crystal, required: true }];
    const first = await make('process-templates', { namespace: '/labs', name: 'p', version: '1', schema: {}, slots });
    const path = `process-templates/${first}`;
    expect((await version(path, { version: '2' })).json['slots']).toEqual(slots);
    expect((await version(path, { version: '3', slots: [] })).json['slots']).toEqual([]);
    const absent = await version(path, { version: '4', slots: [{ name: 'a', template: ABSENT }] });
    expect([codeOf(absent), absent.json['errors']]).toEqual([
      [422, 'reference.not_found'],
      [expect.objectContaining({ pointer: '/slots/0/template' })],
    ]);
    // Its slot names a template that this actor may not read.
    const unseen = await version(path, { version: '5' }, 'own');
    expect([codeOf(unseen), unseen.json['errors']]).toEqual([
      [422, 'reference.not_found'],
      [expect.objectContaining({ pointer: '/slots' })],
    ]);
    expect((await version(path, { version: '5', slots: [] }, 'own')).status).toBe(201);
    expect(codeOf(await version(path, { version: '6', slots: [{ name: 'a' }, { name: 'a' }] }))).toEqual([
      400,
      'request.schema',
    ]);
  });

  it.each([
    [{ version: '1' }, [422, 'record.invalid'], '/version'],
    [{ version: '2', schema: { type: 'nothing' } }, [422, 'record.invalid'], '/schema/type'],
    [{}, [400, 'request.schema'], '/version'],
    [{ version: '2', name: 'other' }, [400, 'request.schema'], '/name'],
    [{ version: '2', slots: [] }, [400, 'request.schema'], '/slots'],
    [{ version: '' }, [400, 'request.schema'], '/version'],
  ])('are refused: %j', async (body, code, pointer) => {
    const refused = await version(`resource-templates/${crystal}`, body);
    expect([codeOf(refused), refused.json['errors']]).toEqual([code, [expect.objectContaining({ pointer })]]);
  });

  it('need the right to read the first and to write beside it', async () => {
    const body = { version: '9' };
    const absent = (await version(`resource-templates/${ABSENT}`, body)).text;
    for (const actor of ['wes', 'una'])
      expect((await version(`resource-templates/${crystal}`, body, actor)).text).toBe(absent);
    const denied = await version(`resource-templates/${crystal}`, body, 'ray');
    expect([codeOf(denied), denied.json['step'], denied.json['cause']]).toEqual([
      [403, 'authz.denied'],
      'destination_write',
      'no_matching_grant',
    ]);
  });

  it('are not made of what is archived, nor where nothing may be made', async () => {
    const body = { namespace: '/old', name: 't', version: '1', schema: {} };
    const [archived, there] = [await make('resource-templates', body), await make('resource-templates', body)];
    await send(`POST /api/v1/resource-templates/${archived}/archive`, { ifMatch: 1 });
    expect(codeOf(await version(`resource-templates/${archived}`, { version: '2' }))).toEqual([409, 'record.archived']);
    await send('POST /api/v1/namespaces/old/archive', { ifMatch: 1 });
    expect(codeOf(await version(`resource-templates/${there}`, { version: '2' }))).toEqual([409, 'record.archived']);
  });

  it('are made once for each key, and a batch can give them to a record at once', async () => {
    const path = `resource-templates/${crystal}`;
    const [first, again] = await Promise.all([
      version(path, { version: 'once' }, 'ada', { key: 'once' }),
      version(path, { version: 'once' }, 'ada', { key: 'once' }),
    ]);
    const settled = await version(path, { version: 'once' }, 'ada', { key: 'once' });
    for (const { status, text } of [first, again])
      if (status === 201) expect(text).toBe(settled.text);
      else expect(status).toBe(409);
    expect(codeOf(await version(path, { version: 'twice' }, 'ada', { key: 'once' }))).toEqual([
      422,
      'idempotency.key_reused',
    ]);
    expect((await version(path, { version: 'one more' }, 'ada', { key: null })).status).toBe(400);
    const lens = await make('resources', { namespace: '/labs', name: 'lens', template: crystal, properties: { n: 1 } });
    const commands = [
      { method: 'POST', path: `/api/v1/${path}/versions`, body: { version: 'new', schema: {} }, as: 'v' },
      { method: 'PATCH', path: `/api/v1/resources/${lens}`, body: { template: '$v' }, ifMatch: '"1"' },
    ];
    const done = await send('POST /api/v1/batch', { body: { commands } });
    const [made, changed] = done.json['results'] as readonly { readonly body: Record<string, unknown> }[];
    expect([made?.body['version'], changed?.body['template']]).toEqual(['new', made?.body['id']]);
  });
});
