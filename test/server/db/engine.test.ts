// The engine alone: its commits are synced to the disk, and it would be noticed if they were not.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { isDurable, openEngine } from '../../../server/db/embedded/engine.js';
import type { EmbeddedEngine } from '../../../server/db/embedded/engine.js';
import { prepareFolder, storeFolder } from '../../../server/db/embedded/folder.js';
import { TYPE, framesOf, queryFrame } from '../../../server/db/embedded/wire.js';
import { newDataDir } from '../../support/stores.js';

describe('the engine', () => {
  let dataDir: string;
  let engine: EmbeddedEngine;

  beforeAll(async () => {
    dataDir = await newDataDir();
    expect(prepareFolder(dataDir)).toBe('existing');
    engine = await openEngine({
      folder: storeFolder(dataDir),
      onBroken: (error) => {
        throw error;
      },
    });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const types = (sql: string): string =>
    [...framesOf(engine.run(queryFrame(sql)))].map((message) => String.fromCharCode(message[0] ?? 0)).join('');

  it('has every commit written through to the disk, and nothing else', () => {
    expect(types('create table kept (n int)')).toBe('CZ');
    const before = engine.syncs();
    for (let n = 0; n < 20; n += 1) expect(types(`insert into kept values (${String(n)})`)).toBe('CZ');
    expect(engine.syncs() - before).toBeGreaterThanOrEqual(20);
    const written = engine.syncs();
    expect(types('select count(*) from kept')).toBe('TDCZ');
    expect(types('begin; insert into kept values (99); rollback')).toBe('CCCZ');
    expect(engine.syncs()).toBe(written);
  });

  it('is found durable, and one that writes nothing through is found out', () => {
    expect(isDurable(engine)).toBe(true);
    expect(isDurable({ ...engine, syncs: () => 7 })).toBe(false);
  });

  it('answers an error and goes on', () => {
    const messages = [...framesOf(engine.run(queryFrame('select 1/0')))];
    expect(messages.map((message) => message[0])).toEqual([TYPE.errorResponse, TYPE.readyForQuery]);
    expect(types('select 1')).toBe('TDCZ');
  });
});
