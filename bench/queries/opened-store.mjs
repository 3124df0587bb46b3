// One store of the sizes, open: its queries by the doors that the gateway uses, and its requests for single records through a gateway in
// this process, which needs no socket for that.
import { instantOf, SCOPES, visibilityDigest } from '../../dist/engine/index.js';
import { createKey } from '../../dist/server/auth/api-keys.js';
import { makeServices } from '../../dist/server/compose.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { readSecrets } from '../../dist/server/db/secrets.js';
import { countRecords, listPage } from '../../dist/server/query/records.js';
import { rowPredicate } from '../../dist/server/query/row-predicate.js';
import { parseQuery } from '../../dist/test/support/parse-query.js';
import { ADA } from '../commands/world.mjs';
import { inProcess } from '../in-process.mjs';
import { openPolicy } from '../policy.mjs';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openStore({ url }) {
  // Queries have one connection, so that what is prepared there stays prepared.
  const connections = { maxConnections: 1, maxWriters: 4, acquireTimeout: 60_000 };
  const db = await openDatabase({ kind: 'external', url, statementTimeout: 0, ...connections });
  const services = await makeServices({
    mode: { kind: 'serve', policy: openPolicy([{ subject: ADA.subject, namespace: '/', scopes: SCOPES }]) },
    db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 8 },
    log: silent,
  });
  const fields = { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false };
  const { text: key } = await createKey(db, fields, instantOf(Date.now()));
  const { cursor: secret } = await readSecrets(db);
  return {
    db,
    /** A request of an actor who sees and may do everything. */
    send: inProcess(services, key),
    /** A query or count by an actor who sees these roots. */
    query: ({ kind, envelope }, visible) => {
      const plan = parseQuery(envelope, kind);
      const predicate = rowPredicate(visible);
      const cursors = { secret, actorId: 'bench', visibility: visibilityDigest(visible) };
      return kind === 'count' ? countRecords(db, { predicate, plan }) : listPage(db, { predicate, plan, cursors });
    },
    close: async () => {
      await services.close();
      await db.close();
    },
  };
}
