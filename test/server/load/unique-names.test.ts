// Unique names in a dataset: lines that take one, exchange some, or pass theirs on.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { LoadReport } from '../../../server/load/load-dataset.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { loadLines, replaceLines } from '../../support/loaded-records.js';
import { describeOnStores } from '../../support/stores.js';

const [ASKING, PLAIN] = ['0190c0de-0000-7000-8000-0000000000a1', '0190c0de-0000-7000-8000-0000000000a2'];

describeOnStores('unique names in a dataset', (store) => {
  let doors: CommandDoors;
  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    const template = { family: 'resource-template', namespace: '/', name: 't', version: '1', schema: {} };
    const lines = [
      { ...template, id: ASKING, uniqueName: true },
      { ...template, id: PLAIN },
      { family: 'namespace', namespace: '/a/b' },
    ];
    const report = await loadLines(
      store.db,
      lines.map((one) => JSON.stringify(one)),
    );
    expect(report).toMatchObject({ bad: 0 });
  });
  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM records WHERE family = 2');
  });
  afterAll(async () => {
    await doors.close();
  });

  const create = async (name: string): Promise<readonly unknown[]> => {
    const body = { namespace: '/a', name, template: ASKING };
    const { status, json } = await doors.send('ada', 'POST /api/v1/resources', { body });
    return [status, json['code']];
  };

  it('are kept, and lines that take one are reported', async () => {
    const line = (n: number, more: object): string =>
      JSON.stringify({
        family: 'resource',
        id: `0190c0de-0000-7000-8000-00000000000${String(n)}`,
        namespace: '/a',
        name: 'x',
        template: ASKING,
        ...more,
      });
    const first = await loadLines(store.db, [line(1, {}), line(2, { name: 'y' }), line(3, { template: PLAIN })]);
    expect(first).toMatchObject({ loaded: 3, bad: 0 });
    const report = await loadLines(store.db, [
      line(1, {}),
      line(4, {}),
      line(5, { namespace: '/a/b' }),
      line(6, { archivedAt: '2030-01-01T00:00:00Z', createdAt: '2029-01-01T00:00:00Z' }),
    ]);
    expect(report).toMatchObject({ loaded: 2, unchanged: 1, bad: 1 });
    expect(report.faults).toMatchObject([{ line: 2, code: 'record.name_taken', pointer: '/name' }]);
    expect(await create('y')).toEqual([409, 'record.name_taken']);
  });

  it('may be exchanged and passed on by lines that replace records', async () => {
    const line = (n: number, name: string): string =>
      JSON.stringify({
        family: 'resource',
        id: `0190c0de-0000-7000-8000-00000000001${String(n)}`,
        namespace: '/a',
        name,
        template: ASKING,
      });
    await loadLines(store.db, [line(1, 'p'), line(2, 'q'), line(3, 'r')]);
    const replace = (...lines: readonly string[]): Promise<LoadReport> => replaceLines(store.db, lines);
    const taken = await replace(line(1, 'q'), line(3, 's'));
    expect(taken).toMatchObject({ replaced: 1, bad: 1, faults: [{ line: 1, code: 'record.name_taken' }] });
    // Two exchange their names, and then three pass theirs on.
    expect(await replace(line(1, 'q'), line(2, 'p'))).toMatchObject({ replaced: 2, bad: 0 });
    expect(await replace(line(1, 's'), line(2, 'q'), line(3, 'p'))).toMatchObject({ replaced: 3, bad: 0 });
    const names = async (): Promise<unknown> =>
      (await store.db.knex('records').where({ family: 2 }).orderBy('id').select('name', 'unique_name')) as unknown;
    const marked = (all: readonly string[]): unknown => all.map((one) => ({ name: one, unique_name: true }));
    expect(await names()).toEqual(marked(['s', 'q', 'p']));
    expect(await create('q')).toEqual([409, 'record.name_taken']);
    // Of two lines for one name, the first gets it.
    expect(await replace(line(2, 'new'), line(1, 'new'))).toMatchObject({ replaced: 1, bad: 1 });
    // A new record waits until the name is free.
    const late = await replace(line(4, 'p'), line(3, 'free'));
    expect(late).toMatchObject({ replaced: 1, loaded: 0, bad: 1, faults: [{ line: 1, code: 'record.name_taken' }] });
    expect(await names()).toEqual(marked(['s', 'new', 'free']));
  });

  it.each([
    ['archives its record', { archivedAt: '2030-01-01T00:00:00Z' }, ASKING],
    ['gives it a template that does not ask for unique names', {}, PLAIN],
  ])('are passed on by a line that keeps the name and %s', async (_, more, template) => {
    const line = (n: number, name: string, given: object = {}): string =>
      JSON.stringify({
        family: 'resource',
        id: `0190c0de-0000-7000-8000-00000000002${String(n)}`,
        namespace: '/a',
        name,
        template: ASKING,
        createdAt: '2029-01-01T00:00:00Z',
        ...given,
      });
    await loadLines(store.db, [line(1, 'p'), line(2, 'x'), line(3, 'y'), line(4, 'q')]);
    // In whatever order they are stored, a record gets a name before the other has passed it on.
    const [x, y] = [line(2, 'x', { template, ...more }), line(3, 'y', { template, ...more })];
    const report = await replaceLines(store.db, [line(1, 'x'), x, y, line(4, 'y')]);
    expect(report).toMatchObject({ replaced: 4, bad: 0 });
    for (const name of ['x', 'y']) expect(await create(name)).toEqual([409, 'record.name_taken']);
  });
});
