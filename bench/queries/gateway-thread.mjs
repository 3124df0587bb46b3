// The gateway of the bench on a thread of its own, and beside it the same Express handler running a bare statement: it reads and
// parses the body, runs what it was told on the same connections, answers with the rows, and does nothing else, or looks the
// key up before. Its requests are made, its body is read and its answer is written as the gateway does; the statement goes
// through knex as a handler's would, prepared, or straight to the driver as the gateway's does.
import { parentPort, workerData } from 'node:worker_threads';
import express from 'express';
import pg from 'pg';
import { instantOf } from '../../dist/engine/index.js';
import { createKey } from '../../dist/server/auth/api-keys.js';
import { makeFingerprinter } from '../../dist/server/auth/fingerprint.js';
import { makeKeyAuthenticators } from '../../dist/server/auth/key-authenticator.js';
import { startGateway } from '../../dist/server/compose.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { bindTcp } from '../../dist/server/http/http-server.js';
import { makeIdSource } from '../../dist/server/lib/ports.js';
import { PLANNER_SETTINGS, SCHEMA } from '../../dist/server/db/session-settings.js';
import { itemsJson } from '../../dist/server/query/page-statement.js';
import { openPolicy, PROVIDER } from '../policy.mjs';

const { url, actors, fillers } = workerData;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const listen = { host: '127.0.0.1', port: 0 };

const SCOPES = ['resource:read', 'namespace:read'];

function* grants() {
  for (const { actor, roots } of actors)
    for (const namespace of roots) yield { subject: actor, namespace, scopes: SCOPES };
  const { count, namespaces } = fillers;
  for (let index = 0; index < count; index += 1) {
    const namespace = namespaces[(index * 7_919) % namespaces.length];
    yield { subject: `filler-${index % 100_000}`, namespace, scopes: SCOPES };
  }
}

const db = await openDatabase({ kind: 'external', url, statementTimeout: 60_000 });
const gateway = await startGateway({
  mode: { kind: 'serve', policy: openPolicy(grants()) },
  db,
  listen,
  rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
  // The bench measures cost, so the limit on one actor's concurrent requests must not matter.
  concurrency: { perActor: 32 },
  log: silent,
});
const keys = {};
for (const { actor } of actors) {
  const fields = {
    actor,
    identities: [{ provider: PROVIDER, subject: actor }],
    scopes: null,
    restrictions: null,
    expires: null,
    admin: false,
  };
  keys[actor] = (await createKey(db, fields, instantOf(Date.now()))).text;
}

let statement = null;
let statements = 0;
const { actors: authenticator } = makeKeyAuthenticators({
  db,
  fingerprint: makeFingerprinter(new Uint8Array(32)),
  log: silent,
});

function bodyOf(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

async function throughKnex({ knex: { text, values }, name }) {
  const { rows } = await db.knex.raw(text, values).options({ name });
  return rows;
}

const pool = new pg.Pool({
  connectionString: url,
  max: 8,
  onConnect: (client) =>
    client.query(
      [['search_path', SCHEMA], ...PLANNER_SETTINGS].map(([name, value]) => `SET ${name} = ${value}`).join('; '),
    ),
});

async function straight({ text, values, name }) {
  const { rows } = await pool.query({ text, values, name });
  return rows;
}

async function answer(request, response, run) {
  JSON.parse((await bodyOf(request)).toString('utf8'));
  const rows = await run(statement);
  const json = statement.kind === 'count' ? JSON.stringify(rows[0]) : `{"items":${itemsJson(rows)}}`;
  response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(json))]);
  response.end(json);
}

const app = express();
app.post('/bare', (request, response) => answer(request, response, throughKnex));
app.post('/straight', (request, response) => answer(request, response, straight));
app.post('/keyed', async (request, response) => {
  const bearer = request.headers.authorization.slice('Bearer '.length);
  await authenticator.credentialOf({ bearer, certificate: null, address: null }).authenticate(instantOf(Date.now()));
  await answer(request, response, throughKnex);
});
const bare = await bindTcp(listen);
await bare.serve({
  app: { express: app, take: app },
  currentDigest: () => '',
  nextId: makeIdSource(),
  onRefused: () => undefined,
  onUngreeted: () => undefined,
  onCut: () => undefined,
  onFull: () => undefined,
});

parentPort.on('message', async (message) => {
  if (message.kind === 'statement') {
    // knex numbers the placeholders itself.
    const order = [];
    const text = message.text.replace(/\?/g, '\\?').replace(/\$(\d+)/g, (_, digits) => {
      order.push(Number(digits) - 1);
      return '?';
    });
    const knex = { text, values: order.map((at) => message.values[at]) };
    statement = {
      name: `bare ${(statements += 1)}`,
      kind: message.queryKind,
      text: message.text,
      values: message.values,
      knex,
    };
    parentPort.postMessage({ kind: 'done' });
  } else {
    await gateway.close();
    await authenticator.close();
    await bare.close();
    await pool.end();
    await db.close();
    parentPort.close();
  }
});
parentPort.postMessage({ kind: 'ready', url: gateway.url, bareUrl: `http://127.0.0.1:${bare.at.port}`, keys });
