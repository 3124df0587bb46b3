// Damage to an embedded store is reported and never served: in its files before a start, and under a running engine.
import { describe, expect, it } from '@jest/globals';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { expectAllThere, failure, useStoreFolder } from '../../support/store-processes.js';
import { until } from '../../support/until.js';

const store = useStoreFolder();

/** The file of `pg_type`, whose number PostgreSQL has in its source. */
const PG_TYPE = '1247';

describe('a store that is damaged', () => {
  const inStore = (...path: string[]): string => join(store.dataDir, 'store', ...path);
  const flip = (file: string, offsets: readonly number[]): void => {
    const bytes = readFileSync(file);
    const handle = openSync(file, 'r+');
    for (const offset of offsets) writeSync(handle, Uint8Array.of((bytes[offset] ?? 0) ^ 0xff), 0, 1, offset);
    closeSync(handle);
  };
  const open = async (): Promise<unknown> => {
    const attempt = store.open();
    const outcome = await failure(attempt);
    if (outcome === 'no failure') await (await attempt).close();
    return outcome;
  };

  it('in its control file is refused', async () => {
    flip(inStore('global', 'pg_control'), [0, 8, 40, 80, 120]);
    const before = readdirSync(inStore()).sort();
    expect(await open()).toMatchObject({ name: 'StoreError', code: 'store.corrupt' });
    expect(readdirSync(inStore()).sort()).toEqual(before);
  });

  it('by the loss of its control file is refused', async () => {
    rmSync(inStore('global', 'pg_control'));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('by the loss of its log is refused', async () => {
    for (const name of readdirSync(inStore('pg_wal'))) if (/^[0-9A-F]{24}$/.test(name)) rmSync(inStore('pg_wal', name));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('in its log is refused', async () => {
    for (const name of readdirSync(inStore('pg_wal'))) {
      if (/^[0-9A-F]{24}$/.test(name))
        writeFileSync(inStore('pg_wal', name), Buffer.alloc(statSync(inStore('pg_wal', name)).size, 0xa5));
    }
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('in what it knows of types is refused with the reason', async () => {
    const [database = ''] = readdirSync(inStore('base')).filter((name) => existsSync(inStore('base', name, PG_TYPE)));
    flip(inStore('base', database, PG_TYPE), [0, 8, 12, 14, 16]);
    const message = expect.stringMatching(/cannot be opened: .*invalid page in block 0 of relation/);
    expect(await open()).toMatchObject({ code: 'store.corrupt', message });
  });

  it('by the loss of its beginnings is refused, not taken for new', async () => {
    rmSync(inStore('PG_VERSION'));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
    expect(existsSync(inStore('global', 'pg_control'))).toBe(true);
  });

  it('in a table tells so when the table is read, and serves no wrong row', async () => {
    const database = await store.open();
    await database.knex.raw('create table damaged (t text)');
    await database.knex.raw("insert into damaged select repeat('x', 100) from generate_series(1, 500)");
    const { rows } = await database.knex.raw<{ rows: { path: string }[] }>(
      "select pg_relation_filepath('damaged') as path",
    );
    await database.close();
    flip(inStore(rows[0]?.path ?? ''), [9_000, 9_500]);
    const again = await store.open();
    const error = await failure(again.knex('damaged').count());
    expect(error).toMatchObject({ code: 'XX001' });
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.unavailable' });
    await again.close();
  });

  it('while it runs ends the engine, and the next request starts it again', async () => {
    const writer = store.start('writer');
    await until(() => writer.acknowledged.length > 3, 'the writer to write');
    const database = await store.open();
    renameSync(inStore('pg_wal'), join(store.dataDir, 'pg_wal'));
    await database.knex.raw('select pg_switch_wal()');
    // the next commit, ours or the writer's, cannot be logged
    expect(toStoreProblem(await failure(database.knex('acknowledged').insert({ writer: 'us', n: 1 })))).toMatchObject({
      code: 'db.unavailable',
    });
    renameSync(join(store.dataDir, 'pg_wal'), inStore('pg_wal'));
    const before = writer.acknowledged.length;
    await until(() => writer.acknowledged.length > before + 3, 'the writer to go on');
    expect(await writer.stop()).toBe(0);
    expect(writer.errors()).toMatch(
      /BAILIWICK_STORE_BROKEN.* the embedded store has failed and will be started again: .*pg_wal/s,
    );
    await database.close();
    await expectAllThere(store, [writer]);
  });
});
