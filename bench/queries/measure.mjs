// `make bench-query`: pages and counts of a large store under visibility, as bare SQL and through the gateway, beside what they are
// compared with, interleaved in one run. Data, server and answers live in a temporary folder; PostgreSQL has to be installed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { openDatabase } from '../../dist/server/db/database.js';
import { copyIn } from '../../dist/server/db/copy-in.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { readSecrets } from '../../dist/server/db/secrets.js';
import { sql } from '../../dist/server/db/sql.js';
import { inTransaction } from '../../dist/server/db/transaction.js';
import { instantOf } from '../../dist/engine/index.js';
import { loadDataset } from '../../dist/server/load/load-dataset.js';
import { tidyStore } from '../../dist/server/load/tidy-store.js';
import { startPostgres } from '../../dist/test/support/postgres.js';
import { figure, geometricMean, interleave, loadNow, median, short, table } from './figures.mjs';
import {
  envelopeOf,
  joinStatement,
  multirangeOf,
  ourStatement,
  physStatement,
  prepareBaselines,
  preparePhys,
  QUERIES,
  rlsStatement,
} from './statements.mjs';
import { chooseVisibleSets, makeLines, makeNamespaces } from './world.mjs';

const HELP = `Usage: make bench-query ARGS="[options]"

  --records <n>      records to load (1000000)
  --ten-million      as --records 10000000
  --namespaces <n>   namespaces they are in (100000)
  --grants <n>       grants of the policy that the gateway serves (1000000)
  --seed <n>         of everything that is generated (1)
  --seconds <n>      for each of the ${QUERIES.length} queries on each visible set (2)
  --out <file>       where the figures go as JSON (.run/bench-query.json)
`;

/** A statement of the baselines is given up after so many milliseconds, and counted as having taken them. */
const PATIENCE = 4_000;
/** Rows of the plain COPY: they are made beforehand and held in memory. */
const COPIED = 1_000_000;
const CONNECTIONS = 32;

const say = (text) => process.stderr.write(`${text}\n`);
const print = (text) => process.stdout.write(`${text}\n`);

const options = readOptions();
if (options === null) print(HELP);
else await main(options);

async function main(settings) {
  const server = await startPostgres(['shared_buffers=1GB', 'max_wal_size=8GB', 'work_mem=16MB']);
  if (server === null) {
    print('bench-query needs PostgreSQL, and none is installed here');
    return;
  }
  try {
    await measure(server, settings);
  } finally {
    await server.stop();
  }
}

async function measure(server, settings) {
  const open = async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('SET jit = off');
    return client;
  };
  const client = await open();
  const reader = await open();
  const run = (text, values) => client.query(text, values);
  const db = await openDatabase({ kind: 'external', url: server.url, statementTimeout: 0 });
  const before = loadNow();
  try {
    await migrate(db);
    const { cursor: secret } = await readSecrets(db);
    const context = { settings, server, db, client, reader, run, secret, figures: [], cases: [] };
    const world = await load(context);
    await prepareBaselines(run, world.sets);
    await reader.query(`SET statement_timeout = ${PATIENCE}`);
    await reader.query('SET ROLE bench_reader');
    const gateway = await startThread(context, world);
    try {
      for (const [index, set] of world.sets.entries()) await measureSet(context, { ...set, index, gateway });
      await measureGateway(context, { gateway, index: 1, ...world.sets[1] });
    } finally {
      await gateway.stop();
    }
    const { rows } = await run("SELECT current_setting('server_version') AS version");
    report(context, { postgres: rows[0].version, before });
  } finally {
    await db.close();
    await reader.end();
    await client.end();
  }
}

