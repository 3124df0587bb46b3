// Answers under their Idempotency-Keys. A key means something only together with who sent it and where: the actor, what
// its credential carries, the method and the path. Of several requests with one key the first to get its lock is done;
// a request that comes while it runs is refused, and a later one gets its answer. An answer is stored in the
// transaction that it describes.
import { hash } from 'node:crypto';
import { formatInstant, instantOf, type Instant } from '../../engine/index.js';
import type { RequestActor } from '../auth/request-actor.js';
import { canonicalJson } from '../canonical-json.js';
import { sql } from '../db/sql.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import type { Done, Session } from './command.js';

export interface AnswerKey {
  /** Names the key of this actor with this credential on this route. */
  readonly owner: string;
  /** Of the body: equal for equal JSON values, however they are written (RFC 8785). */
  readonly fingerprint: string;
}

export interface Keyed {
  readonly key: string;
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly body: unknown;
}

export function answerKey(actor: RequestActor, { key, method, path, body }: Keyed): AnswerKey {
  const { id, credentialScopes, namespaceRestrictions } = actor;
  const restrictions = namespaceRestrictions === null ? null : [...namespaceRestrictions].sort();
  return {
    owner: digest([id, credentialScopes, restrictions, method, path, key]),
    fingerprint: digest(body),
  };
}

function digest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

export type Kept =
  /** Nobody has used the key; it is locked until the end of the transaction. */
  | { readonly kind: 'free' }
  | { readonly kind: 'taken' }
  | { readonly kind: 'kept'; readonly fingerprint: string; readonly done: readonly Done[] };

export async function findKept(session: Session, { owner }: AnswerKey): Promise<Kept> {
  const [row] = await session.rows<{
    readonly free: boolean;
    readonly fingerprint: string | null;
    readonly answers: string | null;
  }>(
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${owner}::text, 0)) AS free, k.fingerprint, k.answers
      FROM (VALUES (1)) AS one LEFT JOIN kept_answers AS k
        ON k.owner = ${owner}::text AND k.kept_until > ${formatInstant(session.at)}::timestamptz`,
  );
  const { free = false, fingerprint = null, answers = null } = row ?? {};
  if (fingerprint !== null && answers !== null) return { kind: 'kept', fingerprint, done: readDone(answers) };
  return { kind: free ? 'free' : 'taken' };
}

/** Written by `keep` and nobody else. */
function readDone(answers: string): readonly Done[] {
  const done: unknown = JSON.parse(answers);
  if (!isDone(done)) throw new TypeError('a kept answer that is none');
  return done;
}

function isDone(value: unknown): value is readonly Done[] {
  return Array.isArray(value);
}

export interface Keeping {
  readonly done: readonly Done[];
  /** Milliseconds. */
  readonly keepFor: number;
}

/** False if another request with the key was faster after all: nothing of this one may be committed. */
export async function keep(
  session: Session,
  { owner, fingerprint }: AnswerKey,
  { done, keepFor }: Keeping,
): Promise<boolean> {
  const now = sql`${formatInstant(session.at)}::timestamptz`;
  const until = sql`${formatInstant(laterBy(session.at, keepFor))}::timestamptz`;
  const rows = await session.rows(
    sql`WITH swept AS (DELETE FROM kept_answers WHERE owner IN (
        SELECT owner FROM kept_answers WHERE kept_until <= ${now} AND owner <> ${owner}::text
        ORDER BY kept_until LIMIT ${COMMAND_LIMITS.swept}::int FOR UPDATE SKIP LOCKED))
      INSERT INTO kept_answers AS k (owner, fingerprint, answers, kept_until)
      VALUES (${owner}::text, ${fingerprint}::text, ${JSON.stringify(done)}::text, ${until})
      ON CONFLICT (owner) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, answers = EXCLUDED.answers,
        kept_until = EXCLUDED.kept_until WHERE k.kept_until <= ${now}
      RETURNING k.owner`,
  );
  return rows.length > 0;
}

/** As long as there are instants. */
function laterBy(at: Instant, milliseconds: number): Instant {
  return instantOf(Math.min(at + milliseconds, LAST));
}

const LAST = Date.parse('9999-12-31T23:59:59.999Z');
