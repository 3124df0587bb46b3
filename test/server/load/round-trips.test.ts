// Whatever commands have done to a store: its export makes the same store of an empty one.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { instantOf } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { loadDataset, type LoadOptions, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { exportedLines } from '../../support/loaded-records.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores, type OpenedStore } from '../../support/stores.js';
import { testRuns, times } from '../../support/test-runs.js';

const STEPS = { usual: 250, deep: 4_000 };
const NAMESPACES = ['/', '/a', '/a/b', '/c'];
const COLLECTIONS = ['resource-templates', 'resources', 'process-templates', 'process-runs'] as const;
const KINDS = ['create', 'create', 'move', 'retemplate', 'use', 'archive', 'restore', 'delete', 'delete'] as const;
/** He sees no resources and runs, so what they refer to is his to move away from them. */
const BOB = { '/': 'resource-template:* process-template:*' };

const STEP = fc.record({
  kind: fc.constantFrom(...KINDS),
  collection: fc.constantFrom(...COLLECTIONS),
  which: fc.nat(1_000),
  other: fc.nat(1_000),
  namespace: fc.constantFrom(...NAMESPACES),
  asks: fc.boolean(),
});

async function* linesOf(lines: readonly string[]): AsyncGenerator<readonly DatasetText[]> {
  yield lines.map((line, index) => ({ number: index + 1, bytes: Buffer.from(line) }));
  await Promise.resolve();
}

function load(db: Database, lines: readonly string[], options: Partial<LoadOptions> = {}): Promise<LoadReport> {
  const batch = { lines: 7, bytes: 1e6 };
  return loadDataset(db, linesOf(lines), { onConflict: 'report', now: instantOf(0), batch, ...options });
}

