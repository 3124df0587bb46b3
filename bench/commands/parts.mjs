// The cost of a create in the store alone: the same rows in one statement that checks nothing. Nothing here is routed,
// authenticated, authorized or carried to a log.
import { randomUUID } from 'node:crypto';
import { instantOf } from '../../dist/engine/index.js';
import { newRecordId } from '../../dist/server/commands/record-id.js';
import { sql } from '../../dist/server/db/sql.js';

const DAY = 86_400_000;
const MADE = { name: 'made', properties: { rank: 7, label: 'l12345', ok: true } };
/** An event as long as that of a create. */
const EVENT = JSON.stringify({ event: 'x'.repeat(900) });

/** Of one of the gateway's creates: the namespace that it writes to. */
export async function writeInOneStatement(db, namespace) {
  const now = new Date().toISOString();
  const until = new Date(Date.now() + DAY).toISOString();
  const id = newRecordId(instantOf(Date.now()));
  const key = randomUUID();
  await db.read(
    sql`WITH made AS (
        INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        VALUES (${id}::uuid, 2, ${storedPath(namespace)}::text, ${MADE.name}::text, ${JSON.stringify(MADE.properties)}::jsonb, 1,
          ${now}::timestamptz, ${now}::timestamptz, 'ada')),
      kept AS (
        INSERT INTO kept_answers (owner, fingerprint, answers, kept_until)
        VALUES (${key}::text, ${key}::text, ${EVENT}::text, ${until}::timestamptz))
      INSERT INTO audit_outbox (id, event, log, after) VALUES (${key}::text, ${EVENT}::text, 'bench', 0)`,
  );
}

function storedPath(namespace) {
  return namespace === '/' ? '/' : `${namespace}/`;
}
