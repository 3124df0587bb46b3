// The cost of a create in the store alone: the same rows in one statement, and the same statements in the same round trips. Nothing here
// is routed, authenticated, authorized or carried to a log.
import { randomUUID } from 'node:crypto';
import { instantOf, lineageOf } from '../../dist/engine/index.js';
import { findKept, keep } from '../../dist/server/commands/kept-answers.js';
import { newRecordId } from '../../dist/server/commands/record-id.js';
import { insertRecord, readGround } from '../../dist/server/commands/stored.js';
import { sql } from '../../dist/server/db/sql.js';
import { contentOf } from '../../dist/server/records/content.js';

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

export async function writeInTrips(db, namespace) {
  const at = instantOf(Date.now());
  const key = { owner: randomUUID(), fingerprint: randomUUID() };
  await db.write(async ({ rows, run }) => {
    const session = { rows, at, actor: { id: 'ada' } };
    await Promise.all([findKept(session, key), readGround(session, { namespaces: lineageOf(namespace), ids: [] })]);
    const content = contentOf('resource', MADE);
    const id = newRecordId(at);
    const written = await insertRecord(session, { id, family: 'resource', namespace, content, copiedFrom: null });
    const done = [{ status: 201, family: 'resource', namespace, ...written, untold: 'record' }];
    for (const statement of keep(key, { at, done, keepFor: DAY, expired: false })) run(statement);
    // It is claimed by a log that nobody runs, so that none carries it away meanwhile.
    run(sql`INSERT INTO audit_outbox (id, event, log, after) VALUES (${key.owner}::text, ${EVENT}::text, 'bench', 0)`);
  });
}

function storedPath(namespace) {
  return namespace === '/' ? '/' : `${namespace}/`;
}
