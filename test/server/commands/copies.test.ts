// Copies of resources and process runs into other namespaces.
import { beforeAll, expect, it } from '@jest/globals';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const SCHEMA = { type: 'object', properties: { n: { type: 'number', maximum: 9 } }, required: ['n'] };

describeOnStores('copies', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    wes: { '/': '*:write' },
    lab: { '/labs/optics': 'resource:* process-run:*' },
    in: { '/labs/optics': 'resource:read', '/labs/laser': 'resource:write' },
  };
  const { doors, send, make } = useCommandDoors(store, actors, [
    '/labs',
    '/labs/optics',
    '/labs/laser',
    '/labs/optics/deep',
  ]);

  let template = '';
  beforeAll(async () => {
    template = await make('resource-templates', { namespace: '/labs', name: 't', version: '1', schema: SCHEMA });
  });

  it('need no read at their destination, in a batch neither, and may have the name of a record that is found by it', async () => {
    const unique = { namespace: '/', name: 'u', version: '1', schema: {}, uniqueName: true };
    const found = { namespace: '/labs/laser', name: 'r', template: await make('resource-templates', unique) };
    await make('resources', found);
    const copying = (id: string, as?: string): object => ({
      method: 'POST',
      path: `/api/v1/resources/${id}/copies`,
      body: { destination: '/labs/laser', ...(as === undefined ? {} : { name: as }) },
    });
    const batch = (id: string, as?: string, actor = 'ada'): Promise<Answered> =>
      send('POST /api/v1/batch', { body: { commands: [copying(id, as), copying(id, as)] } }, actor);
    const plain = await make('resources', { namespace: '/labs/optics', name: 'r' });
    expect((await batch(plain, undefined, 'in')).status).toBe(200);
    // Where its own template asks for unique names, the refusal says where the name came from.
    const asking = await make('resources', { ...found, namespace: '/labs/optics' });
    const errors = [await batch(asking), await batch(asking, 'r')].map(({ json }) => json['errors']);
    expect(errors).toMatchObject([
      [{ pointer: '/commands/0/body/destination', code: 'record.name_taken', message: expect.stringMatching(/^is the name of the resource .{36} in this namespace/) as unknown }], // prettier-ignore
      [{ pointer: '/commands/0/body/name', code: 'record.name_taken' }],
    ]);
  });

  it('hold what their source holds, under an id of their own', async () => {
    const source = { namespace: '/labs', name: 'r', description: 'd', template, properties: { n: 1, m: [2] } };
    const id = await make('resources', source);
    const path = `POST /api/v1/resources/${id}/copies`;
    const copy = await send(path, { body: { destination: '/labs/optics' } });
    expect(copy.status).toBe(201);
    expect(copy.header('location')).toBe(`/api/v1/resources/${String(copy.json['id'])}`);
    expect(copy.json).toMatchObject({
      ...source,
      namespace: '/labs/optics',
      copiedFrom: id,
      revision: 1,
      createdBy: 'ada',
    });
    const other = await send(path, { body: { destination: '/labs', name: 's', properties: { n: 2 } } });
    expect(other.json).toMatchObject({ name: 's', description: 'd', properties: { n: 2 }, copiedFrom: id });
    expect(codeOf(await send(path, { body: { destination: '/labs', properties: { n: 'x' } } }))).toBe(
      '422 record.invalid',
    );
    // Its template is not there for the root.
    const upwards = await send(path, { body: { destination: '/' } });
    expect([codeOf(upwards), upwards.json['errors']]).toEqual([
      '422 reference.not_found',
      [expect.objectContaining({ pointer: '/destination' })],
    ]);
    expect(codeOf(await send(path, { body: { destination: '/none' } }))).toBe('404 namespace.not_found');
    expect(codeOf(await send(path, { body: { destination: '//' } }))).toBe('400 namespace.invalid');
  });

  it('are made by actors who read the source and write at the destination', async () => {
    const id = await make('resources', { namespace: '/labs/optics', name: 'r' });
    const path = `POST /api/v1/resources/${id}/copies`;
    const denied = await send(path, { body: { destination: '/labs/laser' } }, 'lab');
    expect([codeOf(denied), denied.json['step'], denied.json['cause']]).toEqual([
      '403 authz.denied',
      'destination_write',
      'no_matching_grant',
    ]);
    expect((await send(path, { body: { destination: '/none' } }, 'lab')).json['step']).toBe('destination_write');
    expect((await send(path, { body: { destination: '/labs/optics' } }, 'lab')).status).toBe(201);
    await doors().narrow('lab-reader', 'lab', { restrictions: [] });
    expect(codeOf(await send(path, { body: { destination: '/labs/optics' } }, 'lab-reader'))).toBe(
      '404 record.not_found',
    );
    expect(codeOf(await send(path, { body: { destination: '/labs' } }, 'wes'))).toBe('404 record.not_found');
  });

  it('of a run are runs that have not begun, with what it uses as far as that is there', async () => {
    const shared = await make('resources', { namespace: '/labs', name: 'shared' });
    const local = await make('resources', { namespace: '/labs/optics', name: 'local' });
    const run = { namespace: '/labs/optics', parameters: { a: 1 }, state: 'failed' };
    const id = await make('process-runs', { ...run, resources: { one: shared } });
    const copy = await send(`POST /api/v1/process-runs/${id}/copies`, { body: { destination: '/labs/laser' } });
    expect(copy.json).toMatchObject({
      parameters: { a: 1 },
      state: 'pending',
      resources: { one: shared },
      name: null,
    });
    const bound = await make('process-runs', { ...run, resources: { one: shared, two: local } });
    const path = `POST /api/v1/process-runs/${bound}/copies`;
    expect((await send(path, { body: { destination: '/labs/optics/deep', name: 'x' } })).json['name']).toBe('x');
    expect(codeOf(await send(path, { body: { destination: '/labs/laser' } }))).toBe('422 reference.not_found');
  });

  it('are not shown where the copy may not be read', async () => {
    await doors().narrow('ada-once', 'ada', { restrictions: null });
    const id = await make('resources', { namespace: '/labs/optics', name: 'r', properties: { secret: 1 } });
    doors().decree({ ada: { '/labs/optics': '*:read', '/labs/laser': '*:write' } });
    const copy = await send(`POST /api/v1/resources/${id}/copies`, { body: { destination: '/labs/laser' } });
    expect(copy.text).toMatch(/^\{"id":"[0-9a-f-]{36}","revision":1\}$/);
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
