// Processes that write to one embedded store (store-writer.ts), as tests start, watch and kill them. Use as
//   const store = useStoreFolder();
// in a file of tests: each test has a folder of its own, and no process outlives it.
import { afterEach, beforeEach, expect } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '../../server/db/database.js';
import { readLock } from '../../server/lib/owner-lock.js';
import { newDataDir } from './stores.js';

export interface Writer {
  readonly name: string;
  readonly process: ChildProcess;
  readonly acknowledged: readonly number[];
  readonly errors: () => string;
  /** Times (performance.now) of the acknowledgements. */
  readonly times: readonly number[];
  readonly opened: Promise<void>;
  readonly gone: Promise<number | null>;
  readonly stop: () => Promise<number | null>;
}

export interface StoreFolder {
  readonly dataDir: string;
  readonly start: (name: string) => Writer;
  /** Of the process that owns the store. */
  readonly ownerPid: () => number | null;
  readonly open: () => Promise<Database>;
}

export function useStoreFolder(): StoreFolder {
  let dataDir = '';
  const writers = new Set<Writer>();
  beforeEach(async () => {
    dataDir = await newDataDir();
  });
  afterEach(async () => {
    for (const writer of writers) writer.process.kill('SIGKILL');
    await Promise.all([...writers].map((writer) => writer.gone));
    writers.clear();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    get dataDir() {
      return dataDir;
    },
    start: (name) => {
      const writer = startWriter(dataDir, name);
      writers.add(writer);
      return writer;
    },
    ownerPid: () => {
      const state = readLock(join(realpathSync(dataDir), 'store.lock'));
      return state.kind === 'held' ? state.record.pid : null;
    },
    open: () => openDatabase({ kind: 'embedded', dataDir }),
  };
}

function startWriter(dataDir: string, name: string): Writer {
  const script = fileURLToPath(new URL('./store-writer.js', import.meta.url));
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
  return {
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
}

/** What an attempt failed with. */
export const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

/** Every row that any writer had been told is committed before we look. */
export async function expectAllThere({ open }: StoreFolder, writers: readonly Writer[]): Promise<number> {
  const told = writers.map(({ name, acknowledged }) => ({ name, numbers: [...acknowledged] }));
  const database = await open();
  for (const { name, numbers } of told) {
    const rows = await database.knex<{ writer: string; n: number }>('acknowledged').where({ writer: name }).select('n');
    const stored = new Set(rows.map(({ n }) => n));
    expect(numbers.filter((n) => !stored.has(n))).toEqual([]);
  }
  await database.close();
  return told.reduce((total, { numbers }) => total + numbers.length, 0);
}
