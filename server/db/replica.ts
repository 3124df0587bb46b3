// Reads from replicas of the external store, from each while its answers are known to be no older than allowed. The age of
// one is measured by whether it has replayed what the primary had written at an instant of this process. So a primary that
// writes nothing causes no lag, the servers' clocks do not matter, and a replica that is no longer fed is told from one
// that has nothing to do.
import { POOL_LIMITS } from '../limits/store.js';
import { type Poller, makePoller } from '../lib/poller.js';
import { type ConnectionSource, StorePool } from './connections.js';
import { probeExternal } from './external.js';
import { reasonOf, sqlStateOf, StoreError, storeFailure, toldReason } from './failures.js';
import { makeReader, type StoreReader } from './prepared.js';
import { sql } from './sql.js';

export interface Replicas {
  /**
   * Like the primary's reader. Of the replicas that are fresh enough, the one with the fewest reads in progress answers. The primary
   * answers while there is none, and what a replica gives up.
   */
  readonly read: StoreReader;
  /** In the order of the settings. Asking begins to measure them, so that a process that reads nothing knows them. */
  readonly states: () => readonly ReplicaState[];
  readonly close: () => Promise<void>;
}

export interface ReplicaState {
  /** Which replica it is: host and port. */
  readonly address: string;
  /** Whether reads go to it. */
  readonly isUsed: boolean;
  /** How old its answers may be, in milliseconds; null if that is not known. */
  readonly age: number | null;
  /** Why it cannot be used, whatever its age; null if it can be. */
  readonly fault: ReplicaFault | null;
  /** What the server or the connection to it says; null if that says nothing. */
  readonly reason: string | null;
}

export type ReplicaFault = 'away' | 'primary_away' | 'rights' | 'pooler' | 'not_a_replica' | 'other_cluster';

export interface ReplicasOptions {
  readonly sources: readonly ReplicaSource[];
  /** Connections for queries, to each. */
  readonly maxConnections: number;
  /** Milliseconds. */
  readonly lag: number;
  /** Readers of the primary: one for queries, and one that queries cannot hold up. */
  readonly primary: { readonly read: StoreReader; readonly vital: StoreReader };
}

export interface ReplicaSource extends ConnectionSource {
  readonly address: string;
}

/** A server's position in its log, and the identity of that log. */
interface Position {
  readonly lsn: bigint;
  /** Which transactions had ended; null for a replica. */
  readonly snapshot: string | null;
  /** The cluster and its timeline. Positions in different logs cannot be compared. */
  readonly log: string;
}

/** All that was committed by the tick is in the log up to the position. */
interface Mark extends Position {
  readonly tick: number;
}

