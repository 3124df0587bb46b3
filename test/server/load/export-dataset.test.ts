// What is exported is what is loaded: a store that is filled from an export is the store that was exported.
import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { instantOf } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { exportDataset, type ExportReport } from '../../../server/load/export-dataset.js';
import type { LoadReport } from '../../../server/load/load-dataset.js';
import { loadLines } from '../../support/loaded-records.js';
import { fromRoot } from '../../support/root.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
const id = (index: number): string => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;

function load(db: Database, lines: readonly string[]): Promise<LoadReport> {
  return loadLines(db, lines, NOW);
}

async function exported(db: Database): Promise<ExportReport & { readonly lines: readonly string[] }> {
  let text = '';
  const report = await exportDataset(
    db,
    (more) => {
      text += more;
      return Promise.resolve();
    },
    () => undefined,
  );
  return { ...report, lines: text.split('\n').slice(0, -1) };
}

async function allOf(db: Database): Promise<readonly unknown[]> {
  const { rows } = await db.knex.raw<{ rows: unknown[] }>(
    'SELECT * FROM records WHERE NOT implied ORDER BY family, path, id',
  );
  return rows;
}

const facility = readFileSync(fromRoot('fixtures/records/facility.jsonl'), 'utf8').trim().split('\n');
const odd = [
  { family: 'namespace', namespace: '/odd', description: 'what is rare', properties: { a: 1 } },
  {
    family: 'resource',
    namespace: '/odd',
    name: 'numbers',
    properties: { n: [6.02e23, 1.8e16, 1e-7, -0, 5e-324, 0.1] },
    id: id(1),
  },
  {
    family: 'resource',
    namespace: '/odd',
    name: '\u2028"\\\u{1f600}',
    properties: { '': null, a: { b: [] } },
    id: id(2),
  },
  {
    family: 'resource',
    namespace: '/odd',
    name: 'old',
    createdAt: '0001-01-01T00:00:00Z',
    archivedAt: '9999-12-31T23:59:59.999Z',
    id: id(3),
  },
  { family: 'process-run', namespace: '/odd', resources: { in: id(1) }, state: 'failed', id: id(4) },
].map((line) => JSON.stringify(line));

describeOnStores('an export', (store) => {
  it('of a store makes the same store again, and the same export', async () => {
    expect(await load(store.db, [...facility, ...odd])).toMatchObject({ bad: 0 });
    const first = await exported(store.db);
    expect(first.records).toBe(first.lines.length);
    expect(first.lines.length).toBeGreaterThan(facility.length);
    expect(first.tooLong).toEqual([]);
    expect(await load(store.db, first.lines)).toMatchObject({ bad: 0, loaded: 0, unchanged: first.lines.length });

    const other = await store.open();
    try {
      expect(await load(other.database, first.lines)).toMatchObject({ bad: 0, loaded: first.lines.length });
      expect(await exported(other.database)).toEqual(first);
      expect(await allOf(other.database)).toEqual(await allOf(store.db));
    } finally {
      await other.dispose();
    }
  });

  it('names the records whose lines are longer than a line may be', async () => {
    const numbers = Array.from({ length: 170_000 }, () => '1e9').join();
    const line = `{"family":"resource","namespace":"/odd","name":"x","id":"${id(5)}","properties":{"n":[${numbers}]}}`;
    expect(await load(store.db, [line])).toMatchObject({ loaded: 1 });
    expect((await exported(store.db)).tooLong).toEqual([id(5)]);
  });
});
