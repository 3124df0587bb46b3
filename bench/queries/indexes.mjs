// Which index of records takes how much, and what reads it: the load, the statements that were measured, or only a kind of query that was
// asked once, so that each kind that has an index of its own was there.
import { ask } from './grow-stores.mjs';
import { QUERIES, visibleOf } from './statements.mjs';

/** Bytes, and how often each index of records was read since this was last asked. To be asked while the store is closed. */
export async function readIndexes({ url }) {
  const indexes = await ask(
    url,
    `SELECT s.indexrelname AS name, pg_relation_size(s.indexrelid)::float8 AS bytes, s.idx_scan::float8 AS reads, i.indisunique AS unique
      FROM pg_stat_user_indexes AS s JOIN pg_index AS i ON i.indexrelid = s.indexrelid
      WHERE s.relid = 'records'::regclass ORDER BY s.indexrelname`,
  );
  await ask(url, 'SELECT pg_stat_reset()');
  return indexes;
}

/** Bytes of the table with what is stored beside it, of its indexes, and of the whole database. */
export async function readSizes({ url }) {
  const [sizes] = await ask(
    url,
    `SELECT pg_table_size('records')::float8 AS heap, pg_indexes_size('records')::float8 AS indexes,
      pg_database_size(current_database())::float8 AS whole,
      (SELECT sum(active + archived) FROM record_counts)::float8 AS rows`,
  );
  return sizes;
}

/** Updates since the statistics were reset, and the share of them that changed no index (heap-only tuples). */
export async function readUpdates({ url }) {
  const [updates] = await ask(
    url,
    `SELECT n_tup_upd::float8 AS all, n_tup_hot_upd / greatest(n_tup_upd, 1)::float8 AS hot
      FROM pg_stat_user_tables WHERE relid = 'records'::regclass`,
  );
  return updates;
}

const ORDERS = [{}, { orderBy: [{ createdAt: 'desc' }] }, { orderBy: [{ name: 'asc' }] }];

/** Asks every kind of query that has an index of its own: one exact namespace, and a subtree at each depth, in each order. */
export async function askEveryKind({ query, send }, namespaces) {
  const depthOf = (path) => path.split('/').length - 1;
  const depths = new Map(namespaces.toReversed().map((path) => [depthOf(path), path]));
  const [largest] = namespaces;
  const exact = { kind: 'some', exact: [largest], subtrees: [] };
  const within = [exact, visibleOf(['/']), ...[...depths.values()].map((path) => visibleOf([path]))];
  const count = QUERIES.find(({ name }) => name === 'filtered count');
  for (const visible of within) {
    for (const order of ORDERS) {
      const envelope = { family: 'resource', namespace: '/', reach: 'subtree', ...order };
      await query({ kind: 'query', envelope }, visible);
      await query({ kind: 'query', envelope: { ...envelope, includeArchived: true } }, visible);
    }
    await query(count, visible);
  }
  await send({ method: 'GET', path: `/api/v1/namespaces${largest}`, status: 200 });
}
