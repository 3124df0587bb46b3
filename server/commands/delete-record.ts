// Deletes an archived record for good. Its row is removed, and a tombstone keeps the id. Records that refer to it keep
// the id, which then leads nowhere: whether there are any does not matter, because the actor may not see them all.
import { canonicalize, type Family, type NamespacePath } from '../../engine/index.js';
import { askedOf } from '../audit/event.js';
import { isRecordId } from '../api/record-schema.js';
import { sql } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';
import { ApiProblem } from '../problem.js';
import { locateStatement } from '../query/find-record.js';
import { type Command, type Done, Moved, type Perform, type Prepared, type Rule, type Session } from './command.js';
import { access, mustWriteRecord, notFound, nothingThere } from './rules.js';
import { byId, instant, lockRecord } from './stored.js';

/** The record, and the revision that it must have, as an entity tag. */
export interface Deletion {
  readonly family: Exclude<Family, 'namespace'>;
  readonly id: string;
  readonly ifMatch: string;
}

export function deleteRecord(deletion: Deletion): Command {
  const { family, id } = deletion;
  return {
    operation: `${family}.delete`,
    record: id,
    touches: { family, id },
    prepare: async (session) => {
      const { namespace, buried } = await find(session, deletion);
      if (namespace !== null) return deleting(deletion, namespace);
      return buried === null ? nothingThere(mustWriteRecord(family, null)) : deletedBefore(deletion, buried);
    },
  };
}

interface Place {
  readonly namespace: NamespacePath | null;
  /** Where it was until it was deleted. */
  readonly buried: NamespacePath | null;
}

async function find(session: Session, { family, id }: Deletion): Promise<Place> {
  if (!isRecordId(id)) throw notFound('no id');
  const [row] = await session.rows<{ readonly path: string | null; readonly buried: string | null }>(
    sql`SELECT l.path, (SELECT t.path FROM tombstones AS t
        WHERE t.id = ${id}::uuid AND t.family = ${familyCode(family)}::smallint) AS buried
      FROM (${locateStatement({ family, id })}) AS l`,
  );
  return { namespace: pathOf(row?.path), buried: pathOf(row?.buried) };
}

function pathOf(stored: string | null | undefined): NamespacePath | null {
  const read = canonicalize(stored);
  return read.ok ? read.path : null;
}

function deleting(deletion: Deletion, namespace: NamespacePath): Prepared {
  const { family, id, ifMatch } = deletion;
  return {
    asked: askedOf(access(family, 'write', namespace)),
    rule: mustWriteRecord(family, namespace),
    look: async (session): Promise<Perform> => {
      const record = await lockRecord(session, byId(family, id), []);
      return async () => {
        // Whoever was faster may have sent the same request.
        if (record === null || record.path !== storedPath(namespace)) throw new Moved();
        if (!record.archived) throw new ApiProblem('record.active');
        if (ifMatch !== `"${String(record.revision)}"`) throw new ApiProblem('record.precondition');
        return bury(session, deletion, namespace);
      };
    },
  };
}

async function bury(session: Session, { family, id }: Deletion, namespace: NamespacePath): Promise<Done> {
  const [row] = await session.rows<{ readonly id: string; readonly revision: number }>(
    sql`WITH gone AS (DELETE FROM records AS x WHERE ${byId(family, id)} RETURNING x.id, x.family, x.path, x.revision)
      INSERT INTO tombstones (id, family, path, revision, deleted_at)
      SELECT g.id, g.family, g.path, g.revision + 1, ${instant(session.at)} FROM gone AS g RETURNING id, revision`,
  );
  if (row === undefined) throw new TypeError('a locked record that is not there');
  return doneOf(family, namespace, row);
}

/** Repeated with the same revision, it was this very deletion. Otherwise there is no such record. */
function deletedBefore({ family, id, ifMatch }: Deletion, namespace: NamespacePath): Prepared {
  const rule: Rule = (judge) => {
    const write = judge(access(family, 'write', namespace));
    if (write !== 'allow') throw notFound(write);
  };
  return {
    asked: askedOf(access(family, 'write', namespace)),
    rule,
    look: async (session) => {
      const [row] = await session.rows<{ readonly id: string; readonly revision: number }>(
        sql`SELECT id, revision FROM tombstones WHERE id = ${id}::uuid`,
      );
      return () => {
        if (row === undefined || ifMatch !== `"${String(row.revision - 1)}"`) throw notFound('deleted before');
        return Promise.resolve(doneOf(family, namespace, row));
      };
    },
  };
}

function doneOf(
  family: Family,
  namespace: NamespacePath,
  { id, revision }: { readonly id: string; readonly revision: number },
): Done {
  return { status: 200, family, namespace, id, revision, json: JSON.stringify({ id, revision }), untold: 'deleted' };
}

/** Which of these were deleted: their content is shown no more, not even from an answer that was kept. */
export async function deletedOf(session: Session, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await session.rows<{ readonly id: string }>(
    sql`SELECT id FROM tombstones WHERE id = ANY(${ids}::uuid[])`,
  );
  return new Set(rows.map(({ id }) => id));
}
