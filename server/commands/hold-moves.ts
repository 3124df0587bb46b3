// Moves where records are partitioned (server/query/README.md "Partitions"). PostgreSQL refuses a statement that meets a
// record on its way to another partition, and would refuse it again for as long as somebody moves the record without a
// pause. So commands that move records share a lock there. A request that was refused has it alone when it is repeated:
// it waits for the moves that have begun, and the next ones wait for it. The lock comes first, so that whoever waits for
// it holds nothing yet.
import type { Database } from '../db/database.js';
import { NEWEST_LOCK } from '../db/migrations/0005-newest.js';
import { type Fragment, sql } from '../db/sql.js';
import type { Command } from './command.js';

/** Beside the other locks of the store. */
const MOVES_LOCK = Object.freeze({ ...NEWEST_LOCK, one: 3 });

interface Moving {
  readonly commands: readonly Command[];
  /** Whether somebody else came first. */
  readonly isRepeated: boolean;
}

/** What a transaction of these commands does first; null if that is nothing. */
export function holdMoves(
  { isPartitioned }: Pick<Database, 'isPartitioned'>,
  { commands, isRepeated }: Moving,
): Fragment | null {
  if (!isPartitioned) return null;
  const { group, one } = MOVES_LOCK;
  if (isRepeated) return sql`SELECT pg_advisory_xact_lock(${group}::integer, ${one}::integer)`;
  const moves = commands.some(({ operation }) => operation.endsWith('.move'));
  return moves ? sql`SELECT pg_advisory_xact_lock_shared(${group}::integer, ${one}::integer)` : null;
}
