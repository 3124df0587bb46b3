// Words and formats of a template's schema over HTTP: new templates with unknown ones are refused, formats are asserted, and a
// template that an older release stored judges as it did there.
import { beforeAll, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { loadDataset, type LoadOptions, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
const OLD = '01900000-0000-7000-8000-000000000001';
const DATED = { properties: { taken: { type: 'string', format: 'date-time' }, n: { type: 'number' } } };
/** What an older release took. */
const OLDER = { properties: { ...DATED.properties, width: { unit: 'mm', format: 'length' } } };
const WRONG = { propertees: {}, properties: { a: { format: 'emial' }, b: { type: 'strin', unit: 'mm' } } };
const FAULTS = [
  '/schema/propertees is not a keyword of JSON Schema (2020-12); did you mean `properties`?',
  '/schema/properties/a/format is not a format that templates know; did you mean `email`?',
  '/schema/properties/b/type must be one of array, boolean, integer, null, number, object, string, as JSON Schema (2020-12) requires',
  '/schema/properties/b/unit is not a keyword of JSON Schema (2020-12): notes of your own begin with `x-`',
];
const OLDER_FAULTS = ['/schema/properties/width/format', '/schema/properties/width/unit'];

async function* linesOf(values: readonly unknown[]): AsyncGenerator<readonly DatasetText[]> {
  yield values.map((value, index) => ({ number: index + 1, bytes: Buffer.from(JSON.stringify(value)) }));
  await Promise.resolve();
}

describeOnStores('words of a template', (store) => {
  const { send } = useCommandDoors(store, { ada: { '/': '*:*' } });
  const load = (values: readonly unknown[], options: Partial<LoadOptions> = {}): Promise<LoadReport> =>
    loadDataset(store.db, linesOf(values), { onConflict: 'report', now: NOW, ...options });
  const errorsOf = ({ json }: Answered): readonly string[] =>
    (json['errors'] as readonly { readonly pointer: string; readonly message: string }[]).map(
      ({ pointer, message }) => `${pointer} ${message}`,
    );
  const placesOf = (answered: Answered): readonly string[] =>
    errorsOf(answered).map((text) => text.split(' ')[0] ?? '');
  const make = async (collection: string, body: object): Promise<Answered> =>
    send(`POST /api/v1/${collection}`, { body: { namespace: '/labs', name: 'x', ...body } });
  const made = async (collection: string, body: object): Promise<string> => {
    const { status, json, text } = await make(collection, body);
    if (status !== 201) throw new Error(text);
    return String(json['id']);
  };

  beforeAll(async () => {
    await send('PUT /api/v1/namespaces/labs', { body: {} });
    const old = { family: 'resource-template', namespace: '/labs', name: 'old', version: '1', id: OLD, schema: OLDER };
    const { faults } = await load([old], { schemas: 'unchecked' });
    expect(faults).toEqual([]);
  });

  it.each(['resource-templates', 'process-templates'])(
    'are refused in new %s, all mistakes at once',
    async (collection) => {
      const slots = collection === 'process-templates' ? { slots: [] } : {};
      const refused = await make(collection, { version: '1', schema: WRONG, ...slots });
      expect(refused.status).toBe(422);
      expect(errorsOf(refused)).toEqual(FAULTS);
    },
  );

  it('are refused in a batch, with the place of the command', async () => {
    const body = { namespace: '/labs', name: 'x', version: '1', schema: WRONG };
    const commands = [{ method: 'POST', path: '/api/v1/resource-templates', body }];
    const refused = await send('POST /api/v1/batch', { body: { commands } });
    expect([refused.status, refused.json['command']]).toEqual([422, 0]);
    expect(errorsOf(refused)).toEqual(FAULTS.map((fault) => `/commands/0/body${fault}`));
  });

  it('are refused in a schema that only the thread compiles', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${String(i)}`, { type: 'string' }]));
    const schema = { properties: { ...many, a: { format: 'emial' } } };
    const refused = await make('resource-templates', { version: '1', schema });
    expect([refused.status, placesOf(refused)]).toEqual([422, ['/schema/properties/a/format']]);
  });

  it('are refused in a new version, also where it takes them from an older one', async () => {
    const versions = `POST /api/v1/resource-templates/${OLD}/versions`;
    const taken = await send(versions, { body: { version: '2' } });
    expect([taken.status, placesOf(taken)]).toEqual([422, OLDER_FAULTS]);
    const stated = await send(versions, { body: { version: '2', schema: WRONG } });
    expect(errorsOf(stated)).toEqual(FAULTS);
    expect((await send(versions, { body: { version: '2', schema: DATED } })).status).toBe(201);
  });

  it('are refused by load, stored unchecked, and judge nothing then', async () => {
    const line = { family: 'resource-template', namespace: '/labs', name: 'l', version: '1', schema: WRONG };
    const { faults } = await load([line]);
    expect(faults.map(({ line: at, code, pointer, message }) => [at, code, `${pointer} ${message}`])).toEqual([
      [1, 'record.invalid', `${String(FAULTS[0])}, and 3 more`],
    ]);
    const record = { family: 'resource', namespace: '/labs', name: 'r', template: OLD };
    const report = await load([
      { ...record, properties: { taken: 'yesterday', width: 'x' } },
      { ...record, properties: { taken: 3 } },
    ]);
    expect(report.faults.map(({ line: at, pointer }) => [at, pointer])).toEqual([[2, '/properties/taken']]);
  });

  it('leave a stored template as it was: neither its unknown words nor its formats check anything', async () => {
    const record = await make('resources', { template: OLD, properties: { taken: 'yesterday', width: 'wide' } });
    expect(record.status).toBe(201);
    const patch = `PATCH /api/v1/resources/${String(record.json['id'])}`;
    expect((await send(patch, { body: { properties: { taken: 'today' } }, ifMatch: 1 })).status).toBe(200);
    const refused = await send(patch, { body: { properties: { taken: 3 } }, ifMatch: 2 });
    expect(errorsOf(refused)).toEqual(['/properties/taken must be a string (required by the template)']);
  });

  it('that are formats are asserted of each write, with the other mistakes', async () => {
    const template = await made('resource-templates', { version: '1', schema: DATED });
    const refused = await make('resources', { template, properties: { taken: 'yesterday', n: 'x' } });
    expect(refused.status).toBe(422);
    expect([...errorsOf(refused)].sort()).toEqual([
      '/properties/n must be a number (required by the template)',
      '/properties/taken must be a date and time with its offset, like 2027-01-31T09:30:00Z (required by the template)',
    ]);
    const id = await made('resources', { template, properties: { taken: '2027-01-31T09:30:00Z' } });
    const patch = { body: { properties: { taken: '2027-02-30T09:30:00Z' } }, ifMatch: 1 };
    expect(placesOf(await send(`PATCH /api/v1/resources/${id}`, patch))).toEqual(['/properties/taken']);
    const record = { family: 'resource', namespace: '/labs', name: 'r', template, properties: { taken: 'yesterday' } };
    const { faults } = await load([record]);
    expect(faults.map(({ pointer }) => pointer)).toEqual(['/properties/taken']);
  });

  it('that are formats judge what an older release stored from the next write of its properties on', async () => {
    const template = await made('resource-templates', { version: '1', schema: DATED });
    const id = '01900000-0000-7000-8000-000000000077';
    const stored = {
      family: 'resource',
      namespace: '/labs',
      name: 'r',
      template,
      id,
      properties: { taken: 'yesterday' },
    };
    expect((await load([stored], { schemas: 'unchecked' })).faults).toEqual([]);
    const patch = (body: object, ifMatch: number): Promise<Answered> =>
      send(`PATCH /api/v1/resources/${id}`, { body, ifMatch });
    expect((await patch({ name: 'renamed' }, 1)).status).toBe(200);
    expect(placesOf(await patch({ properties: { n: 1 } }, 2))).toEqual(['/properties/taken']);
    expect((await patch({ properties: { n: 1, taken: '2027-01-31T09:30:00Z' } }, 2)).status).toBe(200);
  });
});
