// Locks the records of a batch in a fixed order, whatever the order of its commands. So of two batches that change the
// same records, one waits for the other, and neither has to be aborted.
import { canonicalize, FAMILIES } from '../../engine/index.js';
import { isRecordId } from '../api/record-schema.js';
import { sql } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';
import type { Command, Session, TouchedName } from './command.js';
import { access } from './rules.js';

/**
 * Only records that the actor may write are locked, so other actors do not wait for it. A command on any other record
 * is refused when its turn comes.
 */
export async function lockInOrder(session: Session, commands: readonly Command[]): Promise<void> {
  const touched = commands.flatMap(({ touches }) => (touches === undefined ? [] : [touches]));
  if (touched.length < 2) return;
  const named = await lockNames(
    session,
    touched.flatMap((one) => ('name' in one ? [one] : [])),
  );
  const ids = touched.flatMap((one) => ('id' in one && isRecordId(one.id) ? [one.id] : []));
  const paths = touched.flatMap((one) => ('path' in one ? [storedPath(one.path)] : []));
  const found = await session.rows<{ readonly id: string; readonly family: number; readonly path: string }>(
    sql`SELECT id, family, path FROM records WHERE id = ANY(${[...ids, ...named]}::uuid[])
      UNION SELECT id, family, path FROM records WHERE family = 0 AND path = ANY(${paths}::text[])`,
  );
  const writable = found.filter(({ family: code, path }) => {
    const family = FAMILIES[code];
    const namespace = canonicalize(path);
    return family !== undefined && namespace.ok && session.judge(access(family, 'write', namespace.path)) === 'allow';
  });
  await session.rows(
    sql`SELECT id FROM records WHERE id = ANY(${writable.map(({ id }) => id)}::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** A name that nobody has yet has no row to lock, so the name is locked itself. Returns the ids of those who have them. */
async function lockNames(session: Session, touched: readonly TouchedName[]): Promise<readonly string[]> {
  const mayPut = ({ family, namespace }: TouchedName): boolean =>
    (['read', 'write'] as const).every((action) => session.judge(access(family, action, namespace)) === 'allow');
  const names = new Map(touched.filter(mayPut).map((one) => [`${one.family} ${one.namespace} ${one.name}`, one]));
  if (names.size === 0) return [];
  const ordered = [...names].sort(([a], [b]) => (a < b ? -1 : 1));
  const keys = ordered.map(([key]) => key);
  await session.rows(sql`SELECT pg_advisory_xact_lock(hashtextextended(n.key, 1))
    FROM (SELECT u.key FROM unnest(${keys}::text[]) WITH ORDINALITY AS u (key, at) ORDER BY u.at OFFSET 0) AS n`);
  // Only now, because whoever had a lock may have made the record.
  const [families, paths, own] = [
    ordered.map(([, { family }]) => familyCode(family)),
    ordered.map(([, { namespace }]) => storedPath(namespace)),
    ordered.map(([, { name }]) => name),
  ];
  const found = await session.rows<{ readonly id: string }>(
    sql`SELECT x.id FROM unnest(${families}::smallint[], ${paths}::text[], ${own}::text[]) AS n (family, path, name)
      CROSS JOIN LATERAL (SELECT r.id FROM records AS r WHERE r.family = n.family AND r.path = n.path AND r.name = n.name
        AND r.unique_name AND r.archived_at IS NULL AND r.family IN (2, 4) OFFSET 0) AS x`,
  );
  return found.map(({ id }) => id);
}
