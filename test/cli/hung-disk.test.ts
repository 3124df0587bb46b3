// Commands whose store is on a disk that does not answer: they say so, and end all the same.
import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openDatabase } from '../../server/db/database.js';
import { LOAD_LIMITS } from '../../server/limits/records.js';
import { CLI, runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { stickFile } from '../support/stuck-file.js';
import { until } from '../support/until.js';

/** Whatever is done with the lock of a store waits for good: by the process itself, or beside it. */
const HUNG = `
  import files, { promises } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const isHung = (path) => String(path).includes('store.lock');
  const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  for (const name of ['mkdirSync', 'openSync', 'readdirSync', 'readFileSync', 'writeFileSync']) {
    const own = files[name];
    files[name] = (path, ...more) => (isHung(path) && wait(), own(path, ...more));
  }
  const { writeFile } = promises;
  promises.writeFile = (path, ...more) => (isHung(path) ? new Promise(() => undefined) : writeFile(path, ...more));
  syncBuiltinESMExports();`;

function run(...args: readonly string[]): {
  readonly child: ReturnType<typeof spawn>;
  readonly said: () => string;
  readonly ended: Promise<unknown>;
} {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '' } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, said: () => said, ended: once(child, 'close') };
}

it('end where the disk does not answer from the beginning', async () => {
  const dataDir = await newDataDir();
  expect((await runCli(['migrate', '--data-dir', dataDir])).status).toBe(0);
  const hung = `data:text/javascript,${encodeURIComponent(HUNG)}`;
  const { child, said, ended } = run('--import', hung, CLI, 'keys', 'list', '--data-dir', dataDir);
  try {
    await ended;
  } finally {
    child.kill('SIGKILL');
  }
  expect(said()).toContain(`the disk of the data folder ${dataDir} does not answer`);
  expect(said()).toContain('help: see what the log of the system says about this disk');
  expect(child.signalCode).toBe('SIGKILL');
});

it('end where it does not let go of the store, with what they have done', async () => {
  const dataDir = await newDataDir();
  const { child, said, ended } = run(CLI, 'load', '-', '--data-dir', dataDir);
  await until(() => said().includes('store: embedded'));
  const disk = stickFile(join(dataDir, 'store.lock', '1'));
  child.stdin?.end('{"family":"resource","namespace":"/labs","name":"lens"}\n');
  await ended;
  expect(said()).toContain('1 loaded');
  expect(said()).toContain('a disk does not answer');
  expect([disk.isStuck(), child.signalCode]).toEqual([true, 'SIGKILL']);
  disk.free();
});

/** A `setTimeout` for which the time of a statement is over at once. */
function hastily(own: typeof setTimeout): typeof setTimeout {
  const hasty = (work: () => void, time?: number): NodeJS.Timeout =>
    own(work, time === LOAD_LIMITS.statementTime ? 0 : time);
  return Object.assign(hasty, { __promisify__: own.__promisify__ });
}

it('end where it does not answer a statement of an export', async () => {
  const dataDir = await newDataDir();
  // It would otherwise be opened within the same time.
  const owner = await openDatabase({ kind: 'embedded', dataDir });
  const { setTimeout: own } = globalThis;
  globalThis.setTimeout = hastily(own);
  try {
    const { status, stderr } = await runCli(['export', '--data-dir', dataDir]);
    expect([status, stderr]).toEqual([10, expect.stringContaining('the store did not answer within 600000 ms')]);
  } finally {
    globalThis.setTimeout = own;
    await owner.close();
  }
});
