// The worker thread of the embedded store: opens the folder, runs the engine, and serves it to its own process on ports and to others
// on a private Unix socket.
// It ends when it is told to, when the engine fails, or when it no longer owns the folder's lock.
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { EMBEDDED_LIMITS } from '../../limits/store.js';
import { type EmbeddedEngine, isDurable, openEngine } from './engine.js';
import { reasonOf, StoreError, type StoreErrorCode } from '../failures.js';
import { createStore, creationFailure, folderFailure, prepareFolder, storeFolder } from './folder.js';
import { stillOwns } from '../../lib/owner-lock.js';
import { PortSocket } from './port-socket.js';
import { Scheduler } from './scheduler.js';
import { EngineSession } from './session.js';
import { greeting } from './wire.js';

/**
 * What its owner sends it: a connection, or 'close', after which it finishes what it has begun, closes the store, and ends.
 */
export type OwnerMessage = MessagePort | 'close';

/** What its owner starts it with. */
export interface WorkerInput {
  readonly dataDir: string;
  readonly socketPath: string;
  readonly lockFile: string;
  /** Milliseconds that a client may idle inside a transaction. */
  readonly idleLimit: number;
  /**
   * One 64-bit integer: the time (process.hrtime) at which the running statement will have run for too long; 0 for
   * none.
   */
  readonly runaway: SharedArrayBuffer;
}

/** What it tells its owner. */
export type WorkerMessage =
  | { readonly kind: 'ready'; /** Whether a commit reaches the disk. */ readonly durable: boolean }
  | { readonly kind: 'refused'; readonly code: StoreErrorCode; readonly message: string }
  | { readonly kind: 'broken'; readonly message: string };

const { dataDir, socketPath, lockFile, idleLimit, runaway } = workerData as WorkerInput;

const { connections: MAX_SESSIONS } = EMBEDDED_LIMITS;
/**
 * Milliseconds after which a statement that still runs, long after its client gave up, ends the engine. Nothing else
 * can stop it.
 */
const runawayAfter = (statementTimeout: number): number => 10 * statementTimeout + 5_000;

const PARAMETERS: ReadonlyMap<string, string> = new Map([
  ['server_version', '18.6'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['DateStyle', 'ISO, MDY'],
  ['IntervalStyle', 'postgres'],
  ['TimeZone', 'UTC'],
  ['integer_datetimes', 'on'],
  ['standard_conforming_strings', 'on'],
]);

function say(message: WorkerMessage): void {
  parentPort?.postMessage(message);
}

/** To all clients, of which there are none before the store is open. */
let sayLast: Scheduler['sayLast'] = () => undefined;

/** The engine is in no state to go on: everyone's connection ends with the thread, and the next request starts again. */
function abandon(error: unknown): never {
  if (folderFailure(error, dataDir)?.code === 'store.full') sayLast('53100', 'the disk is full');
  say({ kind: 'broken', message: reasonOf(error) });
  process.exit(1);
}

/** To be asked before anything is written. */
function guard(): void {
  if (!stillOwns(lockFile)) abandon(new Error('another process has taken over the store'));
}

async function open(): Promise<{ readonly engine: EmbeddedEngine; readonly durable: boolean }> {
  const state = prepareFolder(dataDir);
  try {
    if (state === 'new') await createStore(dataDir, guard);
    const engine = await openEngine({ folder: storeFolder(dataDir), onBroken: abandon });
    return { engine, durable: isDurable(engine) };
  } catch (error) {
    const failure = folderFailure(error, dataDir);
    if (failure !== null) throw failure;
    if (state === 'new') throw creationFailure(error, dataDir);
    const message = `the store in ${storeFolder(dataDir)} cannot be opened: ${reasonOf(error)}`;
    throw new StoreError('store.corrupt', message, { cause: error });
  }
}

async function serve(): Promise<void> {
  const { engine, durable } = await open();
  const runawayAt = new BigInt64Array(runaway);
  const scheduler = new Scheduler({
    engine,
    idleLimit,
    onBroken: abandon,
    mark: (limit) => {
      const due = limit === 0 ? 0n : process.hrtime.bigint() + BigInt(runawayAfter(limit)) * 1_000_000n;
      Atomics.store(runawayAt, 0, due);
    },
    guard,
  });
  sayLast = (code, message) => {
    scheduler.sayLast(code, message);
  };
  let sessions = 0;
  const welcome = (connection: Duplex): void => {
    const session = new EngineSession(++sessions, connection, {
      greet: (newcomer) => {
        if (scheduler.sessions > MAX_SESSIONS) newcomer.end('53300', `more than ${String(MAX_SESSIONS)} connections`);
        else newcomer.send(greeting(newcomer.id, PARAMETERS));
      },
      enqueue: (sender, unit) => {
        scheduler.enqueue(sender, unit);
      },
      touched: (sender) => {
        scheduler.touched(sender);
      },
      leave: (gone) => {
        scheduler.leave(gone);
      },
      cancel: (id) => {
        scheduler.cancel(id);
      },
    });
    scheduler.add(session);
  };
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    welcome(socket);
  });
  server.on('error', abandon);
  const close = async (): Promise<void> => {
    server.close();
    await scheduler.drain(EMBEDDED_LIMITS.drainTimeout);
    // Closing writes a checkpoint: over the work of another owner, if there is one.
    guard();
    await engine.close();
    process.exit(0);
  };
  let isClosing = false;
  parentPort?.on('message', (message: OwnerMessage) => {
    if (message === 'close') {
      isClosing = true;
      void close();
    } else if (isClosing) message.close();
    else welcome(new PortSocket(message));
  });
  server.listen(socketPath, () => {
    chmodSync(socketPath, 0o600);
    say({ kind: 'ready', durable });
  });
}

try {
  await serve();
} catch (error) {
  const failure = error instanceof StoreError ? error : folderFailure(error, dataDir);
  if (failure !== null) say({ kind: 'refused', code: failure.code, message: failure.message });
  else say({ kind: 'refused', code: 'store.start', message: `the store cannot be started: ${reasonOf(error)}` });
  process.exit(1);
}
