// Non-interference (docs/queries.md "What stays hidden"): an actor's answers do not change by a byte when records that
// are invisible to that actor come, go or change, whatever they hold and however the planner reads them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Actor, FAMILIES, type Family, unrestrictedPolicy } from '../../engine/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { sql } from '../../server/db/sql.js';
import { PLANNER_SETTINGS } from '../../server/db/session-settings.js';
import { anyInstant, pathOf } from '../engine/oracle/worlds.js';
import { holds, inOrder, type Json } from '../server/query/oracle/evaluate.js';
import { LEAKING, TELLING } from '../support/broken-doors.js';
import {
  type Answer,
  type Ask,
  type Asker,
  type HttpDoors,
  type Kind,
  openDoors,
  openHttpDoors,
} from '../support/query-doors.js';
import { allIncludes } from '../support/included-oracle.js';
import { anyContext, anyFamily, type Envelope, envelopeOf } from '../support/query-envelopes.js';
import { isOpen, mayRead, namespaceOf, visibleOf } from '../support/query-oracle.js';
import {
  anyQueryWorld,
  compiled,
  exchange,
  idOf,
  likelyActor,
  PLACES,
  recordOf,
  settle,
} from '../support/query-worlds.js';
import { type OpenedStore, testStores } from '../support/stores.js';
import { type Often, shrinkingFor, stopwatch, testRuns } from '../support/test-runs.js';

/** Milliseconds for which a failing case is made smaller. */
const SHRINKING = 400_000;

/** One actor who asks several things of one reach, and what becomes of the records that are invisible there. */
interface Pair {
  readonly records: readonly Json[];
  readonly asker: Asker;
  readonly envelopes: readonly Envelope[];
  readonly change: Change;
  /** Whether what the records name is asked for, too. Then nothing changes that the actor may read anywhere. */
  readonly includes: boolean;
}

interface Change {
  /** By the place of an invisible record in their list: gone, or another one in its stead with the same id. */
  readonly fates: readonly ('stays' | 'goes' | Json)[];
  readonly added: readonly Json[];
  /** The record of the context itself: goes if it is there and comes if it is not, unless the actor may know of it. */
  readonly context: Json;
  /** Properties that only SQL can write, given to every third invisible record. */
  readonly poison: string;
}

const POISON = [
  '{"rank": 1e400, "label": "\\\\u0000", "deep": {"a": [1e400]}}',
  '{"rank": "1e400", "label": 9007199254740993, "deep": "\\\\ud800"}',
  '{"rank": -1e-400, "label": [[[[]]]], "deep": {"a": {"b": {"c": null}}}}',
  '{"rank": {"rank": 1}, "label": "NaN", "deep": {"a": {"b": "Infinity"}}}',
  '{"": 0, "a.b": 1, "__proto__": {"rank": 2}, "rank": "0x10", "deep": true}',
];

const anyRecord = fc.constantFrom(...FAMILIES).chain((family) => recordOf(family, PLACES));
const fate = fc.oneof(fc.constant('stays' as const), fc.constant('goes' as const), anyRecord);

const pair: fc.Arbitrary<Pair> = anyQueryWorld
  .chain((world) => {
    const look = fc.record({
      actor: likelyActor,
      // More often than elsewhere one that need not exist.
      context: fc.oneof(
        { weight: 3, arbitrary: anyContext(world) },
        { weight: 1, arbitrary: fc.constantFrom(...PLACES).map(pathOf) },
      ),
      reach: fc.constantFrom('lineage' as const, 'exact' as const, 'subtree' as const),
    });
    return fc.record({
      world: fc.constant(world),
      at: anyInstant,
      family: anyFamily(world),
      looks: fc.tuple(look, look, look),
    });
  })
  .chain(({ world: { set, records }, at, family, looks }) => {
    const policy = compiled(set);
    const askerOf = (actor: Actor): Asker => ({
      actor,
      at,
      policy: actor.kind === 'local' ? unrestrictedPolicy() : policy,
    });
    const all = records.filter((record) => record['family'] === family);
    // Preferably a look at some of the records, to which others are hidden.
    const seesSome = ({ actor, context, reach }: (typeof looks)[number]): boolean => {
      const seen = visibleOf(all, askerOf(actor), { family, namespace: context, reach }).length;
      return seen > 0 && seen < all.length;
    };
    const { actor, context, reach } = looks.find(seesSome) ?? looks[0];
    const envelope = envelopeOf(family, fc.constant(context)).map((other): Envelope => ({ ...other, reach }));
    return fc
      .record({
        envelopes: fc
          .array(envelope, { minLength: 1, maxLength: 2, size: 'max' })
          // One is asked without a condition, too: it shows the most.
          .map((list) => [...list.slice(0, 1).map((first): Envelope => ({ ...first, where: {} })), ...list]),
        fates: fc.array(fate, { maxLength: 60, size: 'max' }),
        // Many of the family, so that one of them would often have come first.
        added: fc.array(fc.oneof(anyRecord, recordOf(family, PLACES), recordOf(family, PLACES)), {
          minLength: 20,
          maxLength: 40,
          size: 'max',
        }),
        context: recordOf('namespace', [context]),
        poison: fc.constantFrom(...POISON),
        includes: fc.boolean(),
      })
      .map(({ envelopes, includes, ...change }): Pair => ({
        records,
        asker: askerOf(actor),
        envelopes,
        change,
        includes,
      }));
  });

