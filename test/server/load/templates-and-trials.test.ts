// What `load` demands of records through the schemas of their templates, and the load that stores nothing.
import { beforeEach, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { loadDataset, type LoadOptions, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
const id = (index: number): string => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;

async function* linesOf(values: readonly unknown[]): AsyncGenerator<readonly DatasetText[]> {
  yield values.map((value, index) => ({ number: index + 1, bytes: Buffer.from(JSON.stringify(value)) }));
  await Promise.resolve();
}

const faultsOf = (report: LoadReport): readonly string[] =>
  report.faults.map(({ line, code, pointer, message }) => `${String(line)} ${code} ${pointer} ${message}`);

/** Without messages: a trial names the line before where a load names the store. */
const told = ({ faults, ...counts }: LoadReport): unknown => ({
  ...counts,
  faults: faults.map(({ line, code, pointer }) => `${String(line)} ${code} ${pointer}`),
});

const schema = { type: 'object', required: ['rank'], properties: { rank: { type: 'integer' } } };
const lens = { family: 'resource-template', namespace: '/', name: 'lens', version: '1', schema, id: id(1) };
const scan = {
  family: 'process-template',
  namespace: '/labs',
  name: 'scan',
  schema: { properties: { energy: { type: 'number', minimum: 0 } } },
  id: id(2),
};
const free = { family: 'resource-template', namespace: '/', name: 'anything', id: id(3) };
const made = (properties: unknown, template = id(1)): object => ({
  family: 'resource',
  namespace: '/labs',
  name: 'x',
  template,
  properties,
});

describeOnStores('a dataset with templates', (store) => {
  const load = (values: readonly unknown[], options: Partial<LoadOptions> = {}): Promise<LoadReport> =>
    loadDataset(store.db, linesOf(values), { onConflict: 'report', now: NOW, ...options });
  const count = async (): Promise<number> => {
    const { rows } = await store.db.knex.raw<{ rows: { n: string }[] }>('SELECT count(*) AS n FROM records');
    return Number(rows[0]?.n);
  };

  const empty = async (): Promise<void> => {
    await store.db.knex.raw('DELETE FROM records WHERE path <> ? OR family <> 0', ['/']);
  };

  beforeEach(empty);

  it.each([1, 100])(
    'refuses runs whose slots are wrong, with %i lines in a batch and in a trial alike',
    async (lines) => {
      const slots = [{ name: 'lens', template: id(1), required: true }, { name: 'any' }];
      const values = [
        lens,
        { ...scan, slots },
        { ...made({ rank: 1 }), id: id(11) },
        { family: 'resource', namespace: '/labs', name: 'plain', id: id(12) },
        ...[{ lens: id(11) }, { lens: id(12) }, { any: id(12) }, { lens: id(11), any: id(12), more: id(11) }].map(
          (resources, n) => ({
            family: 'process-run',
            namespace: '/labs',
            name: String(n),
            template: id(2),
            resources,
          }),
        ),
      ];
      const batch = { lines, bytes: 1e6 };
      const tried = await load(values, { effect: 'tried', batch });
      const report = await load(values, { batch });
      expect(told(tried)).toEqual(told(report));
      expect(faultsOf(report)).toEqual([
        '6 record.invalid /resources/lens must be a resource that is made from the template of this slot',
        '7 record.invalid /resources/lens is required by the template',
      ]);
    },
  );

  it('refuses what a template of the same file refuses, with its place', async () => {
    const report = await load([
      lens,
      scan,
      free,
      made({ rank: 1 }),
      made({ rank: 'no' }),
      made({}),
      made({ rank: 'no' }, id(3)),
      { family: 'process-run', namespace: '/labs', template: id(2), parameters: { energy: -1 } },
      { family: 'process-run', namespace: '/labs', template: id(2), parameters: { energy: 1.8e16 } },
    ]);
    expect(report).toMatchObject({ loaded: 6, bad: 3 });
    expect(faultsOf(report)).toEqual([
      '5 record.invalid /properties/rank must be a whole number (required by the template)',
      '6 record.invalid /properties/rank is required by the template',
      '8 record.invalid /parameters/energy must be at least 0 (required by the template)',
    ]);
  });

  it('judges by templates that are stored, also one that a line has just replaced', async () => {
    await load([lens]);
    const looser = { ...lens, schema: { properties: { rank: { type: 'string' } } } };
    expect(faultsOf(await load([made({ rank: 'a' })]))).toHaveLength(1);
    expect(await load([looser, made({ rank: 'a' })], { onConflict: 'replace' })).toMatchObject({
      loaded: 1,
      replaced: 1,
    });
    const lines = [made({ rank: 'b' }), lens, made({ rank: 'c' }), made({ rank: 'd' })];
    const oneByOne = { onConflict: 'replace', batch: { lines: 1, bytes: 1e6 } } as const;
    expect(await load(lines, oneByOne)).toMatchObject({ loaded: 0, replaced: 2, bad: 2 });
  });

  it('says so where a stored schema cannot be used, and takes everything unchecked', async () => {
    const bad = { ...lens, schema: { $ref: 'http://evil.example/x' } };
    expect(await load([bad])).toMatchObject({ bad: 1 });
    expect(await load([bad, made({ rank: 'no' })], { schemas: 'unchecked' })).toMatchObject({ loaded: 2, bad: 0 });
    expect(faultsOf(await load([{ ...made({ rank: 1 }), name: 'y' }]))).toEqual([
      '1 record.invalid /template the schema of this template cannot be used: /$ref must begin with `#`: other documents are never read',
    ]);
  });

  it('tries a load without storing anything, and finds what the load would find', async () => {
    const stored = { family: 'resource', namespace: '/labs', name: 'there', id: id(9) };
    await load([stored]);
    const asking = { family: 'resource-template', namespace: '/labs', name: 'asks', version: '1', schema: {} };
    const sample = { family: 'resource', namespace: '/labs', name: 'one', template: id(30) };
    const named = [
      { ...asking, id: id(30), uniqueName: true },
      { ...asking, id: id(31), version: '2' },
      { ...sample, id: id(32) },
      { ...sample, id: id(33) },
      { ...sample, id: id(34), template: id(31) },
      { ...sample, id: id(35), archivedAt: '2030-01-01T00:00:00Z', createdAt: '2029-01-01T00:00:00Z' },
      { ...sample, id: id(32), name: 'two' },
      { ...sample, id: id(37), name: 'two' },
    ];
    const values = [
      lens,
      { ...stored, name: 'other' },
      stored,
      { family: 'namespace', namespace: '/labs', properties: { a: 1 } },
      made({ rank: 1 }),
      made({ rank: 'no' }),
      { family: 'resource', namespace: '/new/place', name: 'a', id: id(10) },
      { family: 'resource', namespace: '/new/place', name: 'b', id: id(10) },
      { family: 'resource', namespace: '/new/place', name: 'a', id: id(10) },
      { family: 'namespace', namespace: '/new', properties: {} },
      { family: 'process-run', namespace: '/new/place', resources: { in: id(10) } },
      { family: 'process-run', namespace: '/labs', resources: { in: id(10) } },
      { family: 'process-run', namespace: '/labs', resources: { in: id(99) } },
      ...named,
    ];
    for (const onConflict of ['report', 'replace'] as const) {
      for (const lines of [1, 2, 500]) {
        const before = await count();
        const trial = await load(values, { onConflict, effect: 'tried', batch: { lines, bytes: 1e6 } });
        expect(await count()).toBe(before);
        const real = await load(values, { onConflict, batch: { lines, bytes: 1e6 } });
        expect(told(trial)).toEqual(told(real));
        await empty();
        await load([stored]);
        expect(await count()).toBe(before);
      }
    }
  });

  it('tries lines that replace what earlier lines bring as the load does', async () => {
    const asking = { family: 'resource-template', namespace: '/labs', name: 'asks', id: id(40), uniqueName: true };
    const x = { ...made({ rank: 1 }), id: id(41) };
    const values = [
      lens,
      asking,
      { ...asking, uniqueName: false },
      x,
      { ...x, properties: { rank: 'no' } },
      { ...x, template: id(99) },
      { ...x, name: 'y' },
      // What refers to a record may stand between two lines about it, and a later one judges by the newer.
      { family: 'process-run', namespace: '/labs', name: 'uses', resources: { in: id(41) } },
      { ...x, description: 'again' },
      { ...lens, schema: {} },
      { ...made({ rank: 'no' }), name: 'z' },
      { ...lens, namespace: '/labs', schema: {} },
      { ...made({}), namespace: '/other' },
    ];
    for (const lines of [1, 2, 500]) {
      const batch = { lines, bytes: 1e6 };
      const trial = await load(values, { onConflict: 'replace', effect: 'tried', batch });
      const real = await load(values, { onConflict: 'replace', batch });
      expect(told(trial)).toEqual(told(real));
      expect(told(real)).toMatchObject({
        loaded: 5,
        replaced: 4,
        faults: [
          '3 record.conflict /id',
          '5 record.invalid /properties/rank',
          '6 reference.not_found /template',
          '13 reference.not_found /template',
        ],
      });
      await empty();
    }
  });
});
