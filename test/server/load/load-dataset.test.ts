// Loading whole datasets, on every store: what is stored, what is reported, and that a second run changes nothing.
import { beforeEach, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { createHash } from 'node:crypto';
import {
  loadDataset,
  type LoadOptions,
  type LoadProgress,
  type LoadReport,
} from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
/** Small, so that few lines make several. */
const BATCH = { lines: 500, bytes: 1024 * 1024 };
const id = (index: number): string => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;

/** Lines in groups of three, as a stream would bring them. */
async function* linesOf(values: readonly unknown[]): AsyncGenerator<readonly DatasetText[]> {
  for (let start = 0; start < values.length; start += 3) {
    yield values.slice(start, start + 3).map((value, index) => ({
      number: start + index + 1,
      bytes: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    }));
    await Promise.resolve();
  }
}

const faultsOf = (report: LoadReport): readonly string[] =>
  report.faults.map(({ line, code, pointer }) => `${String(line)} ${code} ${pointer}`);

describeOnStores('a dataset', (store) => {
  const load = (values: readonly unknown[], options: Partial<LoadOptions> = {}): Promise<LoadReport> =>
    loadDataset(store.db, linesOf(values), { onConflict: 'report', now: NOW, batch: BATCH, ...options });
  const all = async (): Promise<readonly unknown[]> =>
    (await store.db.knex.raw<{ rows: unknown[] }>('SELECT * FROM records ORDER BY path, id')).rows;
  const paths = async (): Promise<readonly unknown[]> =>
    (
      await store.db.knex.raw<{ rows: { at: unknown }[] }>(
        "SELECT path || CASE WHEN implied THEN ' implied' ELSE '' END AS at FROM records WHERE family = 0 ORDER BY path",
      )
    ).rows.map(({ at }) => at);

  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM records WHERE path <> ?', ['/']);
    await store.db.knex.raw('DELETE FROM records WHERE family <> 0 AND path = ?', ['/']);
    await store.db.knex.raw(
      "UPDATE records SET implied = true, properties = '{}', id = 'e3385d9d-0fa5-8283-a392-6cc53e2b7364' WHERE path = ?",
      ['/'],
    );
  });

  const world = [
    { family: 'resource-template', namespace: '/', name: 'lens', version: '1', schema: {}, id: id(1) },
    {
      family: 'resource',
      namespace: '/labs/optics',
      name: 'lens-a',
      template: id(1),
      id: id(2),
      createdAt: '2029-01-01T00:00:00.120Z',
    },
    '',
    {
      family: 'process-template',
      namespace: '/labs',
      name: 'scan',
      version: '1',
      schema: {},
      slots: [{ name: 'lens', template: id(1), required: true }],
      id: id(3),
    },
    {
      family: 'process-run',
      namespace: '/labs/optics',
      template: id(3),
      resources: { lens: id(2) },
      parameters: { energy: 1.5 },
    },
    { family: 'namespace', namespace: '/labs', properties: { owner: 'anna' }, createdAt: '2028-01-01T00:00:00Z' },
    { family: 'namespace', namespace: '/', description: 'all of it' },
  ];

  it('is stored with its namespaces, and a second run changes nothing', async () => {
    const report = await load(world);
    expect(report).toEqual({ lines: 6, loaded: 6, replaced: 0, unchanged: 0, bad: 0, implied: 1, faults: [] });
    expect(await paths()).toEqual(['/', '/labs/', '/labs/optics/ implied']);
    const before = await all();
    expect(await load(world)).toEqual({
      lines: 6,
      loaded: 0,
      replaced: 0,
      unchanged: 6,
      bad: 0,
      implied: 0,
      faults: [],
    });
    expect(await load(world, { onConflict: 'replace', now: instantOf(NOW + 1000) })).toMatchObject({
      unchanged: 6,
      replaced: 0,
    });
    expect(await all()).toEqual(before);
  });

  it('gives instants, creator and revision as the documents say', async () => {
    await load(world);
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      'SELECT name, created_at, updated_at, created_by, revision FROM records WHERE id = ANY(?::uuid[]) ORDER BY id',
      [[id(1), id(2)]],
    );
    const given = new Date('2029-01-01T00:00:00.120Z');
    expect(rows).toEqual([
      { name: 'lens', created_at: new Date(NOW), updated_at: new Date(NOW), created_by: 'load', revision: 1 },
      { name: 'lens-a', created_at: given, updated_at: given, created_by: 'load', revision: 1 },
    ]);
  });

  it('keeps the good lines and tells the bad ones by number', async () => {
    const report = await load([
      { family: 'resource', namespace: '/a', name: 'good' },
      '{"family":',
      { family: 'resource', namespace: '/a', name: 'x', colour: 'red' },
      { family: 'resource', namespace: '/a/../b', name: 'x' },
      { family: 'resource', namespace: '/b', name: 'x', template: id(99) },
      { family: 'resource', namespace: '/a', name: 'also good' },
    ]);
    expect(report).toMatchObject({ lines: 6, loaded: 2, bad: 4 });
    expect(faultsOf(report)).toEqual([
      '2 request.malformed ',
      '3 request.schema /colour',
      '4 namespace.invalid /namespace',
      '5 reference.not_found /template',
    ]);
    expect(await paths()).toEqual(['/ implied', '/a/ implied']);
  });

  it('refers only to records above, of the right family, on lines before', async () => {
    const template = { family: 'resource-template', namespace: '/a', name: 't', version: '1', schema: {} };
    const report = await load([
      { family: 'resource', namespace: '/a', name: 'before it', template: id(1) },
      { ...template, id: id(1) },
      { family: 'resource', namespace: '/a/b', name: 'below it', template: id(1), id: id(2) },
      { family: 'resource', namespace: '/ab', name: 'beside it', template: id(1) },
      { family: 'process-run', namespace: '/a', template: id(1) },
      { family: 'process-run', namespace: '/a/b/c', resources: { lens: id(2) } },
      { family: 'process-run', namespace: '/a', resources: { lens: id(2) } },
    ]);
    expect(faultsOf(report)).toEqual([
      '1 reference.not_found /template',
      '4 reference.not_found /template',
      '5 reference.not_found /template',
      '7 reference.not_found /resources/lens',
    ]);
    expect(report.loaded).toBe(3);
    expect(await load([{ family: 'resource', namespace: '/a', name: 'later', template: id(1) }])).toMatchObject({
      loaded: 1,
    });
  });

  it('reports a line whose id is stored with other content, unless it replaces', async () => {
    const line = { family: 'resource', namespace: '/a', name: 'x', id: id(1), properties: { n: 1 } };
    await load([line]);
    const changed = { ...line, properties: { n: 2 } };
    const report = await load([{ family: 'resource', namespace: '/a', name: 'other' }, changed]);
    expect(report).toMatchObject({ loaded: 1, bad: 1 });
    expect(faultsOf(report)).toEqual(['2 record.conflict /id']);
    expect(await load([changed], { onConflict: 'replace' })).toMatchObject({ replaced: 1, bad: 0 });
    expect(await load([changed], { onConflict: 'replace' })).toMatchObject({ unchanged: 1 });
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      'SELECT properties, revision FROM records WHERE id = ?',
      [id(1)],
    );
    expect(rows).toEqual([{ properties: { n: 2 }, revision: 2 }]);
    const otherFamily = { family: 'process-run', namespace: '/a', id: id(1) };
    expect(faultsOf(await load([otherFamily], { onConflict: 'replace' }))).toEqual(['1 record.conflict /id']);
  });

  it('takes one id twice as two lines about one record', async () => {
    const line = { family: 'resource', namespace: '/a', name: 'x', id: id(1) };
    expect(faultsOf(await load([line, line, { ...line, name: 'y' }]))).toEqual(['3 record.conflict /id']);
    const report = await load([{ ...line, name: 'y' }, line], { onConflict: 'replace' });
    expect(report).toMatchObject({ replaced: 2 });
  });

  it('describes a namespace once, whatever made it, id and creation included', async () => {
    await load([{ family: 'resource', namespace: '/a/b', name: 'x' }]);
    const line = {
      family: 'namespace',
      namespace: '/a',
      id: id(5),
      createdAt: '2020-01-01T00:00:00Z',
      properties: { n: 1 },
    };
    expect(await load([line])).toMatchObject({ loaded: 1, implied: 0 });
    expect(await paths()).toEqual(['/ implied', '/a/', '/a/b/ implied']);
    expect(await load([line])).toMatchObject({ unchanged: 1 });
    expect(faultsOf(await load([{ ...line, id: id(6) }]))).toEqual(['1 record.conflict /id']);
    expect(faultsOf(await load([{ ...line, id: id(6) }], { onConflict: 'replace' }))).toEqual([
      '1 record.conflict /id',
    ]);
    expect(faultsOf(await load([{ family: 'namespace', namespace: '/a' }]))).toEqual(['1 record.conflict ']);
    expect(await load([{ family: 'namespace', namespace: '/a' }], { onConflict: 'replace' })).toMatchObject({
      replaced: 1,
    });
    const taken = { family: 'namespace', namespace: '/c', id: id(5) };
    expect(faultsOf(await load([taken]))).toEqual(['1 record.conflict /id']);
  });

  it('goes on from batch to batch, telling its progress and faults in the order of lines', async () => {
    const values = Array.from({ length: 1_300 }, (_, index) =>
      index % 100 === 50
        ? 'not JSON'
        : { family: 'resource', namespace: `/n${String(index % 5)}`, name: 'same name', properties: { index } },
    );
    const seen: LoadProgress[] = [];
    const told: number[] = [];
    const report = await load(values, {
      onProgress: (progress) => seen.push(progress),
      onFault: ({ line }) => told.push(line),
    });
    expect(report).toMatchObject({ lines: 1300, loaded: 1287, bad: 13, implied: 5 });
    expect(seen.map(({ lines }) => lines)).toEqual([500, 1000, 1300]);
    const sizes = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)).length + 1);
    const sum = (end: number): number => sizes.slice(0, end).reduce((total, size) => total + size, 0);
    expect(seen.map(({ bytes }) => bytes)).toEqual([sum(500), sum(1000), sum(1300)]);
    expect(told).toEqual(Array.from({ length: 13 }, (_, index) => index * 100 + 51));
    expect(await load(values)).toMatchObject({ loaded: 0, unchanged: 1287, bad: 13 });
  });

  it('keeps every other line of a batch of which the store refuses a value', async () => {
    // No line that is read can be refused so far: a rule that only this store has stands for one.
    await store.db.knex.raw("ALTER TABLE records ADD CONSTRAINT test_rule CHECK (name <> 'unwelcome')");
    try {
      const names = ['a', 'unwelcome', 'b'];
      const report = await load(names.map((name) => ({ family: 'resource', namespace: '/a', name })));
      expect(report).toMatchObject({ loaded: 2, bad: 1, implied: 1 });
      expect(faultsOf(report)).toEqual(['2 record.refused ']);
    } finally {
      await store.db.knex.raw('ALTER TABLE records DROP CONSTRAINT test_rule');
    }
  });

  it('keeps every text as it is', async () => {
    const texts = [
      'tab\there',
      'line\nline\r\n',
      'back\\slash \\N \\. \\t',
      '\\N',
      '\\.',
      ' blank ',
      'ö 😀 \u0001\u2028',
      '\'quote"',
    ];
    const report = await load(
      texts.map((name) => ({
        family: 'resource',
        namespace: '/a',
        name,
        description: name,
        properties: { [name]: name },
      })),
    );
    expect(report).toMatchObject({ loaded: texts.length, bad: 0 });
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      'SELECT name, description, properties FROM records WHERE family = ? ORDER BY name',
      [2],
    );
    const stored = texts.map((name) => ({ name, description: name, properties: { [name]: name } }));
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    expect(rows).toEqual(stored.sort(byName));
  });

  it('keeps the longest names in the deepest namespaces', async () => {
    const noise = createHash('shake256', { outputLength: 4_096 }).update('noise').digest('hex');
    const namespace = Array.from({ length: 32 }, (_, index) => `/${noise.slice(index * 31, (index + 1) * 31)}`).join(
      '',
    );
    expect(namespace).toHaveLength(1_024);
    // Nothing in them repeats, so that no index entry can be made shorter.
    const name = noise.slice(-1_024);
    const values = ['resource', 'process-run'].map((family) => ({ family, namespace, name }));
    expect(await load(values)).toMatchObject({ loaded: 2, bad: 0, implied: 32 });
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>('SELECT id FROM records WHERE name = ?', [name]);
    expect(rows).toHaveLength(2);
  });

  it('finds the refused lines among many', async () => {
    await store.db.knex.raw("ALTER TABLE records ADD CONSTRAINT test_rule CHECK (name <> 'unwelcome')");
    try {
      const bad = new Set([0, 7, 8, 203, 409]);
      const values = Array.from({ length: 410 }, (_, index) => ({
        family: 'resource',
        namespace: '/a',
        name: bad.has(index) ? 'unwelcome' : `r${String(index)}`,
      }));
      const report = await load(values);
      expect(report).toMatchObject({ loaded: 405, bad: 5, implied: 1 });
      expect(report.faults.map(({ line }) => line - 1)).toEqual([...bad]);
    } finally {
      await store.db.knex.raw('ALTER TABLE records DROP CONSTRAINT test_rule');
    }
  });

  it('goes on where a run was cut off, in the middle of a batch too', async () => {
    const values = Array.from({ length: 1_400 }, (_, index) => ({
      family: index % 3 === 0 ? 'resource' : 'process-run',
      namespace: `/n${String(index % 7)}`,
      name: `r${String(index)}`,
    }));
    expect(await load(values.slice(0, 700))).toMatchObject({ loaded: 700 });
    const before = await all();
    expect(await load(values)).toMatchObject({ loaded: 700, unchanged: 700, bad: 0, implied: 0 });
    const after = new Set((await all()).map((row) => JSON.stringify(row)));
    expect(after.size).toBe(before.length + 700);
    expect(before.filter((row) => !after.has(JSON.stringify(row)))).toEqual([]);
    expect(await load(values)).toMatchObject({ loaded: 0, unchanged: 1_400 });
    // One that is there among many that are not, and the other way round.
    const fresh = Array.from({ length: 900 }, (_, index) => ({ ...values[0], name: `f${String(index)}` }));
    expect(await load([...fresh.slice(0, 450), values[3], ...fresh.slice(450)])).toMatchObject({
      loaded: 900,
      unchanged: 1,
    });
  });

  it('is loaded by two at once without harm', async () => {
    const values = Array.from({ length: 700 }, (_, index) => ({
      family: 'resource',
      namespace: `/x/${String(index % 9)}`,
      name: `r${String(index)}`,
    }));
    const reports = await Promise.all([load(values), load(values)]);
    expect(reports.map(({ bad }) => bad)).toEqual([0, 0]);
    expect(reports.reduce((sum, { loaded }) => sum + loaded, 0)).toBe(700);
  });

  it('that cannot be read further leaves what was stored, and says so', async () => {
    async function* broken(): AsyncGenerator<readonly DatasetText[]> {
      yield* linesOf(
        Array.from({ length: 600 }, (_, index) => ({
          family: 'resource',
          namespace: '/a',
          name: `r${String(index)}`,
        })),
      );
      throw new Error('the disk is gone');
    }
    await expect(loadDataset(store.db, broken(), { onConflict: 'report', now: NOW, batch: BATCH })).rejects.toThrow(
      'the disk is gone',
    );
    expect((await all()).length).toBe(500 + 2);
  });

  it('begins with a byte order mark, has blank lines and none at all', async () => {
    expect(await load(['\ufeff{"family":"namespace","namespace":"/a"}', ' \t\r', ''])).toMatchObject({
      lines: 1,
      loaded: 1,
    });
    expect(await load([])).toMatchObject({ lines: 0, loaded: 0, bad: 0 });
  });
});
