// The policies that became active, in the store. The newest row is what should be in force, for all gateways that share
// the store and for all their restarts (docs/serving.md "Activations"). Nothing else decides that; a gateway only
// follows it (follow-activations.ts).
import {
  formatInstant,
  type Instant,
  instantOf,
  type Policy,
  type PublicationStatement,
} from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { sqlStateOf } from '../../db/failures.js';
import { NEWEST_LOCK } from '../../db/migrations/0005-newest.js';
import { sql } from '../../db/sql.js';
import { AGE_LIMITS } from '../../limits/policy.js';
import type { Store, Writing } from '../../db/writing.js';
import type { Labels } from '../active/active-policy.js';
import type { SignedStatement } from '../open/verify-publication.js';

/** Whether a source offered it, somebody chose it, or somebody (or a gateway) returned to it. */
export type ActivationKind = 'offered' | 'activated' | 'rolled_back';

export interface NewActivation {
  readonly kind: ActivationKind;
  readonly policy: Pick<Policy, 'name' | 'digest' | 'decisions'>;
  readonly statement: SignedStatement | null;
  /** For people, like `askedBy`. */
  readonly reason: string;
  readonly askedBy: string;
  readonly at: Instant;
  /** Records only if no generation is newer than this one. Defaults to whatever is the newest. */
  readonly after?: number;
}

export type Recorded =
  | {
      /** `in_force`: the newest activation is already this one, recorded by another gateway or before a restart. */
      readonly kind: 'recorded' | 'in_force';
      readonly generation: number;
    }
  /**
   * The source offered it before, and somebody has chosen another one since. It is not activated again until the source
   * offers a different one.
   */
  | { readonly kind: 'held'; readonly newest: StoredActivation }
  /** Another activation became the newest. */
  | { readonly kind: 'superseded' }
  /** Its statement is older than one that was already accepted. */
  | { readonly kind: 'rollback'; readonly text: string };

export interface StoredActivation {
  readonly generation: number;
  readonly kind: ActivationKind;
  readonly policy: string;
  readonly snapshot: string;
  readonly decisions: string;
  readonly envelope: string | null;
  readonly reason: string;
  readonly askedBy: string;
  readonly at: Instant;
  /**
   * Milliseconds since a source last confirmed it to any gateway, or since it was made. All time since 1970 if that is
   * not known.
   */
  readonly age: number;
  /** What is known about the snapshot's labels; null if it is not stored. */
  readonly labels: Labels | null;
}

export interface Activations {
  /**
   * Writes the next activation, in one transaction with `beside`. Concurrent writers never make the same generation.
   */
  readonly record: (activation: NewActivation, beside?: AlsoWrite) => Promise<Recorded>;
  /**
   * Waits until no statement that checked `is_newest` before the last activation can commit any more. One that checks it
   * later finds the activation, or finds that this waits, and writes nothing.
   */
  readonly settle: () => Promise<void>;
  /** Notes that its source confirms this activation now. */
  readonly confirm: (generation: number) => Promise<void>;
  readonly newest: () => Promise<StoredActivation | null>;
  /** The newest statement that was accepted for a policy and an environment; null if there was none. */
  readonly accepted: (policy: string, environment: string) => Promise<Accepted | null>;
  /** Newest first. */
  readonly list: (most: number) => Promise<readonly StoredActivation[]>;
}

/** Writes something together with an activation, or not at all. */
export type AlsoWrite = (writing: Writing, generation: number) => Promise<void>;

export interface Accepted {
  readonly generation: number;
  readonly snapshot: string;
}

type AsStored = Pick<StoredActivation, 'kind' | 'policy' | 'snapshot' | 'decisions' | 'reason' | 'labels'>;

interface ActivationRow extends AsStored {
  /** The text of a bigint. */
  readonly generation: string;
  readonly statement: string | null;
  readonly asked_by: string;
  readonly activated_at: Date;
  readonly confirmed_at: Date;
  readonly read_at: Date;
}

/** The channel on which each new generation is announced. */
export const ACTIVATIONS_CHANNEL = 'bailiwick_activations';

const UNIQUE_VIOLATION = '23505';
const TRIES = 10;

