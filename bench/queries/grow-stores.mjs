// A store for each size, in one server. Each is a copy of the one before that has grown by `load`, so all hold the same records as far as
// they go, and have had the same history.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { instantOf } from '../../dist/engine/index.js';
import { openDatabase } from '../../dist/server/db/database.js';
import { migrate } from '../../dist/server/db/migrate.js';
import { SCHEMA } from '../../dist/server/db/session-settings.js';
import { loadDataset } from '../../dist/server/load/load-dataset.js';
import { tidyStore } from '../../dist/server/load/tidy-store.js';
import { say, short } from '../rows.mjs';
import { makeLines } from './world.mjs';

/** PostgreSQL 15 copies by way of its log unless told otherwise. */
const COPIES_FILES_SINCE = 150_000;

/**
 * `{url, size, from, rate, server, own, feed, isCut}` of each: records a second, milliseconds of processor time that a thousand records
 * took the server and this process, and the bytes that each left for the feed. The last is smaller than asked where time was up.
 */
export async function growStores({ settings, server, sizes, namespaces, counts }) {
  const stores = [];
  for (const size of sizes) {
    const name = `bench_${size}`;
    const before = stores.at(-1);
    await makeDatabase(server, name, before?.name);
    const from = before?.size ?? 0;
    const grown = await grow({ server, settings, namespaces, name, from, to: size, counts });
    stores.push({ name, url: server.urlOf(name), ...grown });
    say(`${short(grown.size)} records, ${short(grown.rate)} a second`);
    if (grown.isCut) break;
  }
  return stores;
}

async function makeDatabase({ url }, name, template) {
  if (template === undefined) return void (await ask(url, `CREATE DATABASE ${name}`));
  const [{ version }] = await ask(url, "SELECT current_setting('server_version_num')::int AS version");
  const strategy = version < COPIES_FILES_SINCE ? '' : ' STRATEGY FILE_COPY';
  await ask(url, `CREATE DATABASE ${name} TEMPLATE ${template}${strategy}`);
}

async function grow({ server, settings, namespaces, name, from, to, counts }) {
  const { seed, minutes } = settings;
  const db = await openDatabase({ kind: 'external', url: server.urlOf(name), statementTimeout: 0 });
  try {
    await migrate(db);
    const spent = await processorTime(server);
    const begun = performance.now();
    let told = begun;
    // The visible sets are chosen by what the smallest store holds.
    const lines = makeLines({ records: to, from, namespaces, seed, counts: from === 0 ? counts : new Map() });
    const { loaded, bad, implied } = await loadDataset(db, until(lines, begun + minutes * 60_000), {
      onConflict: 'report',
      now: instantOf(Date.now()),
      onProgress: (progress) => {
        if (performance.now() - told < 20_000) return;
        told = performance.now();
        say(`loaded ${from + progress.lines} of ${to}, ${short((1000 * progress.lines) / (told - begun))} a second`);
      },
    });
    if (bad > 0) throw new Error(`${bad} records were not loaded`);
    const seconds = (performance.now() - begun) / 1000;
    const now = await processorTime(server);
    const feed = await emptyFeed(db, loaded + implied);
    await tidyStore(db);
    const each = (key) => (1e6 * (now[key] - spent[key])) / loaded;
    return { size: from + loaded, from, rate: loaded / seconds, server: each('server'), own: each('own'), feed, isCut: from + loaded < to }; // prettier-ignore
  } finally {
    await db.close();
  }
}

async function* until(groups, end) {
  for await (const group of groups) {
    if (performance.now() > end) return;
    yield group;
  }
}

/** What the load left for the feed would be numbered while the pages are measured, and then removed as too much to keep. */
async function emptyFeed(db, written) {
  const { rows } = await db.knex.raw("SELECT pg_total_relation_size('changes_pending') AS bytes");
  await db.knex.raw('TRUNCATE changes_pending');
  return Number(rows[0].bytes) / written;
}

/** Ticks of Linux in a second. */
const TICKS = 100;
const FIELDS_AFTER_NAME = { user: 11, system: 12, userOfEnded: 13, systemOfEnded: 14 };

/** Seconds of this process, and of the server with all its processes, as Linux counts them: NaN on other systems. */
async function processorTime({ url }) {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (process.platform !== 'linux') return { own, server: NaN };
  const [{ first, others }] = await ask(
    url,
    `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS first,
      ARRAY(SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL) AS others`,
  );
  const { user: u, system: s, ...ended } = FIELDS_AFTER_NAME;
  const whole = ticksOf(first, [u, s, ...Object.values(ended)]);
  return { own, server: others.reduce((sum, pid) => sum + ticksOf(pid, [u, s]), whole) / TICKS };
}

function ticksOf(pid, fields) {
  let text;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    // It has ended since, and its parent has its time.
    if (error.code === 'ENOENT') return 0;
    throw error;
  }
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.reduce((sum, at) => sum + Number(values[at]), 0);
}

/** The rows of one statement on a connection of its own, which leaves the plans to the server. */
export async function ask(url, text) {
  const client = new pg.Client({ connectionString: url });
  // A connection that is lost fails the query that is under way.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`SET search_path = ${SCHEMA}`);
    const { rows } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}
