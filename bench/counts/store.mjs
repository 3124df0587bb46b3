// What a request costs a store, counted: trips, statements, and the rows and blocks that its statements read. 3,000 records that are the
// same each time, one after the other on one connection.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { instantOf, SCOPES } from '../../dist/engine/index.js';
import { createKey } from '../../dist/server/auth/api-keys.js';
import { makeServices } from '../../dist/server/compose.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { WHOLE_RANGES } from '../../dist/server/db/session-settings.js';
import { loadDataset } from '../../dist/server/load/load-dataset.js';
import { tidyStore } from '../../dist/server/load/tidy-store.js';
import { takeDatabase } from '../../dist/test/support/one-postgres.js';
import { findPostgres, startPostgres } from '../../dist/test/support/postgres.js';
import { planOf, wholePlanOf } from '../../dist/test/support/query-plans.js';
import { tripsOf } from '../../dist/test/support/trips.js';
import { inProcess } from '../in-process.mjs';
import { openPolicy, PROVIDER } from '../policy.mjs';
import { makeLines, makeNamespaces } from '../queries/world.mjs';

const [RECORDS, NAMESPACES, SEED] = [3_000, 200, 1];
/** A text is prepared the third time that it is seen. */
const WARMING = 4;
/** Work in the background may take a trip, too. The least of these is the request's own. */
const TIMES = 8;
const ADA = { provider: PROVIDER, subject: 'ada' };
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Counts by name. `label` says which store it is; `reads` counts what statements read there, and nothing else. */
async function countStore(label, config, { reads = false } = {}) {
  const db = await openDatabase({ ...config, statementTimeout: 0, maxConnections: 1, maxWriters: 1 });
  try {
    await migrate(db);
    const namespaces = makeNamespaces(NAMESPACES, SEED);
    const records = makeLines({ records: RECORDS, namespaces, seed: SEED, counts: new Map(), others: 100 });
    await loadDataset(db, records, { onConflict: 'report', now: instantOf(0) });
    await tidyStore(db);
    return await countRequests(db, { label, namespaces, reads });
  } finally {
    await db.close();
  }
}

async function countRequests(db, { label, namespaces, reads }) {
  const roots = namespaces.filter((path) => path.split('/').length === 3).slice(0, 10);
  const services = await makeServices({
    mode: {
      kind: 'serve',
      policy: openPolicy(roots.map((root) => ({ subject: ADA.subject, namespace: root, scopes: SCOPES }))),
    },
    db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 1 },
    log: silent,
  });
  try {
    const fields = { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false };
    const { text: key } = await createKey(db, fields, instantOf(Date.now()));
    const ask = inProcess(services, key);
    await settle(db, ask);
    const counts = {};
    const put = (what, value) => (counts[`${label}: ${what}`] = value);
    put('indexes of 3,100 records, kB', await indexSize(db));
    const putTrips = (what, { trips, statements }) => {
      if (reads) return;
      put(`${what}, trips`, trips);
      put(`${what}, statements`, statements.length);
    };
    for (const [what, send] of Object.entries(await readsFor(ask, roots))) {
      const seen = await watch(() => ask(send()));
      putTrips(what, seen);
      const { rows, blocks } = await explain(db, seen.statements);
      put(`${what}, rows`, rows);
      put(`${what}, blocks`, blocks);
    }
    for (const [what, send] of reads ? [] : Object.entries(await writesFor(ask, roots))) {
      putTrips(what, await watch(async () => send(JSON.parse(await ask(send())))));
    }
    return counts;
  } finally {
    await services.close();
  }
}

/** Numbers what has changed so far, which readers of the changes do, and leaves no dead rows. */
async function settle(db, ask) {
  for (let left = 1; left > 0;) {
    await ask({ method: 'GET', path: '/api/v1/changes', status: 200 });
    const { rows } = await db.knex.raw('SELECT count(*)::int AS left FROM changes_pending');
    if (rows[0].left === left) throw new Error('the changes are not numbered');
    ({ left } = rows[0]);
  }
  await db.knex.raw('VACUUM (ANALYZE)');
}

async function indexSize(db) {
  const { rows } = await db.knex.raw("SELECT pg_indexes_size('records') / 1000 AS size");
  return Number(rows[0].size);
}

async function readsFor(ask, [root]) {
  const all = { family: 'resource', namespace: '/', reach: 'subtree' };
  const post = (path, body) => () => ({ method: 'POST', path: `/api/v1/${path}`, body, status: 200 });
  const get = (path) => () => ({ method: 'GET', path: `/api/v1/${path}`, status: 200 });
  const newest = { ...all, orderBy: [{ createdAt: 'desc' }], page: { size: 20 } };
  const rank = { where: { 'properties.rank': { lt: 100 } } };
  const { items, page } = JSON.parse(await ask(post('query', newest)()));
  const { next: end } = JSON.parse(await ask(get('changes')()));
  return {
    'a page by id, 10 roots': post('query', { ...all, page: { size: 20 } }),
    'the newest page, 10 roots': post('query', newest),
    'the page after it': post('query', { ...newest, page: { size: 20, after: page.next } }),
    'a page by name with a filter': post('query', { ...newest, ...rank, orderBy: [{ name: 'asc' }] }),
    'a page by a property': post('query', { ...newest, orderBy: [{ 'properties.rank': 'asc' }] }),
    'a page in a lineage': post('query', { family: 'resource', namespace: root, page: { size: 20 } }),
    'a count': post('query/count', all),
    'a count with a filter': post('query/count', { ...all, ...rank }),
    'an aggregate by namespace': post('query/aggregate', { ...all, values: [{ count: true }, { max: 'properties.rank' }], groupBy: 'namespace' }), // prettier-ignore
    'a record by id': get(`resources/${items[0].id}`),
    'a namespace by path': get(`namespaces${root}`),
    'the changes from the end': get(`changes?after=${encodeURIComponent(end)}`),
  };
}