const NEWEST_FIRST = sql`SELECT a.generation, a.kind, a.policy, a.snapshot, a.decisions, a.statement, a.reason, a.asked_by,
    a.activated_at, COALESCE(c.confirmed_at, a.activated_at) AS confirmed_at, now() AS read_at, s.labels
  FROM activations AS a LEFT JOIN snapshots AS s ON s.snapshot = a.snapshot
    LEFT JOIN confirmations AS c ON c.generation = a.generation ORDER BY a.generation DESC`;

/** The store must be migrated. */
export function storedActivations(db: Pick<Database, 'rows' | 'write' | 'vital'>): Activations {
  const attempt = (activation: NewActivation, beside: AlsoWrite | undefined): Promise<Recorded> =>
    db.write(async (within) => {
      const [newest = null] = (await within.rows<ActivationRow>(sql`${NEWEST_FIRST} LIMIT ${1}::integer`)).map(
        toStored,
      );
      const refusal = await refusalOf(within, activation, newest);
      // A request for what is already in force still counts as a request.
      if (refusal?.kind === 'in_force') await beside?.(within, refusal.generation);
      if (refusal !== null) return refusal;
      const generation = (newest?.generation ?? 0) + 1;
      await insert(within, activation, generation);
      await beside?.(within, generation);
      await within.rows(sql`SELECT pg_notify(${ACTIVATIONS_CHANNEL}, ${String(generation)})`);
      return { kind: 'recorded', generation };
    });
  const record = async (activation: NewActivation, beside: AlsoWrite | undefined, tries: number): Promise<Recorded> => {
    try {
      return await attempt(activation, beside);
    } catch (error) {
      // Another gateway was first. It may have made the same policy active.
      if (sqlStateOf(error) !== UNIQUE_VIOLATION || tries <= 1) throw error;
      return record(activation, beside, tries - 1);
    }
  };
  return {
    record: (activation, beside) => record(activation, beside, TRIES),
    settle: async () => {
      await db.rows(sql`SELECT pg_advisory_xact_lock(${NEWEST_LOCK.group}::integer, ${NEWEST_LOCK.one}::integer)`);
    },
    confirm: (generation) => confirm(db, generation),
    newest: async () => {
      const [row] = await db.vital<ActivationRow>(sql`${NEWEST_FIRST} LIMIT ${1}::integer`);
      return row === undefined ? null : toStored(row);
    },
    accepted: (policy, environment) => lastAccepted(db, { policy, environment }),
    list: async (most) => (await db.rows<ActivationRow>(sql`${NEWEST_FIRST} LIMIT ${most}::integer`)).map(toStored),
  };
}

/** The last of these many activations that is of the snapshot; null if none is. */
export async function lastGeneration({ rows }: Store, snapshot: string, most: number): Promise<number | null> {
  const [row] = await rows<{ readonly generation: string | null }>(sql`SELECT max(a.generation) AS generation
    FROM (SELECT generation, snapshot FROM activations ORDER BY generation DESC LIMIT ${most}::integer) AS a
    WHERE a.snapshot = ${snapshot}`);
  const last = row?.generation ?? null;
  return last === null ? null : Number(last);
}

/** Why nothing is written; null if the next generation is this activation. */
async function refusalOf(
  within: Writing,
  activation: NewActivation,
  newest: StoredActivation | null,
): Promise<Recorded | null> {
  const { kind, policy, statement, after } = activation;
  const isNewest = newest?.snapshot === policy.digest && payloadOf(newest.envelope) === payloadOf(statement?.envelope);
  const isOffered = kind === 'offered';
  if (newest !== null && isOffered) {
    const lastOffered = await lastOffer(within);
    if (lastOffered === policy.digest && isNewest) return { kind: 'in_force', generation: newest.generation };
    if (lastOffered === policy.digest && newest.snapshot !== policy.digest) return { kind: 'held', newest };
  } else if (newest !== null && isNewest) return { kind: 'in_force', generation: newest.generation };
  if (after !== undefined && after < (newest?.generation ?? 0)) return { kind: 'superseded' };
  if (statement === null || kind === 'rolled_back') return null;
  const accepted = await lastAccepted(within, statement.says);
  return isRollback(statement.says, accepted)
    ? { kind: 'rollback', text: rollbackText(statement.says, accepted) }
    : null;
}

async function lastOffer(within: Writing): Promise<string | null> {
  const [row] = await within.rows<{ readonly snapshot: string }>(
    sql`SELECT snapshot FROM activations WHERE kind = ${'offered'} ORDER BY generation DESC LIMIT 1`,
  );
  return row?.snapshot ?? null;
}

