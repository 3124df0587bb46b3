// Several processes on one embedded store: joining, waiting, taking over and leaving.
import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../server/db/database.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { expectAllThere, failure, type Writer, useStoreFolder } from '../../support/store-processes.js';
import { until } from '../../support/until.js';

const store = useStoreFolder();

/** Stops a process, and returns when none of its threads runs any more: the signal alone leaves them a moment to answer. */
async function halt({ process: { pid = 0 } }: Writer): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const threads = `/proc/${String(pid)}/task`;
  if (!existsSync(threads)) return sleep(1_000); // a system that does not tell
  const isHalted = (thread: string): boolean => /\) T /.test(readFileSync(join(threads, thread, 'stat'), 'utf8'));
  await until(() => readdirSync(threads).every(isHalted), 'the owner to halt');
}

describe('a second process', () => {
  it('joins the first, and takes over when it leaves', async () => {
    const first = store.start('first');
    await first.opened;
    const second = store.start('second');
    await until(() => second.acknowledged.length > 5, 'the second to write');
    expect(store.ownerPid()).toBe(first.process.pid);
    const before = second.acknowledged.length;
    expect(await first.stop()).toBe(0);
    await until(() => second.acknowledged.length > before + 5, 'the second to go on');
    expect(store.ownerPid()).toBe(second.process.pid);
    expect(await second.stop()).toBe(0);
    expect([first.errors(), second.errors()]).toEqual(['', '']);
    expect(await expectAllThere(store, [first, second])).toBeGreaterThan(10);
  });

  it('fails no request of the others by leaving', async () => {
    const owner = store.start('owner');
    await owner.opened;
    await until(() => owner.acknowledged.length > 3, 'the owner to write');
    const database = await store.open();
    const answers: unknown[] = [];
    const asking = { on: true };
    const asked = (async () => {
      while (asking.on) {
        answers.push(await failure(database.ping()));
        await sleep(2);
      }
    })();
    expect(await owner.stop()).toBe(0);
    await until(() => store.ownerPid() === process.pid, `the take-over, ${String(answers.at(-1))}`);
    const before = answers.length;
    await until(() => answers.length > before + 3, 'answers after it');
    asking.on = false;
    await asked;
    const failures = answers.filter((answer) => answer !== 'no failure');
    expect(failures.map((error) => toStoreProblem(error)?.code)).toEqual(failures.map(() => 'db.unavailable'));
    expect(failures.length).toBeLessThanOrEqual(1); // the one that was on its way
    expect(store.ownerPid()).toBe(process.pid);
    await database.close();
  });
});

describe('a start that waits', () => {
  it('for a process that does not answer says so once, and opens when that is gone', async () => {
    const owner = store.start('owner');
    await until(() => owner.acknowledged.length > 3, 'the owner to write');
    await halt(owner);
    const said: string[] = [];
    const opening = openDatabase({ kind: 'embedded', dataDir: store.dataDir, onWait: (message) => said.push(message) });
    await sleep(1_000);
    expect(said).toEqual([]);
    await until(() => said.length > 0, 'the notice');
    owner.process.kill('SIGKILL');
    await (await opening).close();
    expect(said).toEqual([
      `waiting for process ${String(owner.process.pid)} on ${hostname()}, which holds the store in ${realpathSync(store.dataDir)}`,
    ]);
  });
});

describe('a process that has used the store', () => {
  it('ends by itself when it has nothing more to do', async () => {
    const script = `
      import { openDatabase } from ${JSON.stringify(new URL('../../../server/db/database.js', import.meta.url).href)};
      const database = await openDatabase({ kind: 'embedded', dataDir: ${JSON.stringify(store.dataDir)} });
      await database.ping();
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const status = await new Promise((resolve) => child.once('exit', resolve));
    expect(status).toBe(0);
    const database = await store.open();
    await database.ping();
    await database.close();
  });
});
