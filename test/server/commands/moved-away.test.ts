// A move is refused where the record would be out of reach of what refers to it, and where its name is taken.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const REFERENCED = '409 record.referenced /namespace';
/** It would leave what it refers to itself. */
const LEFT = '422 reference.not_found /namespace';

describeOnStores('a record that is moved', (store) => {
  let doors: CommandDoors;
  const make = async (collection: string, body: object): Promise<string> => {
    const { json } = await doors.send('ada', `POST /api/v1/${collection}`, { body: { name: 'n', ...body } });
    return `${collection}/${String(json['id'])}`;
  };
  const idOf = (record: string): string => record.slice(-36);
  const model = (fields: object = {}): Promise<string> =>
    make('resource-templates', { namespace: '/labs', version: '1', schema: {}, ...fields });
  const moved = async (record: string, actor = 'ada', namespace = '/labs/laser'): Promise<string> => {
    const body = { namespace };
    const { status, json }: Answered = await doors.send(actor, `POST /api/v1/${record}/move`, { body, ifMatch: 1 });
    const [error] = (json['errors'] ?? []) as readonly { readonly pointer: string }[];
    return `${String(status)} ${String(json['code'])} ${String(error?.pointer)}`;
  };
  const moves = '200 undefined undefined';

  beforeAll(async () => {
    const actors = { ada: { '/': '*:*' }, out: { '/labs/optics': 'resource:*', '/labs/laser': 'resource:write' } };
    doors = await openCommandDoors({ db: store.db, actors });
    for (const path of ['/labs', '/labs/laser', '/labs/optics'])
      await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  });

  afterAll(async () => {
    await doors.close();
  });

  it('stays where a resource is made from it, an archived one, too', async () => {
    const [used, unused] = [await model(), await model()];
    const resource = await make('resources', { namespace: '/labs', template: idOf(used) });
    expect([await moved(used), await moved(resource, 'ada', '/')]).toEqual([REFERENCED, LEFT]);
    await doors.send('ada', `POST /api/v1/${resource}/archive`, { body: {}, ifMatch: 1 });
    expect([await moved(used), await moved(unused)]).toEqual([REFERENCED, moves]);
  });

  it('stays where a slot asks for it', async () => {
    const [used, unused] = [await model(), await model()];
    const slots = [{ name: 'open' }, { name: 's', template: idOf(used) }];
    await make('process-templates', { namespace: '/labs', version: '1', schema: {}, slots });
    expect([await moved(used), await moved(unused)]).toEqual([REFERENCED, moves]);
  });

  it('stays where a run uses it or is made from it', async () => {
    const [used, unused] = [await make('resources', { namespace: '/labs' }), await make('resources', { namespace: '/labs' })]; // prettier-ignore
    const template = await make('process-templates', { namespace: '/labs', version: '1', schema: {}, slots: [{ name: 's' }] }); // prettier-ignore
    const run = { namespace: '/labs', template: idOf(template), resources: { s: idOf(used) } };
    const process = await make('process-runs', run);
    expect([await moved(used), await moved(template), await moved(unused)]).toEqual([REFERENCED, REFERENCED, moves]);
    // Its run goes where both are still above it.
    const using = await make('process-runs', { namespace: '/labs', resources: { s: idOf(used) } });
    expect([await moved(process, 'ada', '/'), await moved(using, 'ada', '/')]).toEqual([LEFT, LEFT]);
    expect(await moved(process)).toBe(moves);
  });

  it('whose name is to be unique stays if another has it there, of which only a reader is told', async () => {
    const template = idOf(await model({ namespace: '/', uniqueName: true }));
    const [taken, free] = await Promise.all(
      ['taken', 'free'].map((name) => make('resources', { namespace: '/labs/optics', name, template })),
    );
    await make('resources', { namespace: '/labs/laser', name: 'taken', template });
    const plain = await make('resources', { namespace: '/labs/optics', name: 'taken' });
    expect(await moved(taken ?? '')).toBe('409 record.name_taken /namespace');
    expect([await moved(taken ?? '', 'out'), await moved(free ?? '', 'out')]).toEqual([
      '403 authz.denied undefined',
      '403 authz.denied undefined',
    ]);
    expect([await moved(plain, 'out'), await moved(free ?? '')]).toEqual([moves, moves]);
    // So it is if its name was taken while it was archived.
    await doors.send('ada', `POST /api/v1/${taken ?? ''}/archive`, { body: {}, ifMatch: 1 });
    await make('resources', { namespace: '/labs/optics', name: 'taken', template });
    const { status, json } = await doors.send('ada', `POST /api/v1/${taken ?? ''}/restore`, { body: {}, ifMatch: 2 });
    expect([status, json['code'], json['errors']]).toMatchObject([409, 'record.name_taken', [{ pointer: '/name' }]]);
  });
});
