// Says in the log when the store is lost and when it is back, and the same of each replica: one line each, however many
// requests fail meanwhile.
import { POOL_LIMITS } from '../limits/store.js';
import { secondsSince } from '../lib/moment.js';
import type { Logger } from '../lib/ports.js';
import { type Poller, makePoller } from '../lib/poller.js';
import type { Database } from './database.js';
import { codeOf, sqlStateOf, StoreError, type StoreErrorCode, toldReason, toStoreError } from './failures.js';
import { lacking, missingRights } from './rights.js';
import type { ReplicaFault, ReplicaState } from './replica.js';

export interface WatchStoreOptions {
  readonly db: Pick<Database, 'kind' | 'ping' | 'replicas' | 'vital'>;
  readonly log: Logger;
  /** Milliseconds between two looks. */
  readonly interval?: number;
}

export interface StoreWatch extends Poller {
  /** Why requests, or some of them, are refused, as at the last look; null if nothing is wrong. */
  readonly fault: () => string | null;
}

export function watchStore({ db, log, interval = POOL_LIMITS.watchInterval }: WatchStoreOptions): StoreWatch {
  let broken: Broken | null = null;
  let missing: readonly string[] = [];
  /** Of each replica that the log says is lost: since when, and why. */
  const lost = new Map<string, { readonly since: number; readonly fault: WhyUnused }>();
  /** At how many looks in a row a replica was not fresh, though nothing else was wrong. */
  const stale = new Map<string, number>();
  const lookAtStore = async (): Promise<void> => {
    const error = await db.ping().then(
      () => null,
      (reason: unknown) => reason,
    );
    const failure = error === null ? null : (toStoreError(error) ?? unknownFailure(error));
    // Whoever is only busy is there. The embedded engine does one thing at a time.
    const isBusy = failure?.code === 'store.busy' || (failure?.code === 'store.timeout' && db.kind === 'embedded');
    if (isBusy) return;
    const how = failure === null ? null : (HOW.get(failure.code) ?? 'lost');
    const before = broken;
    broken = failure === null || how === null ? null : { how, since: before?.since ?? performance.now(), failure };
    if (how === (before?.how ?? null)) return;
    if (broken === null) {
      log.info({ seconds: secondsSince(before?.since ?? 0) }, STORE[before?.how ?? 'lost'].end);
      return;
    }
    const { code, message: reason } = broken.failure;
    const cause = codeOf(broken.failure.cause);
    log.error({ code, ...(cause === null ? {} : { cause }), reason }, STORE[broken.how].begin);
  };
  const lookAtRights = async (): Promise<void> => {
    if (broken !== null && !isRefused(broken)) return;
    const now = await missingRights(db).catch(() => missing);
    if (now.join() === missing.join()) return;
    missing = now;
    if (missing.length > 0) log.error({ missing }, LACKS);
    else log.info({}, 'the database user has all rights that requests need again');
  };
  const lookAtReplica = ({ address: replica, isUsed, fault: known, reason }: ReplicaState): void => {
    const before = lost.get(replica);
    const times = isUsed || known !== null ? 0 : (stale.get(replica) ?? 0) + 1;
    stale.set(replica, times);
    const fault = times === 0 ? known : times < STALE_LOOKS ? (before?.fault ?? null) : 'stale';
    if (fault === (before?.fault ?? null)) return;
    if (fault !== null) {
      lost.set(replica, { since: before?.since ?? performance.now(), fault });
      log.warn(
        { replica, fault, ...(reason === null ? {} : { reason }) },
        `${REPLICA[fault]}: others answer its queries`,
      );
      return;
    }
    log.info({ replica, seconds: secondsSince(before?.since ?? 0) }, 'the replica is back');
    lost.delete(replica);
  };
  const poller = makePoller(interval, async () => {
    await lookAtStore();
    await lookAtRights();
    db.replicas().forEach(lookAtReplica);
  });
  const fault = (): string | null =>
    missing.length > 0 && (broken === null || isRefused(broken)) ? lacking(missing) : (broken?.failure.message ?? null);
  return { ...poller, fault };
}

/** `/readyz` fails for any reason for which the look fails. */
function unknownFailure(error: unknown): StoreError {
  return new StoreError('store.failed', `the store cannot be used: ${toldReason(error)}`, { cause: error });
}

/** The look itself lacks a right. To whoever may not use the schema, its tables do not exist. */
const isRefused = ({ failure: { code, cause } }: Broken): boolean =>
  code === 'store.rights' || sqlStateOf(cause) === '42P01';

const LACKS = 'the database user lacks rights that requests need: run deploy/postgresql/grants.sql as the owner';

interface Broken {
  readonly how: keyof typeof STORE;
  readonly since: number;
  readonly failure: StoreError;
}

const STORE = {
  lost: { begin: 'the store is lost: requests are refused until it is back', end: 'the store is back' },
  readOnly: { begin: 'the store takes no writes: they are refused until it does', end: 'the store takes writes again' },
  full: {
    begin: 'the disk of the store is full: requests that need room there are refused until there is some',
    end: 'the disk of the store has room again',
  },
} as const;

/** Whatever else fails is lost. */
const HOW: ReadonlyMap<StoreErrorCode, keyof typeof STORE> = new Map([
  ['store.read_only', 'readOnly'],
  ['store.full', 'full'],
]);

type WhyUnused = ReplicaFault | 'stale';

/** One that lags for a moment is not worth a line. */
const STALE_LOOKS = 3;

const REPLICA: Readonly<Record<WhyUnused, string>> = {
  stale: 'the replica is older than `database.replicaLag`, or its age is unknown',
  away: 'the replica cannot be reached',
  primary_away: 'the primary does not say what it has written, so the age of the replica is unknown',
  rights: 'a database user lacks a right that is needed to read from the replica',
  pooler:
    '`databaseReadUrl` names a pooler that gives each transaction another session: connect to the replica itself, or set `pool_mode = session`',
  not_a_replica: '`databaseReadUrl` names a server that is not a replica, or is no longer one',
  other_cluster: '`databaseReadUrl` names a replica of another server than `databaseUrl`, or of another timeline of it',
};
