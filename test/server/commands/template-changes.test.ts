// A record that gets another template, or none: it is checked as if it were created with it, whoever changes it learns no more than a
// create would say, and what is not changed is not checked.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';
const VERSIONS = {
  1: { properties: { n: { type: 'number', maximum: 9 } } },
  2: { required: ['n'], properties: { n: { type: 'integer', maximum: 99 } } },
  3: { properties: { n: { type: 'string' } }, additionalProperties: false },
};

describeOnStores('the template of a record', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    // Writes what it may not read, and reads every template.
    wes: { '/': '*:write resource-template:read process-template:read resource:read' },
    // Reads no templates of `/`.
    lab: { '/a': 'resource:* resource-template:read' },
  };
  const { send, make } = useCommandDoors(store, actors, ['/a', '/a/b', '/b']);
  const ids: Record<string, string> = {};
  const patch = (path: string, body: object, actor = 'ada', ifMatch = 1): Promise<Answered> =>
    send(`PATCH /api/v1/${path}`, { body, ifMatch }, actor);
  const told = ({ status, json }: Answered): string =>
    typeof json['code'] === 'string' ? `${String(status)} ${json['code']}` : String(status);
  const idOf = (name: string): string => ids[name] ?? '';

  beforeAll(async () => {
    for (const [version, schema] of Object.entries(VERSIONS)) {
      const body = { namespace: '/a', name: 'crystal', version, schema };
      ids[version] = await make('resource-templates', body);
      ids[`run ${version}`] = await make('process-templates', { ...body, slots: [] });
    }
    ids['top'] = await make('resource-templates', { namespace: '/', name: 'crystal', version: '1', schema: {} });
    ids['elsewhere'] = await make('resource-templates', { namespace: '/b', name: 'c', version: '1', schema: {} });
    ids['gone'] = await make('resource-templates', { namespace: '/a', name: 'c', version: '1', schema: {} });
    await send(`POST /api/v1/resource-templates/${idOf('gone')}/archive`, { ifMatch: 1 });
  });

  it.each([
    ['resources', 'properties', ''],
    ['process-runs', 'parameters', 'run '],
  ])('of %s is changed exactly if one could be created so', async (collection, part, prefix) => {
    for (const value of [{}, { n: 3 }, { n: 3.5 }, { n: 50 }, { n: 'x' }, { m: 1 }]) {
      for (const version of ['1', '2', '3']) {
        const template = idOf(`${prefix}${version}`);
        const body = { namespace: '/a/b', name: 'r', [part]: value };
        const created = await send(`POST /api/v1/${collection}`, { body: { ...body, template } });
        const changed = await patch(`${collection}/${await make(collection, body)}`, { template });
        expect([value, version, changed.json['errors'], changed.json['template']]).toEqual([
          value,
          version,
          created.json['errors'],
          created.json['template'],
        ]);
        expect(changed.status).toBe(created.status === 201 ? 200 : created.status);
      }
    }
  });

  it('judges what the same patch sets, and judges no more once it is taken away', async () => {
    const path = `resources/${await make('resources', { namespace: '/a', name: 'r', properties: { n: 3 }, template: idOf('1') })}`;
    expect(told(await patch(path, { template: idOf('3') }))).toBe('422 record.invalid');
    const changed = await patch(path, { template: idOf('3').toUpperCase(), properties: { n: 'three' } });
    expect(changed.json).toMatchObject({ template: idOf('3'), properties: { n: 'three' }, revision: 2 });
    const body = { family: 'resource', namespace: '/a', where: { template: { eq: idOf('3') }, name: { eq: 'r' } } };
    expect((await send('POST /api/v1/query/count', { body })).json['count']).toBeGreaterThan(0);
    expect(told(await patch(path, { properties: { n: 4 } }, 'ada', 2))).toBe('422 record.invalid');
    const freed = await patch(path, { template: null, properties: { n: 4, m: 5 } }, 'ada', 2);
    expect(freed.json).toMatchObject({ template: null, properties: { n: 4, m: 5 }, revision: 3 });
    expect((await patch(path, { properties: { n: [] } }, 'ada', 3)).status).toBe(200);
  });

  it('must be one that the record may refer to', async () => {
    const resource = await make('resources', { namespace: '/a', name: 'r' });
    const faults = (await patch(`resources/${resource}`, { template: ABSENT })).text.replace(
      /"requestId":"[^"]*"/u,
      '',
    );
    for (const [actor, template] of [
      ['ada', idOf('elsewhere')],
      ['ada', idOf('gone')],
      ['ada', idOf('run 1')],
      ['ada', resource],
      ['lab', idOf('top')],
    ] as const) {
      const refused = await patch(`resources/${resource}`, { template }, actor);
      expect([template, refused.text.replace(/"requestId":"[^"]*"/u, '')]).toEqual([template, faults]);
    }
    expect((await patch(`resources/${resource}`, { template: 'x' })).json['code']).toBe('request.schema');
    const of = await make('resource-templates', { namespace: '/a', name: 't', version: '1', schema: {} });
    expect((await patch(`resource-templates/${of}`, { template: idOf('1') })).json['code']).toBe('request.schema');
    expect((await send(`GET /api/v1/resources/${resource}`)).json).toMatchObject({ template: null, revision: 1 });
  });

  it('of a run needs the resources that it uses to be there still', async () => {
    const used = await make('resources', { namespace: '/a', name: 'used' });
    const run = `process-runs/${await make('process-runs', { namespace: '/a/b', resources: { in: used } })}`;
    await send(`POST /api/v1/resources/${used}/archive`, { ifMatch: 1 });
    expect(told(await patch(run, { state: 'running' }))).toBe('200');
    const refused = await patch(run, { template: idOf('run 1') }, 'ada', 2);
    expect(refused.json['errors']).toEqual([expect.objectContaining({ pointer: '/resources/in' })]);
    expect(told(await patch(run, { template: idOf('run 1'), resources: { in: null } }, 'ada', 2))).toBe('200');
  });

  describe('for whoever may not read the record', () => {
    it('is judged by what the patch holds, and the answer says nothing about what is stored', async () => {
      // A template that only one of them satisfies.
      const guess = await make('process-templates', {
        namespace: '/a',
        name: 'guess',
        version: '1',
        schema: { properties: { secret: { const: 7 } } },
        slots: [],
      });
      const answers = [];
      for (const secret of [7, 8]) {
        const run = await make('process-runs', { namespace: '/a', parameters: { secret } });
        for (const body of [
          { template: guess },
          { template: guess, parameters: {} },
          { template: guess, resources: {} },
          { template: guess, parameters: { secret: 9 }, resources: {} },
        ]) {
          const refused = await patch(`process-runs/${run}`, body, 'wes');
          expect([body, told(refused)]).toEqual([body, '422 record.invalid']);
          answers.push(JSON.stringify(refused.json['errors']));
        }
        const changed = await patch(`process-runs/${run}`, { template: guess, parameters: {}, resources: {} }, 'wes');
        expect(changed.json).toEqual({ id: run, revision: 2 });
        expect((await send(`GET /api/v1/process-runs/${run}`)).json).toMatchObject({ template: guess, parameters: {} });
        expect((await patch(`process-runs/${run}`, { template: null }, 'wes', 2)).status).toBe(200);
      }
      expect(answers.slice(0, 4)).toEqual(answers.slice(4));
      expect(answers[0]).toContain('needs `parameters` and `resources` beside it');
    });
  });
});
