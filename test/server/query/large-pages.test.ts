// Pages of records as large as they can be, through the gateway: a page ends early, and the union of all pages is what it would
// be of small ones, in every order, at every size. What is not shown does not count.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { loadDataset } from '../../../server/load/load-dataset.js';
import { call, openGateway, type TestGateway } from '../../support/gateway.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const MEBIBYTE = 1024 * 1024;
/** JSON of nearly as many bytes as a line may have, and what becomes the largest record. */
const LARGE: readonly string[] = [
  `"${'\\u0001'.repeat(174_000)}"`,
  `"${'\\\\'.repeat(520_000)}"`,
  `"${'😀'.repeat(260_000)}"`,
  `"${'x'.repeat(1_040_000)}"`,
  `${'['.repeat(25)}${Array(520_000).fill('1').join()}${']'.repeat(25)}`,
  `[${Array(6_300).fill('5e-324').join()}]`,
];
const NAMESPACES = ['/a', '/b', '/b/c', '/d/e', '/f', '/g'];

const COUNT = 12;

/** Large ones and small ones by turns, in several namespaces; some tie. */
function* lines(): Generator<string> {
  for (let index = 0; index < COUNT; index += 1) {
    const value = index % 3 === 0 ? String(index) : (LARGE[(index - 1 - Math.floor(index / 3)) % LARGE.length] ?? '');
    const namespace = NAMESPACES[index % NAMESPACES.length] ?? '';
    const createdAt = `2030-01-0${String(1 + (index % 4))}T00:00:00Z`;
    yield (
      `{"family":"resource","namespace":"${namespace}","name":"n${String(index % 7)}","createdAt":"${createdAt}",` +
      `"properties":{"rank":${String(index % 5)},"value":${value}}}`
    );
  }
}

interface Answer {
  readonly ids: readonly string[];
  /** Of the JSON of the items. */
  readonly bytes: number;
  readonly next: string | null;
}

for (const store of testStores()) {
  describe(`pages of large records on the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    let gateway: TestGateway;
    let key: string;
    beforeAll(async () => {
      opened = await store.open();
      await migrate(opened.database);
      // Without a limit of time: a busy machine is not what is tested.
      db = await openDatabase({ ...opened.config, statementTimeout: 0 });
      gateway = await openGateway({ db });
      key = (await gateway.key()).text;
      const texts = [...lines()].map((line, index) => ({ number: index + 1, bytes: Buffer.from(line) }));
      const source = (async function* () {
        yield await Promise.resolve(texts);
      })();
      const report = await loadDataset(db, source, { onConflict: 'report', now: instantOf(0) });
      expect(report.faults).toEqual([]);
    });
    afterAll(async () => {
      await gateway.dispose();
      await db.close();
      await opened.dispose();
    });

    async function ask(body: object, page: object): Promise<Answer> {
      const query = { family: 'resource', namespace: '/', reach: 'subtree', ...body, page };
      const reply = await call(gateway.port, { key, body: query });
      expect(reply.status).toBe(200);
      const { items, page: told } = JSON.parse(reply.text) as {
        readonly items: readonly { readonly id: string }[];
        readonly page: { readonly next: string | null };
      };
      const start = reply.text.indexOf('"items":') + '"items":'.length;
      const end = reply.text.lastIndexOf(',"page":');
      return {
        ids: items.map(({ id }) => id),
        bytes: Buffer.byteLength(reply.text.slice(start, end)),
        next: told.next,
      };
    }

    async function pages(body: object, size: number): Promise<readonly Answer[]> {
      const all: Answer[] = [];
      let after: string | null = null;
      do {
        const answer: Answer = await ask(body, { size, after });
        all.push(answer);
        after = answer.next;
      } while (after !== null && all.length < 100);
      return all;
    }

    it.each<[string, readonly object[], readonly number[]]>([
      ['by id', [], [500]],
      ['newest', [{ createdAt: 'desc' }], [50]],
      ['by name', [{ name: 'asc' }], [1, 500]],
      ['by name from the end', [{ name: 'desc' }], [5]],
      ['by a property', [{ 'properties.rank': 'asc' }], [COUNT]],
      ['by two keys', [{ revision: 'desc' }, { name: 'asc' }], [COUNT - 1]],
    ])('end early, go on where they ended, and hold 8 MiB: %s', async (_, orderBy, sizes) => {
      const [all] = await pages({ orderBy, select: ['id'] }, 500);
      expect(all).toMatchObject({ next: null });
      expect(new Set(all?.ids).size).toBe(COUNT);
      for (const size of sizes) {
        const read = await pages({ orderBy }, size);
        expect(read.flatMap(({ ids }) => ids)).toEqual(all?.ids);
        for (const { ids, bytes } of read) {
          expect(ids.length).toBeGreaterThan(0);
          expect(ids.length).toBeLessThanOrEqual(size);
          expect(bytes).toBeLessThanOrEqual(8 * MEBIBYTE);
        }
        const cut = read.filter(({ ids, next }) => next !== null && ids.length < size);
        if (size >= COUNT) expect(cut.length).toBeGreaterThan(0);
        for (const { ids } of cut) expect(ids.length % 4).toBe(0);
      }
    });

    it('are not cut for what is not shown', async () => {
      for (const select of [['id', 'name', 'namespace'], ['properties.rank'], ['id', 'properties.none']]) {
        for (const orderBy of [[{ name: 'asc' }], [{ 'properties.rank': 'desc' }]]) {
          const answer = await ask({ orderBy, select: [...select, 'id'] }, { size: COUNT });
          expect([select, answer.ids.length, answer.next]).toEqual([select, COUNT, null]);
        }
      }
      const part = await ask({ select: ['id', 'properties.value'] }, { size: 500 });
      expect(part.next).not.toBeNull();
    });

    it('hold what a filter finds, and nothing at size 0', async () => {
      const where = { 'properties.rank': { gte: 0 }, name: { ne: 'n5' } };
      const [all] = await pages({ where, select: ['id'] }, 500);
      const read = await pages({ where }, 500);
      expect(read.length).toBeGreaterThan(1);
      expect(read.flatMap(({ ids }) => ids)).toEqual(all?.ids);
      expect(await ask({ where }, { size: 0 })).toEqual({ ids: [], bytes: 2, next: null });
    });
  });
}