/** Whether no answer may depend on the record: not its own visibility in the reach, nor that of the context itself. */
function isInvisible(record: Json, { asker, envelopes: [envelope], includes }: Pair): boolean {
  if (envelope === undefined) return false;
  const target = namespaceOf(record);
  const isContext = record['family'] === 'namespace' && target === envelope.namespace;
  if (isContext && mayRead(asker, 'namespace:read', target).decision === 'allow') return false;
  if (includes && mayRead(asker, `${record['family'] as Family}:read`, target).decision === 'allow') return false;
  return record['family'] !== envelope.family || !isOpen(asker, envelope, target);
}

interface Rewritten {
  readonly gone: readonly Json[];
  readonly come: readonly Json[];
}

/** What the change does to the store: nothing visible goes and nothing visible comes. */
function rewrite(pair: Pair): Rewritten {
  const { records, change } = pair;
  // The root's record always exists.
  const invisible = records.filter((record) => isInvisible(record, pair) && !isRoot(record));
  const gone = invisible.filter(
    (record, index) => isSame(record, change.context) || (change.fates[index] ?? 'stays') !== 'stays',
  );
  const staying = records.filter((record) => !gone.includes(record));
  const places = new Set(staying.flatMap(({ family, namespace }) => (family === 'namespace' ? [namespace] : [])));
  const replaced = invisible.flatMap((record, index): readonly Json[] => {
    const becomes = change.fates[index];
    return typeof becomes === 'object' ? [{ ...becomes, id: record['id'] }] : [];
  });
  const news = records.some((record) => isSame(record, change.context)) ? [] : [change.context];
  const added = [...news, ...change.added].map((record, index): Json => ({
    ...record,
    id: idOf(`add${index.toString(16)}`),
  }));
  const come = [...replaced, ...added].filter((record) => {
    if (!isInvisible(record, pair)) return false;
    if (record['family'] !== 'namespace') return true;
    if (places.has(record['namespace'])) return false;
    places.add(record['namespace']);
    return true;
  });
  return { gone, come };
}

function isRoot({ family, namespace }: Json): boolean {
  return family === 'namespace' && namespace === '/';
}

function isSame(record: Json, context: Json): boolean {
  return record['family'] === 'namespace' && record['namespace'] === context['namespace'];
}

async function apply(db: Database, rewritten: Rewritten, poison: string): Promise<void> {
  await exchange(db, rewritten);
  const poisoned = rewritten.come.filter((_, index) => index % 3 === 0).map(({ id }) => String(id));
  await db.knex.raw('UPDATE records SET properties = ?::jsonb WHERE id = ANY(?::uuid[])', [poison, poisoned]);
}

interface Request {
  readonly kind: Kind;
  readonly body: unknown;
}

