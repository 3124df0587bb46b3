// A load that stores nothing reports what the load reports, word for word, whatever the dataset and the store are, and
// wherever its batches end.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { instantOf } from '../../../engine/index.js';
import { loadDataset, type LoadOptions, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns, times } from '../../support/test-runs.js';

const WORLDS = { usual: 60, deep: 1_000 };
const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
const id = (index: number): string => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;
/** Deleted before every load. */
const DELETED = id(10);

/** So few ids, places and names that most lines meet others. Some lines state or name what another family has. */
const idOf = (...own: readonly number[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...own).map(id) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 10 }).map(id) },
  );
const IDS = { template: idOf(1, 2), resource: idOf(3, 4, 5), process: idOf(6, 7), run: idOf(8) };
const name = fc.constantFrom('x', 'y');
const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const common = (family: string, own: fc.Arbitrary<string>, namespaces = ['/', '/a', '/a', '/a/b', '/c']) => ({
  family: fc.constant(family),
  namespace: fc.constantFrom(...namespaces),
  id: sometimes(own),
  createdAt: fc.constantFrom(undefined, undefined, '2029-01-01T00:00:00Z'),
  archivedAt: fc.constantFrom(undefined, undefined, undefined, '2029-06-01T00:00:00Z'),
});
const properties = fc.constantFrom(undefined, {}, { rank: 1 }, { rank: 'no' });
const schema = fc.constantFrom(undefined, {}, { required: ['rank'] }, { properties: { rank: { type: 'integer' } } });
/** Most records can be made from templates that are there. */
const HIGH = ['/', '/', '/', '/a'];
const asks = { name, uniqueName: fc.constantFrom(true, true, false), schema };
const aResource = { ...common('resource', IDS.resource), name, properties, template: sometimes(IDS.template) };
/** Many of one name in one place, all made from templates. */
const alike = { ...common('resource', IDS.resource, ['/a']), name: fc.constant('x'), template: IDS.template };
const LINE: fc.Arbitrary<object> = fc.oneof(
  fc.record({ ...common('namespace', idOf(9)), properties }),
  fc.record({ ...common('resource-template', IDS.template, HIGH), ...asks }),
  fc.record(aResource),
  fc.record(aResource),
  fc.record(alike),
  fc.record({
    ...common('process-template', IDS.process, HIGH),
    ...asks,
    slots: fc.array(fc.record({ name: fc.constant('s'), template: sometimes(IDS.template), required: fc.boolean() }), {
      maxLength: 1,
    }),
  }),
  fc.record({
    ...common('process-run', IDS.run),
    name: sometimes(name),
    parameters: fc.constantFrom({}, { rank: 1 }, { rank: 'no' }),
    template: sometimes(IDS.process),
    resources: fc.oneof(fc.constant({}), fc.record({ s: IDS.resource })),
  }),
);
const DELETED_LINE = fc.record({
  family: fc.constantFrom('resource-template', 'resource'),
  namespace: fc.constantFrom('/', '/a'),
  id: fc.oneof(IDS.template, IDS.resource),
  deletedAt: fc.constant('2029-06-01T00:00:00Z'),
});
const LINES = fc.array(fc.oneof({ weight: 14, arbitrary: LINE }, { weight: 1, arbitrary: DELETED_LINE }), {
  maxLength: 14,
  size: 'max',
});
const WORLD = fc.record({
  stored: LINES,
  lines: LINES,
  onConflict: fc.constantFrom('report' as const, 'replace' as const),
  schemas: fc.constantFrom('checked' as const, 'unchecked' as const),
  batch: fc.constantFrom(1, 1, 2, 3, 100).map((lines) => ({ lines, bytes: 1e6 })),
});

async function* linesOf(values: readonly unknown[]): AsyncGenerator<readonly DatasetText[]> {
  yield values.map((value, index) => ({ number: index + 1, bytes: Buffer.from(JSON.stringify(value)) }));
  await Promise.resolve();
}

describeOnStores('a dry run', (store) => {
  const load = (values: readonly unknown[], options: Partial<LoadOptions>): Promise<LoadReport> =>
    loadDataset(store.db, linesOf(values), { onConflict: 'report', now: NOW, ...options });
  const all = async (): Promise<readonly unknown[]> =>
    (
      await store.db.knex.raw<{ rows: unknown[] }>(
        'SELECT id, to_json(r) FROM records AS r UNION ALL SELECT id, to_json(t) FROM tombstones AS t ORDER BY id',
      )
    ).rows;

  it('reports what the load then reports', async () => {
    const worlds = fc.sample(WORLD, { seed: testRuns(1).seed, numRuns: times(WORLDS) });
    const told = new Map<string, number>();
    for (const { stored, lines, ...options } of worlds) {
      await store.db.knex.raw('DELETE FROM records WHERE path <> ? OR family <> 0', ['/']);
      await store.db.knex.raw('DELETE FROM tombstones');
      await store.db.knex.raw("INSERT INTO tombstones VALUES (?, 2, '/', 1, now())", [DELETED]);
      await load(stored, { onConflict: 'replace', schemas: 'unchecked' });
      const before = await all();
      const trial = await load(lines, { ...options, effect: 'tried' });
      expect(await all()).toEqual(before);
      const real = await load(lines, options);
      expect({ lines, trial }).toEqual({ lines, trial: real });
      for (const { code } of real.faults) told.set(code, (told.get(code) ?? 0) + 1);
      for (const how of ['loaded', 'replaced', 'unchanged'] as const) told.set(how, (told.get(how) ?? 0) + real[how]);
    }
    const usual = ['loaded', 'replaced', 'unchanged', 'record.conflict', 'record.deleted', 'record.invalid'];
    expect([...told.keys()]).toEqual(expect.arrayContaining([...usual, 'record.name_taken', 'reference.not_found']));
  });
});
