// Writes of an actor who may not read what it writes: whatever it sends, and however large that is, the answer says
// nothing about what is stored.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('a run that its writer may not read', (store) => {
  let doors: CommandDoors;
  let resource = '';
  let path = '';

  const patch = (actor: string, body: object, ifMatch = 1): Promise<Answered> =>
    doors.send(actor, `PATCH ${path}`, { body, ifMatch });
  const slots = (names: readonly string[], id?: string): object => ({
    resources: Object.fromEntries(names.map((name) => [name, id ?? randomUUID()])),
  });
  const fill = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `f${String(index)}`);
  const told = ({ status, json }: Answered): string => `${String(status)} ${String(json['code'])}`;

  beforeAll(async () => {
    const actors = { ada: { '/': '*:*' }, wes: { '/': '*:write resource:read' } };
    doors = await openCommandDoors({ db: store.db, actors });
    await doors.send('ada', 'PUT /api/v1/namespaces/a', { body: {} });
    const made = await doors.send('ada', 'POST /api/v1/resources', { body: { namespace: '/a', name: 'r' } });
    resource = String(made.json['id']);
  });

  afterAll(async () => {
    await doors.close();
  });

  beforeAll(async () => {
    const run = await doors.send('ada', 'POST /api/v1/process-runs', {
      body: { namespace: '/a', resources: { donor: resource, detector: resource, 'patient-4711': resource } },
    });
    path = String(run.header('location'));
  });

  it('does not tell how many slots it has, nor which', async () => {
    for (const known of [[], ['donor'], ['donor', 'detector', 'patient-4711']]) {
      for (const count of [1_000, 999, 998, 997]) {
        const names = [...known, ...fill(count - known.length)];
        expect([names.length, told(await patch('wes', slots(names)))]).toEqual([count, '422 reference.not_found']);
      }
    }
    expect(told(await patch('wes', slots(fill(1_001))))).toMatch(/^4(?:00|13) /);
  });

  it('has the slots of its patch afterwards, and no others', async () => {
    expect((await patch('wes', slots(['sample'], resource))).json).toEqual({
      id: path.split('/').at(-1),
      revision: 2,
    });
    const read = await doors.send('ada', `GET ${path}`);
    expect(read.json['resources']).toEqual({ sample: resource });
    expect((await patch('wes', { resources: { sample: null, other: null } }, 2)).json['revision']).toBe(3);
    expect((await doors.send('ada', `GET ${path}`)).json['resources']).toEqual({});
  });

  it('is changed by large patches, read or not', async () => {
    const large = { text: 'x'.repeat(100_000) };
    for (const [index, actor] of ['ada', 'wes'].entries()) {
      for (const [times, body] of [{ properties: large }, { parameters: large }, { description: 'd' }].entries()) {
        const answer = await patch(actor, body, 3 + 3 * index + times);
        expect([actor, Object.keys(body), answer.status]).toEqual([actor, Object.keys(body), 200]);
      }
    }
  });
});
