// Several processes on one embedded store: joining, killing, taking over, and what a crash at any moment leaves.
// BAILIWICK_TEST_KILLS sets how often the owner is killed.
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../../server/db/database.js';
import { HEARTBEAT_LOST, readLock } from '../../../server/db/embedded/owner-lock.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { newDataDir } from '../../support/stores.js';

const KILLS = Number(process.env['BAILIWICK_TEST_KILLS'] ?? 3);

let dataDir: string;
const children = new Set<Writer>();

beforeEach(async () => {
  dataDir = await newDataDir();
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all([...children].map((child) => child.gone));
  children.clear();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Writer {
  readonly name: string;
  readonly process: ChildProcess;
  readonly acknowledged: readonly number[];
  readonly errors: () => string;
  /** Times (performance.now) of the acknowledgements. */
  readonly times: readonly number[];
  readonly opened: Promise<void>;
  readonly gone: Promise<number | null>;
  stop(): Promise<number | null>;
}

function startWriter(name: string): Writer {
  const script = fileURLToPath(new URL('../../support/store-writer.js', import.meta.url));
  const child = spawn(process.execPath, [script, dataDir, name], { stdio: ['pipe', 'pipe', 'pipe'] });
  const acknowledged: number[] = [];
  const times: number[] = [];
  let errors = '';
  let rest = '';
  let hasOpened = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    hasOpened = resolve;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === 'opened') hasOpened();
      else {
        acknowledged.push(Number(line));
        times.push(performance.now());
      }
    }
  });
  const gone = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  const writer: Writer = {
    name,
    process: child,
    acknowledged,
    times,
    opened,
    gone,
    errors: () => errors,
    stop: () => {
      child.stdin.end('stop\n');
      return gone;
    },
  };
  children.add(writer);
  return writer;
}

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