/** The records go in by `load`; then as many in COPY rows, out of memory, into an empty store: the rate to compare with. */
async function load({ settings, db, server, client, figures }) {
  const { records, seed } = settings;
  const namespaces = makeNamespaces(settings.namespaces, seed);
  const counts = new Map();
  const begun = performance.now();
  let told = begun;
  const report = await loadDataset(db, makeLines({ records, namespaces, seed, counts }), {
    onConflict: 'report',
    now: instantOf(Date.now()),
    onProgress: ({ lines }) => {
      if (performance.now() - told < 10_000) return;
      told = performance.now();
      say(`loaded ${lines} of ${records}`);
    },
  });
  if (report.loaded !== records) throw new Error(`only ${report.loaded} of ${records} were loaded`);
  const loading = performance.now() - begun;
  const again = performance.now();
  const repeated = Math.min(records, 200_000);
  const second = await loadDataset(db, makeLines({ records: repeated, namespaces, seed, counts: new Map() }), {
    onConflict: 'report',
    now: instantOf(Date.now()),
  });
  if (second.unchanged !== repeated) throw new Error('a second run changed something');
  const repeating = performance.now() - again;
  await tidyStore(db);
  const copied = await plainCopy(server, client);
  const rate = (records + report.implied) / loading;
  figures.push(
    figure('load, records a second', records / (loading / 1000), { n: records }),
    figure('load, plain COPY through the same driver / load', copied / rate, { goal: '<= 2', n: records }),
    figure('load, second run over what is there / first run, rate', loading / records / (repeating / repeated), {
      goal: '>= 1',
      n: repeated,
    }),
  );
  return { namespaces, sets: chooseVisibleSets(namespaces, counts, seed) };
}

/** Records once more by COPY alone, into a store of the same schema, constraints, indexes and triggers; rows a millisecond. */
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

async function startThread({ server, settings }, { sets, namespaces }) {
  const actors = sets.map(({ roots }, index) => ({ actor: `set-${index}`, roots }));
  const own = actors.reduce((sum, { roots }) => sum + roots.length, 0);
  say(`compiling a policy of ${settings.grants} grants`);
  const worker = new Worker(new URL('./gateway-thread.mjs', import.meta.url), {
    workerData: { url: server.url, actors, fillers: { count: Math.max(0, settings.grants - own), namespaces } },
    resourceLimits: { maxOldGenerationSizeMb: 8192 },
  });
  const next = () =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  const { url, bareUrl, keys } = await next();
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    ask: (actor, kind, envelope) =>
      post(`${url}/api/v1/query${kind === 'count' ? '/count' : ''}`, { body: envelope, key: keys[actor], agent }),
    bare: (body) => post(`${bareUrl}/bare`, { body, agent }),
    tell: async (message) => {
      const done = next();
      worker.postMessage(message);
      return done;
    },
    stop: async () => {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage({ kind: 'stop' });
      agent.destroy();
      await ended;
    },
  };
}

function post(url, { body, key, agent }) {
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': bytes.length,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    request.end(bytes);
  });
}

/** All queries on one visible set; each contender is checked to give what the physical limit gives. */
async function measureSet(context, { roots, visible, share, index, gateway }) {
  const { run, reader, settings, cases } = context;
  const actor = `set-${index}`;
  await preparePhys(run, roots);
  await reader.query(`SELECT set_config('bench.visible', $1, false)`, [multirangeOf(roots)]);
  for (const query of QUERIES) {
    const after = query.deep === true ? await middle(run, visible) : undefined;
    const { envelope, ours } = await prepareOurs(context, { query, after, roots, actorId: actor });
    const given = { query, after };
    const read = (text, values) => reader.query(text, values);
    const contenders = [
      contender('phys', run, physStatement(given)),
      contender('ours', run, ours),
      { name: 'gateway', call: () => gateway.ask(actor, query.kind, envelope).then(idsOrCount) },
      contender('rls', read, rlsStatement(given)),
      contender('join', unfenced(context), joinStatement(given, actor)),
    ];
    await agree(contenders, `${query.name}, ${roots.length} roots, ${visible} visible`);
    const times = await interleave(contenders, { milliseconds: settings.seconds * 200, atLeast: 3, atMost: 25 });
    const milliseconds = Object.fromEntries(contenders.map(({ name }, place) => [name, median(times[place])]));
    const n = Object.fromEntries(contenders.map(({ name }, place) => [name, times[place].length]));
    cases.push({ query: query.name, roots: roots.length, visible, share, load: loadNow()[0], milliseconds, n });
    const shown = Object.entries(milliseconds).map(([name, value]) => `${name} ${short(value)}`);
    say(`${[query.name, `${roots.length} roots`, `${visible} visible`, ...shown].join('  ')} ms`);
  }
}

