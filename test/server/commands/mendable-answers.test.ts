// Refusals of writes that can be mended from the answer alone: each says what to send instead, and all mistakes come together.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { COMMAND_LIMITS, LOAD_LIMITS } from '../../../server/limits/records.js';
import { type Answered, type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('a refused write', (store) => {
  let doors: CommandDoors;
  let id = '';
  const send = (request: string, sending: Sending = {}): Promise<Answered> => doors.send('ada', request, sending);
  const errorsOf = ({ json }: Answered): readonly string[] =>
    (json['errors'] as readonly { readonly pointer: string; readonly message: string }[]).map(
      ({ pointer, message }) => `${pointer} ${message}`,
    );

  beforeAll(async () => {
    doors = await openCommandDoors({
      db: store.db,
      actors: {
        ada: { '/': '*:*' },
        pia: { '/': 'process-run:* process-template:read' },
        bo: { '/': 'resource:write resource-template:read' },
      },
    });
    for (const path of ['/labs', '/labs/optics', '/labs/laser'])
      await send(`PUT /api/v1/namespaces${path}`, { body: {} });
    const template = await send('POST /api/v1/resource-templates', {
      body: { namespace: '/labs/optics', name: 't', version: '1', schema: {} },
    });
    const made = await send('POST /api/v1/resources', {
      body: { namespace: '/labs/optics', name: 'x', template: template.json['id'] },
    });
    id = String(made.json['id']);
  });

  afterAll(async () => {
    await doors.close();
  });

  it('of a template lists all mistakes of the schema, each pattern at its place', async () => {
    const schema = {
      type: 'objekt',
      properties: { z: { pattern: '(?=a)b' }, w: { minimum: '3' }, v: { pattern: '(' } },
    };
    const refused = await send('POST /api/v1/resource-templates', {
      body: { namespace: '/labs', name: 't', version: '1', schema },
    });
    expect(refused.status).toBe(422);
    expect(errorsOf(refused).map((text) => text.split(' ')[0])).toEqual([
      '/schema/properties/v/pattern',
      '/schema/properties/w/minimum',
      '/schema/properties/z/pattern',
      '/schema/type',
    ]);
  });

  it('without If-Match names the header, and in a batch the member', async () => {
    const change = await send(`PATCH /api/v1/resources/${id}`, { body: { name: 'y' } });
    expect(change.status).toBe(428);
    expect(errorsOf(change)).toEqual([
      ' the header `If-Match` is required: send the ETag of the record, like "3" with its quotes',
    ]);
    const command = { method: 'PATCH', path: `/api/v1/resources/${id}`, body: { name: 'y' } };
    const batch = await send('POST /api/v1/batch', { body: { commands: [command] } });
    expect(batch.status).toBe(428);
    expect(errorsOf(batch)[0]).toContain('/commands/0 needs the member `ifMatch`: the ETag of the record');
  });

  it('that names what is fixed says so, and asks about what looks like a misspelling', async () => {
    const body = { namespace: '/a', template: id, schema: {}, revision: 3, nmae: 'z', colour: 1 };
    expect(errorsOf(await send(`PATCH /api/v1/resources/${id}`, { body, ifMatch: 1 }))).toEqual([
      '/namespace is changed by moving the record, not by a change',
      '/schema is fixed when the record is made, so a change cannot name it',
      '/revision is set by the gateway, so a change cannot name it',
      '/nmae is not known here; did you mean `name`?',
      '/colour is not known here',
    ]);
    const made = await send('POST /api/v1/resources', { body: { namespace: '/labs', name: 'x', propertis: {} } });
    expect(errorsOf(made)).toEqual(['/propertis is not known here; did you mean `properties`?']);
  });

  it('of a copy says what the copy would refer to', async () => {
    const copy = await send(`POST /api/v1/resources/${id}/copies`, { body: { destination: '/labs/laser' } });
    expect(copy.status).toBe(422);
    expect(errorsOf(copy)).toEqual([
      '/destination the copy would refer to a resource-template that you may not read at the destination or above it, or that is archived',
    ]);
  });

  it('of a version that the template has already says so', async () => {
    const body = { namespace: '/labs', name: 'v', version: '1', schema: {} };
    const { json } = await send('POST /api/v1/resource-templates', { body });
    const again = await send(`POST /api/v1/resource-templates/${String(json['id'])}/versions`, { body: { version: '1' } }); // prettier-ignore
    expect([again.status, errorsOf(again)]).toEqual([
      422,
      ['/version is the version of the template itself; a new one needs another'],
    ]);
  });

  it('of a run says what is wrong to who may read its template, and need read no other', async () => {
    const schema = { properties: { n: { type: 'number' } } };
    const body = { namespace: '/labs', name: 'p', version: '1', schema, slots: [] };
    const template = (await send('POST /api/v1/process-templates', { body })).json['id'];
    const run = (await send('POST /api/v1/process-runs', { body: { namespace: '/labs', template } })).json['id'];
    const wrong = { body: { parameters: { n: 'one' } }, ifMatch: 1 };
    const refused = await doors.send('pia', `PATCH /api/v1/process-runs/${String(run)}`, wrong);
    expect([refused.status, errorsOf(refused)]).toEqual([422, [expect.stringMatching(/^\/parameters\/n /) as unknown]]);
  });

  it('of a template for a record that the actor may not read says what to send with it', async () => {
    const body = { namespace: '/labs', name: 'b', version: '1', schema: {} };
    const template = (await send('POST /api/v1/resource-templates', { body })).json['id'];
    const made = await send('POST /api/v1/resources', { body: { namespace: '/labs', name: 'b' } });
    const refused = await doors.send('bo', `PATCH /api/v1/resources/${String(made.json['id'])}`, { body: { template }, ifMatch: 1 }); // prettier-ignore
    expect([refused.status, errorsOf(refused)]).toEqual([
      422,
      ['/template needs `properties` beside it, because you may not read what the record holds'],
    ]);
  });

  it('of more resources than a run may use counts those that it uses already', async () => {
    const run = (await send('POST /api/v1/process-runs', { body: { namespace: '/labs/optics' } })).json['id'];
    const change = (from: string, count: number, ifMatch: number): Promise<Answered> => {
      const resources = Object.fromEntries(Array.from({ length: count }, (_, n) => [`${from}${String(n)}`, id]));
      return send(`PATCH /api/v1/process-runs/${String(run)}`, { body: { resources }, ifMatch });
    };
    expect((await change('a', COMMAND_LIMITS.slots, 1)).status).toBe(200);
    expect((await change('b', 1, 2)).json['code']).toBe('request.too_large');
  });

  it('of more than a record may hold counts what it holds already', async () => {
    const text = 'x'.repeat(LOAD_LIMITS.lineBytes / 2);
    const body = { namespace: '/labs', name: 'large', properties: { a: text } };
    const made = await send('POST /api/v1/resources', { body });
    const more = { body: { properties: { b: text } }, ifMatch: 1 };
    const refused = await send(`PATCH /api/v1/resources/${String(made.json['id'])}`, more);
    expect([made.status, refused.status, refused.json['code']]).toEqual([201, 413, 'request.too_large']);
  });
});
