// Answers under their Idempotency-Keys. A key has a meaning only together with who sent it and where: the actor, what
// its credential carries, the method and the path. Of several requests with one key, the first to get the key's lock is
// done. A request that comes while that one runs is refused, and a later one gets its answer. An answer is stored in
// the transaction that it describes.
import { hash } from 'node:crypto';
import { carriesAll, formatInstant, instantOf, type Instant, SCOPES, scopeSetOf } from '../../engine/index.js';
import type { RequestActor } from '../auth/request-actor.js';
import { canonicalJson } from '../json/canonical-json.js';
import { violates } from '../db/failures.js';
import { type Fragment, sql } from '../db/sql.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import type { Done, Session } from './command.js';

export interface AnswerKey {
  /** Identifies the key of this actor with this credential on this route. */
  readonly owner: string;
  /**
   * The digest of the body and the conditions: equal for equal JSON values, however they are written (RFC 8785).
   */
  readonly fingerprint: string;
}

export interface Keyed {
  readonly key: string;
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly body: unknown;
  /** What the request requires of the record (`If-Match`, `If-None-Match`). */
  readonly conditions: readonly string[];
}

export function answerKey(actor: RequestActor, { key, method, path, body, conditions }: Keyed): AnswerKey {
  const { id, credentialScopes, namespaceRestrictions } = actor;
  // A credential that is not narrowed carries all of what commands ask for. So it always had the number of these.
  const carried = carriesAll(credentialScopes) ? scopeSetOf(SCOPES) : credentialScopes;
  const restrictions = namespaceRestrictions === null ? null : [...namespaceRestrictions].sort();
  return {
    owner: digest([id, carried, restrictions, method, path, key]),
    fingerprint: digest(conditions.length === 0 ? body : [body, conditions]),
  };
}

function digest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

type Kept =
  /** The key is locked until the end of the transaction. Nobody has used it, or its answer has expired. */
  | { readonly kind: 'free'; readonly expired: boolean }
  | { readonly kind: 'taken' }
  /** It was used for something else. */
  | { readonly kind: 'reused' }
  /** What `readDone` reads. That may be large. */
  | { readonly kind: 'kept'; readonly answers: string };

export async function findKept(session: Session, { owner, fingerprint }: AnswerKey): Promise<Kept> {
  const [row] = await session.rows<{
    readonly free: boolean;
    readonly expired: boolean;
    readonly used: boolean;
    readonly answers: string | null;
  }>(
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${owner}::text, 0)) AS free, k.owner IS NOT NULL AS used,
        CASE WHEN k.fingerprint = ${fingerprint}::text THEN k.answers END AS answers,
        COALESCE(k.kept_until <= ${formatInstant(session.at)}::timestamptz, FALSE) AS expired
      FROM (VALUES (1)) AS one LEFT JOIN kept_answers AS k ON k.owner = ${owner}::text`,
  );
  const { free = false, expired = false, used = false, answers = null } = row ?? {};
  if (used && !expired) return answers === null ? { kind: 'reused' } : { kind: 'kept', answers };
  return free ? { kind: 'free', expired } : { kind: 'taken' };
}

/** Only `keep` writes these. */
export function readDone(answers: string): readonly Done[] {
  const done: unknown = JSON.parse(answers);
  if (!isDone(done)) throw new TypeError('a kept answer that cannot be read');
  return done;
}

function isDone(value: unknown): value is readonly Done[] {
  return Array.isArray(value);
}

export interface Keeping {
  readonly at: Instant;
  readonly done: readonly Done[];
  /** Milliseconds. */
  readonly keepFor: number;
  /** Whether the key has an answer that has expired. */
  readonly expired: boolean;
}

/** Statements that keep the answer. They fail with `isOvertaken` if another request with the key was faster. */
export function keep({ owner, fingerprint }: AnswerKey, keeping: Keeping): readonly Fragment[] {
  const { at, done, keepFor, expired } = keeping;
  const now = sql`${formatInstant(at)}::timestamptz`;
  const until = sql`${formatInstant(keptUntil(at, keepFor))}::timestamptz`;
  const kept = sql`WITH swept AS (${sweptStatement(owner, at)})
    INSERT INTO kept_answers (owner, fingerprint, answers, kept_until)
    VALUES (${owner}::text, ${fingerprint}::text, ${JSON.stringify(done)}::text, ${until})`;
  if (!expired) return [kept];
  return [sql`DELETE FROM kept_answers WHERE owner = ${owner}::text AND kept_until <= ${now}`, kept];
}

/** Deletes a few answers that have expired, but never that of `owner`. */
export function sweptStatement(owner: string, at: Instant): Fragment {
  return sql`DELETE FROM kept_answers WHERE owner IN (
      SELECT owner FROM kept_answers WHERE kept_until <= ${formatInstant(at)}::timestamptz AND owner <> ${owner}::text
      ORDER BY kept_until LIMIT ${COMMAND_LIMITS.swept}::int FOR UPDATE SKIP LOCKED)`;
}

/** Another request has stored an answer under the key since this request found none. */
export function isOvertaken(error: unknown): boolean {
  return violates(error, 'kept_answers_pkey');
}

/** When an answer expires, but no later than the last instant that there is. */
export function keptUntil(at: Instant, milliseconds: number): Instant {
  return instantOf(Math.min(at + milliseconds, LAST));
}

const LAST = Date.parse('9999-12-31T23:59:59.999Z');
