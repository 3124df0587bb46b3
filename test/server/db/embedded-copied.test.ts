// A copy of an embedded store's folder is a store of its own, whatever became of the original's owner.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { cpSync, rmSync } from 'node:fs';
import { openDatabase } from '../../../server/db/database.js';
import { OWNER_LIMITS } from '../../../server/limits/store.js';
import { useStoreFolder } from '../../support/store-processes.js';
import { until } from '../../support/until.js';

const store = useStoreFolder();

describe('a copy of a data folder', () => {
  let copy: string;
  beforeEach(() => {
    copy = `${store.dataDir}-copy`;
  });
  afterEach(() => {
    rmSync(copy, { recursive: true, force: true });
  });

  test.each(['while it is served', 'after its owner was killed'])(
    '%s opens at once, as a store of its own',
    async (when) => {
      const writer = store.start('writer');
      await until(() => writer.acknowledged.length > 3, 'the writer to write');
      if (when === 'after its owner was killed') {
        writer.process.kill('SIGKILL');
        await writer.gone;
      }
      cpSync(store.dataDir, copy, { recursive: true });
      const started = performance.now();
      const database = await openDatabase({ kind: 'embedded', dataDir: copy });
      expect(performance.now() - started).toBeLessThan(OWNER_LIMITS.heartbeatLost);
      await database.knex('acknowledged').insert({ writer: 'copy', n: 1 });
      await database.close();
      const original = await store.open();
      expect(await original.knex('acknowledged').where({ writer: 'copy' })).toEqual([]);
      await original.close();
      if (when === 'while it is served') expect(await writer.stop()).toBe(0);
    },
  );
});