const ownerPid = (): number | null => {
  const state = readLock(join(realpathSync(dataDir), 'store.lock'));
  return state.kind === 'held' ? state.record.pid : null;
};

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 90_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited too long for ${what}`);
    await sleep(10);
  }
}

/** Stops a process, and returns when none of its threads runs any more: the signal alone leaves them a moment to answer. */
async function halt({ process: { pid = 0 } }: Writer): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const threads = `/proc/${String(pid)}/task`;
  if (!existsSync(threads)) return sleep(1_000); // a system that does not tell
  const isHalted = (thread: string): boolean => /\) T /.test(readFileSync(join(threads, thread, 'stat'), 'utf8'));
  await until(() => readdirSync(threads).every(isHalted), 'the owner to halt');
}

/** Every row that any writer was told is committed. */
async function expectAllThere(writers: readonly Writer[]): Promise<number> {
  const database = await openDatabase({ kind: 'embedded', dataDir });
  let total = 0;
  for (const { name, acknowledged } of writers) {
    const rows = await database.knex<{ writer: string; n: number }>('acknowledged').where({ writer: name }).select('n');
    const stored = new Set(rows.map(({ n }) => n));
    expect(acknowledged.filter((n) => !stored.has(n))).toEqual([]);
    total += acknowledged.length;
  }
  await database.close();
  return total;
}

describe('a second process', () => {
  it('joins the first, and takes over when it leaves', async () => {
    const first = startWriter('first');
    await first.opened;
    const second = startWriter('second');
    await until(() => second.acknowledged.length > 5, 'the second to write');
    expect(ownerPid()).toBe(first.process.pid);
    const before = second.acknowledged.length;
    expect(await first.stop()).toBe(0);
    await until(() => second.acknowledged.length > before + 5, 'the second to go on');
    expect(ownerPid()).toBe(second.process.pid);
    expect(await second.stop()).toBe(0);
    expect([first.errors(), second.errors()]).toEqual(['', '']);
    expect(await expectAllThere([first, second])).toBeGreaterThan(10);
  });

  it('fails no request of the others by leaving', async () => {
    const owner = startWriter('owner');
    await owner.opened;
    await until(() => owner.acknowledged.length > 3, 'the owner to write');
    const database = await openDatabase({ kind: 'embedded', dataDir });
    const answers: unknown[] = [];
    const asking = { on: true };
    const asked = (async () => {
      while (asking.on) {
        answers.push(await failure(database.ping()));
        await sleep(2);
      }
    })();
    expect(await owner.stop()).toBe(0);
    await until(() => ownerPid() === process.pid, `the take-over, ${String(answers.at(-1))}`);
    const before = answers.length;
    await until(() => answers.length > before + 3, 'answers after it');
    asking.on = false;
    await asked;
    const failures = answers.filter((answer) => answer !== 'no failure');
    expect(failures.map((error) => toStoreProblem(error)?.code)).toEqual(failures.map(() => 'db.unavailable'));
    expect(failures.length).toBeLessThanOrEqual(1); // the one that was on its way
    expect(ownerPid()).toBe(process.pid);
    await database.close();
  });
});

describe('owners that are killed while others write', () => {
  it(
    `lose no acknowledged commit (${String(KILLS)} times)`,
    async () => {
      const writers = [startWriter('w0'), startWriter('w1'), startWriter('w2')];
      let active = [...writers];
      await Promise.all(active.map((writer) => writer.opened));
      const pauses: number[] = [];
      for (let kill = 0; kill < KILLS; kill += 1) {
        await sleep(150 + 130 * (kill % 5));
        await until(() => active.some((writer) => writer.process.pid === ownerPid()), 'an owner');
        const victim = active.find((writer) => writer.process.pid === ownerPid());
        if (victim === undefined) continue;
        victim.process.kill('SIGKILL');
        const killed = performance.now();
        await victim.gone;
        active = active.filter((writer) => writer !== victim);
        await until(() => active.some((writer) => (writer.times.at(-1) ?? 0) > killed + 5), 'somebody to go on');
        pauses.push(Math.min(...active.flatMap((writer) => writer.times.filter((time) => time > killed + 5))) - killed);
        const next = startWriter(`w${String(writers.length)}`);
        writers.push(next);
        active.push(next);
      }
      await Promise.all(active.map((writer) => writer.opened));
      for (const writer of active) expect([await writer.stop(), writer.errors()]).toEqual([0, '']);
      const total = await expectAllThere(writers);
      expect(total).toBeGreaterThan(KILLS);
      if (KILLS > 3)
        process.stderr.write(
          `${String(KILLS)} kills, ${String(total)} acknowledged commits, pauses ${pauses.map(Math.round).join(' ')} ms\n`,
        );
    },
    60_000 + KILLS * 8_000,
  );
});

describe('an empty folder', () => {
  it('opened by four processes at once becomes one store', async () => {
    rmSync(join(dataDir, 'store'), { recursive: true });
    const writers = ['a', 'b', 'c', 'd'].map(startWriter);
    await until(() => writers.every((writer) => writer.acknowledged.length > 0), 'all four to write');
    const statuses = await Promise.all(writers.map((writer) => writer.stop()));
    expect([statuses, ...writers.map((writer) => writer.errors())]).toEqual([[0, 0, 0, 0], '', '', '', '']);
    await expectAllThere(writers);
    expect(existsSync(join(dataDir, 'store.unfinished'))).toBe(false);
  });

  test.each([300, 2_000])('whose creator is killed after %i ms is made anew', async (delay) => {
    rmSync(join(dataDir, 'store'), { recursive: true });
    const creator = startWriter('creator');
    await until(() => existsSync(join(dataDir, 'store.unfinished')), 'the creation to begin');
    await sleep(delay);
    creator.process.kill('SIGKILL');
    await creator.gone;
    const next = startWriter('next');
    await until(() => next.acknowledged.length > 2, 'the next to write');
    expect(await next.stop()).toBe(0);
    await expectAllThere([next, creator]);
  });
});

describe('a copy of a data folder', () => {
  let copy: string;
  beforeEach(() => {
    copy = `${dataDir}-copy`;
  });
  afterEach(() => {
    rmSync(copy, { recursive: true, force: true });
  });

  test.each(['while it is served', 'after its owner was killed'])(
    '%s opens at once, as a store of its own',
    async (when) => {
      const writer = startWriter('writer');
      await until(() => writer.acknowledged.length > 3, 'the writer to write');
      if (when === 'after its owner was killed') {
        writer.process.kill('SIGKILL');
        await writer.gone;
      }
      cpSync(dataDir, copy, { recursive: true });
      const started = performance.now();
      const database = await openDatabase({ kind: 'embedded', dataDir: copy });
      expect(performance.now() - started).toBeLessThan(HEARTBEAT_LOST);
      await database.knex('acknowledged').insert({ writer: 'copy', n: 1 });
      await database.close();
      if (when === 'while it is served') expect(await writer.stop()).toBe(0);
      const original = await openDatabase({ kind: 'embedded', dataDir });
      expect(await original.knex('acknowledged').where({ writer: 'copy' })).toEqual([]);
      await original.close();
    },
  );
});

describe('a start that waits', () => {
  it('for a process that does not answer says so once, and opens when that is gone', async () => {
    const owner = startWriter('owner');
    await until(() => owner.acknowledged.length > 3, 'the owner to write');
    await halt(owner);
    const said: string[] = [];
    const opening = openDatabase({ kind: 'embedded', dataDir, onWait: (message) => said.push(message) });
    await sleep(1_000);
    expect(said).toEqual([]);
    await until(() => said.length > 0, 'the notice');
    owner.process.kill('SIGKILL');
    await (await opening).close();
    expect(said).toEqual([
      `waiting for process ${String(owner.process.pid)} on ${hostname()}, which holds the store in ${realpathSync(dataDir)}`,
    ]);
  });

  it('for nobody says nothing, however long it takes', async () => {
    rmSync(join(dataDir, 'store'), { recursive: true });
    const said: string[] = [];
    const database = await openDatabase({ kind: 'embedded', dataDir, onWait: (message) => said.push(message) });
    await database.close();
    expect(said).toEqual([]);
  });
});

describe('a store that is damaged', () => {
  const store = (...path: string[]): string => join(dataDir, 'store', ...path);
  const flip = (file: string, offsets: readonly number[]): void => {
    const bytes = readFileSync(file);
    const handle = openSync(file, 'r+');
    for (const offset of offsets) writeSync(handle, Uint8Array.of((bytes[offset] ?? 0) ^ 0xff), 0, 1, offset);
    closeSync(handle);
  };
  const open = async (): Promise<unknown> => {
    const attempt = openDatabase({ kind: 'embedded', dataDir });
    const outcome = await failure(attempt);
    if (outcome === 'no failure') await (await attempt).close();
    return outcome;
  };

  it('in its control file is refused', async () => {
    flip(store('global', 'pg_control'), [0, 8, 40, 80, 120]);
    const before = readdirSync(store()).sort();
    expect(await open()).toMatchObject({ name: 'StoreError', code: 'store.corrupt' });
    expect(readdirSync(store()).sort()).toEqual(before);
  });

  it('by the loss of its control file is refused', async () => {
    rmSync(store('global', 'pg_control'));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('by the loss of its log is refused', async () => {
    for (const name of readdirSync(store('pg_wal'))) if (/^[0-9A-F]{24}$/.test(name)) rmSync(store('pg_wal', name));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('in its log is refused', async () => {
    for (const name of readdirSync(store('pg_wal'))) {
      if (/^[0-9A-F]{24}$/.test(name))
        writeFileSync(store('pg_wal', name), Buffer.alloc(statSync(store('pg_wal', name)).size, 0xa5));
    }
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
  });

  it('by the loss of its beginnings is refused, not taken for new', async () => {
    rmSync(store('PG_VERSION'));
    expect(await open()).toMatchObject({ code: 'store.corrupt' });
    expect(existsSync(store('global', 'pg_control'))).toBe(true);
  });

  it('in a table tells so when the table is read, and serves no wrong row', async () => {
    const database = await openDatabase({ kind: 'embedded', dataDir });
    await database.knex.raw('create table damaged (t text)');
    await database.knex.raw("insert into damaged select repeat('x', 100) from generate_series(1, 500)");
    const { rows } = await database.knex.raw<{ rows: { path: string }[] }>(
      "select pg_relation_filepath('damaged') as path",
    );
    await database.close();
    flip(store(rows[0]?.path ?? ''), [9_000, 9_500]);
    const again = await openDatabase({ kind: 'embedded', dataDir });
    const error = await failure(again.knex('damaged').count());
    expect(error).toMatchObject({ code: 'XX001' });
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.unavailable' });
    await again.close();
  });

  it('while it runs ends the engine, and whoever asks next starts it again', async () => {
    const writer = startWriter('writer');
    await until(() => writer.acknowledged.length > 3, 'the writer to write');
    const database = await openDatabase({ kind: 'embedded', dataDir });
    renameSync(store('pg_wal'), join(dataDir, 'pg_wal'));
    await database.knex.raw('select pg_switch_wal()');
    // the next commit, ours or the writer's, cannot be logged
    expect(toStoreProblem(await failure(database.knex('acknowledged').insert({ writer: 'us', n: 1 })))).toMatchObject({
      code: 'db.unavailable',
    });
    renameSync(join(dataDir, 'pg_wal'), store('pg_wal'));
    const before = writer.acknowledged.length;
    await until(() => writer.acknowledged.length > before + 3, 'the writer to go on');
    expect(await writer.stop()).toBe(0);
    expect(writer.errors()).toMatch(
      /BAILIWICK_STORE_BROKEN.* the embedded store has failed and will be started again: .*pg_wal/s,
    );
    await database.close();
    await expectAllThere([writer]);
  });
});

describe('a process that has used the store', () => {
  it('ends by itself when it has nothing more to do', async () => {
    const script = `
      import { openDatabase } from ${JSON.stringify(new URL('../../../server/db/database.js', import.meta.url).href)};
      const database = await openDatabase({ kind: 'embedded', dataDir: ${JSON.stringify(dataDir)} });
      await database.ping();
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const status = await new Promise((resolve) => child.once('exit', resolve));
    expect(status).toBe(0);
    const database = await openDatabase({ kind: 'embedded', dataDir });
    await database.ping();
    await database.close();
  });
});
