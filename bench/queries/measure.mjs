// `make bench-query`: pages and counts of a large store under visibility, as bare SQL and through the gateway, beside what they are
// compared with, interleaved in one run. Data, server and answers live in a temporary folder; PostgreSQL has to be installed.
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { PLANNER_SETTINGS, SCHEMA, WHOLE_RANGES } from '../../dist/server/db/session-settings.js';
import { readSecrets } from '../../dist/server/db/secrets.js';
import { startPostgres } from '../../dist/test/support/postgres.js';
import { measureGateway, measureSet, PATIENCE } from './contest.mjs';
import { loadNow, print } from './figures.mjs';
import { startThread } from './gateway-client.mjs';
import { measureBeside } from './beside.mjs';
import { loadWorld } from './load-world.mjs';
import { report } from './report.mjs';
import { prepareBaselines, QUERIES } from './statements.mjs';

const HELP = `Usage: make bench-query ARGS="[options]"

  --records <n>      records to load (1000000)
  --ten-million      as --records 10000000
  --namespaces <n>   namespaces they are in (100000)
  --grants <n>       grants of the policy that the gateway serves (1000000)
  --seed <n>         of everything that is generated (1)
  --seconds <n>      for each of the ${QUERIES.length} queries on each visible set (2)
  --out <file>       where the figures go as JSON (.run/bench-query.json)
`;

const EXIT_INTERRUPTED = 130;

async function main(settings) {
  const server = await startPostgres(['shared_buffers=1GB', 'max_wal_size=8GB', 'work_mem=16MB']);
  if (server === null) {
    print('bench-query needs PostgreSQL, and none is installed here');
    return;
  }
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      interrupted = true;
      void server.stop().finally(() => process.exit(EXIT_INTERRUPTED));
    });
  }
  try {
    await measure(server, settings);
  } catch (error) {
    // Of a server that is being stopped nothing else is to be expected.
    if (!interrupted) throw error;
  } finally {
    await server.stop();
  }
}

async function measure(server, settings) {
  const open = async () => {
    const client = new pg.Client({ connectionString: server.url });
    // A connection that is lost fails the query that is under way, or the next.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`SET jit = off; SET search_path = ${SCHEMA}`);
    return client;
  };
  const client = await open();
  const reader = await open();
  const own = await open();
  const whole = await open();
  for (const client of [own, whole]) {
    for (const [name, value] of PLANNER_SETTINGS) await client.query(`SET ${name} = ${value}`);
  }
  // For good, as nothing else runs there.
  await whole.query(WHOLE_RANGES.text.replaceAll(', true)', ', false)'));
  const run = (text, values) => client.query(text, values);
  const db = await openDatabase({ kind: 'external', url: server.url, statementTimeout: 0 });
  const before = loadNow();
  try {
    await migrate(db);
    const { cursor: secret } = await readSecrets(db);
    const context = { settings, server, db, client, reader, own, whole, run, secret, figures: [], cases: [] };
    const world = await loadWorld(context);
    await prepareBaselines(run, world.sets);
    await reader.query(`SET statement_timeout = ${PATIENCE}`);
    await reader.query('SET ROLE bench_reader');
    const gateway = await startThread(context, world);
    try {
      for (const [index, set] of world.sets.entries()) await measureSet(context, { ...set, index, gateway });
      await measureBeside(context, world);
      const many = world.sets.findLastIndex(({ roots }) => roots.length <= 1_000);
      for (const index of [1, many]) {
        for (const query of [QUERIES[0], QUERIES[4]]) {
          await measureGateway(context, { gateway, query, index, ...world.sets[index] });
        }
      }
    } finally {
      await gateway.stop();
    }
    const { rows } = await run("SELECT current_setting('server_version') AS version");
    report(context, { postgres: rows[0].version, before });
  } finally {
    await db.close();
    await own.end();
    await whole.end();
    await reader.end();
    await client.end();
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

const options = readOptions();
if (options === null) print(HELP);
else await main(options);
