// `make bench-sizes`: one PostgreSQL with stores of growing size. How fast they load, what a record takes on the disk, by index, and how
// long pages, counts and single records take in each, in turn, before and after a day of writes. A line over the logarithm of the size
// goes through what was measured, and says what a hundred million records would take.
import { interleave, loadNow, median, readOptions, report, say, short } from '../rows.mjs';
import { makeWriter, nextName } from '../commands/world.mjs';
import { drawRecords, writeForADay } from './day.mjs';
import { ask, growStores } from './grow-stores.mjs';
import { askEveryKind, readIndexes, readSizes, readUpdates } from './indexes.mjs';
import { openStore } from './opened-store.mjs';
import { withServer } from './server.mjs';
import { rowsOf } from './sizes-report.mjs';
import { QUERIES, visibleOf } from './statements.mjs';
import { chooseVisibleSets, makeNamespaces } from './world.mjs';

const ROOTS = [1, 100, 1_000];
const PAGES = ['newest', 'by name', 'filter'];
const ASKED = QUERIES.filter(({ name }) => [...PAGES, 'count'].includes(name));
const RECORDS_OF_A_NAMESPACE = 10;
const DRAWN = 1_000;
/** Calls before the first that counts: a text is prepared the third time that it is seen, and code is compiled later. */
const WARMING = 30;

/** Nothing is lost that would be missed: the store ends with the bench. */
const CONFIGURED = [
  'shared_buffers=1GB',
  'max_wal_size=8GB',
  'checkpoint_timeout=30min',
  'work_mem=16MB',
  'maintenance_work_mem=256MB',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
];

async function measure(server, settings) {
  const sizes = sizesOf(settings);
  const namespaces = makeNamespaces(Math.ceil(sizes[0] / RECORDS_OF_A_NAMESPACE), settings.seed);
  const counts = new Map();
  const stores = await growStores({ settings, server, sizes, namespaces, counts });
  const sets = setsOf(chooseVisibleSets(namespaces, counts, settings.seed));
  // It tidies while the stores are loaded, as on any server, and would disturb what is timed.
  await ask(server.url, 'ALTER SYSTEM SET autovacuum = off');
  await ask(server.url, 'SELECT pg_reload_conf()');
  const fresh = await eachOf(stores, readSizes);
  const loaded = await eachOf(stores, readIndexes);
  const { before, after, days } = await measureOpened({ settings, stores, sets });
  const updates = await eachOf(stores, readUpdates);
  const measured = await eachOf(stores, readIndexes);
  const late = await eachOf(stores, readSizes);
  await eachOf(stores, (store) => whileOpen(store, (opened) => askEveryKind(opened, namespaces)));
  const asked = await eachOf(stores, readIndexes);
  const [{ version }] = await ask(server.url, "SELECT current_setting('server_version') AS version");
  const reads = { load: loaded, measured, 'each kind once': asked };
  const found = { stores, fresh, late, before, after, days, updates, reads };
  const shown = sets.map(({ roots, share }) => ({ roots: roots.length, share }));
  report(settings, rowsOf(found), { postgres: version, sets: shown, ...found });
}

function sizesOf({ records }) {
  const sizes = records.split(',').map(Number);
  const isOk = sizes.every((size, place) => Number.isSafeInteger(size) && size > (sizes[place - 1] ?? 0));
  if (!isOk) throw new Error(`--records takes whole numbers, ascending, with commas between them, not ${records}`);
  return sizes;
}

function setsOf(sets) {
  return ROOTS.flatMap((wanted) => sets.findLast(({ roots, share }) => roots.length === wanted && share < 1) ?? []);
}

async function eachOf(stores, work) {
  const results = [];
  for (const store of stores) results.push(await work(store));
  return results;
}

async function whileOpen(store, work) {
  const opened = await openStore(store);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** All stores are open at once, and each case is measured in them in turn. */
async function measureOpened({ settings, stores, sets }) {
  const { seed, day: share } = settings;
  const opened = [];
  try {
    for (const store of stores) opened.push({ ...store, ...(await openStore(store)) });
    const before = await measureCases(opened, { settings, sets, seed: seed + 1 });
    const days = await eachOf(opened, async (store) => {
      const done = await writeForADay(store, { share, seed: seed + 2 });
      const begun = performance.now();
      await ask(store.url, 'VACUUM (ANALYZE)');
      say(`${short(store.size)} records: ${done.writes} writes, ${short(done.rate)} a second`);
      return { ...done, vacuum: (performance.now() - begun) / 1000 };
    });
    const after = await measureCases(opened, { settings, sets, seed: seed + 3 });
    return { before, after, days };
  } finally {
    for (const { close } of opened) await close();
  }
}

async function measureCases(opened, { settings, sets, seed }) {
  const writers = await eachOf(opened, async ({ url, size }) => {
    const drawn = await drawRecords(url, { count: DRAWN, size, seed });
    return drawn.map(writerOf);
  });
  const cases = [
    ...sets.flatMap(casesOf),
    ...['get', 'create', 'change'].map((name) => ({ name, isPage: false, call: single(name, writers) })),
  ];
  const measured = [];
  for (const { name, isPage, call } of cases) {
    const contenders = opened.map((store, place) => ({ call: () => call(store, place) }));
    for (const contender of contenders) for (let time = 0; time < WARMING; time += 1) await contender.call();
    const times = await interleave(contenders, { milliseconds: settings.seconds * 1000, atLeast: 5, atMost: 1_000 });
    // The same rounds of each, as other work on the machine comes and goes.
    const n = Math.min(...times.map(({ length }) => length));
    const milliseconds = times.map((own) => median(own.slice(0, n)));
    measured.push({ name, isPage, milliseconds, n, load: loadNow()[0] });
    say(`${name}: ${milliseconds.map(short).join(', ')} ms`);
  }
  return measured;
}

function casesOf({ roots }) {
  const visible = visibleOf(roots);
  const seen = `${roots.length} ${roots.length === 1 ? 'root' : 'roots'}`;
  return ASKED.map((query) => ({
    name: `${query.name}, ${seen}`,
    isPage: query.kind === 'query',
    call: (store) => store.query(query, visible),
  }));
}

/** Names differ, as those of the load do: a page by name reads all records that tie with its last. */
function writerOf(own) {
  const { create, change } = makeWriter({ namespace: own.namespace, own });
  const createNamed = () => {
    const sent = create();
    return { ...sent, body: { ...sent.body, name: nextName() } };
  };
  return { id: own.id, create: createNamed, change };
}

/** Each time another of the records that were drawn. */
function single(name, writers) {
  const turns = writers.map(() => 0);
  return async ({ send }, place) => {
    const own = writers[place][(turns[place] += 1) % writers[place].length];
    const sent = name === 'get' ? { method: 'GET', path: `/api/v1/resources/${own.id}`, status: 200 } : own[name]();
    await send(sent);
    sent.done?.();
  };
}

const options = readOptions('sizes', {
  records: ['1000000,3000000,10000000', 'in each store, ascending; namespaces are a tenth of the smallest'],
  minutes: [40, 'that the load of one store may take; it is then measured with what it has, and no larger one is made'],
  day: [0.01, 'writes of a day, as a share of the records'],
  seconds: [1, 'for each case in each store'],
});
if (options !== null) await withServer(options, CONFIGURED, (server) => measure(server, options));
