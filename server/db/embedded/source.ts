// Connections to the embedded store of a folder. Whoever needs one and finds no owner becomes the owner: it takes the lock
// and starts the worker. Everyone, the owner too, then connects through the owner's socket, so several processes share
// the folder, and when the owner ends the next request of any other takes over.
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import type { ConnectionSource } from '../connection.js';
import { reasonOf } from '../error-facts.js';
import { StoreError } from '../store-error.js';
import { HEARTBEAT, createLockFolder, readLock, takeLock } from './owner-lock.js';
import type { HeldLock, LockRecord } from './owner-lock.js';
import type { WorkerInput, WorkerMessage, WorkerOrder } from './worker-messages.js';

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** Milliseconds; 0 is no limit. */
  readonly statementTimeout: number;
  readonly maxConnections: number;
  /** Milliseconds; what the process that owns the folder says holds for all its clients. */
  readonly idleInTransaction: number;
}

export interface EmbeddedStore {
  readonly source: ConnectionSource;
  /** Waits until the store answers, creating it where there is none. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Owner {
  readonly socketDir: string;
  readonly worker: Worker;
  readonly lock: HeldLock;
  /** Settles when the worker thread is gone and the lock released. */
  readonly ended: Promise<void>;
}

/** A request waits this long (ms): a take-over of a killed owner's folder takes one to two seconds. */
const ACQUIRE_TIMEOUT = 5_000;
/** A first start elsewhere may be under way; after this long (ms) its owner is taken for out of reach. */
const REACH_TIMEOUT = 30_000;
const CLOSE_TIMEOUT = 15_000;
const RETRY = 50;
/** pg connects to `<folder>/.s.PGSQL.<port>`; the system allows 107 bytes. */
const PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${String(PORT)}`;
const MAX_SOCKET_PATH = 103;
const SOCKET_DIR = /^bailiwick-[A-Za-z0-9]{6}$/;

export function embeddedSource(options: EmbeddedOptions): EmbeddedStore {
  const store = new Store(options);
  return {
    source: {
      connect: () => store.connect(),
      maxConnections: options.maxConnections,
      acquireTimeout: ACQUIRE_TIMEOUT,
      deadline: options.statementTimeout,
    },
    start: async () => {
      const connection = await store.connect();
      await connection.end();
    },
    close: () => store.close(),
  };
}

class Store {
  readonly #dataDir: string;
  readonly #idleLimit: number;
  #owner: Owner | null = null;
  #locating: Promise<string> | null = null;
  #closed = false;

  constructor({ dataDir, idleInTransaction }: EmbeddedOptions) {
    this.#dataDir = dataDir;
    this.#idleLimit = idleInTransaction;
  }

  /** Tries until it is through: owners come and go. Throws `StoreError`. */
  async connect(): Promise<pg.Client> {
    const until = performance.now() + REACH_TIMEOUT;
    for (;;) {
      const socketDir = await (this.#locating ??= this.#locate().finally(() => {
        this.#locating = null;
      }));
      const connection = new pg.Client({
        host: socketDir, port: PORT, user: 'bailiwick', database: 'postgres', password: '', ssl: false, application_name: 'bailiwick',
      });
      connection.on('error', () => undefined); // until the pool's own listener is there
      try {
        await connection.connect();
        return connection;
      } catch (error) {
        connection.end().catch(() => undefined);
        if (performance.now() > until) throw this.#outOfReach(error);
        await sleep(RETRY);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#locating?.catch(() => undefined);
    const owner = this.#owner;
    if (owner === null) return;
    const order: WorkerOrder = { kind: 'close' };
    owner.worker.ref();
    owner.worker.postMessage(order);
    const timer = setTimeout(() => void owner.worker.terminate(), CLOSE_TIMEOUT);
    await owner.ended;
    clearTimeout(timer);
  }

  /** The folder of the owner's socket, after becoming the owner if there is none. */
  async #locate(): Promise<string> {
    for (;;) {
      if (this.#closed) throw new StoreError('store.closed', 'the store has been closed');
      if (this.#owner !== null) return this.#owner.socketDir;
      const folder = this.#lockFolder();
      const state = readLock(folder);
      if (state.kind === 'held') return state.record.socketDir;
      const socketDir = createSocketDir();
      const lock = takeLock(folder, state.next, socketDir);
      if (lock === null) {
        removeSocketDir(socketDir);
        continue;
      }
      if (state.socketDir !== null) removeSocketDir(state.socketDir);
      this.#owner = await this.#startWorker(lock, socketDir);
    }
  }

  #lockFolder(): string {
    if (process.platform === 'win32') throw new StoreError('store.unsupported', 'the embedded store needs Unix sockets');
    try {
      mkdirSync(this.#dataDir, { recursive: true, mode: 0o700 });
      const folder = join(realpathSync(this.#dataDir), 'store.lock');
      createLockFolder(folder);
      return folder;
    } catch (error) {
      throw new StoreError('store.folder', `the data folder ${this.#dataDir} cannot be used: ${reasonOf(error)}`, { cause: error });
    }
  }

  async #startWorker(lock: HeldLock, socketDir: string): Promise<Owner> {
    const input: WorkerInput = {
      dataDir: realpathSync(this.#dataDir),
      socketPath: join(socketDir, SOCKET_NAME),
      lockFile: lock.file,
      lockToken: lock.token,
      idleLimit: this.#idleLimit,
    };
    const worker = new Worker(fileURLToPath(new URL('./worker.js', import.meta.url)), { workerData: input, execArgv: [], name: 'bailiwick-store' });
    const heartbeat = setInterval(() => {
      lock.touch();
    }, HEARTBEAT);
    heartbeat.unref();
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        clearInterval(heartbeat);
        removeSocketDir(socketDir);
        lock.release();
        this.#owner = null;
        resolve();
      });
    });
    await readiness(worker);
    worker.unref();
    return { socketDir, worker, lock, ended };
  }

  #outOfReach(error: unknown): StoreError {
    const state = readLock(this.#lockFolder());
    const owner = state.kind === 'held' ? describeOwner(state.record) : 'a process that is gone by now';
    return new StoreError('store.locked', `the store in ${this.#dataDir} is in use by ${owner}, which cannot be reached: ${reasonOf(error)}`, { cause: error });
  }
}

