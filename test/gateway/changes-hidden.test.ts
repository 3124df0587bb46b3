// Nothing that is invisible influences the feed: two stores that differ only in invisible records give the same bytes,
// whatever happens there and however much of it. A cursor is the one part that differs, and it differs for the same
// place, too.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors } from '../support/command-doors.js';
import { loadLines } from '../support/loaded-records.js';
import { type OpenedStore, testStores } from '../support/stores.js';

const ACTORS = { rea: { '/a': '*:read', '/deep/b/c/d/e/f/g': 'resource:read' }, out: { '/z': 'resource:read' } };
const VISIBLE = ['/a', '/a/b', '/deep/b/c/d/e/f/g', '/deep/b/c/d/e/f/g/h'];
// Neighbours in every index of what is visible.
const HIDDEN = [
  '/',
  '/a-b',
  '/a.b',
  '/a0',
  '/ab',
  '/deep/b/c/d/e/f',
  '/deep/b/c/d/e/f/g-h',
  '/deep/b/c/d/e/f/g0',
  '/z',
];

const idOf = (text: string): string => `01900000-0000-7000-8000-${Buffer.from(text).toString('hex').padStart(12, '0')}`;

interface Side {
  readonly store: OpenedStore;
  readonly doors: CommandDoors;
  /** Whether much happens that nobody here may see. */
  readonly isBusy: boolean;
}

describe('two stores that differ in what is invisible', () => {
  let sides: readonly Side[] = [];
  beforeAll(async () => {
    const [kind] = testStores();
    if (kind === undefined) throw new Error('there is no store');
    sides = await Promise.all(
      [false, true].map(async (isBusy): Promise<Side> => {
        const store = await kind.open();
        return { store, doors: await openCommandDoors({ db: store.database, actors: ACTORS }), isBusy };
      }),
    );
  });
  afterAll(async () => {
    for (const { doors, store } of sides) {
      await doors.close();
      await store.dispose();
    }
  });

  const visibly = async ({ store }: Side, turn: number): Promise<void> => {
    const record = (namespace: string, index: number, more = {}): string =>
      JSON.stringify({
        family: 'resource',
        namespace,
        name: 'x',
        id: idOf(`${String(turn)}-${String(index)}`),
        ...more,
      });
    await loadLines(
      store.database,
      VISIBLE.map((namespace, index) => record(namespace, index)),
    );
    const moved = 'UPDATE records SET path = ?, revision = revision + 1 WHERE id = ?';
    await store.database.knex.raw(moved, ['/a/b/', idOf(`${String(turn)}-0`)]);
    await store.database.knex.raw(moved, ['/z/', idOf(`${String(turn)}-1`)]);
    await store.database.knex.raw('DELETE FROM records WHERE id = ?', [idOf(`${String(turn)}-2`)]);
  };
  const invisibly = async ({ store, isBusy }: Side, turn: number): Promise<void> => {
    if (!isBusy) return;
    const lines = HIDDEN.flatMap((namespace, place) =>
      ['resource', 'resource-template'].flatMap((family) =>
        Array.from({ length: 8 }, (_, index) => ({
          ...{
            family,
            namespace,
            name: 'h',
            id: idOf(`${String(turn)}${family[8] ?? ''}${String(place)}${String(index)}`),
          },
          ...(family === 'resource' ? {} : { version: '1', schema: {} }),
        })),
      ),
    );
    await loadLines(
      store.database,
      lines.map((line) => JSON.stringify(line)),
    );
    await store.database.knex.raw("UPDATE records SET path = '/y/' WHERE path = '/ab/'");
    await store.database.knex.raw("UPDATE records SET archived_at = now(), revision = 9 WHERE path = '/a0/'");
    await store.database.knex.raw("DELETE FROM records WHERE path = '/a-b/'");
  };
  /** Everything but the time, which differs because the stores are written one after the other. */
  const bytesOf = (text: string): string =>
    text.replaceAll(/"(cursor|next)":"[\w-]{114}"/g, '"$1":"…"').replaceAll(/"time":"[^"]{24}"/g, '"time":"…"');

  it('give the same feed, page by page', async () => {
    const pages = await Promise.all(
      sides.map(async (side) => {
        const seen: string[] = [];
        const ask = async (query: string): Promise<string> => {
          const { text, status, json } = await side.doors.send('rea', `GET /api/v1/changes${query}`);
          seen.push(`${String(status)} ${bytesOf(text)}`);
          return String(json['next']);
        };
        await invisibly(side, 0);
        let next = await ask('');
        for (let turn = 1; turn <= 3; turn += 1) {
          await invisibly(side, turn * 2);
          await visibly(side, turn);
          await invisibly(side, turn * 2 + 1);
          for (let page = 0; page < 5; page += 1) next = await ask(`?after=${next}&limit=2`);
          await invisibly(side, 50 + turn);
          next = await ask(`?after=${next}`);
        }
        // What is asked for in part, and by somebody who sees nothing of it.
        await ask(`?namespace=/a/b&families=resource,process-run`);
        const { text } = await side.doors.send('out', 'GET /api/v1/changes?namespace=/a');
        return [...seen, text];
      }),
    );
    expect(pages[0]?.join('\n')).toMatch(/"left":true/);
    expect(pages[1]).toEqual(pages[0]);
    expect(
      (await sides[1]?.store.database.knex.raw<{ rows: { n: number }[] }>('SELECT count(*)::int AS n FROM changes'))
        ?.rows[0]?.n,
    ).toBeGreaterThan(1_000);
  });

  it('give cursors that are new each time, of one length, and of no use to others', async () => {
    for (const { doors } of sides) {
      const ask = async (): Promise<string> => String((await doors.send('rea', 'GET /api/v1/changes')).json['next']);
      const cursors = [await ask(), await ask(), await ask()];
      expect(new Set(cursors).size).toBe(3);
      expect(cursors.map(({ length }) => length)).toEqual([114, 114, 114]);
      // They begin with the same byte, the version, and share nothing else that anybody could read.
      const [a = '', b = ''] = cursors;
      const same = Array.from(a).filter((letter, index) => index > 1 && letter === b[index]).length;
      expect(same).toBeLessThan(20);
      const stolen = await doors.send('out', `GET /api/v1/changes?after=${a}`);
      expect([stolen.status, stolen.json['code']]).toEqual([400, 'query.cursor']);
      const bent = `${a.slice(0, 60)}${a[60] === 'A' ? 'B' : 'A'}${a.slice(61)}`;
      for (const wrong of [bent, a.slice(1), `${a}A`, 'x', '', a.toLowerCase()]) {
        const refused = await doors.send('rea', `GET /api/v1/changes?after=${wrong}`);
        expect([refused.status, refused.json['code']]).toEqual([400, 'query.cursor']);
      }
    }
  });
});
