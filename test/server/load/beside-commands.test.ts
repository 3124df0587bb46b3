// Loads beside commands on the same records: whoever comes first wins.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { loadDataset, type LoadReport } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import type { OnConflict } from '../../../server/load/batch.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { deadlocksOf } from '../../support/deadlocks.js';
import { loadLines, replaceLines } from '../../support/loaded-records.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

describeOnStores('a load beside commands', (store) => {
  let doors: CommandDoors;
  let deadlocks = 0;
  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    for (const path of ['/a', '/b']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    deadlocks = await deadlocksOf(store.db);
  });
  afterAll(async () => {
    expect(await deadlocksOf(store.db)).toBe(deadlocks);
    await doors.close();
  });

  const load = (onConflict: OnConflict, line: object): Promise<LoadReport> =>
    (onConflict === 'report' ? loadLines : replaceLines)(store.db, [JSON.stringify(line)]);
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    return rows.length > 0;
  };

  it.each(['report', 'replace'] as const)('does not bring back what is being deleted (%s)', async (onConflict) => {
    const id = `0190c0de-0000-7000-8000-00000000000${onConflict === 'report' ? '1' : '2'}`;
    const line = { family: 'resource', namespace: '/a', name: 'x', id };
    await load('report', line);
    let loading = Promise.resolve<LoadReport | null>(null);
    const begin = async (): Promise<void> => {
      loading = load(onConflict, { ...line, name: 'y' });
      // The embedded store does one transaction at a time.
      if (store.name === 'postgres') await until(isWaiting);
    };
    await store.db.transaction(async (deletion) => {
      await deletion.raw('SELECT FROM records WHERE id = ? FOR NO KEY UPDATE', [id]);
      if (onConflict === 'replace') await begin();
      await deletion.raw(
        `WITH gone AS (DELETE FROM records WHERE id = ? RETURNING id, family, path, revision)
          INSERT INTO tombstones (id, family, path, revision, deleted_at) SELECT *, now() FROM gone`,
        [id],
      );
      if (onConflict === 'report') await begin();
    });
    expect(await loading).toMatchObject({ loaded: 0, bad: 1, faults: [{ line: 1, code: 'record.deleted' }] });
    expect((await doors.send('ada', `GET /api/v1/resources/${id}`)).status).toBe(404);
  });

  it('lets nothing begin to refer to a record that it puts elsewhere', async () => {
    const body = { namespace: '/', name: 't', version: '1', schema: {} };
    const { json } = await doors.send('ada', 'POST /api/v1/resource-templates', { body });
    const template = String(json['id']);
    const ends: unknown[] = [];
    let creating = Promise.resolve();
    const report = await loadDataset(
      store.db,
      oneLine({ family: 'resource-template', ...body, namespace: '/b', id: template }),
      {
        onConflict: 'replace',
        now: instantOf(0),
        // Called within the transaction that stores the line.
        record: async () => {
          const sending = { body: { namespace: '/a', name: 'n', template } };
          creating = doors.send('ada', 'POST /api/v1/resources', sending).then((created) => {
            ends.push([created.status, created.json['code']]);
          });
          if (store.name === 'postgres') await until(async () => ends.length > 0 || (await isWaiting()));
        },
      },
    );
    await creating;
    expect(report).toMatchObject({ replaced: 1, bad: 0 });
    expect(ends).toEqual([[422, 'reference.not_found']]);
  });
});

async function* oneLine(line: object): AsyncGenerator<readonly DatasetText[]> {
  yield [{ number: 1, bytes: Buffer.from(JSON.stringify(line)) }];
  await Promise.resolve();
}
