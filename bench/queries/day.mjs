// A day of writes, as requests to a gateway in this process: of four, two change a record, one makes one, and one archives a record and
// deletes it. The records are drawn evenly from all of the store.
import { nextName } from '../commands/world.mjs';
import { ask } from './grow-stores.mjs';
import { makeRandom } from './world.mjs';

const WRITERS = 2;
/** Of four writes each, in one request. */
const GROUPS = 20;

/** Returns how many writes there were, and how many a second. */
export async function writeForADay({ send, url, size }, { share, seed }) {
  const groups = Math.ceil((size * share) / 4);
  const drawn = await drawRecords(url, { count: groups * 3, size, seed });
  const requests = batchesOf(drawn);
  const begun = performance.now();
  const writer = async () => {
    for (let body = requests.pop(); body !== undefined; body = requests.pop()) {
      await send({ method: 'POST', path: '/api/v1/batch', key: nextName(), body, status: 200 });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const writes = Math.floor(drawn.length / 3) * 4;
  return { writes, rate: writes / ((performance.now() - begun) / 1000) };
}

/** Some active resources in a random order, all about as likely: `{id, revision, namespace}`. */
export async function drawRecords(url, { count, size, seed }) {
  // More than are wanted, as a sample has only about as many as it should, and some are archived.
  const percent = Math.min(100, (150 * count) / size + 1);
  const rows = await ask(
    url,
    `SELECT id::text AS id, revision, path FROM records TABLESAMPLE BERNOULLI (${percent}) REPEATABLE (${seed})
      WHERE family = 2 AND archived_at IS NULL`,
  );
  const random = makeRandom(seed);
  return rows
    .map((row) => ({ row, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ row: { id, revision, path } }) => ({ id, revision, namespace: path === '/' ? '/' : path.slice(0, -1) }));
}

function batchesOf(records) {
  const batches = [];
  for (let at = 0; at + 3 <= records.length; at += 3 * GROUPS) {
    const commands = [];
    for (let next = at; next + 3 <= Math.min(records.length, at + 3 * GROUPS); next += 3) {
      commands.push(...groupOf(records.slice(next, next + 3)));
    }
    batches.push({ commands });
  }
  return batches;
}

function groupOf([first, second, old]) {
  const path = ({ id }) => `/api/v1/resources/${id}`;
  const tag = ({ revision }, more = 0) => `"${revision + more}"`;
  const change = (record) => ({ method: 'PATCH', path: path(record), body: { properties: { rank: record.revision } }, ifMatch: tag(record) }); // prettier-ignore
  return [
    change(first),
    change(second),
    { method: 'POST', path: '/api/v1/resources', body: { namespace: first.namespace, name: nextName(), properties: { rank: 7, label: 'l12345', ok: true } } }, // prettier-ignore
    { method: 'POST', path: `${path(old)}/archive`, body: {}, ifMatch: tag(old) },
    { method: 'DELETE', path: path(old), ifMatch: tag(old, 1) },
  ];
}
