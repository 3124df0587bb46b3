// A create or a copy as one statement, which is its own transaction. It takes one trip to the store, after those that
// read what the record refers to and what a copy's source holds. The statement checks everything that the new record
// depends on, and writes the record, its answer under the key, and its event:
//   - the policy that decided is still the newest one in force (`is_newest` of the store, which an activation waits for:
//     policy/store/activations.ts)
//   - nobody has used the `Idempotency-Key`, and nobody is using it now
//   - the namespace and all above it exist and are not archived
//   - the records that it refers to, and the source of a copy, are where they were when the policy decided about them,
//     unchanged and not archived
// If anything is not so, nothing is written, and the usual way (execute.ts) finds out what it is and says so.
import { formatInstant, lineageOf, type NamespacePath } from '../../engine/index.js';
import type { AuditEvent } from '../audit/event.js';
import { recordStatement } from '../audit/outbox.js';
import { type Fragment, sql } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import type { Creatable, NewRecord, Session } from './command.js';
import { type AnswerKey, keptUntil, sweptStatement } from './kept-answers.js';
import { doneOf, insertStatement } from './stored.js';

export interface AtOnce extends Creatable {
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
  const { record, refersTo, generation, key, keepFor, event } = creating;
  const { owner, fingerprint } = key;
  const until = keptUntil(session.at, keepFor);
  // Of several requests with one key, the first to get its lock is done, as in `findKept`.
  return sql`WITH ready AS MATERIALIZED (
        SELECT WHERE is_newest(${generation}::bigint)
          AND pg_try_advisory_xact_lock(hashtextextended(${owner}::text, 0))
          AND NOT EXISTS (SELECT FROM kept_answers AS k WHERE k.owner = ${owner}::text)
          AND ${areOpen(record.namespace)}${unchanged(refersTo)}),
      made AS (${insertStatement(session, record, sql`FROM ready`)}),
      swept AS (${sweptStatement(owner, session.at)}),
      kept AS (
        INSERT INTO kept_answers (owner, fingerprint, answers, kept_until)
        SELECT ${owner}::text, ${fingerprint}::text, ${answersOf(record)}, ${formatInstant(until)}::timestamptz FROM made AS m),
      recorded AS (${recordStatement([event], sql`, made`)})
    SELECT m.id, m.revision, m.json FROM made AS m`;
}

// Each row is looked up by itself: OFFSET 0 keeps the planner from joining. If it plans a join while the store is small,
// the join reads all records, and the plan stays when the store has grown.

/** That the namespace and all above it exist and are not archived. */
function areOpen(namespace: NamespacePath): Fragment {
  const lineage = lineageOf(namespace).map(storedPath);
  return sql`(SELECT count(*) FROM unnest(${lineage}::text[]) AS o (path) CROSS JOIN LATERAL (
            SELECT n.archived_at FROM records AS n WHERE n.family = 0 AND n.path = o.path OFFSET 0) AS n
            WHERE n.archived_at IS NULL) = ${lineage.length}::integer`;
}

function unchanged(refersTo: Creatable['refersTo']): Fragment {
  if (refersTo.length === 0) return sql``;
  const columns = [
    refersTo.map(({ id }) => id),
    refersTo.map(({ namespace }) => storedPath(namespace)),
    refersTo.map(({ revision }) => revision),
  ] as const;
  return sql`
          AND (SELECT count(*) FROM unnest(${columns[0]}::uuid[], ${columns[1]}::text[], ${columns[2]}::integer[]) AS o (id, path, revision)
            CROSS JOIN LATERAL (SELECT n.path, n.revision, n.archived_at FROM records AS n WHERE n.id = o.id OFFSET 0) AS n
            WHERE n.path = o.path AND n.revision = o.revision AND n.archived_at IS NULL) = ${refersTo.length}::integer`;
}

/** The list of the one `Done`, as JSON. Only the store knows the record's own JSON. */
function answersOf(record: NewRecord): Fragment {
  const { json: _json, revision: _revision, ...rest } = doneOf(record, { id: record.id, revision: 0, json: '' });
  const end = `,${JSON.stringify(rest).slice(1)}]`;
  return sql`'[{"json":' || to_json(m.json)::text || ',"revision":' || m.revision::text || ${end}::text`;
}
