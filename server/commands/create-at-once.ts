// A create as one statement, which is its own transaction: one trip to the store in place of three. The statement itself
// checks everything that the record depends on, and writes the record, its answer under the key, and its event:
//   - the policy that decided is still the newest one in force (`is_newest` of the store, which an activation waits for:
//     policy/store/activations.ts)
//   - nobody has used the `Idempotency-Key`, and nobody is using it now
//   - the namespace and all above it exist and are not archived
// If anything is not so, nothing is written, and the usual way (execute.ts) finds out what it is and says so. A record
// that refers to others goes that way, too, because a policy must decide about each of those.
import { formatInstant, lineageOf } from '../../engine/index.js';
import type { AuditEvent } from '../audit/event.js';
import { recordStatement } from '../audit/outbox.js';
import { type Fragment, sql } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import type { NewRecord, Session } from './command.js';
import { type AnswerKey, keptUntil, sweptStatement } from './kept-answers.js';
import { doneOf, insertStatement } from './stored.js';

export interface AtOnce {
  readonly record: NewRecord;
  /** The number of the activation whose policy decided. */
  readonly generation: number;
  /** The key under which the answer is kept. */
  readonly key: AnswerKey;
  /** Milliseconds. */
  readonly keepFor: number;
  readonly event: AuditEvent;
}

/** Answers with the `WrittenRecord`, or with no row if anything is not as it should be. */
export function createStatement(session: Pick<Session, 'at' | 'actor'>, creating: AtOnce): Fragment {
  const { record, generation, key, keepFor, event } = creating;
  const { owner, fingerprint } = key;
  const lineage = lineageOf(record.namespace).map(storedPath);
  const until = keptUntil(session.at, keepFor);
  // Of several requests with one key, the first to get its lock is done, as in `findKept`.
  return sql`WITH ready AS MATERIALIZED (
        SELECT WHERE is_newest(${generation}::bigint)
          AND pg_try_advisory_xact_lock(hashtextextended(${owner}::text, 0))
          AND NOT EXISTS (SELECT FROM kept_answers AS k WHERE k.owner = ${owner}::text)
          AND (SELECT count(*) FROM records AS n
            WHERE n.family = 0 AND n.path = ANY(${lineage}::text[]) AND n.archived_at IS NULL) = ${lineage.length}::integer),
      made AS (${insertStatement(session, record, sql`FROM ready`)}),
      swept AS (${sweptStatement(owner, session.at)}),
      kept AS (
        INSERT INTO kept_answers (owner, fingerprint, answers, kept_until)
        SELECT ${owner}::text, ${fingerprint}::text, ${answersOf(record)}, ${formatInstant(until)}::timestamptz FROM made AS m),
      recorded AS (${recordStatement([event], sql`, made`)})
    SELECT m.id, m.revision, m.json FROM made AS m`;
}

/** The list of the one `Done`, as JSON. Only the store knows the record's own JSON. */
function answersOf(record: NewRecord): Fragment {
  const { json: _json, revision: _revision, ...rest } = doneOf(record, { id: record.id, revision: 0, json: '' });
  const end = `,${JSON.stringify(rest).slice(1)}]`;
  return sql`'[{"json":' || to_json(m.json)::text || ',"revision":' || m.revision::text || ${end}::text`;
}
