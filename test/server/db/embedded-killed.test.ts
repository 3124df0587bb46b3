// What is left of an embedded store when the process that owns or creates it is killed: every commit that was
// acknowledged, and a folder that the next process can use.
import { describe, expect, it, test } from '@jest/globals';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../../support/test-runs.js';
import { expectAllThere, useStoreFolder } from '../../support/store-processes.js';
import { until } from '../../support/until.js';

const KILLS = times({ usual: 1, deep: 20 });
/** Milliseconds after which a creation is killed: while the engine makes its files, never, and when they are there. */
const CREATION_KILLED = [300, null, 2_000].slice(0, times({ usual: 1, deep: 3 }));

const store = useStoreFolder();

describe('owners that are killed while others write', () => {
  it(`lose no acknowledged commit (${String(KILLS)} times)`, async () => {
    const writers = [store.start('w0'), store.start('w1'), store.start('w2')];
    let active = [...writers];
    await Promise.all(active.map((writer) => writer.opened));
    const pauses: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      await sleep(150 + 130 * (kill % 5));
      await until(() => active.some((writer) => writer.process.pid === store.ownerPid()), 'an owner');
      const victim = active.find((writer) => writer.process.pid === store.ownerPid());
      if (victim === undefined) continue;
      victim.process.kill('SIGKILL');
      const killed = performance.now();
      await victim.gone;
      active = active.filter((writer) => writer !== victim);
      await until(() => active.some((writer) => (writer.times.at(-1) ?? 0) > killed + 5), 'somebody to go on');
      pauses.push(Math.min(...active.flatMap((writer) => writer.times.filter((time) => time > killed + 5))) - killed);
      const next = store.start(`w${String(writers.length)}`);
      writers.push(next);
      active.push(next);
    }
    await Promise.all(active.map((writer) => writer.opened));
    for (const writer of active) expect([await writer.stop(), writer.errors()]).toEqual([0, '']);
    const total = await expectAllThere(store, writers);
    expect(total).toBeGreaterThan(KILLS);
    process.stderr.write(
      `${String(KILLS)} kills, ${String(total)} acknowledged commits, pauses ${pauses.map(Math.round).join(' ')} ms\n`,
    );
  });
});

describe('an empty folder', () => {
  test.each(CREATION_KILLED)(
    'opened by four processes at once becomes one store (creator killed: %j)',
    async (delay) => {
      rmSync(join(store.dataDir, 'store'), { recursive: true });
      if (delay !== null) {
        const creator = store.start('creator');
        await until(() => existsSync(join(store.dataDir, 'store.unfinished')), 'the creation to begin');
        await sleep(delay);
        creator.process.kill('SIGKILL');
        await creator.gone;
      }
      const writers = ['a', 'b', 'c', 'd'].map(store.start);
      await until(() => writers.every((writer) => writer.acknowledged.length > 0), 'all four to write');
      await expectAllThere(store, writers);
      const statuses = await Promise.all(writers.map((writer) => writer.stop()));
      expect([statuses, ...writers.map((writer) => writer.errors())]).toEqual([[0, 0, 0, 0], '', '', '', '']);
      expect(existsSync(join(store.dataDir, 'store.unfinished'))).toBe(false);
    },
  );
});
