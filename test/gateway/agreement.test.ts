// Agreement on generated worlds (docs/meaning.md "Visibility"): all pages together hold, in one order and at any page
// size, exactly the records that `decide` allows one by one and that the slow evaluator matches. Counts agree, too.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Aggregated, aggregated } from '../server/query/oracle/aggregate.js';
import fc from 'fast-check';
import { oracleVisible } from '../engine/oracle/oracle.js';
import { pathOf, UNIVERSE } from '../engine/oracle/worlds.js';
import { type Json, selected } from '../server/query/oracle/evaluate.js';
import { LEAKING, LOSING } from '../support/broken-doors.js';
import {
  type Answer,
  type Ask,
  type Asker,
  asList,
  type HttpDoors,
  openDoors,
  openHttpDoors,
} from '../support/query-doors.js';
import { allIncludes, includedOf } from '../support/included-oracle.js';
import { type Envelope, EVERYTHING, noteUse } from '../support/query-envelopes.js';
import { defaultOf, expectedOf, isOpen, mayRead } from '../support/query-oracle.js';
import { PLACES, type QueryWorld } from '../support/query-worlds.js';
import { describeOnStores } from '../support/stores.js';
import { shrinkingFor, stopwatch, testRuns, times } from '../support/test-runs.js';
import { type Case, onScenes, type Scene, SHRINKING } from './agreement-scenes.js';

const SIZES = [1, 2, 3, 5, 16, 53, 100];
/** Of pages of several hundred roots, which take long. */
const CROWD_SIZES = SIZES.filter((_, index) => index % times({ usual: 3, deep: 1 }) === 0);
/** A size that would need more pages than this for an answer is left to smaller answers. */
const MAX_PAGES = 24;
/** What was met on the way: a comparison of empty answers would prove nothing. */
function newTally() {
  return {
    cases: 0,
    statements: 0,
    'authz.denied': 0,
    'namespace.not_found': 0,
    nonEmpty: 0,
    /** Cases that show some of a family's records and not all. */
    partly: 0,
    /** Those of several hundred roots. */
    crowded: 0,
    /** By page size, the answers that took more than one page. */
    turned: new Map<number, number>(),
    used: new Set<string>(),
  };
}

type Tally = ReturnType<typeof newTally>;

async function judge(
  ask: Ask,
  { set, records, crowd }: QueryWorld,
  { asker, envelope }: Case,
  tally: Tally,
): Promise<void> {
  const expected = expectedOf(records, asker, envelope);
  const refusal = refusalOf({ set, records, crowd }, { asker, envelope });
  const { orderBy: _, select: __, ...counted } = envelope;
  const includes = allIncludes(envelope.family);
  const whole = await ask(asker, 'query', { ...envelope, includes, page: { size: 500 } });
  const count = await ask(asker, 'count', counted);
  const summary = summaryOf(envelope);
  const groups = await ask(asker, 'aggregate', { ...counted, ...summary });
  tally.cases += 1;
  tally.statements += 3;
  noteUse(envelope, tally.used);
  if (refusal !== null) {
    expect([told(whole), told(count), told(groups)]).toEqual([refusal, refusal, refusal]);
    tally[refusal.code] += 1;
    return;
  }
  expect(asList(whole).items).toEqual(expected.map((record) => selected(record, envelope.select)));
  const included = includedOf(records, asker, { family: envelope.family, items: expected, includes });
  expect((JSON.parse(whole.text) as Json)['included']).toEqual(included);
  for (const [name, shown] of Object.entries(included))
    if (Object.keys(shown as Json).length > 0) tally.used.add(`includes ${name}`);
  expect([count.status, (JSON.parse(count.text) as Json)['count']]).toEqual([200, expected.length]);
  expect([groups.status, (JSON.parse(groups.text) as Json)['groups']]).toEqual([200, aggregated(expected, summary)]);
  const ids = expected.map(({ id }) => id);
  for (const size of crowd.length > 0 ? CROWD_SIZES : SIZES) {
    const turns = Math.max(1, Math.ceil(expected.length / size));
    if (turns > MAX_PAGES) continue;
    const pages = await readThrough(ask, asker, { body: { ...envelope, select: ['id'] }, size, turns });
    expect({ size, ids: pages.flat() }).toEqual({ size, ids });
    expect(pages).toHaveLength(turns);
    tally.statements += turns;
    if (turns > 1) tally.turned.set(size, (tally.turned.get(size) ?? 0) + 1);
  }
  if (expected.length === 0) return;
  tally.nonEmpty += 1;
  if (crowd.length > 0) tally.crowded += 1;
  if (records.filter(({ family }) => family === envelope.family).length > expected.length) tally.partly += 1;
}

/** By the first field of the order, with the extremes of the others. */
function summaryOf({ orderBy }: Envelope): Aggregated {
  const [groupBy, ...others] = orderBy.flatMap((key) => Object.keys(key));
  const values = ['properties.rank', ...others.slice(0, 3)].flatMap((field) => [{ min: field }, { max: field }]);
  return {
    ...(groupBy === undefined ? {} : { groupBy }),
    values: [{ count: true }, { sum: 'properties.rank' }, ...values],
  };
}

interface Refusal {
  readonly status: number;
  readonly code: 'authz.denied' | 'namespace.not_found';
  readonly step?: string | undefined;
}

/**
 * Where nothing is open the query is denied; who may know that the context does not exist is told so (docs/meaning.md "What
 * does not exist").
 */
