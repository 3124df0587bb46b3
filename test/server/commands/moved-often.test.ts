// A template is moved all the time between two namespaces that new records may refer to. Whatever makes a record refer to
// it waits for its turn, and is never refused because of the moves, nor where they are from one partition to another.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { pathOf } from '../../support/gateway.js';
import { describeOnStores, partitionedStores, type StoreOfSuite } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';

const CREATES = times({ usual: 12, deep: 30 });
const TEMPLATES = 12;

const WHAT = 'records that refer to a template which is moved all the time';
describeOnStores(WHAT, declare);
describeOnStores(`${WHAT} between partitions`, declare, partitionedStores(pathOf('/a')));

function declare(store: StoreOfSuite): void {
  let doors: CommandDoors;

  beforeAll(async () => {
    const all = { '/': '*:*' };
    doors = await openCommandDoors({ db: store.db, actors: { ada: all, bob: all, cyd: all } });
    for (const path of ['/a', '/a/b', '/a/c']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  });
  afterAll(() => doors.close());

  describe.each(['alone', 'in a batch'])('%s', (kind) => {
    it('are all created', async () => {
      const { json } = await doors.send('ada', 'POST /api/v1/resource-templates', {
        body: { namespace: '/', name: 't', version: '1', schema: {} },
      });
      const template = String(json['id']);
      const body = { namespace: '/a/b', name: 'r', template };
      const create = { method: 'POST', path: '/api/v1/resources', body };
      let isOver = false;
      const move = async (): Promise<void> => {
        for (let to = 0; !isOver; to += 1) {
          const commands = [
            {
              method: 'POST',
              path: `/api/v1/resource-templates/${template}/move`,
              body: { namespace: ['/a', '/'][to % 2] },
              ifMatch: `"${String(to + 1)}"`,
            },
            ...Array.from({ length: 10 }, () => ({ ...create, body: { namespace: '/', name: 'other' } })),
          ];
          const { status, text } = await doors.send('ada', 'POST /api/v1/batch', { body: { commands } });
          if (status !== 200) throw new Error(text);
        }
      };
      const moving = move();
      const statuses: string[] = [];
      for (let made = 0; made < CREATES; made += 1) {
        const { status, text } = await (kind === 'alone'
          ? doors.send('bob', 'POST /api/v1/resources', { body })
          : doors.send('bob', 'POST /api/v1/batch', { body: { commands: [create, create] } }));
        statuses.push(status < 300 ? 'created' : text);
      }
      isOver = true;
      await moving;
      expect(new Set(statuses)).toEqual(new Set(['created']));
    });
  });

  describe.each(['creates', 'copies', 'versions', 'moves'] as const)('by %s', (kind) => {
    it('are all done in batches that refer to many of them, which others move one by one', async () => {
      const send = async (path: string, body: object): Promise<string> =>
        String((await doors.send('bob', `POST /api/v1/${path}`, { body })).json['id']);
      const one = { namespace: '/', name: 't', version: '1', schema: {} };
      const templates: string[] = [];
      const sources: string[] = [];
      for (let made = 0; made < TEMPLATES; made += 1) {
        const template = await send('resource-templates', one);
        templates.push(template);
        sources.push(
          kind === 'versions'
            ? await send('process-templates', { ...one, namespace: '/a/b', slots: [{ name: 's', template }] })
            : await send('resources', { namespace: '/a/b', name: 'r', template }),
        );
      }
      const commandsOf = (round: number): readonly object[] =>
        templates.map((template, at) => {
          const [path, more] = {
            creates: ['resources', { body: { namespace: '/a/b', name: 'r', template } }] as const,
            copies: [`resources/${sources[at] ?? ''}/copies`, { body: { destination: '/a/b' } }] as const,
            versions: [
              `process-templates/${sources[at] ?? ''}/versions`,
              { body: { version: `v${String(round)}` } },
            ] as const,
            moves: [
              `resources/${sources[at] ?? ''}/move`,
              { body: { namespace: ['/a/c', '/a/b'][round % 2] }, ifMatch: `"${String(round + 1)}"` },
            ] as const,
          }[kind];
          return { method: 'POST', path: `/api/v1/${path}`, ...more };
        });
      let isOver = false;
      const move = async (actor: string, own: readonly string[]): Promise<void> => {
        for (let to = 0; !isOver; to += 1) {
          for (const id of own) {
            const sending = { body: { namespace: ['/a', '/'][to % 2] }, ifMatch: to + 1, key: null };
            const { status, text } = await doors.send(actor, `POST /api/v1/resource-templates/${id}/move`, sending);
            if (status !== 200) throw new Error(text);
          }
        }
      };
      const half = TEMPLATES / 2;
      const moving = [move('ada', templates.slice(0, half)), move('cyd', templates.slice(half))];
      const statuses: string[] = [];
      for (let round = 0; round < CREATES; round += 1) {
        const { status, text } = await doors.send('bob', 'POST /api/v1/batch', {
          body: { commands: commandsOf(round) },
        });
        statuses.push(status === 200 ? 'done' : text);
      }
      isOver = true;
      await Promise.all(moving);
      expect(new Set(statuses)).toEqual(new Set(['done']));
    });
  });
}
