// Connections to the embedded store of a folder. A process that needs one and finds no owner becomes the owner: it
// takes the lock and starts the worker. The owner connects to the thread directly, and every other process through the
// owner's socket.
// So several processes share the folder, and when the owner ends, the next one that needs the store takes over.
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type ConnectionSource, StoreClient } from '../connections.js';
import { OWNER_LIMITS } from '../../limits/store.js';
import { codeOf, reasonOf, StoreError } from '../failures.js';
import { createLockFolder, type HeldLock, type LockRecord, readLock, takeLock } from '../../lib/owner-lock.js';
import { assertSameVersion } from '../../lib/version.js';
import { checkDisk } from './check-disk.js';
import { folderFailure, syncFolder } from './folder.js';
import { type Owner, startOwner } from './owner.js';
import { SOCKET_PORT, createSocketDir, removeSocketDir } from './socket-dir.js';

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** Milliseconds; 0 means no limit. */
  readonly statementTimeout: number;
  /** In milliseconds. The value of the process that owns the folder applies to all its clients. */
  readonly idleInTransaction: number;
  /** In milliseconds, like the next. */
  readonly connectTimeout: number;
  readonly acquireTimeout: number;
  /** If true, this process never owns the folder, but waits until another one does. */
  readonly isGuest: boolean;
  /** Called once if a start waits for another process, with a one-line message that says which. */
  readonly onWait?: (message: string) => void;
}

export interface EmbeddedStore {
  readonly source: ConnectionSource;
  /** Waits until the store answers, and creates it if there is none. Throws `StoreError`. */
  readonly start: () => Promise<void>;
  /** False if a disk does not answer. */
  readonly close: () => Promise<boolean>;
}

/** The message of the driver's pool when a request has waited for too long. */
const NONE_FREE = 'timeout exceeded when trying to connect';

export function embeddedSource(options: EmbeddedOptions): EmbeddedStore {
  const store = new Store(options);
  return {
    source: {
      config: () => store.config(),
      greeting: null,
      reach: (attempt) => store.reach(attempt),
      assertOpens: () => Promise.resolve(),
      connectTimeout: options.connectTimeout,
      acquireTimeout: options.acquireTimeout,
      deadline: options.statementTimeout,
    },
    start: async () => {
      // Between two attempts there is nobody to wait for. If it is asked at that moment, it asks again.
      const tell = (): void => {
        const message = store.waitsFor();
        if (message === null) notice = setTimeout(tell, OWNER_LIMITS.reachRetry);
        else options.onWait?.(message);
      };
      let notice = setTimeout(tell, OWNER_LIMITS.waitNotice);
      try {
        await store.reach(() => probe(store.config()));
      } finally {
        clearTimeout(notice);
      }
    },
    close: () => store.close(),
  };
}

