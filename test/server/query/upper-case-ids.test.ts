// Ids in upper case. RFC 9562 reads them like those in lower case, so each place that takes an id finds the same record.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answered, type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('an id in upper case', (store) => {
  let doors: CommandDoors;
  let [template, resource, copy, runTemplate, run] = ['', '', '', '', ''];
  const send = (request: string, sending: Sending = {}): Promise<Answered> => doors.send('ada', request, sending);
  const make = async (path: string, body: object): Promise<string> => {
    const made = await send(`POST /api/v1/${path}`, { body });
    if (made.status !== 201) throw new Error(made.text);
    return String(made.json['id']);
  };
  const found = async (family: string, where: object): Promise<readonly unknown[]> => {
    const body = { family, namespace: '/', reach: 'subtree', where, select: ['id'], orderBy: [{ id: 'asc' }] };
    const { json, text } = await send('POST /api/v1/query', { body });
    if (!Array.isArray(json['items'])) throw new Error(text);
    return json['items'].map((item: { readonly id: string }) => item.id);
  };

  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    const kind = { namespace: '/', name: 't', version: '1', schema: {} };
    template = await make('resource-templates', kind);
    const upper = template.toUpperCase();
    resource = await make('resources', { namespace: '/', name: 'r', template: upper });
    copy = await make(`resources/${resource.toUpperCase()}/copies`, { destination: '/' });
    runTemplate = await make('process-templates', { ...kind, slots: [{ name: 'sample', template: upper }] });
    const resources = { sample: resource.toUpperCase() };
    run = await make('process-runs', { namespace: '/', template: runTemplate.toUpperCase(), resources });
  });

  afterAll(async () => {
    await doors.close();
  });

  it.each(['eq', 'in', 'startsWith', 'endsWith', 'contains', 'containsIgnoreCase'])(
    'is found by %s in every field that holds ids',
    async (operator) => {
      const asked = (id: string): object => {
        const text = operator === 'startsWith' ? id.slice(0, -1) : operator === 'endsWith' ? id.slice(1) : id;
        return { [operator]: operator === 'in' ? [text.toUpperCase()] : text.toUpperCase() };
      };
      expect(await found('resource', { id: asked(resource) })).toEqual([resource]);
      expect(await found('resource', { template: asked(template) })).toEqual([resource, copy].sort());
      expect(await found('resource', { copiedFrom: asked(resource) })).toEqual([copy]);
      expect(await found('process-run', { template: asked(runTemplate) })).toEqual([run]);
      expect(await found('process-run', { 'resources.sample': asked(resource) })).toEqual([run]);
    },
  );

  it('is left out by ne and notIn, has the place of its lower case, and is found among the slots of a run', async () => {
    const upper = resource.toUpperCase();
    expect(await found('resource', { id: { ne: upper } })).toEqual([copy]);
    expect(await found('resource', { id: { notIn: [upper] } })).toEqual([copy]);
    expect(await found('resource', { id: { gte: upper, lte: upper } })).toEqual([resource]);
    for (const resources of [{ has: upper }, { hasAny: [upper] }, { hasAll: [upper] }])
      expect(await found('process-run', { resources })).toEqual([run]);
  });

  it('stays what it is in the texts that are not ids of records', async () => {
    const id = await make('resources', { namespace: '/', name: 'ABC', properties: { id: 'ABC' } });
    expect(await found('resource', { name: { eq: 'ABC' }, 'properties.id': { eq: 'ABC' } })).toEqual([id]);
    expect(await found('resource', { name: { eq: 'abc' } })).toEqual([]);
    expect(await found('resource', { 'properties.id': { eq: 'abc' } })).toEqual([]);
  });

  it('names the same record in paths, alone and in a batch, and is answered in lower case', async () => {
    const path = `/api/v1/resources/${copy.toUpperCase()}`;
    expect((await send(`GET ${path}`)).json).toMatchObject({ id: copy, copiedFrom: resource });
    const patched = await send(`PATCH ${path}`, { body: { template: template.toUpperCase() }, ifMatch: 1 });
    expect(patched.json).toMatchObject({ id: copy, template, revision: 2 });
    const commands = [
      { method: 'PATCH', path, body: { description: 'x' }, ifMatch: '"2"' },
      { method: 'POST', path: `${path.toLowerCase()}/archive`, ifMatch: '"3"' },
    ];
    const batch = await send('POST /api/v1/batch', { body: { commands } });
    expect(batch.json).toMatchObject({ results: [{ body: { id: copy } }, { body: { id: copy, revision: 4 } }] });
    // Deleted, and deleted again.
    for (let times = 0; times < 2; times += 1)
      expect((await send(`DELETE ${path}`, { ifMatch: 4 })).json).toEqual({ id: copy, revision: 5 });
  });
});
