// Two loads at once: a record is judged by what the store has of its template.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { sql } from '../../../server/db/sql.js';
import { loadDataset, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { loadLines, replaceLines } from '../../support/loaded-records.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const TEMPLATE = '0190c0de-0000-7000-8000-000000000001';
const templateOf = (type: string): object => ({
  family: 'resource-template',
  namespace: '/',
  name: 'lens',
  version: '1',
  schema: { properties: { rank: { type } } },
  id: TEMPLATE,
});
const made = (name: string, rank: unknown): object => ({
  family: 'resource',
  namespace: '/',
  name,
  template: TEMPLATE,
  properties: { rank },
});

const textOf = (line: object, index: number): DatasetText => ({
  number: index + 1,
  bytes: Buffer.from(JSON.stringify(line)),
});

describeOnStores('a load beside another', (store) => {
  beforeAll(async () => {
    await store.db.knex.raw(
      "CREATE FUNCTION abort(code text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'aborted' USING ERRCODE = code; END $$",
    );
  });
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    return rows.length > 0;
  };
  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM records WHERE path <> ? OR family <> 0', ['/']);
  });

  it('judges by the template that the other has put in place since the batch before', async () => {
    await loadLines(store.db, [JSON.stringify(templateOf('integer'))]);
    let stored = 0;
    async function* lines(): AsyncGenerator<readonly DatasetText[]> {
      yield [textOf(made('before', 1), 0)];
      await until(() => Promise.resolve(stored === 1));
      await replaceLines(store.db, [JSON.stringify(templateOf('string'))]);
      yield [textOf(made('after', 2), 1), textOf(made('after', 'two'), 2)];
    }
    const report = await loadDataset(store.db, lines(), {
      onConflict: 'report',
      now: instantOf(0),
      batch: { lines: 1, bytes: 1e6 },
      onProgress: ({ loaded }) => {
        stored = loaded;
      },
    });
    expect(report).toMatchObject({ loaded: 2, faults: [{ line: 2, code: 'record.invalid' }] });
  });

  it('forgets the template of a transaction that was rolled back', async () => {
    const dataset = [templateOf('string'), made('x', 'one'), made('y', 1)];
    async function* lines(): AsyncGenerator<readonly DatasetText[]> {
      yield dataset.map(textOf);
      await Promise.resolve();
    }
    const others: Promise<LoadReport>[] = [];
    const report = await loadDataset(store.db, lines(), {
      onConflict: 'report',
      now: instantOf(0),
      // Called within the transaction that stores the lines: the other load comes as soon as that is rolled back.
      record: async ({ rows }) => {
        if (others.length > 0) return;
        others.push(loadLines(store.db, [JSON.stringify(templateOf('integer'))]));
        if (store.name === 'postgres') await until(isWaiting);
        await rows(sql`SELECT abort(${'40P01'}::text)`);
      },
    });
    expect(await Promise.all(others)).toMatchObject([{ loaded: 1, bad: 0 }]);
    expect(report).toMatchObject({
      loaded: 1,
      faults: [
        { line: 1, code: 'record.conflict' },
        { line: 2, code: 'record.invalid' },
      ],
    });
  });

  it('leaves no record older than it was, or than it says that it is', async () => {
    const line = { family: 'resource', namespace: '/', name: 'x', id: '0190c0de-0000-7000-8000-000000000002' };
    const replaceAt = async (time: string, more: object): Promise<unknown> => {
      async function* lines(): AsyncGenerator<readonly DatasetText[]> {
        yield [textOf({ ...line, ...more }, 0)];
        await Promise.resolve();
      }
      await loadDataset(store.db, lines(), { onConflict: 'replace', now: instantOf(Date.parse(time)) });
      const { rows } = await store.db.knex.raw<{ rows: { updated_at: Date }[] }>(
        'SELECT updated_at FROM records WHERE id = ?',
        [line.id],
      );
      return rows[0]?.updated_at.toISOString();
    };
    expect(await replaceAt('2030-01-01T00:00:00Z', { description: 'first' })).toBe('2030-01-01T00:00:00.000Z');
    // This load has begun before the other.
    expect(await replaceAt('2029-01-01T00:00:00Z', { description: 'second' })).toBe('2030-01-01T00:00:00.000Z');
    expect(await replaceAt('2031-01-01T00:00:00Z', { description: 'third' })).toBe('2031-01-01T00:00:00.000Z');
    const later = { createdAt: '2040-01-01T00:00:00Z' };
    expect(await replaceAt('2032-01-01T00:00:00Z', later)).toBe('2040-01-01T00:00:00.000Z');
  });

  it('keeps no record that another says was deleted', async () => {
    await store.db.knex.raw('DELETE FROM tombstones');
    const record = { family: 'resource', namespace: '/', name: 'x', id: '0190c0de-0000-7000-8000-000000000003' };
    const line = { family: 'resource', namespace: '/', id: record.id, deletedAt: '2029-01-01T00:00:00Z' };
    async function* lines(): AsyncGenerator<readonly DatasetText[]> {
      yield [textOf(record, 0)];
      await Promise.resolve();
    }
    const others: Promise<LoadReport>[] = [];
    const report = await loadDataset(store.db, lines(), {
      onConflict: 'report',
      now: instantOf(0),
      record: async () => {
        const other = loadLines(store.db, [JSON.stringify(line)]);
        others.push(other);
        if (store.name === 'postgres') await Promise.race([other, until(isWaiting)]);
      },
    });
    expect(report).toMatchObject({ loaded: 1 });
    expect(await Promise.all(others)).toMatchObject([{ faults: [{ code: 'record.conflict' }] }]);
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>('SELECT id FROM tombstones');
    expect(rows).toEqual([]);
  });
});
