// A record is moved away while others begin to refer to it: whoever comes first wins. Never does a record refer to one
// that is not at its namespace or above it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { loadDataset } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { deadlocksOf } from '../../support/deadlocks.js';
import { describeOnStores } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';
import { until } from '../../support/until.js';

const ROUNDS = { usual: 6, deep: 200 };

describeOnStores('a move beside new references to the moved record', (store) => {
  let doors: CommandDoors;
  let deadlocks = 0;

  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    for (const path of ['/a', '/b']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    deadlocks = await deadlocksOf(store.db);
  });
  afterAll(async () => {
    expect(await deadlocksOf(store.db)).toBe(deadlocks);
    await doors.close();
  });

  /** A template, or whatever else is moved from the root to `/b`, where records of `/a` may not refer to it. */
  interface Meeting {
    /** The id of a new record that nothing refers to. */
    readonly target: () => Promise<string>;
    readonly collection: string;
    /** What makes a record of `/a` refer to it, prepared and then sent. */
    readonly refer: (target: string, round: number) => Promise<() => Promise<Answered>>;
  }

  const make = async (collection: string, body: object): Promise<string> => {
    const { status, text, json } = await doors.send('ada', `POST /api/v1/${collection}`, { body });
    if (status !== 201) throw new Error(text);
    return String(json['id']);
  };
  const template = (more: object = {}) => make('resource-templates', { ...TEMPLATE, ...more });
  const resource = (body: object = {}) => make('resources', { namespace: '/a', name: 'r', ...body });
  const batch = (...commands: readonly object[]) => doors.send('ada', 'POST /api/v1/batch', { body: { commands } });
  const change = (path: string, body: object) => doors.send('ada', `PATCH /api/v1/${path}`, { body, ifMatch: 1 });

  const MEETINGS: Readonly<Record<string, Meeting>> = {
    'a create': {
      target: template,
      collection: 'resource-templates',
      refer: (id) =>
        Promise.resolve(() =>
          doors.send('ada', 'POST /api/v1/resources', { body: { namespace: '/a', name: 'n', template: id } }),
        ),
    },
    'a create with a unique name': {
      target: () => template({ uniqueName: true }),
      collection: 'resource-templates',
      refer: (id, round) =>
        Promise.resolve(() =>
          doors.send('ada', 'POST /api/v1/resources', {
            body: { namespace: '/a', name: `u${String(round)}`, template: id },
          }),
        ),
    },
    'a put by name': {
      target: () => template({ uniqueName: true }),
      collection: 'resource-templates',
      refer: (id, round) =>
        Promise.resolve(() =>
          doors.send('ada', `PUT /api/v1/resources/by-name?namespace=%2Fa&name=p${String(round)}`, {
            body: { template: id },
            key: null,
          }),
        ),
    },
    'a put by name of another template': {
      target: () => template({ uniqueName: true }),
      collection: 'resource-templates',
      refer: async (id, round) => {
        const put = (to: string) =>
          doors.send('ada', `PUT /api/v1/resources/by-name?namespace=%2Fa&name=c${String(round)}`, {
            body: { template: to },
            key: null,
          });
        const { status, text } = await put(await template({ uniqueName: true }));
        if (status !== 201) throw new Error(text);
        return () => put(id);
      },
    },
    'a batch': {
      target: template,
      collection: 'resource-templates',
      refer: (id) =>
        Promise.resolve(() =>
          batch(
            { method: 'POST', path: '/api/v1/resources', body: { namespace: '/a', name: 'n', template: id } },
            { method: 'POST', path: '/api/v1/resources', body: { namespace: '/a', name: 'm', template: id } },
          ),
        ),
    },
    'a change of template': {
      target: template,
      collection: 'resource-templates',
      refer: async (id) => {
        const own = await resource();
        return () => change(`resources/${own}`, { template: id });
      },
    },
    'a process template': {
      target: template,
      collection: 'resource-templates',
      refer: (id) =>
        Promise.resolve(() =>
          doors.send('ada', 'POST /api/v1/process-templates', {
            body: { ...TEMPLATE, namespace: '/a', slots: [{ name: 's', template: id, required: false }] },
          }),
        ),
    },
    'a run that uses a resource': {
      target: async () => resource({ namespace: '/', template: await template() }),
      collection: 'resources',
      refer: async (id) => {
        const { json } = await doors.send('ada', `GET /api/v1/resources/${id}`);
        const slots = [{ name: 's', template: json['template'], required: false }];
        const process = await make('process-templates', { ...TEMPLATE, slots });
        const run = await make('process-runs', { namespace: '/a', template: process, state: 'pending' });
        return () => change(`process-runs/${run}`, { resources: { s: id } });
      },
    },
    'a move of what refers to it': {
      target: template,
      collection: 'resource-templates',
      refer: async (id) => {
        const own = await resource({ namespace: '/b', template: id });
        return () =>
          doors.send('ada', `POST /api/v1/resources/${own}/move`, { body: { namespace: '/a' }, ifMatch: 1, key: null });
      },
    },
    'a copy of what refers to it': {
      target: template,
      collection: 'resource-templates',
      refer: async (id) => {
        const own = await resource({ namespace: '/b', template: id });
        return () => doors.send('ada', `POST /api/v1/resources/${own}/copies`, { body: { destination: '/a' } });
      },
    },
  };

  describe.each(Object.entries(MEETINGS))('%s', (_, { target, collection, refer }) => {
    it('is either refused, or refuses the move', async () => {
      const ends: string[] = [];
      for (let round = 0; round < times(ROUNDS); round += 1) {
        const id = await target();
        const send = await refer(id, round);
        const move = (): Promise<Answered> =>
          doors.send('ada', `POST /api/v1/${collection}/${id}/move`, {
            body: { namespace: '/b' },
            ifMatch: 1,
            key: null,
          });
        const [moved, referred] = await Promise.all(
          round % 2 === 0 ? [move(), send()] : ([send(), move()].reverse() as [Promise<Answered>, Promise<Answered>]),
        );
        ends.push(`${said(moved)} / ${said(referred)}`);
      }
      expect(ends.filter((end) => !ONE.test(end))).toEqual([]);
    });
  });

  it('waits for a load that refers to it, and is refused then', async () => {
    const id = await template();
    const isWaiting = async (): Promise<boolean> => {
      const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      );
      return rows.length > 0;
    };
    const ends: string[] = [];
    let moving = Promise.resolve();
    const { loaded } = await loadDataset(store.db, oneLine({ namespace: '/a', name: 'loaded', template: id }), {
      onConflict: 'report',
      now: instantOf(0),
      // Called within the transaction that stores the line.
      record: async () => {
        const sending = { body: { namespace: '/b' }, ifMatch: 1, key: null };
        moving = doors.send('ada', `POST /api/v1/resource-templates/${id}/move`, sending).then((moved) => {
          ends.push(said(moved));
        });
        // The embedded store does one transaction at a time.
        if (store.name === 'postgres') await until(async () => ends.length > 0 || (await isWaiting()));
      },
    });
    await moving;
    expect([loaded, ends]).toEqual([1, ['409 record.referenced']]);
  });
});

async function* oneLine(resource: object): AsyncGenerator<readonly DatasetText[]> {
  yield [{ number: 1, bytes: Buffer.from(JSON.stringify({ family: 'resource', ...resource })) }];
  await Promise.resolve();
}

const TEMPLATE = { namespace: '/', name: 't', version: '1', schema: {} };

/** One of the two was done, and the other says why it could not be. */
const ONE = /^(?:200 \/ (?:404 record\.not_found|422 reference\.not_found)|409 record\.referenced \/ 20[01])$/;

function said({ status, json }: Answered): string {
  return `${String(status)}${status < 300 ? '' : ` ${String(json['code'])}`}`;
}
