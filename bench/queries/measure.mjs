// `make bench-query`: pages and counts of a large store under visibility, as bare SQL and through the gateway, beside what they are
// compared with, interleaved in one run. Data, server and answers live in a temporary folder; PostgreSQL has to be installed.
import pg from 'pg';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { PLANNER_SETTINGS, SCHEMA, WHOLE_RANGES } from '../../dist/server/db/session-settings.js';
import { readSecrets } from '../../dist/server/db/secrets.js';
import { readOptions, report } from '../rows.mjs';
import { measureGateway, measureSet, PATIENCE } from './contest.mjs';
import { startThread } from './gateway-client.mjs';
import { measureBeside } from './beside.mjs';
import { loadWorld } from './load-world.mjs';
import { ratios } from './report.mjs';
import { withServer } from './server.mjs';
import { prepareBaselines, QUERIES } from './statements.mjs';

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
  try {
    await migrate(db);
    const { cursor: secret } = await readSecrets(db);
    const context = { settings, server, db, client, reader, own, whole, run, secret, rows: [], cases: [] };
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
    const { cases } = context;
    report(settings, [...context.rows, ...ratios(cases)], { postgres: rows[0].version, cases });
  } finally {
    await db.close();
    await own.end();
    await whole.end();
    await reader.end();
    await client.end();
  }
}

const options = readOptions('query', {
  records: [1_000_000, 'records to load'],
  namespaces: [100_000, 'namespaces they are in'],
  grants: [1_000_000, 'grants of the policy that the gateway serves'],
  seconds: [2, `for each of the ${QUERIES.length} queries on each visible set`],
});
if (options !== null) {
  await withServer(options, ['shared_buffers=1GB', 'max_wal_size=8GB', 'work_mem=16MB'], (server) =>
    measure(server, options),
  );
}