export function openReplicas({ sources, maxConnections, lag, primary }: ReplicasOptions): Replicas {
  const interval = Math.max(lag / LOOKS, POOL_LIMITS.replicaPulse);
  const marks = makeMarks(primary.vital, { lag, interval });
  const replicas = sources.map((source) => openReplica(source, { maxConnections, lag, interval, marks }));
  let turn = 0;
  /** In turns where several have as little to do. */
  const leastBusy = (): ReplicaConnection | undefined => {
    turn += 1;
    const inTurn = replicas.map((_, index) => replicas[(index + turn) % replicas.length]);
    const fresh = inTurn.filter((one) => one !== undefined && one.state().isUsed);
    return fresh.reduce(
      (least, one) => (least !== undefined && one !== undefined && one.busy() < least.busy() ? one : least),
      fresh[0],
    );
  };
  return {
    read: async (statement, options) => {
      for (const replica of replicas) replica.watch();
      const replica = leastBusy();
      if (replica === undefined) return primary.read(statement, options);
      try {
        return await replica.read(statement, options);
      } catch (error) {
        // A time limit applies to all servers, and an error that is not a failure of the store would happen on the
        // primary, too.
        if (options?.signal?.aborted === true || storeFailure(error) !== 'unavailable') throw error;
        return primary.read(statement, options);
      }
    },
    states: () =>
      replicas.map(({ state, watch }) => {
        watch();
        return state();
      }),
    close: async () => {
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}

/** What the primary had written at which times, as far back as answers may be old, with now as the last. */
type Marks = () => Promise<readonly Mark[]>;

/** All replicas share them, so the primary is asked as often for many as for one. */
function makeMarks(vital: StoreReader, { lag, interval }: { readonly lag: number; readonly interval: number }): Marks {
  let marks: readonly Mark[] = [];
  let asked: Promise<readonly Mark[]> = Promise.resolve([]);
  let askedAt = -Infinity;
  const ask = async (tick: number): Promise<readonly Mark[]> => {
    const written = await positionOf(vital, WRITTEN);
    if (written === null) return [];
    // What transactions write before they end is not sent while the primary has nothing else to do, for up to 15 seconds.
    // Nothing of it can be read: where none has ended since the last mark, the log up to there has all that counts.
    const last = marks.at(-1);
    const isSame = last?.log === written.log && last.snapshot === written.snapshot;
    const lsn = isSame ? last.lsn : endOf(written.lsn);
    marks = [...marks.filter((mark) => tick - mark.tick <= lag), { ...written, lsn, tick }];
    return marks;
  };
  return () => {
    const tick = performance.now();
    if (tick - askedAt > interval / 2) [asked, askedAt] = [ask(tick), tick];
    return asked;
  };
}

interface ReplicaConnection {
  readonly read: StoreReader;
  /** How many reads are in progress. */
  readonly busy: () => number;
  /** Measures its age from now on. Processes that only write, as commands do, do not need that. */
  readonly watch: () => void;
  readonly state: () => ReplicaState;
  readonly close: () => Promise<void>;
}

interface ReplicaOptions extends Pick<ReplicasOptions, 'maxConnections' | 'lag'> {
  /** Milliseconds between two looks. */
  readonly interval: number;
  readonly marks: Marks;
}

/** Each replica has a watch of its own, so one that hangs makes no other one look old. */
function openReplica(
  source: ReplicaSource,
  { maxConnections, lag, interval, marks }: ReplicaOptions,
): ReplicaConnection {
  const [readers, watchers] = [new StorePool(source, { max: maxConnections }), new StorePool(source, { max: 1 })];
  const [read, ask] = [makeReader(readers), makeReader(watchers)];
  /** Its answers are no older than this. */
  let asOf = -Infinity;
  let unused: Unused | null = null;
  /** Whether its connections keep their sessions, as far as is known since it was last away. */
  let isProbed = false;
  let busy = 0;
  let watch: Poller | null = null;

  const look = async (): Promise<Unused | null> => {
    const known = await marks().catch(unusedAs('primary_away'));
    if ('fault' in known) return known;
    const written = known.at(-1);
    if (written === undefined) return { fault: 'primary_away', reason: null };
    if (!isProbed) {
      const why = await probeExternal(source).then(() => null, unusedAs('away'));
      if (why !== null) return why;
      isProbed = true;
    }
    const asked = source.assertOpens().then(() => positionOf(ask, REPLAYED));
    const replayed = await asked.catch(unusedAs('away'));
    if (replayed === null) return { fault: 'not_a_replica', reason: null };
    if ('fault' in replayed) return replayed;
    if (replayed.log !== written.log) return { fault: 'other_cluster', reason: null };
    const reached = known.findLast(({ lsn, log }) => log === replayed.log && lsn <= replayed.lsn);
    asOf = Math.max(asOf, reached?.tick ?? -Infinity);
    return null;
  };
  const age = (): number => performance.now() - asOf;
  return {
    read: async (statement, options) => {
      busy += 1;
      try {
        return await read(statement, options);
      } catch (error) {
        // It may have cancelled the statement because that conflicts with what it replays. If it is away, the next look
        // finds that.
        if (options?.signal?.aborted !== true && storeFailure(error) === 'unavailable') asOf = -Infinity;
        throw error;
      } finally {
        busy -= 1;
      }
    },
    busy: () => busy,
    watch: () => {
      if (watch !== null) return;
      watch = makePoller(interval, async () => {
        unused = await look();
        const fault = unused?.fault;
        if (fault === 'away') isProbed = false;
        if (fault === 'not_a_replica' || fault === 'other_cluster') asOf = -Infinity;
      });
      void watch.pollNow();
    },
    state: () => ({
      address: source.address,
      isUsed: age() <= lag,
      age: Number.isFinite(asOf) ? Math.ceil(age()) : null,
      ...(unused ?? USABLE),
    }),
    close: async () => {
      await watch?.stop();
      await Promise.all([readers.end(), watchers.end()]);
    },
  };
}

type Unused = Pick<ReplicaState, 'reason'> & { readonly fault: ReplicaFault };

const USABLE = Object.freeze({ fault: null, reason: null });

/** Whoever does not answer for want of a right is there. The server's message names what the right is for, and no values. */
function unusedAs(fault: ReplicaFault): (error: unknown) => Unused {
  return (error) => {
    if (sqlStateOf(error) === '42501') return { fault: 'rights', reason: reasonOf(error) };
    const code = error instanceof StoreError ? error.code : null;
    const own = code === 'store.grants' ? 'rights' : code === 'store.pooler' ? 'pooler' : fault;
    return { fault: own, reason: toldReason(error) };
  };
}

/** How many looks are made within the time that a replica may lag behind. */
const LOOKS = 4;

interface ReplicaRow {
  readonly lsn: string | null;
  readonly snapshot: string | null;
  readonly cluster: string;
  readonly timeline: number;
}

/**
 * The timeline of the server's last checkpoint. After a failover a replica counts again once it has a checkpoint of the
 * new timeline.
 */
const OWN_LOG = sql`(SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline`;
/**
 * Where the log goes on, and not how far it has been written: with `synchronous_commit = off` a commit is answered
 * before. The snapshot is the statement's own, so all that had ended by then is in the log before that.
 */
const WRITTEN = sql`SELECT pg_current_wal_insert_lsn()::text AS lsn, pg_current_snapshot()::text AS snapshot, ${OWN_LOG}
  WHERE ${true}::boolean`;
const REPLAYED = sql`SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END AS lsn, NULL AS snapshot,
  ${OWN_LOG} WHERE ${true}::boolean`;

const PAGE_BYTES = 8192n;
/** Of the first page of a file. Other pages have smaller ones. No record and its header would fit in as many bytes. */
const PAGE_HEADER_BYTES = 40n;

/**
 * Where what is in the log ends, as a replica states it. If that is the end of a page, the log goes on behind the header
 * of the next.
 */
function endOf(insert: bigint): bigint {
  const withinPage = insert % PAGE_BYTES;
  return withinPage <= PAGE_HEADER_BYTES ? insert - withinPage : insert;
}

/** Null for a server that is not replaying. */
async function positionOf(reader: StoreReader, statement: typeof WRITTEN): Promise<Position | null> {
  const [row] = await reader<ReplicaRow>(statement);
  if (row === undefined || row.lsn === null) return null;
  const [high = '', low = ''] = row.lsn.split('/');
  const { snapshot, cluster, timeline } = row;
  return { lsn: (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`), snapshot, log: `${cluster} ${String(timeline)}` };
}