async function lastAccepted(
  within: Store,
  { policy, environment }: Pick<PublicationStatement, 'policy' | 'environment'>,
): Promise<Accepted | null> {
  const [row] = await within.rows<{
    readonly generation: string;
    readonly snapshot: string;
  }>(sql`SELECT statement_generation AS generation, snapshot FROM activations
      WHERE policy = ${policy} AND environment = ${environment}
      ORDER BY statement_generation DESC LIMIT 1`);
  return row === undefined ? null : { generation: Number(row.generation), snapshot: row.snapshot };
}

/** Marks the snapshot as used now, so that it is the last to make room for others. */
async function insert(within: Writing, activation: NewActivation, generation: number): Promise<void> {
  const { kind, policy, statement, reason, askedBy, at } = activation;
  const own = statement === null ? null : String(statement.says.generation);
  const when = sql`${formatInstant(at)}::timestamptz`;
  await within.rows(sql`INSERT INTO activations
      (generation, kind, policy, snapshot, decisions, environment, statement_generation, statement, reason, asked_by, activated_at)
      VALUES (${generation}, ${kind}, ${policy.name}, ${policy.digest}, ${policy.decisions},
        ${statement?.says.environment ?? null}, ${own}::bigint, ${statement?.envelope ?? null}, ${reason}, ${askedBy}, ${when})`);
  await within.rows(sql`UPDATE snapshots SET used_at = GREATEST(used_at, ${when}) WHERE snapshot = ${policy.digest}`);
  await confirm(within, generation);
}

/** By the clock of the store, which all its gateways share. What one of them has just noted is not written again. */
async function confirm(within: Store, generation: number): Promise<void> {
  await within.rows(sql`INSERT INTO confirmations AS c (generation, confirmed_at) VALUES (${generation}, now())
      ON CONFLICT (generation) DO UPDATE SET confirmed_at = EXCLUDED.confirmed_at
        WHERE c.confirmed_at NOT BETWEEN now() - make_interval(secs => ${AGE_LIMITS.noted / 2000}::double precision) AND now()`);
}

/**
 * The snapshot that was in force before the newest one, ignoring what was rolled back since and what carries a false
 * label. `newestFirst` has all rows.
 */
export function earlierThan(newestFirst: readonly Earlier[]): string | null {
  const left = new Set<string>();
  for (const [index, { kind, snapshot, labels }] of newestFirst.entries()) {
    const isOther = index > 0 && snapshot !== newestFirst[0]?.snapshot;
    if (isOther && labels !== 'false' && !left.has(snapshot)) return snapshot;
    const before = newestFirst[index + 1];
    if (kind === 'rolled_back' && before !== undefined) left.add(before.snapshot);
  }
  return null;
}

type Earlier = Pick<StoredActivation, 'kind' | 'snapshot' | 'labels'>;

/** Whether a statement is older than the accepted one, or says something else under the same generation. */
export function isRollback({ generation, snapshot }: PublicationStatement, accepted: Accepted | null): boolean {
  if (accepted === null) return false;
  return snapshot === accepted.snapshot ? generation < accepted.generation : generation <= accepted.generation;
}

export function rollbackText({ generation }: PublicationStatement, accepted: Accepted | null): string {
  const before = String(accepted?.generation ?? 0);
  return `statement generation ${String(generation)} is not later than ${before}, which was accepted before: publish it with a later one`;
}

/** What was signed. Different signatures under it do not make it a different statement. */
function payloadOf(envelope: string | null | undefined): string | null {
  if (envelope === null || envelope === undefined) return null;
  const parsed: unknown = JSON.parse(envelope);
  const payload: unknown = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'payload') : null;
  return typeof payload === 'string' ? payload : null;
}

function toStored({
  statement,
  asked_by,
  activated_at,
  confirmed_at,
  read_at,
  ...row
}: ActivationRow): StoredActivation {
  return {
    ...row,
    generation: Number(row.generation),
    envelope: statement,
    askedBy: asked_by,
    at: instantOf(activated_at.getTime()),
    age: ageOf(confirmed_at.getTime(), read_at.getTime()),
  };
}

/** A confirmation in the future says nothing about the present: the clock was set back since, and nobody knows how far. */
function ageOf(confirmedAt: number, readAt: number): number {
  return confirmedAt > readAt + AGE_LIMITS.clocksDiffer ? readAt : Math.max(0, readAt - confirmedAt);
}