async function prepareOurs({ db, secret }, { query, after, roots, actorId }) {
  const envelope = envelopeOf(query, { after, roots, secret, actorId });
  return { envelope, ours: await ourStatement(db, { query, envelope, roots, secret, actorId }) };
}

/** The join runs as the owner, whom the policy of the other baseline does not concern, and is given up like that one. */
function unfenced({ client }) {
  return async (text, values) => {
    await client.query(`SET statement_timeout = ${PATIENCE}`);
    try {
      return await client.query(text, values);
    } finally {
      await client.query('SET statement_timeout = 0');
    }
  };
}

/** The sort keys of the record in the middle of what is visible, as a cursor holds them. */
async function middle(run, visible) {
  const { rows } = await run(
    `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, id::text
      FROM phys ORDER BY created_at DESC, id OFFSET ${Math.floor(visible / 2)} LIMIT 1`,
  );
  return [rows[0].at, rows[0].id];
}

const QUERY_CANCELED = '57014';

function contender(name, run, { text, values }) {
  const call = async () => {
    try {
      return idsOrCount(await run(text, values));
    } catch (error) {
      if (error.code === QUERY_CANCELED) return null;
      throw error;
    }
  };
  return { name, call };
}

/** What has to agree: the ids of the page, or the count. */
function idsOrCount({ rows, items, count }) {
  if (count !== undefined) return Number(count);
  const records = items ?? rows;
  return records[0]?.count === undefined ? records.slice(0, 50).map(({ id }) => id) : Number(records[0].count);
}

async function agree(contenders, what) {
  const [limit, ...others] = contenders;
  const expected = JSON.stringify(await limit.call());
  for (const { name, call } of others) {
    const found = await call();
    if (found !== null && JSON.stringify(found) !== expected) throw new Error(`${name} does not agree: ${what}`);
  }
}

/** The whole gateway beside the same handler that runs the bare statement: one request at a time, and as many as it takes. */
async function measureGateway(context, { gateway, roots, index }) {
  const { figures } = context;
  const actor = `set-${index}`;
  for (const query of [QUERIES[0], QUERIES[4]]) {
    const { envelope, ours } = await prepareOurs(context, { query, roots, actorId: actor });
    await gateway.tell({ kind: 'statement', ...ours });
    const contenders = [
      { name: 'gateway', call: () => gateway.ask(actor, query.kind, envelope) },
      { name: 'bare', call: () => gateway.bare(envelope) },
    ];
    const [whole, bare] = await interleave(contenders, { milliseconds: 8_000, atLeast: 100, atMost: 2_000 });
    const rates = contenders.map(() => []);
    for (let round = 0; round < 5; round += 1) {
      for (const [place, { call }] of contenders.entries()) rates[place].push(await throughput(call, 2_000));
    }
    const [wholeRate, bareRate] = rates.map(median);
    figures.push(
      figure(`gateway, ${query.name}: median added to the bare handler, ms`, median(whole) - median(bare), {
        goal: '<= 0.3',
        n: whole.length,
        note: `${short(median(whole))} and ${short(median(bare))} ms`,
      }),
      figure(`gateway, ${query.name}: requests a second / the bare handler's`, wholeRate / bareRate, {
        goal: '>= 0.9',
        n: rates[0].length,
        note: `${short(wholeRate)} and ${short(bareRate)}`,
      }),
    );
  }
}