class Store {
  readonly #options: EmbeddedOptions;
  #owner: Owner | null = null;
  /** The socket folder of the last owner that was found; null once a connection has failed. */
  #socketDir: string | null = null;
  /** The search for the owner that is under way, shared by all who need a connection. */
  #locating: Promise<string> | null = null;
  /** The lock of our own present or former owner. */
  #lock: HeldLock | null = null;
  #closed = false;
  /** The other process that holds the folder; null if nobody holds it, or this process. */
  #holder: LockRecord | null = null;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
  }

  /** Tries until the attempt succeeds, because owners come and go. Throws `StoreError`. */
  async reach<T>(attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + OWNER_LIMITS.reachTimeout;
    for (;;) {
      if (this.#closed) throw new StoreError('store.closed', 'the store has been closed');
      if (this.#socketDir === null) await this.#find();
      try {
        return await attempt();
      } catch (error) {
        // The store has connections, but none is free.
        if (reasonOf(error) === NONE_FREE) throw error;
        this.#socketDir = null;
        if (performance.now() > until) throw this.#outOfReach(error);
        await sleep(OWNER_LIMITS.reachRetry);
      }
    }
  }

  async #find(): Promise<void> {
    this.#socketDir = await (this.#locating ??= this.#locate().finally(() => {
      this.#locating = null;
    }));
  }

  /** Which other process a pending connection waits for; null if none. */
  waitsFor(): string | null {
    if (this.#holder === null) return null;
    return `waiting for ${nameOf(this.#holder)}, which holds the store in ${this.#folders().dataDir}`;
  }

  async close(): Promise<boolean> {
    this.#closed = true;
    await this.#locating?.catch(() => undefined);
    return (await this.#owner?.close()) ?? true;
  }

  /** The address of the owner that was found last. */
  config(): pg.ClientConfig {
    const { statementTimeout } = this.#options;
    const owner = this.#owner;
    return {
      host: this.#socketDir ?? '/nowhere',
      port: SOCKET_PORT,
      user: 'bailiwick',
      database: 'postgres',
      password: '',
      ssl: false,
      application_name: 'bailiwick',
      ...(statementTimeout === 0 ? {} : { statement_timeout: statementTimeout }),
      ...(owner === null || owner.socketDir !== this.#socketDir ? {} : { stream: owner.connect }),
    };
  }

  /** The folder of the owner's socket, after becoming the owner if there is none. */
  async #locate(): Promise<string> {
    const until = performance.now() + OWNER_LIMITS.reachTimeout;
    for (;;) {
      if (this.#closed) throw new StoreError('store.closed', 'the store has been closed');
      if (this.#owner !== null) return this.#owner.socketDir;
      await checkDisk(this.#options.dataDir);
      const { dataDir, lockFolder } = this.#folders();
      await this.#letGo(dataDir);
      const state = onFolder(dataDir, () => readLock(lockFolder));
      this.#holder = state.kind === 'held' ? state.record : null;
      if (state.kind === 'held') return state.record.socketDir;
      if (this.#options.isGuest) {
        if (performance.now() > until) throw new StoreError('store.locked', `no process owns the store in ${dataDir}`);
        await sleep(OWNER_LIMITS.reachRetry);
        continue;
      }
      assertSameCode(dataDir);
      const socketDir = createSocketDir();
      const lock = onFolder(dataDir, () => taken(lockFolder, state.next, socketDir));
      if (lock === null) {
        removeSocketDir(socketDir); // another process was quicker
        continue;
      }
      if (state.socketDir !== null) removeSocketDir(state.socketDir);
      this.#lock = lock;
      const owner = await startOwner({ dataDir, lock, socketDir, idleLimit: this.#options.idleInTransaction });
      this.#owner = owner;
      void owner.ended.then(() => {
        this.#owner = null;
        this.#socketDir = null;
      });
    }
  }

  /**
   * First releases a lock that could not be released when its owner ended, as on a file system that had become
   * read-only.
   */
  async #letGo(dataDir: string): Promise<void> {
    if ((await this.#lock?.release()) === false) {
      throw new StoreError('store.folder', `the data folder ${dataDir} cannot be used: its lock cannot be written`);
    }
    this.#lock = null;
  }

  #folders(): { readonly dataDir: string; readonly lockFolder: string } {
    if (process.platform === 'win32') {
      throw new StoreError(
        'store.unsupported',
        'the embedded store needs Unix sockets, which this system does not have',
      );
    }
    try {
      makeFolder(resolve(this.#options.dataDir));
      const dataDir = realpathSync(this.#options.dataDir);
      const lockFolder = join(dataDir, 'store.lock');
      createLockFolder(lockFolder);
      return { dataDir, lockFolder };
    } catch (error) {
      const { dataDir } = this.#options;
      const message = `the data folder ${dataDir} cannot be used: ${reasonOf(error)}`;
      throw folderFailure(error, dataDir) ?? new StoreError('store.folder', message, { cause: error });
    }
  }

  #outOfReach(error: unknown): StoreError {
    const { dataDir, lockFolder } = this.#folders();
    const state = readLock(lockFolder);
    const owner = state.kind === 'held' ? nameOf(state.record) : 'a process that has ended since';
    return new StoreError(
      'store.locked',
      `the store in ${dataDir} is in use by ${owner}, out of reach: ${reasonOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** The code of the thread comes from the disk. A process of the version that is there now may take the folder. */
function assertSameCode(dataDir: string): void {
  try {
    assertSameVersion();
  } catch (cause) {
    throw new StoreError('store.replaced', `the store in ${dataDir} is not opened: ${reasonOf(cause)}`, { cause });
  }
}

/** Takes the lock. If that fails, removes the folder of the socket: without a lock it has no owner. */
function taken(lockFolder: string, next: number, socketDir: string): HeldLock | null {
  try {
    return takeLock(lockFolder, next, socketDir);
  } catch (error) {
    removeSocketDir(socketDir);
    throw error;
  }
}

function onFolder<T>(dataDir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw folderFailure(error, dataDir) ?? error;
  }
}

/** Checks that the store answers. */
async function probe(config: pg.ClientConfig): Promise<void> {
  const client = new StoreClient(config, 0);
  try {
    await client.connect();
    client.throwIfLost();
  } finally {
    client.end().catch(() => undefined);
  }
}

function nameOf({ pid, host }: LockRecord): string {
  return `process ${String(pid)} on ${host}`;
}

/**
 * Makes the folder and its parents, one by one. Node's recursive mkdir never ends on a file system like /proc, which
 * has no place for any.
 */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
    syncFolder(parent);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (codeOf(error) !== 'EEXIST' || !statSync(folder).isDirectory()) throw error;
  }
}