describeOnStores('an export of what commands have left', (store) => {
  let doors: CommandDoors;
  let other: OpenedStore;
  beforeAll(async () => {
    other = await store.open();
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' }, bob: BOB, eve: { '/': '*:*' } } });
  });
  afterAll(async () => {
    await doors.close();
    await other.dispose();
  });

  const post = async (path: string, body: object): Promise<string> => {
    const { status, text, json } = await doors.send('ada', `POST /api/v1/${path}`, { body });
    if (status >= 300) throw new Error(text);
    return String(json['id']);
  };
  const change = async (actor: string, method: string, path: string, body?: object): Promise<number> => {
    const of = path.replace(/\/(?:move|archive|restore)$/, '');
    const { json } = await doors.send('ada', `GET /api/v1/${of}`);
    const ifMatch = Number(json['revision'] ?? 1);
    return (await doors.send(actor, `${method} /api/v1/${path}`, { ifMatch, key: null, ...(body && { body }) })).status;
  };
  const remove = async (path: string): Promise<void> => {
    expect(await change('ada', 'POST', `${path}/archive`, {})).toBe(200);
    expect(await change('ada', 'DELETE', path)).toBe(200);
  };
  const comesBack = async (options: Partial<LoadOptions>): Promise<readonly string[]> => {
    const lines = await exportedLines(store.db);
    expect(await load(store.db, lines, options)).toMatchObject({ bad: 0, replaced: 0 });
    await other.database.knex.raw('DELETE FROM tombstones');
    await other.database.knex.raw('DELETE FROM records WHERE path <> ? OR family <> 0', ['/']);
    const tried = await load(other.database, lines, { ...options, effect: 'tried' });
    const report = await load(other.database, lines, options);
    expect(report).toMatchObject({ bad: 0, loaded: lines.length });
    expect(tried).toEqual(report);
    expect(await exportedLines(other.database)).toEqual(lines);
    return lines;
  };

  it('has what was deleted, and what refers to it', async () => {
    await doors.send('ada', 'PUT /api/v1/namespaces/a', { body: {} });
    const one = { namespace: '/', name: 't', version: '1', schema: { required: ['rank'] } };
    const template = await post('resource-templates', one);
    const slots = [{ name: 's', template, required: true }];
    const process = await post('process-templates', { ...one, schema: {}, slots });
    const resource = await post('resources', { namespace: '/a', name: 'r', template, properties: { rank: 1 } });
    const run = await post('process-runs', { namespace: '/a', template: process, resources: { s: resource } });
    for (const path of [`resource-templates/${template}`, `resources/${resource}`]) await remove(path);

    expect(await load(store.db, await exportedLines(store.db))).toMatchObject({ loaded: 0, bad: 0 });
    const lines = await comesBack({});
    expect(lines.some((line) => line.includes(run) && line.includes(resource))).toBe(true);
    expect(lines.filter((line) => line.includes('"deletedAt"'))).toHaveLength(2);
    // Nothing brings it back there, either.
    const again = { family: 'resource', namespace: '/a', name: 'r', id: resource };
    expect(await load(other.database, [JSON.stringify(again)])).toMatchObject({ faults: [{ code: 'record.deleted' }] });
    // Without the line about it, a reference to it is a mistake.
    const refers = { family: 'resource', namespace: '/a', name: 'n', template, properties: { rank: 1 } };
    expect(await load(other.database, [JSON.stringify(refers)])).toMatchObject({
      faults: [{ code: 'reference.not_found' }],
    });
    // What is in a store is not deleted by a line.
    const line = { family: 'process-run', namespace: '/a', id: run, deletedAt: '2030-01-01T00:00:00Z' };
    expect(await load(store.db, [JSON.stringify(line)], { onConflict: 'replace' })).toMatchObject({
      faults: [{ code: 'record.conflict', pointer: '/id' }],
    });
  });

  it('has namespaces that were only implied by what is gone', async () => {
    const id = '0190c0de-0000-7000-8000-000000000099';
    await load(store.db, [JSON.stringify({ family: 'resource', namespace: '/left/empty', name: 'r', id })]);
    await remove(`resources/${id}`);
    const lines = await comesBack({});
    expect(lines.filter((line) => line.includes('/left'))).toEqual(
      [expect.stringContaining(`"namespace":"/left/empty","id"`), expect.stringContaining(id)].reverse(),
    );
  });

  it('makes the same store, unchecked, whatever was done', async () => {
    for (const path of NAMESPACES.slice(1)) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    const made: Record<(typeof COLLECTIONS)[number], string[]> = {
      'resource-templates': [],
      resources: [],
      'process-templates': [],
      'process-runs': [],
    };
    const pick = (from: (typeof COLLECTIONS)[number], at: number): string | undefined =>
      made[from].slice(-6)[at % Math.max(1, Math.min(6, made[from].length))];
    const told = new Set<string>();
    for (const step of fc.sample(STEP, { seed: testRuns(1).seed, numRuns: times(STEPS) })) {
      const { kind, which, other: at, namespace, asks } = step;
      const collection = kind === 'use' ? 'process-runs' : step.collection;
      const id = pick(collection, which) ?? '';
      const path = `${collection}/${id}`;
      const template = pick(collection.startsWith('process') ? 'process-templates' : 'resource-templates', at);
      const resource = pick('resources', at);
      const resources = resource === undefined ? {} : { s: resource };
      const actor = asks ? 'ada' : 'bob';
      if (kind === 'create') {
        const own = {
          'resource-templates': { version: '1', schema: {}, uniqueName: asks },
          resources: { template: template ?? null },
          'process-templates': {
            version: '1',
            schema: {},
            slots: [{ name: 's', template: pick('resource-templates', at) ?? null, required: asks }],
          },
          'process-runs': { template: template ?? null, resources },
        }[collection];
        const body = { namespace, name: `n${String(which % 3)}`, ...own };
        const { status, json } = await doors.send('ada', `POST /api/v1/${collection}`, { body });
        if (status === 201) made[collection].push(String(json['id']));
        told.add(`${kind} ${String(status)}`);
      } else {
        const status = await {
          move: () => change(actor, 'POST', `${path}/move`, { namespace: asks ? namespace : '/c' }),
          retemplate: () => change('ada', 'PATCH', path, { template: template ?? null }),
          use: () => change('ada', 'PATCH', path, { resources }),
          archive: () => change('ada', 'POST', `${path}/archive`, {}),
          restore: () => change('ada', 'POST', `${path}/restore`, {}),
          delete: () => change('ada', 'DELETE', path),
        }[kind]();
        // What is deleted is not chosen again. Otherwise all that can be chosen would be deleted at some point, while
        // older templates hold every name that a new one could have.
        if (kind === 'delete' && status === 200) made[collection] = made[collection].filter((one) => one !== id);
        told.add(`${kind} ${String(status)}`);
      }
    }
    expect([...told]).toEqual(
      expect.arrayContaining(['create 201', ...new Set(KINDS.slice(2).map((kind) => `${kind} 200`))]),
    );
    const template = await post('resource-templates', { namespace: '/', name: 't', version: '1', schema: {} });
    await post('resources', { namespace: '/a', name: 'r', template });
    expect(await change('bob', 'POST', `resource-templates/${template}/move`, { namespace: '/c' })).toBe(200);
    await comesBack({ schemas: 'unchecked' });
    const { faults } = await load(store.db, await exportedLines(store.db), { effect: 'tried' });
    expect(faults).toContainEqual(expect.objectContaining({ code: 'reference.not_found', pointer: '/template' }));
  });
});
