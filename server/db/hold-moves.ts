// Moves where records are partitioned (server/query/README.md "Partitions"). PostgreSQL refuses a statement that meets a
// record on its way to another partition, and would refuse it again for as long as somebody moves the record without a
// pause. So transactions that move records share a lock there. One that was refused has it alone when it is repeated:
// it waits for the moves that have begun, and the next ones wait for it. The lock comes first, so that whoever waits for
// it holds nothing yet.
import type { Database } from './database.js';
import { NEWEST_LOCK } from './migrations/0005-newest.js';
import { type Fragment, sql } from './sql.js';

/** Beside the other locks of the store. */
const MOVES_LOCK = Object.freeze({ ...NEWEST_LOCK, one: 3 });

interface Moving {
  readonly moves: boolean;
  /** Whether somebody else came first. */
  readonly isRepeated: boolean;
}

/** What such a transaction does first; null if that is nothing. */
export function holdMoves(
  { isPartitioned }: Pick<Database, 'isPartitioned'>,
  { moves, isRepeated }: Moving,
): Fragment | null {
  if (!isPartitioned) return null;
  const { group, one } = MOVES_LOCK;
  if (isRepeated) return sql`SELECT pg_advisory_xact_lock(${group}::integer, ${one}::integer)`;
  return moves ? sql`SELECT pg_advisory_xact_lock_shared(${group}::integer, ${one}::integer)` : null;
}