/** What every envelope is asked as: in pages, counted, and wrongly in several ways. */
function requestsOf(envelope: Envelope, includes: boolean): readonly Request[] {
  const { orderBy: _, select: __, ...counted } = envelope;
  const where = { and: [envelope.where, { 'properties.rank': { gte: 0 } }] };
  const included = { ...envelope, includes: allIncludes(envelope.family), page: { size: 500 } };
  return [
    ...(includes ? [{ kind: 'query' as const, body: included }] : []),
    { kind: 'count', body: counted },
    { kind: 'aggregate', body: { ...counted, values: [{ count: true }, { sum: 'properties.rank' }] } },
    { kind: 'aggregate', body: { ...counted, groupBy: 'properties.label', values: [{ max: 'properties.deep' }] } },
    { kind: 'aggregate', body: { ...counted, groupBy: 'name', values: [{ min: 'createdAt' }, { max: 'namespace' }] } },
    { kind: 'query', body: { ...envelope, page: { size: 0 } } },
    { kind: 'query', body: { ...envelope, page: { size: 500 } } },
    { kind: 'query', body: { ...envelope, where, orderBy: [{ 'properties.rank': 'desc' }], page: { size: 2 } } },
    { kind: 'query', body: { ...envelope, page: { size: 1, after: 'AQ' } } },
    { kind: 'query', body: { ...envelope, orderBy: [{ properties: 'asc' }] } },
    { kind: 'count', body: { ...counted, where: { 'properties.rank': { gt: 'a', startsWith: 1 } } } },
    { kind: 'count', body: { ...counted, namespace: `${envelope.namespace}//` } },
  ];
}

const PAGES = 4;

/** All answers in order, and for the pages the cursors that led to them. */
async function answers(ask: Ask, { asker, envelopes, includes }: Pair): Promise<readonly Answer[]> {
  const got: Answer[] = [];
  for (const envelope of envelopes) {
    for (const { kind, body } of requestsOf(envelope, includes)) got.push(await ask(asker, kind, body));
    let after: string | null = null;
    for (let page = 0; page < PAGES; page += 1) {
      const answer = await ask(asker, 'query', { ...envelope, page: { size: 1, after } });
      got.push(answer);
      after = nextOf(answer);
      if (after === null) break;
    }
  }
  return got;
}

function nextOf({ status, text }: Answer): string | null {
  if (status !== 200) return null;
  return (JSON.parse(text) as { readonly page: { readonly next: string | null } }).page.next;
}

function newTally() {
  return {
    pairs: 0,
    requests: 0,
    changed: 0,
    withItems: 0,
    turned: 0,
    /** Pairs where an invisible record would have been the first item of an answer, had it been visible. */
    tempting: 0,
    /** Pairs with answers while the context itself came or went. */
    homeless: 0,
    statuses: new Map<number, number>(),
  };
}

type Tally = ReturnType<typeof newTally>;

function note(pair: Pair, { gone, come }: Rewritten, got: readonly Answer[], tally: Tally): void {
  tally.pairs += 1;
  tally.requests += 2 * got.length;
  tally.changed += gone.length + come.length;
  for (const { status } of got) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
  const moved = [...gone, ...come].some((record) => isSame(record, pair.change.context));
  if (moved && got.some(({ status }) => status === 200)) tally.homeless += 1;
  if (got.some(({ text }) => text.includes('"items":[{'))) tally.withItems += 1;
  if (got.some((answer) => nextOfQuery(answer) !== null)) tally.turned += 1;
  if (pair.envelopes.some((envelope) => isTempting(pair, envelope, come))) tally.tempting += 1;
}

function nextOfQuery(answer: Answer): string | null {
  return answer.text.includes('"page":') ? nextOf(answer) : null;
}

function isTempting({ records, asker }: Pair, envelope: Envelope, come: readonly Json[]): boolean {
  const wanted = (record: Json): boolean => record['family'] === envelope.family && holds(envelope.where, record);
  const visible = visibleOf(records, asker, envelope).filter(wanted);
  const hidden = come.filter(wanted);
  return visible.length > 0 && hidden.includes(inOrder([...visible, ...hidden], envelope.orderBy)[0] ?? {});
}

/** Asks, lets the invisible change, asks again; every asker must be told the same each time. */
async function judge(
  db: Database,
  asks: readonly Ask[],
  { pair, tally }: { readonly pair: Pair; readonly tally: Tally },
): Promise<void> {
  await settle(db, pair.records);
  if (asks.length > 1) await db.knex.raw('ANALYZE records');
  const [first = [], ...others] = await inTurn(asks, (ask) => answers(ask, pair));
  for (const other of others) expect(other).toEqual(first);
  const rewritten = rewrite(pair);
  await apply(db, rewritten, pair.change.poison);
  for (const after of await inTurn(asks, (ask) => answers(ask, pair))) expect(after).toEqual(first);
  note(pair, rewritten, first, tally);
}

async function inTurn<A, B>(list: readonly A[], work: (one: A) => Promise<B>): Promise<readonly B[]> {
  const done: B[] = [];
  for (const one of list) done.push(await work(one));
  return done;
}

