// Loads beside commands on the same records: whoever comes first wins.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { LoadReport } from '../../../server/load/load-dataset.js';
import type { OnConflict } from '../../../server/load/store-batch.js';
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
});
