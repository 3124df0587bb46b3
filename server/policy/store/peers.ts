// The gateways of one store see one another: from time to time each writes what it serves, and reads with the same
// statement what the others wrote. Nothing waits for this or is decided by it.
import { hostname } from 'node:os';
import { formatInstant, type Instant, instantOf } from '../../../engine/index.js';
import { storeFailure } from '../../db/failures.js';
import { sql } from '../../db/sql.js';
import type { Store } from '../../db/writing.js';
import { PEER_LIMITS } from '../../limits/policy.js';
import type { Clock, IdSource, Logger } from '../../lib/ports.js';
import { programVersion } from '../../lib/version.js';
import { makePoller } from '../../lib/poller.js';
import type { ActivePolicy } from '../active/active-policy.js';

export interface PeerGateway {
  /** A random id of one process. */
  readonly gateway: string;
  readonly host: string;
  readonly version: string;
  readonly snapshot: string;
  readonly generation: number;
  /** By its own clock. */
  readonly startedAt: Instant;
  /** By the clock of the store. */
  readonly seenAt: Instant;
}

export interface Peers {
  /** The other gateways that were seen lately, in the order of their starts. Empty while the store does not answer. */
  readonly list: () => readonly PeerGateway[];
  /** Resolves when the others no longer see this gateway, or the store does not answer. */
  readonly stop: () => Promise<void>;
}

export interface PeersOptions {
  readonly db: Store;
  readonly policies: Pick<ActivePolicy, 'current' | 'subscribe'>;
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly log: Logger;
}

interface PeerRow extends Omit<PeerGateway, 'generation' | 'startedAt' | 'seenAt'> {
  /** The text of a bigint. */
  readonly generation: string;
  readonly started_at: Date;
  readonly seen_at: Date;
}

/** The store must be migrated. */
export function joinPeers({ db, policies, clock, nextId, log }: PeersOptions): Peers {
  const [gateway, startedAt] = [nextId(), formatInstant(clock.now())];
  let seen: { readonly tick: number; readonly peers: readonly PeerGateway[] } | null = null;
  const sendHeartbeat = async (): Promise<void> => {
    const { policy, generation } = policies.current();
    const tick = performance.now();
    try {
      const rows = await db.rows<PeerRow>(sql`WITH own AS (
            INSERT INTO gateways (gateway, host, version, snapshot, generation, started_at, seen_at)
            VALUES (${gateway}, ${hostname()}, ${programVersion()}, ${policy.digest}, ${generation}, ${startedAt}::timestamptz, now())
            ON CONFLICT (gateway) DO UPDATE SET snapshot = EXCLUDED.snapshot, generation = EXCLUDED.generation, seen_at = now()),
          gone AS (DELETE FROM gateways WHERE seen_at < ${before(PEER_LIMITS.forgotten)})
          SELECT * FROM gateways WHERE gateway <> ${gateway} AND seen_at >= ${before(PEER_LIMITS.unseen)}
            ORDER BY started_at, gateway LIMIT ${PEER_LIMITS.listed}::integer`);
      seen = { tick, peers: rows.map(toPeer) };
    } catch (error) {
      if (storeFailure(error) === null) log.error({ error }, 'the other gateways of the store could not be notified');
    }
  };
  const watch = makePoller(PEER_LIMITS.heartbeat, sendHeartbeat);
  const tell = (): void => void watch.pollNow();
  const stopNews = policies.subscribe(tell);
  tell();
  return {
    list: () => (seen !== null && performance.now() - seen.tick < PEER_LIMITS.unseen ? seen.peers : []),
    stop: async () => {
      stopNews();
      await watch.stop();
      if (seen === null) return;
      await db.rows(sql`DELETE FROM gateways WHERE gateway = ${gateway}`).catch(() => null);
    },
  };
}

function before(milliseconds: number): ReturnType<typeof sql> {
  return sql`now() - make_interval(secs => ${milliseconds / 1000}::double precision)`;
}

function toPeer({ generation, started_at, seen_at, ...row }: PeerRow): PeerGateway {
  return {
    ...row,
    generation: Number(generation),
    startedAt: instantOf(started_at.getTime()),
    seenAt: instantOf(seen_at.getTime()),
  };
}