/** What the planner may be forbidden or allowed; the embedded engine is one backend, where a setting would be everyone's. */
const TOGGLES = ['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'nestloop', 'sort', 'material', 'memoize'];

for (const store of testStores()) {
  describe(`on the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    let doors: Ask;
    let http: HttpDoors;
    let toggled: readonly Toggled[] = [];

    beforeAll(async () => {
      opened = await store.open();
      db = opened.database;
      await migrate(db);
      doors = await openDoors(db);
      http = await openHttpDoors(db);
      toggled = await inTurn(store.name === 'postgres' ? TOGGLES : [], (name) => openToggled(opened, name));
    });
    afterAll(async () => {
      for (const other of toggled) await other.db.close();
      await http.close();
      await opened.dispose();
    });

    const prove = async (what: string, asks: readonly Ask[], often: Often): Promise<void> => {
      const tally = newTally();
      const runs = testRuns(often);
      const told = stopwatch(`non-interference ${what} on ${store.name}`, runs);
      await fc.assert(
        fc.asyncProperty(pair, (one) => judge(db, asks, { pair: one, tally })),
        shrinkingFor(SHRINKING, runs),
      );
      told(tally.pairs, tally.requests, { ...tally, statuses: [...tally.statuses] });
      expectPlausible(tally);
    };

    it('answers at the doors do not change with what is invisible', async () => {
      await prove(
        'at the doors',
        [doors],
        store.name === 'postgres' ? { usual: 10, deep: 150 } : { usual: 3, deep: 60 },
      );
    });

    it('answers over HTTP, headers included, do not change with what is invisible', async () => {
      await prove('over HTTP', [http.ask], { usual: 2, deep: 8 });
    });

    if (store.name === 'postgres') {
      it('nor do they change with what the planner may do', async () => {
        expect(toggled).toHaveLength(TOGGLES.length);
        await prove('under every plan', [doors, ...toggled.map(({ ask }) => ask)], { usual: 2, deep: 12 });
      });
    }

    it.each([...LEAKING, ...TELLING].map((broken) => [broken.what, broken] as const))(
      'sees %s',
      async (_, { open }) => {
        const ask = await open(db);
        const tally = newTally();
        const result = await fc.check(
          fc.asyncProperty(pair, (one) => judge(db, [ask], { pair: one, tally })),
          { ...testRuns(0), numRuns: 60, plugins: [fc.unbiased()], endOnFailure: true },
        );
        expect(result.failed).toBe(true);
      },
    );
  });
}

interface Toggled {
  readonly db: Database;
  readonly ask: Ask;
}

/** The same store through a connection whose planner may not do what it usually may, or the other way round. */
async function openToggled({ config }: OpenedStore, name: string): Promise<Toggled> {
  const db = await openDatabase({ ...config, maxConnections: 1 });
  const doors = await openDoors(db);
  const setting = `enable_${name}`;
  const other = (PLANNER_SETTINGS.get(setting) ?? 'on') === 'on' ? 'off' : 'on';
  const askOnce = async (...asked: Parameters<Ask>): Promise<Answer | null> => {
    await db.read(sql`SELECT set_config(${setting}, ${other}, false)`);
    const answer = await doors(...asked);
    const [now] = await db.read<{ readonly value: string }>(sql`SELECT current_setting(${setting}) AS value`);
    return now?.value === other ? answer : null;
  };
  // The one connection that reads is replaced once it has prepared as much as it may. Another one has not, and is told, too.
  const ask: Ask = async (...asked) => {
    const answer = (await askOnce(...asked)) ?? (await askOnce(...asked));
    if (answer === null) throw new Error(`${setting} did not stay ${other}`);
    return answer;
  };
  return { db, ask };
}

function expectPlausible(tally: Tally): void {
  if (tally.pairs < 50) return;
  expect(tally.changed).toBeGreaterThan(20 * tally.pairs);
  for (const some of [tally.withItems, tally.turned]) expect(some).toBeGreaterThan(0.25 * tally.pairs);
  expect(tally.tempting).toBeGreaterThan(0.15 * tally.pairs);
  expect(tally.homeless).toBeGreaterThan(0.04 * tally.pairs);
  for (const status of [200, 400, 403, 404]) expect(tally.statuses.get(status) ?? 0).toBeGreaterThan(tally.pairs / 4);
}
