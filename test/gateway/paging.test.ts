// Pages while records come and go (docs/queries.md "Pages"): each page is the next part of what exists when it is read.
// So records that stay are shown once, in order, and none is left out.
import { beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../../server/db/database.js';
import { pathOf } from '../engine/oracle/worlds.js';
import { holds, inOrder, type Json } from '../server/query/oracle/evaluate.js';
import { HOMES, isBelowA, READER, someResource } from '../support/one-reader.js';
import { type Ask, asList, openDoors } from '../support/query-doors.js';
import { type Envelope, envelopeOf } from '../support/query-envelopes.js';
import { exchange, idOf, settle, withIds } from '../support/query-worlds.js';
import { describeOnStores } from '../support/stores.js';
import { shrinkingFor, stopwatch, testRuns } from '../support/test-runs.js';

/** Milliseconds for which a failing case is made smaller. */
const SHRINKING = 200_000;

interface Turn {
  readonly size: number;
  /** What happens after the page: records that come, and which of those that are there go. */
  readonly come: readonly Json[];
  readonly go: readonly number[];
}

interface Motion {
  readonly records: readonly Json[];
  readonly envelope: Envelope;
  readonly turns: readonly Turn[];
}

const motion: fc.Arbitrary<Motion> = fc.record({
  records: fc.array(someResource, { minLength: 5, maxLength: 40, size: 'max' }).map(withIds),
  envelope: envelopeOf('resource', fc.constant(pathOf('/a'))).map((other): Envelope => ({
    ...other,
    reach: 'subtree',
  })),
  turns: fc.array(
    fc.record({
      size: fc.integer({ min: 1, max: 6 }),
      come: fc.array(someResource, { maxLength: 4 }),
      go: fc.array(fc.nat(60), { maxLength: 4 }),
    }),
    { minLength: 12, maxLength: 12 },
  ),
});

/** The page that must come after a record as it was when it was shown, whether it is still there or not. */
function pageAfter(records: readonly Json[], envelope: Envelope, last: Json | null): readonly Json[] {
  const asked = records.filter(
    (record) =>
      isBelowA(record) && (envelope.includeArchived || record['archivedAt'] === null) && holds(envelope.where, record),
  );
  if (last === null) return inOrder(asked, envelope.orderBy);
  const others = asked.filter(({ id }) => id !== last['id']);
  const ordered = inOrder([...others, last], envelope.orderBy);
  return ordered.slice(ordered.indexOf(last) + 1);
}

async function pageThroughMotion(db: Database, ask: Ask, { records, envelope, turns }: Motion): Promise<number> {
  await settle(db, [...HOMES, ...records]);
  let now = records;
  let last: Json | null = null;
  let after: string | null = null;
  const seen: unknown[] = [];
  for (const [turn, { size, come, go }] of turns.entries()) {
    const { items, page } = asList(await ask(READER, 'query', { ...envelope, select: ['id'], page: { size, after } }));
    const rest = pageAfter(now, envelope, last);
    const shown = rest.slice(0, size);
    expect(items).toEqual(shown.map(({ id }) => ({ id })));
    expect(page.next === null).toBe(rest.length <= size);
    seen.push(...shown.map(({ id }) => id));
    last = shown.at(-1) ?? last;
    after = page.next;
    if (after === null) break;
    const fresh = come.map((record, index): Json => ({
      ...record,
      id: idOf(`fff${turn.toString(16)}${index.toString(16)}`),
    }));
    const gone = new Set(now.filter((_, index) => go.includes(index)));
    await exchange(db, { gone: [...gone], come: fresh });
    now = [...now.filter((record) => !gone.has(record)), ...fresh];
  }
  expect(new Set(seen).size).toBe(seen.length);
  return seen.length;
}

describeOnStores('pages', (store) => {
  let ask: Ask;

  beforeAll(async () => {
    ask = await openDoors(store.db);
  });

  it('every page is the next part of what is there when it is read', async () => {
    const runs = testRuns(store.name === 'postgres' ? { usual: 40, deep: 80 } : { usual: 12, deep: 40 });
    const told = stopwatch(`paging under changes on ${store.name}`, runs);
    let items = 0;
    await fc.assert(
      fc.asyncProperty(motion, async (one) => {
        items += await pageThroughMotion(store.db, ask, one);
      }),
      shrinkingFor(SHRINKING, runs),
    );
    told(runs.numRuns, items, { items });
    expect(items).toBeGreaterThan(2 * runs.numRuns);
  });

  it('while others write, what stays comes once and in order', async () => {
    const stays = fc.sample(someResource, { seed: 1, numRuns: 150, unbiased: true }).map((record, index) => ({
      ...record,
      id: idOf(index.toString(16)),
      namespace: '/a/b',
      archivedAt: null,
    }));
    const moves = stays.map((record, index) => ({ ...record, id: idOf(`f${index.toString(16)}`) }));
    await settle(store.db, [...HOMES, ...stays, ...moves.slice(0, 75)]);
    let reading = true;
    const write = async (): Promise<number> => {
      let n = 0;
      for (; reading; n += 1) {
        const from = (n * 25) % 150;
        const batch = moves.slice(from, from + 25);
        await exchange(store.db, { gone: batch, come: (n + Math.floor(n / 6)) % 2 === 0 ? batch : [] });
      }
      return n;
    };
    const writing = write();
    const orderBy = [{ 'properties.rank': 'desc' }, { name: 'asc' }];
    const read = async (): Promise<readonly unknown[]> => {
      const found: unknown[] = [];
      let after: string | null = null;
      do {
        const body = { family: 'resource', namespace: '/a/b', orderBy, select: ['id'], page: { size: 7, after } };
        const { items, page } = asList(await ask(READER, 'query', body));
        found.push(...items.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      return found;
    };
    const [ids, written] = await Promise.all([
      read().finally(() => {
        reading = false;
      }),
      writing,
    ]);
    expect(written).toBeGreaterThan(2);
    const stable = new Set<unknown>(stays.map(({ id }) => id));
    expect(ids.filter((id) => stable.has(id))).toEqual(inOrder(stays, orderBy).map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(stays.length);
  });
});