/** Settles when the worker serves, or says why it does not. What goes wrong later is told to the operator. */
function readiness(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: WorkerMessage) => {
      switch (message.kind) {
        case 'ready':
          if (!message.durable) warn('NOT_DURABLE', 'the embedded store does not reach the disk: a power failure will lose what was acknowledged');
          resolve();
          return;
        case 'refused':
          reject(new StoreError(message.code, message.message));
          return;
        case 'broken':
          warn('BROKEN', `the embedded store has failed and will be started again: ${message.message}`);
          reject(new StoreError('store.start', `the embedded store has failed: ${message.message}`));
          return;
      }
    });
    worker.once('error', (error) => {
      warn('BROKEN', `the embedded store has failed and will be started again: ${error.message}`);
      reject(new StoreError('store.start', `the embedded store has failed: ${error.message}`, { cause: error }));
    });
    worker.once('exit', () => {
      reject(new StoreError('store.start', 'the embedded store ended while it was starting'));
    });
  });
}

function createSocketDir(): string {
  for (const parent of [tmpdir(), '/tmp']) {
    if (Buffer.byteLength(join(parent, 'bailiwick-XXXXXX', SOCKET_NAME)) <= MAX_SOCKET_PATH) {
      try {
        return mkdtempSync(join(parent, 'bailiwick-')); // 0700, and a name that nobody can have made before
      } catch (error) {
        throw new StoreError('store.socket', `no socket can be made in ${parent}: ${reasonOf(error)}`, { cause: error });
      }
    }
  }
  throw new StoreError('store.socket', 'the temporary folder has too long a name for a socket');
}

/** The name comes from a file, so only what looks like ours goes: an empty folder of that name with a socket in it. */
function removeSocketDir(folder: string): void {
  try {
    if (!SOCKET_DIR.test(basename(folder)) || !lstatSync(folder).isDirectory()) return;
    if (readdirSync(folder).some((name) => name !== SOCKET_NAME)) return;
    rmSync(join(folder, SOCKET_NAME), { force: true });
    rmdirSync(folder);
  } catch {
    return; // gone already, or another user's: nothing depends on it
  }
}

function warn(code: string, message: string): void {
  process.emitWarning(message, { code: `BAILIWICK_STORE_${code}` });
}

const describeOwner = (record: LockRecord): string => `process ${String(record.pid)} on ${record.host}`;
