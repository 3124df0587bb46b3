// The world in which commands are measured: a store with records, one actor who may write everywhere, and requests and statements that do
// the same thing.
import { threadId } from 'node:worker_threads';
import { instantOf } from '../../dist/engine/index.js';
import { newRecordId } from '../../dist/server/commands/record-id.js';
import { loadDataset } from '../../dist/server/load/load-dataset.js';
import { tidyStore } from '../../dist/server/load/tidy-store.js';
import { PROVIDER } from '../policy.mjs';
import { makeLines, makeNamespaces } from '../queries/world.mjs';

const NAMESPACES = 1_000;

export const ADA = { provider: PROVIDER, subject: 'ada' };

export async function loadRecords(db, { records, seed }) {
  const namespaces = makeNamespaces(NAMESPACES, seed);
  await loadDataset(db, makeLines({ records, namespaces, seed, counts: new Map() }), {
    onConflict: 'report',
    now: instantOf(Date.now()),
  });
  await tidyStore(db);
}

const PROPERTIES = { rank: 7, label: 'l12345', ok: true };

let made = 0;

/** A name that no request has used as a key before. */
export function nextName() {
  made += 1;
  return `bench-${threadId}-${made}`;
}

/**
 * One writer: what it sends next, and what it must remember from the answer. Each has a record of its own, so that no writer waits for
 * another.
 */
export function makeWriter({ namespace, own }) {
  let { revision } = own;
  return {
    create: () => ({
      method: 'POST',
      path: '/api/v1/resources',
      key: nextName(),
      body: { namespace, name: 'made', properties: PROPERTIES },
      status: 201,
    }),
    change: () => ({
      method: 'PATCH',
      path: `/api/v1/resources/${own.id}`,
      ifMatch: `"${revision}"`,
      body: { properties: { rank: revision } },
      status: 200,
      done: () => (revision += 1),
    }),
    copy: () => ({
      method: 'POST',
      path: `/api/v1/resources/${own.id}/copies`,
      key: nextName(),
      body: { destination: namespace },
      status: 201,
    }),
    query: () => ({
      method: 'POST',
      path: '/api/v1/query',
      body: { family: 'resource', namespace, page: { size: 10 } },
      status: 200,
    }),
  };
}

/** The same in one statement, which is its own transaction. */
export function makeBareWriter({ namespace, own }) {
  let { revision } = own;
  const path = namespace === '/' ? '/' : `${namespace}/`;
  return {
    create: () => ({
      name: 'create',
      text: `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        VALUES ($1::uuid, 2, $2, $3, $4::jsonb, 1, $5::timestamptz, $5::timestamptz, 'ada')`,
      values: [newRecordId(instantOf(Date.now())), path, 'made', JSON.stringify(PROPERTIES), new Date().toISOString()],
    }),
    change: () => {
      revision += 1;
      return {
        name: 'change',
        text: `UPDATE records SET properties = $1::jsonb, revision = revision + 1, updated_at = $2::timestamptz
          WHERE id = $3::uuid AND revision = $4`,
        values: [JSON.stringify({ ...PROPERTIES, rank: revision }), new Date().toISOString(), own.id, revision - 1],
      };
    },
    copy: () => ({
      name: 'copy',
      text: `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, copied_from)
        SELECT $1::uuid, family, $2, name, properties, 1, $3::timestamptz, $3::timestamptz, 'ada', id
        FROM records WHERE id = $4::uuid`,
      values: [newRecordId(instantOf(Date.now())), path, new Date().toISOString(), own.id],
    }),
  };
}