let made = 0;

/** Each gives a request, or with an answer to one, does nothing. */
async function writesFor(ask, [root, other]) {
  const key = () => `count-${(made += 1)}`;
  const creation = () => ({ method: 'POST', path: '/api/v1/resources', key: key(), body: { namespace: root, name: 'made', properties: { rank: 1 } }, status: 201 }); // prettier-ignore
  const { id } = JSON.parse(await ask(creation()));
  let revision = 1;
  const change = (path, method, body) => (answer) => {
    if (answer !== undefined) ({ revision } = answer);
    return { method, path: `/api/v1/resources/${id}${path}`, ifMatch: `"${revision}"`, body, status: 200 };
  };
  let isArchived = true;
  return {
    'a create': creation,
    'a change': change('', 'PATCH', { properties: { rank: 2 } }),
    'a copy': () => ({ method: 'POST', path: `/api/v1/resources/${id}/copies`, key: key(), body: { destination: other }, status: 201 }), // prettier-ignore
    'an archive or restore': (answer) => {
      if (answer === undefined) isArchived = !isArchived;
      return change(isArchived ? '/restore' : '/archive', 'POST', {})(answer);
    },
    'a namespace created': () => ({ method: 'PUT', path: `/api/v1/namespaces${root}/${key()}`, body: {}, status: 201 }),
    'a batch of ten creates': () => ({ method: 'POST', path: '/api/v1/batch', key: key(), status: 200, body: { commands: Array.from({ length: 10 }, () => ({ method: 'POST', path: '/api/v1/resources', body: creation().body })) } }), // prettier-ignore
  };
}

/** The trips and statements of one request that has been made before. */
async function watch(work) {
  for (let turn = 0; turn < WARMING; turn += 1) await work();
  let least = null;
  for (let turn = 0; turn < TIMES; turn += 1) {
    const statements = [];
    const stop = listen(statements);
    const trips = await tripsOf(work).finally(stop);
    if (least === null || statements.length < least.statements.length) least = { trips, statements };
  }
  return least;
}

/** By connection, what has been prepared under a name: another may have prepared another text under it. */
const TEXTS = new WeakMap();
const wire = pg.Connection.prototype;
const { parse, bind, query } = wire;
wire.parse = function (message, ...more) {
  TEXTS.set(this, (TEXTS.get(this) ?? new Map()).set(message.name, message.text));
  return parse.call(this, message, ...more);
};

function listen(statements) {
  wire.bind = function (message, ...more) {
    statements.push({ text: TEXTS.get(this).get(message.statement), values: message.values });
    return bind.call(this, message, ...more);
  };
  wire.query = function (text, ...more) {
    statements.push({ text, values: [] });
    return query.call(this, text, ...more);
  };
  return () => Object.assign(wire, { bind, query });
}

/** Rows that steps read from tables, those that they pass over included, and shared blocks that were hit or read. */
async function explain(db, statements) {
  const isWhole = statements.some(({ text }) => text === WHOLE_RANGES.text);
  let [rows, blocks] = [0, 0];
  for (const { text, values } of statements.filter(({ text }) => text !== WHOLE_RANGES.text)) {
    const fragment = { text: text.replaceAll(/\$\d+/g, '?'), bindings: values };
    const run = () => (isWhole ? wholePlanOf : planOf)(db, fragment, ['ANALYZE', 'BUFFERS', 'TIMING OFF']);
    // The first time, a connection also reads the catalog.
    await run();
    const steps = await run();
    blocks += steps[0].node['Shared Hit Blocks'] + steps[0].node['Shared Read Blocks'];
    for (const { node } of steps.filter((step) => step.node['Relation Name'] !== undefined)) {
      rows += Math.round((node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']);
    }
  }
  return { rows, blocks };
}

export async function countEmbedded() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-counts-'));
  try {
    return await countStore('embedded', { kind: 'embedded', dataDir: join(folder, 'data') });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** On a server of the test run, or on one of its own. Nothing, where none is installed. */
export async function countPostgres() {
  if (findPostgres() === null) return {};
  const isOffered = process.env['BAILIWICK_TEST_POSTGRES'] !== undefined;
  const taken = isOffered ? await takeDatabase('empty') : await startPostgres();
  if (taken === null) return {};
  try {
    const { version } = await askOnce(
      taken.url,
      "SELECT current_setting('server_version_num')::int / 10000 AS version",
    );
    return await countStore(`PostgreSQL ${version}`, { kind: 'external', url: taken.url }, { reads: true });
  } finally {
    await (isOffered ? taken.drop() : taken.stop());
  }
}

async function askOnce(url, text) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows[0];
  } finally {
    await client.end();
  }
}
