// Runs the contenders on the same question in turn, and checks that they give the same answer.
import { itemsJson } from '../../dist/server/query/page-statement.js';
import { interleave, loadNow, median, row, say, short } from '../rows.mjs';
import { CONNECTIONS } from './gateway-client.mjs';
import {
  envelopeOf,
  joinStatement,
  multirangeOf,
  ourStatement,
  physStatement,
  preparePhys,
  QUERIES,
  rlsStatement,
  visibleOf,
} from './statements.mjs';

/** A statement of a baseline is given up after this many milliseconds, and counts as having taken that long. */
export const PATIENCE = 4_000;
const QUERY_CANCELED = '57014';

/** Measures all queries on one visible set, and checks that each contender gives the same answer as the physical limit. */
export async function measureSet(context, { roots, visible, share, index, gateway }) {
  const { run, client, reader, own, whole, settings, cases } = context;
  const actor = `set-${index}`;
  await preparePhys(run, visibleOf(roots));
  await reader.query(`SELECT set_config('bench.visible', $1, false)`, [multirangeOf(roots)]);
  for (const query of QUERIES) {
    const after = query.deep === true ? await middle(run, visible) : undefined;
    const { envelope, ours } = await prepareOurs(context, { query, after, roots, actorId: actor });
    const given = { query, after };
    const contenders = [
      contender('phys', prepared(client), physStatement(given)),
      contender('ours', prepared(ours.whole ? whole : own), ours),
      {
        name: 'gateway',
        call: () => gateway.ask(actor, query.kind, envelope).then((text) => idsOrCount(JSON.parse(text))),
      },
      contender('rls', prepared(reader), rlsStatement(given)),
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

/** Each contender's statement is prepared under a name of its own, so that its plan can be reused. */
export function prepared(client) {
  const name = `bench ${(statements += 1)}`;
  return (text, values) => client.query({ name, text, values });
}

let statements = 0;

/** The join runs as the owner, to whom the row policy of the other baseline does not apply. It is given up after the same time. */
function unfenced({ client }) {
  const run = prepared(client);
  return async (text, values) => {
    await client.query(`SET statement_timeout = ${PATIENCE}`);
    try {
      return await run(text, values);
    } finally {
      await client.query('SET statement_timeout = 0');
    }
  };
}

/** The sort keys of the record in the middle of the visible records, as in a cursor. */
async function middle(run, visible) {
  const { rows } = await run(
    `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, id::text
      FROM phys ORDER BY created_at DESC, id OFFSET ${Math.floor(visible / 2)} LIMIT 1`,
  );
  return [rows[0].at, rows[0].id];
}

export function contender(name, run, { text, values }) {
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

/** What must agree: the ids of the page, or the count. A gateway gives its answer, a statement its rows. */
function idsOrCount({ rows, items, count }) {
  const found = count ?? rows?.[0]?.count;
  if (found !== undefined) return Number(found);
  return (items ?? JSON.parse(itemsJson(rows))).map(({ id }) => id);
}

export async function agree(contenders, what) {
  const [limit, ...others] = contenders;
  const expected = JSON.stringify(await limit.call());
  for (const { name, call } of others) {
    const found = await call();
    if (found !== null && JSON.stringify(found) !== expected) throw new Error(`${name} does not agree: ${what}`);
  }
}

/**
 * Compares the whole gateway with the same handler that runs the bare statement, one that also looks up the key, and one that also
 * leaves out knex. Measures one request at a time, and throughput with many.
 */
export async function measureGateway(context, { gateway, query, roots, index }) {
  const actor = `set-${index}`;
  const { envelope, ours } = await prepareOurs(context, { query, roots, actorId: actor });
  await gateway.tell({ kind: 'statement', queryKind: query.kind, ...ours });
  const contenders = [
    { name: 'the gateway', call: () => gateway.ask(actor, query.kind, envelope) },
    { name: 'the bare handler', call: () => gateway.bare(envelope) },
    { name: 'the bare handler with the key', call: () => gateway.keyed(actor, envelope) },
    { name: 'the bare handler without knex', call: () => gateway.straight(envelope) },
  ];
  // Less than a second of each query is for trying the bench out, not for its figures.
  const part = Math.min(1, context.settings.seconds);
  // Code must run often enough to be compiled first.
  for (const { call } of contenders) await throughput(call, part * WARMING);
  const times = await interleave(contenders, { milliseconds: part * 6_000, atLeast: 100 * part, atMost: 2_000 });
  const rates = contenders.map(() => []);
  for (let round = 0; round < 15; round += 1) {
    for (const [place, { call }] of contenders.entries()) rates[place].push(await throughput(call, part * 500));
  }
  const [whole, ...others] = contenders.map(({ name }, place) => ({
    name,
    latency: median(times[place]),
    rate: median(rates[place]),
  }));
  const what = `${query.name}, ${roots.length} ${roots.length === 1 ? 'root' : 'roots'}`;
  for (const { name, latency, rate } of others) {
    const [n, m] = [times[0].length, rates[0].length];
    context.rows.push(
      row(`gateway, ${what}: ms added to ${name}`, whole.latency - latency, { goal: 'gateway-time', n, note: `${short(whole.latency)} and ${short(latency)} ms` }), // prettier-ignore
      row(`gateway, ${what}, beside ${name}`, whole.rate, { limit: rate, unit: '/s', goal: 'gateway-rate', n: m }),
    );
  }
}

/** Milliseconds. */
const WARMING = 1_500;

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
