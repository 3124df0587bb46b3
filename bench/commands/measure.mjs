// `make bench-commands`: creates, changes and copies per second through the gateway with its audit log, compared with the bare statement on
// the same store, interleaved in one run. It also measures what the log costs a query, and what the indexes of ancestors cost an insert.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { startPostgres } from '../../dist/test/support/postgres.js';
import { median, readOptions, report, row, say, short } from '../rows.mjs';
import { startThread } from './thread.mjs';
import { loadRecords } from './world.mjs';

const OPERATIONS = ['create', 'change', 'copy'];
const WRITERS = [1, 32];
/** The statements alone, behind an Express handler that does nothing else, and as the gateway runs them. */
const PARTS = {
  rows: 'with the key and the event, in one statement',
  'express, bare': 'the bare statement behind a bare Express handler',
  'express, rows': 'the one with the key and the event behind it',
  handle: 'gateway in process',
  http: 'gateway over HTTP',
};

async function main(settings) {
  const rows = [];
  const folder = mkdtempSync(join(tmpdir(), 'bench-commands-'));
  // As durable as PostgreSQL is when installed: fsync stays on.
  const server = await startPostgres(['fsync=on', 'max_connections=200', 'shared_buffers=512MB', 'max_wal_size=4GB']);
  let postgres = null;
  try {
    if (server === null) say('no PostgreSQL is installed here: the embedded store alone is measured');
    else {
      await measureStore({ settings, rows }, 'external', { kind: 'external', url: server.url }, folder);
      postgres = await measureIndexes({ settings, rows }, server, folder);
    }
    await measureStore({ settings, rows }, 'embedded', { kind: 'embedded', dataDir: join(folder, 'data') }, folder);
    report(settings, rows, { postgres });
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStore({ settings, rows }, name, config, folder) {
  await fill(config, settings);
  const thread = await startThread({ config, folder: join(folder, `audit-${name}`), settings });
  try {
    for (const operation of OPERATIONS) {
      for (const writers of WRITERS) {
        const [bare, handled, whole] = await takeTurns(thread, settings, [
          { way: 'bare', operation, writers },
          { way: 'handle', operation, writers },
          { way: 'http', operation, writers },
        ]);
        const what = `${name}, ${operation}, ${writers} ${writers === 1 ? 'writer' : 'writers'}`;
        const beside = { limit: bare, unit: '/s', n: settings.rounds };
        rows.push(row(`${what}: gateway over HTTP, beside the bare statement`, whole, { ...beside, goal: operation === 'create' ? 'create' : 'write' })); // prettier-ignore
        rows.push(row(`${what}: gateway in process, beside it`, handled, beside));
      }
    }
    for (const writers of WRITERS) {
      const [bare, ...parts] = await takeTurns(
        thread,
        settings,
        ['bare', ...Object.keys(PARTS)].map((way) => ({ way, operation: 'create', writers })),
      );
      const what = `${name}, parts of a create, ${writers} ${writers === 1 ? 'writer' : 'writers'}`;
      Object.values(PARTS).forEach((part, place) => {
        rows.push(row(`${what}: ${part}, beside the bare statement`, parts[place], { limit: bare, unit: '/s', n: settings.rounds })); // prettier-ignore
      });
    }
    const [off, on] = await takeTurns(thread, settings, [
      { way: 'unrecorded', operation: 'query', writers: 1 },
      { way: 'handle', operation: 'query', writers: 1 },
    ]);
    rows.push(row(`${name}, query in process: recorded, beside not recorded`, on, { limit: off, unit: '/s', n: settings.rounds })); // prettier-ignore
  } finally {
    await thread.stop();
  }
}

/** Compares inserts with and without the indexes that make subtrees fast, to show what those cost writers. */
async function measureIndexes({ settings, rows }, server, folder) {
  const admin = await openDatabase({ kind: 'external', url: server.url });
  await admin.knex.raw('CREATE DATABASE without_ancestors');
  await admin.close();
  const config = { kind: 'external', url: server.urlOf('without_ancestors') };
  await fill(config, settings);
  const db = await openDatabase(config);
  const version = await db.knex.raw("SELECT current_setting('server_version') AS version");
  const { rows: indexes } = await db.knex.raw(
    `SELECT indexname FROM pg_indexes WHERE tablename = 'records' AND indexname ~ '^records_level[1-9]_'`,
  );
  for (const { indexname } of indexes) await db.knex.raw('DROP INDEX ??', [indexname]);
  await db.close();
  const whole = await startThread({
    config: { kind: 'external', url: server.url },
    folder: join(folder, 'a'),
    settings,
  });
  const without = await startThread({ config, folder: join(folder, 'b'), settings });
  try {
    for (const writers of WRITERS) {
      const asked = { way: 'bare', operation: 'create', writers };
      const rates = [[], []];
      for (let round = 0; round < settings.rounds; round += 1) {
        rates[0].push(await whole.rate({ ...asked, seconds: settings.seconds }));
        rates[1].push(await without.rate({ ...asked, seconds: settings.seconds }));
      }
      const [with_, bare] = rates.map(median);
      const what = `bare inserts, ${writers} ${writers === 1 ? 'writer' : 'writers'}`;
      rows.push(row(`${what}: with the ${indexes.length} indexes of ancestors, beside without`, with_, { limit: bare, unit: '/s', n: settings.rounds })); // prettier-ignore
    }
  } finally {
    await whole.stop();
    await without.stop();
  }
  return version.rows[0].version;
}

async function fill(config, settings) {
  const db = await openDatabase({ ...config, statementTimeout: 0 });
  await migrate(db);
  await loadRecords(db, settings);
  await db.close();
}

/** The median rates of the contenders. Each is measured once in each round. The first round does not count. */
async function takeTurns(thread, { rounds, seconds }, contenders) {
  const rates = contenders.map(() => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [place, contender] of contenders.entries()) {
      const rate = await thread.rate({ ...contender, seconds });
      if (round >= 0) rates[place].push(rate);
    }
  }
  const medians = rates.map(median);
  const { operation, writers } = contenders[0];
  say(
    `${operation}, ${writers}: ${contenders.map(({ way }, place) => `${way} ${short(medians[place])}`).join(', ')} a second`,
  );
  return medians;
}

const options = readOptions('commands', {
  records: [100_000, 'records in each store before'],
  seconds: [1, 'of each contender in each round'],
  rounds: [7, 'in which the contenders take turns'],
});
if (options !== null) await main(options);
