// The thread of a store: a gateway with an audit log, one without, and the bare statements on connections of their own, alone
// and behind an Express handler that does nothing else.
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import express from 'express';
import pg from 'pg';
import { instantOf, SCOPES } from '../../dist/engine/index.js';
import { openTrail } from '../../dist/server/audit/trail.js';
import { createKey } from '../../dist/server/auth/api-keys.js';
import { makeServices, startGateway } from '../../dist/server/compose.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { PLANNER_SETTINGS, SCHEMA } from '../../dist/server/db/session-settings.js';
import { bindTcp } from '../../dist/server/http/http-server.js';
import { makeIdSource, systemClock } from '../../dist/server/lib/ports.js';
import { inProcess } from '../in-process.mjs';
import { openPolicy } from '../policy.mjs';
import { measureRate } from './thread.mjs';
import { writeInOneStatement } from './parts.mjs';
import { ADA, makeBareWriter, makeWriter } from './world.mjs';

const { config, folder } = workerData;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const MOST = 32;

const db = await openDatabase({ ...config, statementTimeout: 60_000 });
const trail = await openTrail({
  db,
  folder,
  queries: 'all',
  onFailure: 'refuse',
  lag: 10_000,
  clock: systemClock,
  nextId: makeIdSource(),
  log: silent,
});
const options = {
  mode: { kind: 'serve', policy: openPolicy([{ subject: ADA.subject, namespace: '/', scopes: SCOPES }]) },
  db,
  rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
  concurrency: { perActor: MOST },
  log: silent,
};
const gateway = await startGateway({ ...options, audit: trail, listen: await bindTcp({ host: '127.0.0.1', port: 0 }) });
const recording = await makeServices({ ...options, audit: trail });
const unrecorded = await makeServices(options);
const fields = { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false };
const { text: key } = await createKey(db, fields, instantOf(Date.now()));

/** A record and a namespace for each writer. */
const { rows } = await db.knex.raw(
  `SELECT id::text AS id, revision::int AS revision, path FROM records WHERE family = 2 AND archived_at IS NULL
    ORDER BY id LIMIT ${2 * MOST}`,
);
const places = rows.map(({ id, revision, path }) => ({
  own: { id, revision },
  namespace: path.replace(/(?<=.)\/$/, ''),
}));
// Writers over HTTP and in the process have separate records, since each keeps track of its own revisions.
const [theirs, ours] = [places.slice(0, MOST), places.slice(MOST)];
const others = await db.knex.raw(
  `SELECT id::text AS id, revision::int AS revision, path FROM records WHERE family = 2 AND archived_at IS NULL
    ORDER BY id DESC LIMIT ${MOST}`,
);
const writers = ours.map(makeWriter);
const bareWriters = others.rows
  .map(({ id, revision, path }) => ({ own: { id, revision }, namespace: path.replace(/(?<=.)\/$/, '') }))
  .map(makeBareWriter);
/** What they write is made on the way. */
const placeWriters = ours.map(({ namespace }) => ({ create: () => ({ namespace }) }));

const pool =
  config.kind === 'embedded'
    ? null
    : new pg.Pool({
        connectionString: config.url,
        max: MOST,
        onConnect: (client) =>
          client.query(
            [['search_path', SCHEMA], ...PLANNER_SETTINGS].map(([name, value]) => `SET ${name} = ${value}`).join('; '),
          ),
      });

async function bare({ name, text, values }) {
  const result = pool === null ? await embedded({ name, text, values }) : await pool.query({ name, text, values });
  if (result.rowCount !== 1) throw new Error(`${name}: ${result.rowCount} rows`);
}

/** knex numbers the placeholders itself. */
function embedded({ name, text, values }) {
  const order = [];
  const numbered = text.replace(/\$(\d+)/g, (_, digits) => {
    order.push(Number(digits) - 1);
    return '?';
  });
  return db.knex
    .raw(
      numbered,
      order.map((at) => values[at]),
    )
    .options({ name });
}

const ways = new Map([
  ['bare', { writers: bareWriters, run: bare }],
  ['rows', { writers: placeWriters, run: ({ namespace }) => writeInOneStatement(db, namespace) }],
  ['handle', { writers, run: inProcess(recording, key) }],
  ['unrecorded', { writers, run: inProcess(unrecorded, key) }],
]);

/** What a create costs over HTTP if nobody checks it. */
function handler(insert) {
  return async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { namespace } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    await insert(namespace);
    response.status(201).json({ namespace });
  };
}

const handlers = express();
handlers.post(
  '/bare/api/v1/resources',
  handler((namespace) => bare(makeBareWriter({ namespace, own: { revision: 0 } }).create())),
);
handlers.post(
  '/rows/api/v1/resources',
  handler((namespace) => writeInOneStatement(db, namespace)),
);
const plain = handlers.listen(0, '127.0.0.1');
await once(plain, 'listening');
const plainUrl = `http://127.0.0.1:${plain.address().port}`;

parentPort.on('message', async (message) => {
  if (message.kind === 'rate') {
    const { writers: all, run } = ways.get(message.way);
    parentPort.postMessage(await measureRate(all.slice(0, message.writers), message, run));
    return;
  }
  await new Promise((resolve) => plain.close(resolve));
  await gateway.close();
  await recording.close();
  await unrecorded.close();
  await trail.close();
  await pool?.end();
  await db.close();
  parentPort.close();
});
parentPort.postMessage({
  urls: { http: gateway.url, 'express, bare': `${plainUrl}/bare`, 'express, rows': `${plainUrl}/rows` },
  key,
  places: theirs,
});
