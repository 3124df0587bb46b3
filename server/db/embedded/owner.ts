// Owning the store of a folder: the worker thread, the heartbeat of the lock, and the watch for statements that never
// end. The thread does not keep the process alive; an owner that wants a clean close must ask for it.
import { existsSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { EMBEDDED_LIMITS, OWNER_LIMITS } from '../../limits/store.js';
import { StoreError } from '../failures.js';
import { endsWithin } from '../../lib/ends-within.js';
import type { HeldLock } from '../../lib/owner-lock.js';
import { noteStuckDisk } from '../../lib/stuck-disk.js';
import { portConnection } from './port-socket.js';
import { removeSocketDir, socketPath } from './socket-dir.js';
import type { OwnerMessage, WorkerInput, WorkerMessage } from './store-worker.js';

export interface Owner {
  readonly socketDir: string;
  /** A connection for this process, which needs no socket. */
  readonly connect: () => Duplex;
  /** Settles when the thread is gone. False if the lock could not be released in time. */
  readonly ended: Promise<boolean>;
  /**
   * Lets clients finish what they have begun, closes the store, and releases the folder. False if a disk does not
   * answer: it may keep the thread, or the process, for as long.
   */
  close(): Promise<boolean>;
}

export interface OwnerOptions {
  /** A canonical path. */
  readonly dataDir: string;
  readonly lock: HeldLock;
  readonly socketDir: string;
  /** Milliseconds that a client may idle inside a transaction. */
  readonly idleLimit: number;
  /** Milliseconds in which the store must have been opened, or made. Defaults to those of the limits. */
  readonly patience?: number;
}

/** Resolves when the store serves. Throws `StoreError`, and has released the lock then. */
export async function startOwner(options: OwnerOptions): Promise<Owner> {
  const { dataDir, lock, socketDir, idleLimit, patience = EMBEDDED_LIMITS.openTimeout } = options;
  // The time on the monotonic clock, in nanoseconds, at which the running statement will have run for too long; 0 for
  // none.
  const runaway = new BigInt64Array(new SharedArrayBuffer(8));
  const workerData: WorkerInput = {
    dataDir,
    socketPath: socketPath(socketDir),
    lockFile: lock.file,
    idleLimit,
    runaway: runaway.buffer,
  };
  const script = fileURLToPath(new URL('./store-worker.js', import.meta.url));
  const resourceLimits = { maxYoungGenerationSizeMb: EMBEDDED_LIMITS.youngMegabytes };
  const worker = new Worker(script, { workerData, execArgv: [], resourceLimits, name: 'bailiwick-store' });

  const say = (message: OwnerMessage): void => {
    worker.postMessage(message, typeof message === 'string' ? [] : [message]);
  };
  let isReady = false;
  let isLeaving = false;
  const leave = (): void => {
    isLeaving = true; // and the socket is gone before the thread is
    say('close');
  };
  const watch = setInterval(() => {
    void lock.touch();
    if (isReady && !isLeaving && !existsSync(socketPath(socketDir))) {
      warn('SOCKET', `${socketDir} was removed: the embedded store is started again with a socket elsewhere`);
      leave();
    }
    const due = Atomics.load(runaway, 0);
    if (due === 0n || process.hrtime.bigint() < due) return;
    Atomics.store(runaway, 0, 0n);
    warn('RUNAWAY', 'a statement ran on long after its timeout: the embedded store is started again');
    void worker.terminate();
  }, OWNER_LIMITS.heartbeat);
  watch.unref();

  const ended = new Promise<boolean>((resolve) => {
    worker.once('exit', () => {
      clearInterval(watch);
      removeSocketDir(socketDir);
      // Otherwise it is tried again before the next start.
      void endsWithin(lock.release(), OWNER_LIMITS.releasePatience).then(resolve);
    });
  });
  try {
    if (!(await endsWithin(readiness(worker), patience))) {
      const seconds = String(patience / 1000);
      throw new StoreError('store.silent', `the store in ${dataDir} could not be opened within ${seconds} seconds`);
    }
  } catch (error) {
    void worker.terminate();
    // Whoever hears of it finds nothing left behind, unless a disk does not answer.
    if (!(await endsWithin(ended, EMBEDDED_LIMITS.closeTimeout))) noteStuckDisk();
    throw error;
  }
  isReady = true;
  worker.unref();
  return {
    socketDir,
    connect: () => portConnection(say),
    ended,
    close: async () => {
      worker.ref();
      leave();
      const timer = setTimeout(() => void worker.terminate(), EMBEDDED_LIMITS.closeTimeout);
      // A thread that waits for a disk cannot be ended.
      const isGone = await endsWithin(ended, EMBEDDED_LIMITS.closeTimeout + OWNER_LIMITS.releasePatience);
      clearTimeout(timer);
      const isClosed = isGone && (await ended);
      if (!isClosed) noteStuckDisk();
      return isClosed;
    },
  };
}

/** Settles when the worker serves, or rejects with the reason. Later failures go to the operator's log. */
function readiness(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const broken = (reason: string): void => {
      warn('BROKEN', `the embedded store has failed and will be started again: ${reason}`);
      reject(new StoreError('store.start', `the embedded store has failed: ${reason}`));
    };
    worker.on('message', (message: WorkerMessage) => {
      switch (message.kind) {
        case 'ready':
          if (!message.durable) {
            warn(
              'NOT_DURABLE',
              'the embedded store cannot write through to the disk: a power failure will lose acknowledged changes',
            );
          }
          resolve();
          return;
        case 'refused':
          reject(new StoreError(message.code, message.message));
          return;
        case 'broken':
          broken(message.message);
          return;
      }
    });
    worker.once('error', (error) => {
      broken(error.message);
    });
    worker.once('exit', () => {
      reject(new StoreError('store.start', 'the embedded store ended while it was starting'));
    });
  });
}

function warn(code: string, message: string): void {
  process.emitWarning(message, { code: `BAILIWICK_STORE_${code}` });
}