function refusalOf(
  { set, records, crowd }: Pick<QueryWorld, 'set' | 'records' | 'crowd'>,
  { asker, envelope }: Case,
): Refusal | null {
  const { family, namespace, reach = defaultOf(family) } = envelope;
  const universe = [
    ...UNIVERSE,
    ...PLACES.flatMap((place) => [pathOf(place), pathOf(`${place === '/' ? '' : place}/z`)]),
    ...crowd.map(pathOf),
    namespace,
  ];
  const request = { family, context: namespace, reach };
  const open = universe.filter((place) => isOpen(asker, envelope, place));
  // `decide` is itself held against docs/meaning.md read aloud.
  const slowly = oracleVisible(set, { actor: asker.actor, request, at: asker.at, universe });
  expect(open).toEqual(universe.filter((place) => slowly.has(place)));
  if (open.length === 0) {
    const atContext = mayRead(asker, `${family}:read`, namespace);
    return { status: 403, code: 'authz.denied', step: atContext.decision === 'deny' ? atContext.step : 'allowed' };
  }
  const exists = records.some((record) => record['family'] === 'namespace' && record['namespace'] === namespace);
  if (exists || mayRead(asker, 'namespace:read', namespace).decision === 'deny') return null;
  return { status: 404, code: 'namespace.not_found', step: undefined };
}

function told({ text }: Answer): Refusal {
  const { status, code, step } = JSON.parse(text) as Refusal;
  return { status, code, step };
}

async function readThrough(
  ask: Ask,
  asker: Asker,
  { body, size, turns }: { readonly body: Envelope; readonly size: number; readonly turns: number },
): Promise<readonly (readonly unknown[])[]> {
  const pages: (readonly unknown[])[] = [];
  let after: string | null = null;
  do {
    const { items, page } = asList(await ask(asker, 'query', { ...body, page: { size, after } }));
    pages.push(items.map(({ id }) => id));
    after = page.next;
  } while (after !== null && pages.length <= turns);
  return pages;
}

/** Several cases at once: as many as there are connections. */
async function judgeAll(ask: Ask, { cases, ...world }: Scene, { tally, lanes }: Judging): Promise<void> {
  const left = [...cases];
  const lane = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await judge(ask, world, next, tally);
  };
  // All of them end before the next world comes.
  const ended = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

interface Judging {
  readonly tally: Tally;
  readonly lanes: number;
}

describeOnStores('agreement', (store) => {
  let http: HttpDoors;
  let doors: Ask;
  const lanes = store.name === 'postgres' ? 4 : 1;

  beforeAll(async () => {
    doors = await openDoors(store.db);
    http = await openHttpDoors(store.db);
  });
  afterAll(async () => {
    await http.close();
  });

  it('pages of every size, counts and single decisions agree', async () => {
    const tally = newTally();
    const runs = testRuns(store.name === 'postgres' ? { usual: 5, deep: 240 } : { usual: 1, deep: 60 });
    const told = stopwatch(`agreement at the doors on ${store.name}`, runs);
    await fc.assert(
      onScenes(store.db, (one) => judgeAll(doors, one, { tally, lanes })),
      shrinkingFor(SHRINKING, runs),
    );
    told(tally.cases, tally.statements, { ...tally, turned: [...tally.turned], used: tally.used.size });
    expectPlausible(tally, runs.numRuns);
  });

  it('over HTTP answers are those of the doors', async () => {
    const tally = newTally();
    const runs = testRuns({ usual: store.name === 'postgres' ? 2 : 1, deep: 4 });
    const told = stopwatch(`agreement over HTTP on ${store.name}`, runs);
    const both: Ask = async (asker, kind, body) => {
      const answer = await http.ask(asker, kind, body);
      const { status, text } = await doors(asker, kind, body);
      expect({ status: answer.status, text: answer.text }).toEqual({ status, text });
      return answer;
    };
    await fc.assert(
      onScenes(store.db, (one) => judgeAll(both, one, { tally, lanes: 1 })),
      shrinkingFor(SHRINKING, runs),
    );
    told(tally.cases, tally.statements, { ...tally, turned: [...tally.turned], used: tally.used.size });
  });

  it.each([...LEAKING, ...LOSING].map((broken) => [broken.what, broken] as const))('sees %s', async (_, { open }) => {
    const ask = await open(store.db);
    const judging = { tally: newTally(), lanes: 1 };
    const result = await fc.check(
      onScenes(store.db, (one) => judgeAll(ask, one, judging)),
      { ...testRuns(0), numRuns: 60, plugins: [fc.unbiased()], endOnFailure: true },
    );
    expect(result.failed).toBe(true);
  });
});

const INCLUDED = ['namespace', 'parent', 'template', 'copiedFrom', 'slots', 'resources'].map(
  (name) => `includes ${name}`,
);

/** Neither all nor nothing was visible, every size turned pages, and everything that an envelope can say was said. */
function expectPlausible(tally: Tally, worlds: number): void {
  if (worlds < 50) return;
  expect(tally['authz.denied']).toBeLessThan(0.6 * tally.cases);
  for (const some of [tally['authz.denied'], tally.nonEmpty, tally.partly]) {
    expect(some).toBeGreaterThan(0.15 * tally.cases);
  }
  expect(tally['namespace.not_found']).toBeGreaterThan(0.02 * tally.cases);
  expect(SIZES.filter((size) => (tally.turned.get(size) ?? 0) < 3)).toEqual([]);
  expect(tally.crowded).toBeGreaterThan(5);
  expect(EVERYTHING.filter((what) => !tally.used.has(what))).toEqual([]);
  // Rare: sixty worlds need not have every one of them.
  if (worlds >= 200) expect(INCLUDED.filter((what) => !tally.used.has(what))).toEqual([]);
}
