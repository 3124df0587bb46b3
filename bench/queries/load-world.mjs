// The records of the bench go in by `load`, which is measured on the way beside plain COPY.
import { instantOf } from '../../dist/engine/index.js';
import { copyIn } from '../../dist/server/db/copy-in.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { sql } from '../../dist/server/db/sql.js';
import { inTransaction } from '../../dist/server/db/transaction.js';
import { loadDataset } from '../../dist/server/load/load-dataset.js';
import { tidyStore } from '../../dist/server/load/tidy-store.js';
import { row, say } from '../rows.mjs';
import { chooseVisibleSets, makeLines, makeNamespaces } from './world.mjs';

/** Rows of the plain COPY: they are made beforehand and held in memory. */
const COPIED = 1_000_000;
/** Records of other families, for each resource. */
const OTHERS = 0.04;
/** Lines of the second run. */
const REPEATED = 200_000;

/** The records go in by `load`; then as many in COPY rows, out of memory, into an empty store: the rate to compare with. */
export async function loadWorld({ settings, db, server, client, rows }) {
  const { records, seed } = settings;
  const namespaces = makeNamespaces(settings.namespaces, seed);
  const counts = new Map();
  const others = Math.ceil(records * OTHERS);
  const begun = performance.now();
  let told = begun;
  const report = await loadDataset(db, makeLines({ records, namespaces, seed, counts, others }), {
    onConflict: 'report',
    now: instantOf(Date.now()),
    onProgress: ({ lines }) => {
      if (performance.now() - told < 10_000) return;
      told = performance.now();
      say(`loaded ${lines} of ${records}`);
    },
  });
  const wanted = records + others;
  if (report.loaded !== wanted) throw new Error(`only ${report.loaded} of ${wanted} were loaded`);
  const loading = performance.now() - begun;
  const again = performance.now();
  const repeated = Math.min(records, REPEATED);
  const second = await loadDataset(db, makeLines({ records: repeated, namespaces, seed, counts: new Map() }), {
    onConflict: 'report',
    now: instantOf(Date.now()),
  });
  if (second.unchanged !== repeated) throw new Error('a second run changed something');
  const repeating = performance.now() - again;
  await tidyStore(db);
  const copied = await plainCopy(server, client);
  const rate = (1000 * (wanted + report.implied)) / loading;
  rows.push(
    row('load', wanted / (loading / 1000), { unit: '/s', n: wanted }),
    row('plain COPY through the same driver, beside load', copied * 1000, { limit: rate, unit: '/s', goal: 'load', n: wanted }), // prettier-ignore
    row('load, a second run over what is there, beside the first', (1000 * repeated) / repeating, { limit: (1000 * wanted) / loading, unit: '/s', goal: 'load-again', n: repeated }), // prettier-ignore
  );
  return { namespaces, sets: chooseVisibleSets(namespaces, counts, seed) };
}

/** Records again by COPY alone, into a store of the same schema, constraints, indexes and triggers; rows a millisecond. */
async function plainCopy(server, client) {
  await client.query('CREATE DATABASE bench_copy');
  const db = await openDatabase({ kind: 'external', url: server.urlOf('bench_copy'), statementTimeout: 0 });
  await migrate(db);
  await db.knex.raw('DELETE FROM records');
  const columns = sql`records (id, family, path, name, properties, revision, created_at, updated_at, archived_at,
    created_by, implied)`;
  const { rows } = await client.query({
    text: `SELECT id::text, family::text, path, name, properties::text, revision::text, created_at::text, updated_at::text,
      archived_at::text, created_by, implied::text FROM records ORDER BY ctid LIMIT ${COPIED}`,
    rowMode: 'array',
  });
  const begun = performance.now();
  await inTransaction(db.knex, (trx) => copyIn(trx, columns, rows));
  const copying = performance.now() - begun;
  await db.close();
  await client.query('DROP DATABASE bench_copy');
  return rows.length / copying;
}
