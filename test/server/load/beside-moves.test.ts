// Loads whose lines refer to templates that commands move all the time from one partition to another: each batch waits
// for its turn, and none is given up.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { deadlocksOf } from '../../support/deadlocks.js';
import { pathOf } from '../../support/gateway.js';
import { loadLines, replaceLines } from '../../support/loaded-records.js';
import { describeOnStores, partitionedStores } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';

const LOADS = times({ usual: 20, deep: 60 });
const TEMPLATES = 6;
const TEMPLATE = '0190c0de-0000-7000-9000-0000000000ff';

const declare: Parameters<typeof describeOnStores>[1] = (store) => {
  let doors: CommandDoors;
  beforeAll(async () => {
    const all = { '/': '*:*' };
    doors = await openCommandDoors({ db: store.db, actors: { ada: all, bob: all } });
    for (const path of ['/a', '/a/b']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
  });
  afterAll(() => doors.close());

  it.each([
    ['load', loadLines],
    ['replace', replaceLines],
  ] as const)(
    'are all stored (%s)',
    async (_, load) => {
      const before = await deadlocksOf(store.db);
      const templates: string[] = [];
      for (let made = 0; made < TEMPLATES; made += 1) {
        const body = { namespace: '/', name: 't', version: '1', schema: {} };
        templates.push(String((await doors.send('ada', 'POST /api/v1/resource-templates', { body })).json['id']));
      }
      const creates = Array.from({ length: 10 }, () => ({
        ...{ method: 'POST', path: '/api/v1/resources' },
        body: { namespace: '/', name: 'other' },
      }));
      let isOver = false;
      const move = async (actor: string, own: readonly string[]): Promise<number> => {
        let rounds = 0;
        for (; !isOver; rounds += 1) {
          const moves = own.map((id) => ({
            ...{ method: 'POST', path: `/api/v1/resource-templates/${id}/move`, ifMatch: `"${String(rounds + 1)}"` },
            body: { namespace: ['/a', '/'][rounds % 2] },
          }));
          const { status, text } = await doors.send(actor, 'POST /api/v1/batch', {
            body: { commands: [...moves, ...creates] },
          });
          if (status !== 200) throw new Error(text);
        }
        return rounds;
      };
      const half = TEMPLATES / 2;
      const moving = [move('ada', templates.slice(0, half)), move('bob', templates.slice(half))];
      const reports: unknown[] = [];
      for (let round = 0; round < LOADS; round += 1) {
        const nth = load === loadLines ? round : LOADS;
        const lines = templates.map((template, at) => ({
          ...{ family: 'resource', namespace: '/a/b', name: `r${String(round)}`, template },
          id: `0190c0de-0000-7000-8000-${String(nth * TEMPLATES + at).padStart(12, '0')}`,
        }));
        const { loaded, replaced } = await load(
          store.db,
          lines.map((line) => JSON.stringify(line)),
        );
        reports.push(loaded + replaced);
      }
      isOver = true;
      for (const rounds of await Promise.all(moving)) expect(rounds).toBeGreaterThan(1);
      expect(new Set(reports)).toEqual(new Set([TEMPLATES]));
      expect(await deadlocksOf(store.db)).toBe(before);
    },
    120_000,
  );

  it('make nobody give up who refers to what they put elsewhere all the time', async () => {
    const template = { family: 'resource-template', id: TEMPLATE, name: 'u', version: '1', schema: {} };
    const others = Array.from({ length: 50 }, (_, at) => ({
      ...{ family: 'resource', namespace: '/', name: 'z' },
      id: TEMPLATE.replace(/..$/, String(at).padStart(2, '0')),
    }));
    let isOver = false;
    const replace = async (): Promise<number> => {
      let rounds = 0;
      for (; !isOver; rounds += 1) {
        const placed = { ...template, namespace: ['/', '/a'][rounds % 2] };
        const lines = [placed, ...others.map((other) => ({ ...other, description: String(rounds) }))];
        expect(
          await replaceLines(
            store.db,
            lines.map((line) => JSON.stringify(line)),
          ),
        ).toMatchObject({ bad: 0 });
      }
      return rounds;
    };
    await loadLines(store.db, [JSON.stringify({ ...template, namespace: '/' })]);
    const replacing = replace();
    const statuses: number[] = [];
    for (let round = 0; round < LOADS; round += 1) {
      const body = { namespace: '/a/b', name: 'r', template: TEMPLATE };
      statuses.push((await doors.send('bob', 'POST /api/v1/resources', { body })).status);
    }
    isOver = true;
    expect(await replacing).toBeGreaterThan(1);
    expect(new Set(statuses)).toEqual(new Set([201]));
  }, 120_000);
};

describeOnStores('loads beside moves between partitions', declare, partitionedStores(pathOf('/a')));
