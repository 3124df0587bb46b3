// Whether a pooler in front of PostgreSQL gives each transaction another session. Prepared statements, settings and
// LISTEN belong to a session, so with such a pooler almost every query fails, or runs with the settings of another.
import { setTimeout as sleep } from 'node:timers/promises';
import { POOL_LIMITS } from '../limits/store.js';
import type { StoreClient } from './connections.js';
import { StoreError } from './failures.js';

/**
 * Throws `store.pooler` if the connection does not keep its session, and `store.connections` if that cannot be found out.
 * A server that nobody stands in front of has told its own process id. Behind a pooler, the session is looked at again
 * while another connection holds one in a transaction: poolers give the session that was last used first.
 */
export async function assertOwnSession(client: StoreClient, open: () => Promise<StoreClient>): Promise<void> {
  const first = await sessionOf(client);
  if (first === null || first === client.processID) return;
  const opening = open();
  const other = await inTime(opening);
  if (other === 'late') {
    void opening.then(end, () => undefined);
    throw noSecond();
  }
  try {
    for (let round = 0; round < POOL_LIMITS.poolerRounds; round += 1) {
      await other.run('BEGIN');
      const others: number | null = await sessionOf(other);
      const again: number | null | 'late' = others === first ? null : await inTime(sessionOf(client));
      await other.run('ROLLBACK');
      if (again === 'late') throw noSecond();
      if (again !== first) {
        throw new StoreError('store.pooler', 'a pooler gives each transaction another session of PostgreSQL');
      }
    }
  } catch (error) {
    // A pooler of single statements refuses BEGIN as a violation of the protocol.
    if (error instanceof Error && 'code' in error && error.code === '08P01') {
      throw new StoreError('store.pooler', 'a pooler refuses transactions', { cause: error });
    }
    throw error;
  } finally {
    end(other);
  }
}

/** It may be slow or full, which says nothing about the sessions that it gives. */
function noSecond(): StoreError {
  const seconds = String(POOL_LIMITS.poolerPatience / 1000);
  return new StoreError(
    'store.connections',
    `a pooler has not given two sessions of PostgreSQL at once within ${seconds} s: it is slow or full, which passes, or its pool has only one (\`pool_size\`), which is never enough`,
  );
}

function end(client: StoreClient): void {
  client.end().catch(() => undefined);
}

/** The process of PostgreSQL that answers; null if the answer has none. */
async function sessionOf(client: StoreClient): Promise<number | null> {
  const [row] = await client.run<SessionRow>('SELECT pg_backend_pid() AS pid');
  return row?.pid ?? null;
}

interface SessionRow {
  readonly pid: number;
}

async function inTime<T>(answer: Promise<T>): Promise<T | 'late'> {
  const over = new AbortController();
  answer.catch(() => undefined);
  try {
    return await Promise.race([answer, sleep(POOL_LIMITS.poolerPatience, 'late' as const, { signal: over.signal })]);
  } finally {
    over.abort();
  }
}