/** Requests a second over all connections. */
async function throughput(call, milliseconds) {
  const begun = performance.now();
  let done = 0;
  const client = async () => {
    while (performance.now() - begun < milliseconds) {
      await call();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return done / ((performance.now() - begun) / 1000);
}

function report({ settings, figures, cases }, { postgres, before }) {
  const all = [...figures, ...ratios(cases, settings)];
  const about = {
    seed: settings.seed,
    records: settings.records,
    namespaces: settings.namespaces,
    grants: settings.grants,
    node: process.version,
    postgres,
    commit: commitOf(),
    load: { before, after: loadNow() },
  };
  mkdirSync(dirname(settings.out), { recursive: true });
  writeFileSync(settings.out, `${JSON.stringify({ ...about, figures: all, cases }, null, 2)}\n`);
  const lines = all.map(({ figure: name, value, goal, reached, n, note }) => [
    name,
    short(value),
    goal ?? '',
    reached === null ? '' : reached ? 'yes' : 'NO',
    n,
    note ?? '',
  ]);
  print(table([['figure', 'value', 'goal', 'reached', 'n', ''], ...lines]));
  print(`seed ${about.seed}, commit ${about.commit}, node ${about.node}, PostgreSQL ${postgres}, load ${before[0]} to ${about.load.after[0]}`); // prettier-ignore
  print(`written to ${settings.out}`);
}

/** Geometric means and worst cases over the visible sets (query-shapes: the ratios of one run). */
function ratios(cases, { records }) {
  const of = (queries) => cases.filter(({ query }) => queries.includes(query));
  const over = (chosen, above, below) => chosen.map(({ milliseconds }) => milliseconds[above] / milliseconds[below]);
  const both = (name, numbers, goals) => [
    figure(`${name}, geometric mean`, geometricMean(numbers), { goal: goals.mean ?? null, n: numbers.length }),
    figure(`${name}, worst`, Math.max(...numbers), { goal: goals.worst ?? null, n: numbers.length }),
  ];
  const pages = of(['newest', 'by name', 'deep']);
  const everything = of(QUERIES.map(({ name }) => name));
  return [
    ...both('page, ours / phys', over(pages, 'ours', 'phys'), {
      mean: records >= 10_000_000 ? '<= 2.5' : '<= 3',
      worst: '<= 12',
    }),
    ...both('filtered page, ours / phys', over(of(['filter']), 'ours', 'phys'), { mean: '<= 4', worst: '<= 30' }),
    ...both('count, ours / phys', over(of(['count']), 'ours', 'phys'), { mean: '<= 1' }),
    ...both('filtered count, ours / phys', over(of(['filtered count']), 'ours', 'phys'), { mean: '<= 4' }),
    figure('tuned row-level security / ours, geometric mean', geometricMean(over(everything, 'rls', 'ours')), {
      goal: '>= 15',
      n: everything.length,
      note: gaveUp(cases, 'rls'),
    }),
    figure('grants-table join / ours, geometric mean', geometricMean(over(everything, 'join', 'ours')), {
      goal: '>= 10',
      n: everything.length,
      note: gaveUp(cases, 'join'),
    }),
    ...both('gateway / ours, milliseconds', over(everything, 'gateway', 'ours'), {}),
  ];
}

function gaveUp(cases, name) {
  const count = cases.filter(({ milliseconds }) => milliseconds[name] >= PATIENCE).length;
  return count === 0 ? '' : `${count} of ${cases.length} given up after ${PATIENCE / 1000} s`;
}

function commitOf() {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(); // prettier-ignore
  } catch {
    return 'unknown';
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      records: { type: 'string', default: '1000000' },
      'ten-million': { type: 'boolean', default: false },
      namespaces: { type: 'string', default: '100000' },
      grants: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '2' },
      out: { type: 'string', default: '.run/bench-query.json' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  return {
    records: values['ten-million'] ? 10_000_000 : Number(values.records),
    namespaces: Number(values.namespaces),
    grants: Number(values.grants),
    seed: Number(values.seed),
    seconds: Number(values.seconds),
    out: values.out,
  };
}
