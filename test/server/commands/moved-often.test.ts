// A template is moved all the time between two namespaces that new records may refer to. A create waits for its turn, and
// is never refused because of the moves.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const CREATES = 30;
const TEMPLATES = 12;

describeOnStores('records that refer to a template which is moved all the time', (store) => {
  let doors: CommandDoors;

  beforeAll(async () => {
    const all = { '/': '*:*' };
    doors = await openCommandDoors({ db: store.db, actors: { ada: all, bob: all, cyd: all } });
    for (const path of ['/a', '/a/b']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
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
    }, 120_000);
  });

  it('are all created in batches that refer to many of them, which others move one by one', async () => {
    const templates: string[] = [];
    for (let made = 0; made < TEMPLATES; made += 1) {
      const body = { namespace: '/', name: 't', version: '1', schema: {} };
      const { json } = await doors.send('bob', 'POST /api/v1/resource-templates', { body });
      templates.push(String(json['id']));
    }
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
    const commands = templates.map((template) => ({
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace: '/a/b', name: 'r', template },
    }));
    const statuses: string[] = [];
    for (let made = 0; made < CREATES; made += 1) {
      const { status, text } = await doors.send('bob', 'POST /api/v1/batch', { body: { commands } });
      statuses.push(status === 200 ? 'created' : text);
    }
    isOver = true;
    await Promise.all(moving);
    expect(new Set(statuses)).toEqual(new Set(['created']));
  }, 120_000);
});
