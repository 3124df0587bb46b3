// Locks the records of a batch in a fixed order, whatever the order of its commands. So of two batches that change the
// same records, one waits for the other, and neither has to be aborted.
import { canonicalize, FAMILIES } from '../../engine/index.js';
import { isRecordId } from '../api/record-schema.js';
import { sql } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import type { Command, Session } from './command.js';
import { access } from './rules.js';

/**
 * Only records that the actor may write are locked, so other actors do not wait for it. A command on any other record
 * is refused when its turn comes.
 */
export async function lockInOrder(session: Session, commands: readonly Command[]): Promise<void> {
  const touched = commands.flatMap(({ touches }) => (touches === undefined ? [] : [touches]));
  if (touched.length < 2) return;
  const ids = touched.flatMap((one) => ('id' in one && isRecordId(one.id) ? [one.id] : []));
  const paths = touched.flatMap((one) => ('path' in one ? [storedPath(one.path)] : []));
  const found = await session.rows<{ readonly id: string; readonly family: number; readonly path: string }>(
    sql`SELECT id, family, path FROM records WHERE id = ANY(${ids}::uuid[])
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
