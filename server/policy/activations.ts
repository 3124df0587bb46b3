// The policies that became active, in the store: one count of generations for all gateways that share it and for all their restarts,
// and the newest statement that was ever accepted (docs/serving.md "Generations").
import type { Instant, Policy, PublicationStatement } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { sqlStateOf } from '../db/failures.js';
import { rowsOf, sql } from '../db/sql.js';

/** What a gateway asks of the history that it shares with others, before it makes a policy the active one. */
export interface Activations {
  /** The generation of an activation. Where the last one of all was of the same policy, it is that one: another gateway, or a restart. */
  readonly record: (activation: NewActivation) => Promise<number>;
  /** The newest statement that was accepted for a policy and an environment; null if there was none. */
  readonly accepted: (policy: string, environment: string) => Promise<Accepted | null>;
}

export interface NewActivation {
  readonly policy: Pick<Policy, 'name' | 'digest' | 'decisions'>;
  readonly statement: PublicationStatement | null;
  readonly reason: string;
  readonly at: Instant;
}

export interface Accepted {
  readonly generation: number;
  readonly snapshot: string;
}

interface Row {
  /** Of a bigint. */
  readonly generation: string;
  readonly snapshot: string;
  readonly statement_generation: string | null;
}

const UNIQUE_VIOLATION = '23505';
const TRIES = 10;

/** The store must be migrated. */
export function storedActivations({ knex }: Pick<Database, 'knex'>): Activations {
  const record = async (activation: NewActivation, tries: number): Promise<number> => {
    const { policy, statement, reason, at } = activation;
    const [last] = await rowsOf<Row>(
      knex,
      sql`SELECT generation, snapshot, statement_generation FROM activations ORDER BY generation DESC LIMIT ${1}`,
    );
    const own = statement === null ? null : String(statement.generation);
    if (last?.snapshot === policy.digest && last.statement_generation === own) return Number(last.generation);
    const next = Number(last?.generation ?? 0) + 1;
    try {
      await rowsOf(
        knex,
        sql`INSERT INTO activations
          (generation, policy, snapshot, decisions, environment, statement_generation, reason, activated_at)
          VALUES (${next}, ${policy.name}, ${policy.digest}, ${policy.decisions}, ${statement?.environment ?? null},
            ${own}::bigint, ${reason}, ${new Date(at).toISOString()}::timestamptz)`,
      );
      return next;
    } catch (error) {
      // Another gateway was first: what it made active may be the same.
      if (sqlStateOf(error) !== UNIQUE_VIOLATION || tries <= 1) throw error;
      return record(activation, tries - 1);
    }
  };
  return {
    record: (activation) => record(activation, TRIES),
    accepted: async (policy, environment) => {
      const [row] = await rowsOf<{ readonly generation: string; readonly snapshot: string }>(
        knex,
        sql`SELECT statement_generation AS generation, snapshot FROM activations
          WHERE policy = ${policy} AND environment = ${environment}
          ORDER BY statement_generation DESC LIMIT 1`,
      );
      return row === undefined ? null : { generation: Number(row.generation), snapshot: row.snapshot };
    },
  };
}

/** Whether a statement is older than what was accepted before, or says something else under the same generation. */
export function isRollback({ generation, snapshot }: PublicationStatement, accepted: Accepted | null): boolean {
  if (accepted === null) return false;
  return snapshot === accepted.snapshot ? generation < accepted.generation : generation <= accepted.generation;
}

export function rollbackText({ generation }: PublicationStatement, accepted: Accepted | null): string {
  const before = String(accepted?.generation ?? 0);
  return `its statement has generation ${String(generation)}, and ${before} was accepted before: publish it with a later one`;
}
