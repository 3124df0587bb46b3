// Reads from a replica of the external store, while its answers are known to be no older than allowed. Its age is
// measured by whether it has replayed what the primary had written at an instant of this process. So a primary that
// writes nothing causes no lag, the servers' clocks do not matter, and a replica that is no longer fed is told from one
// that has nothing to do.
import { POOL_LIMITS } from '../limits/store.js';
import { type Watch, watchEvery } from '../lib/poller.js';
import { type ConnectionSource, StorePool } from './connections.js';
import { probeExternal } from './external.js';
import { StoreError, storeFailure } from './failures.js';
import { makeReader, type Reader } from './prepared.js';
import { sql } from './sql.js';

export interface Replica {
  /** Like the primary's reader. Reads from the primary whenever the replica is too old, away, or gives up. */
  readonly read: Reader;
  readonly state: () => ReplicaState;
  readonly close: () => Promise<void>;
}

export interface ReplicaState {
  /** Whether the next read goes to the replica. */
  readonly isUsed: boolean;
  /** How old its answers may be, in milliseconds; null if that is not known. */
  readonly age: number | null;
  /** Why it cannot be used, whatever its age; null if it can be. */
  readonly fault: ReplicaFault | null;
}

export type ReplicaFault = 'away' | 'primary_away' | 'pooler' | 'not_a_replica' | 'other_cluster';

export interface ReplicaOptions {
  readonly source: ConnectionSource;
  readonly maxConnections: number;
  /** Milliseconds. */
  readonly lag: number;
  /** Readers of the primary: one for queries, and one that queries cannot hold up. */
  readonly primary: { readonly read: Reader; readonly vital: Reader };
}

/** A server's position in its log, and the identity of that log. */
interface Position {
  readonly lsn: bigint;
  /** The cluster and its timeline. Positions in different logs cannot be compared. */
  readonly log: string;
}

interface Mark extends Position {
  readonly tick: number;
}

export function openReplica({ source, maxConnections, lag, primary }: ReplicaOptions): Replica {
  const [readers, watchers] = [new StorePool(source, { max: maxConnections }), new StorePool(source, { max: 1 })];
  const [fromReplica, ask] = [makeReader(readers), makeReader(watchers)];
  /** What the primary had written at which times, except what the replica is already known to have replayed. */
  let marks: readonly Mark[] = [];
  /** The replica's answers are no older than this. */
  let asOf = -Infinity;
  let fault: ReplicaFault | null = null;
  /** Whether its connections keep their sessions, as far as is known since it was last away. */
  let isProbed = false;

  const look = async (): Promise<ReplicaFault | null> => {
    const tick = performance.now();
    const written = await positionOf(primary.vital, WRITTEN).catch(() => null);
    if (written === null) return 'primary_away';
    marks = [...marks.filter((mark) => tick - mark.tick <= lag), { ...written, tick }];
    if (!isProbed) {
      const why = await probeExternal(source).then(() => null, faultOfProbe);
      if (why !== null) return why;
      isProbed = true;
    }
    const replayed = await positionOf(ask, REPLAYED).catch(() => 'away' as const);
    if (replayed === 'away') return 'away';
    if (replayed === null) return 'not_a_replica';
    if (replayed.log !== written.log) return 'other_cluster';
    const reached = marks.findLast(({ lsn, log }) => log === replayed.log && lsn <= replayed.lsn);
    asOf = Math.max(asOf, reached?.tick ?? -Infinity);
    return null;
  };
  const begin = (): Watch => {
    const begun = watchEvery(Math.max(lag / LOOKS, POOL_LIMITS.replicaPulse), async () => {
      fault = await look();
      if (fault === 'away') isProbed = false;
      if (fault === 'not_a_replica' || fault === 'other_cluster') asOf = -Infinity;
    });
    void begun.hurry();
    return begun;
  };
  /** Begins with the first read. Processes that only write, as commands do, do not need it. */
  let watch: Watch | null = null;

  const age = (): number => performance.now() - asOf;
  return {
    read: async (statement, options) => {
      watch ??= begin();
      if (age() > lag) return primary.read(statement, options);
      try {
        return await fromReplica(statement, options);
      } catch (error) {
        // A time limit applies to both servers, and an error that is not a failure of the store would happen on the
        // primary, too.
        if (options?.signal?.aborted === true || storeFailure(error) !== 'unavailable') throw error;
        // The replica may have cancelled the statement because it conflicts with what it replays. If it is away, the
        // next look will tell.
        asOf = -Infinity;
        return primary.read(statement, options);
      }
    },
    state: () => ({ isUsed: age() <= lag, age: Number.isFinite(asOf) ? Math.ceil(age()) : null, fault }),
    close: async () => {
      await watch?.stop();
      await Promise.all([readers.end(), watchers.end()]);
    },
  };
}

function faultOfProbe(error: unknown): ReplicaFault {
  return error instanceof StoreError && error.code === 'store.pooler' ? 'pooler' : 'away';
}

/** How many looks are made within the time that a replica may lag behind. */
const LOOKS = 4;

interface Row {
  readonly lsn: string | null;
  readonly cluster: string;
  readonly timeline: number;
}

/**
 * The timeline of the server's last checkpoint. After a failover a replica counts again once it has a checkpoint of the
 * new timeline.
 */
const OWN_LOG = sql`(SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline`;
const WRITTEN = sql`SELECT pg_current_wal_lsn()::text AS lsn, ${OWN_LOG} WHERE ${true}::boolean`;
const REPLAYED = sql`SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END AS lsn, ${OWN_LOG}
  WHERE ${true}::boolean`;

/** Null for a server that is not replaying. */
async function positionOf(reader: Reader, statement: typeof WRITTEN): Promise<Position | null> {
  const [row] = await reader<Row>(statement);
  if (row === undefined || row.lsn === null) return null;
  const [high = '', low = ''] = row.lsn.split('/');
  return { lsn: (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`), log: `${row.cluster} ${String(row.timeline)}` };
}
