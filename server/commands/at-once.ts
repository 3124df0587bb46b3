// A create, a copy or a change as one statement, which is its own transaction. It takes one trip to the store, after those
// that read what is changed or copied, and what that refers to. The statement checks everything that the record depends
// on, and writes the record, its answer under the key, and its event:
//   - the policy that decided is still the newest one in force (`is_newest` of the store, which an activation waits for:
//     policy/store/activations.ts)
//   - the records that it refers to, and the source of a copy, are where they were when the policy decided about them,
//     unchanged, not archived and not being moved
//   - nobody has used the `Idempotency-Key`, and nobody is using it now
//   - of a new record: the namespace and all above it exist and are not archived
//   - of a record that changes: it is where it was, unchanged, and nobody is writing it
// If anything is not so, nothing is written, and the usual way (execute.ts) finds out what it is and says so. The
// statement waits for no lock, since an activation waits for it.
import { formatInstant, lineageOf } from '../../engine/index.js';
import type { AuditEvent } from '../audit/event.js';
import { recordStatement } from '../audit/outbox.js';
import { type Fragment, sql } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import type { AtOnce, ChangedRecord, Done, RecordToCreate, Session } from './command.js';
import { type AnswerKey, keptUntil, sweptStatement } from './kept-answers.js';
import { byId, doneOf, insertStatement, unchanged, updateStatement } from './stored.js';

/** What else the statement checks and writes. */
export interface Around {
  /** The number of the activation whose policy decided. */
  readonly generation: number;
  /** Where the answer is kept, and for how many milliseconds; null if it is not kept. */
  readonly keeping: { readonly key: AnswerKey; readonly keepFor: number } | null;
  readonly event: AuditEvent;
}

/** Answers with the `WrittenRecord`, or with no row if anything is not as it should be. */
export function atOnceStatement(session: Pick<Session, 'at' | 'actor'>, what: AtOnce, around: Around): Fragment {
  const { generation, keeping, event } = around;
  const depends =
    what.dependsOn.length === 0
      ? sql``
      : sql`
          AND ${unchanged(what.dependsOn)}`;
  const stands = sql`is_newest(${generation}::bigint)${depends}${unused(keeping)}`;
  const [ready, made] =
    what.kind === 'create'
      ? [sql`SELECT WHERE ${stands} AND ${isOpen(what.record)}`, insertStatement(session, what.record, FROM_READY)]
      : [
          sql`SELECT FROM records AS x WHERE ${isAsItWas(what.record)} AND ${stands} FOR NO KEY UPDATE SKIP LOCKED`,
          updateStatement(session, what.record, FROM_READY),
        ];
  return sql`WITH ready AS MATERIALIZED (${ready}),
      made AS (${made}),${kept(session, what, keeping)}
      recorded AS (${recordStatement([event], sql`, made`)})
    SELECT m.id, m.revision, m.json FROM made AS m`;
}

const FROM_READY = sql`FROM ready`;

export function statusOf({ kind }: AtOnce): Done['status'] {
  return kind === 'create' ? 201 : 200;
}

// Each row is looked up by itself: OFFSET 0 keeps the planner from joining. If it plans a join while the store is small,
// the join reads all records, and the plan stays when the store has grown.

/** That the namespace and all above it exist and are not archived. */
function isOpen({ namespace }: RecordToCreate): Fragment {
  const lineage = lineageOf(namespace).map(storedPath);
  return sql`(SELECT count(*) FROM unnest(${lineage}::text[]) AS o (path) CROSS JOIN LATERAL (
            SELECT n.archived_at FROM records AS n WHERE n.family = 0 AND n.path = o.path OFFSET 0) AS n
            WHERE n.archived_at IS NULL) = ${lineage.length}::integer`;
}

function isAsItWas({ family, id, namespace, revision, archived }: ChangedRecord): Fragment {
  return sql`${byId(family, id)} AND x.path IS NOT DISTINCT FROM ${storedPath(namespace)}::text AND x.revision = ${revision}::integer
          AND (x.archived_at IS NOT NULL) = ${archived}::boolean`;
}

/** Of several requests with one key, the first to get its lock is done, as in `findKept`. */
function unused(keeping: Around['keeping']): Fragment {
  if (keeping === null) return sql``;
  const { owner } = keeping.key;
  return sql`
          AND pg_try_advisory_xact_lock(hashtextextended(${owner}::text, 0))
          AND NOT EXISTS (SELECT FROM kept_answers AS k WHERE k.owner = ${owner}::text)`;
}

function kept({ at }: Pick<Session, 'at'>, what: AtOnce, keeping: Around['keeping']): Fragment {
  if (keeping === null) return sql``;
  const { owner, fingerprint } = keeping.key;
  const until = formatInstant(keptUntil(at, keeping.keepFor));
  return sql`
      swept AS (${sweptStatement(owner, at)}),
      kept AS (
        INSERT INTO kept_answers (owner, fingerprint, answers, kept_until)
        SELECT ${owner}::text, ${fingerprint}::text, ${answersOf(what)}, ${until}::timestamptz FROM made AS m),`;
}

/** The list of the one `Done`, as JSON. Only the store knows the record's own JSON. */
function answersOf(what: AtOnce): Fragment {
  const { id } = what.record;
  const done = doneOf(statusOf(what), what.record, { id, revision: 0, json: '' });
  const { json: _json, revision: _revision, ...rest } = done;
  const end = `,${JSON.stringify(rest).slice(1)}]`;
  return sql`'[{"json":' || to_json(m.json)::text || ',"revision":' || m.revision::text || ${end}::text`;
}
