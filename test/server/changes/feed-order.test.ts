// The order of the feed. Transactions that commit late, out of the order of sequences, are never overtaken and never lost.
import { beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { FAMILIES, instantOf, LOCAL_ACTOR, resolveActor, ROOT, unrestrictedPolicy } from '../../../engine/index.js';
import { type Feed, type FeedPage, makeFeed } from '../../../server/changes/feed.js';
import { numberChanges, removeChanges } from '../../../server/changes/number-changes.js';
import { viewOf } from '../../../server/changes/view.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { describeOnStores } from '../../support/stores.js';
import { plant } from '../query/hostile-records.js';
import { until } from '../../support/until.js';

const CURSOR_KEY = Uint8Array.from({ length: 32 }, (_, index) => index);
const OWNER = { actorId: 'local', families: FAMILIES, namespace: ROOT };
const AT = instantOf(0);
const VIEW = viewOf(resolveActor(unrestrictedPolicy(), LOCAL_ACTOR), AT);

function read(feed: Feed, after: string | null, limit = 500): Promise<FeedPage> {
  return feed.read({ view: VIEW, at: AT, owner: OWNER, after, limit });
}

/** To the end of the feed. */
async function readAll(
  feed: Feed,
  from: string,
  limit = 500,
): Promise<{ readonly seen: string[]; readonly next: string }> {
  const seen: string[] = [];
  for (let after = from; ;) {
    const { items, next, isFull } = await read(feed, after, limit);
    for (const item of items)
      if (item.change !== 'rights') seen.push(`${item.id} ${String(item.revision)} ${item.change}`);
    after = next;
    if (!isFull) return { seen, next };
  }
}

const idOf = (index: number): string => `01900000-0000-7000-8000-0000000a${String(index).padStart(4, '0')}`;
const RECORDS = 24;
const bump = 'UPDATE records SET revision = revision + 1, updated_at = now() WHERE id = ? RETURNING revision';

describeOnStores('the order of the feed', (store) => {
  let db: Database;
  let feed: Feed;
  beforeAll(async () => {
    db = store.db;
    feed = makeFeed({ db, cursorKey: CURSOR_KEY });
    const template = { family: 'resource', namespace: '/a', name: 'x', revision: 1, createdBy: 'a', properties: {} };
    const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z', archivedAt: null };
    await plant(
      db,
      Array.from({ length: RECORDS }, (_, index) => ({ ...template, ...times, id: idOf(index) })),
    );
  });

  // The embedded store does one transaction at a time, and its folder has one owner.
  const itAtOnce = store.name === 'postgres' ? it : it.skip;

  itAtOnce('is that of commits, whatever numbers the changes drew', async () => {
    const { next: start } = await read(feed, null);
    const late = await db.knex.transaction();
    await late.raw(bump, [idOf(0)]);
    await db.knex.raw(bump, [idOf(1)]);
    const first = await readAll(feed, start);
    expect(first.seen).toEqual([`${idOf(1)} 2 changed`]);
    await late.commit();
    const second = await readAll(feed, first.next);
    expect(second.seen).toEqual([`${idOf(0)} 2 changed`]);
    expect((await readAll(feed, start)).seen).toEqual([...first.seen, ...second.seen]);
  });

  it('has in an answer what was written before the request, whoever gives it its place meanwhile', async () => {
    const { next: start } = await read(feed, null);
    // Between the look at what is pending and the numbering, another gateway does the latter.
    const overtaken = makeFeed({
      db: {
        ...db,
        write: async (work) => {
          await numberChanges(db, RECORDS);
          return db.write(work);
        },
      },
      cursorKey: CURSOR_KEY,
    });
    const [row] = (await db.knex.raw<{ rows: { revision: number }[] }>(bump, [idOf(2)])).rows;
    const { items, next } = await read(overtaken, start);
    expect(items).toMatchObject([{ change: 'changed', id: idOf(2), revision: row?.revision }]);
    await db.knex.raw(bump, [idOf(2)]);
    const { next: end } = await read(overtaken, null);
    expect((await read(feed, end)).items).toEqual([]);
    expect((await read(feed, next)).items).toHaveLength(1);
  });

  it('loses nothing of concurrent writers who commit late or never, and shows nobody anything out of order', async () => {
    const { next: start } = await read(feed, null);
    const committed: string[] = [];
    let isOver = false;
    const writer = async (number: number): Promise<void> => {
      for (let turn = 0; turn < 12; turn += 1) {
        const ids = [idOf((number * 5 + turn) % RECORDS), idOf((number * 7 + turn * 3) % RECORDS)].sort();
        const isGivenUp = (number + turn) % 5 === 0;
        const done: string[] = [];
        const work = inTransaction(db.knex, async (transaction) => {
          for (const id of new Set(ids)) {
            const { rows } = await transaction.raw<{ rows: { revision: number }[] }>(bump, [id]);
            done.push(`${id} ${String(rows[0]?.revision)} changed`);
            await sleep(((number * 31 + turn * 17) % 7) * 2);
          }
          if (isGivenUp) throw new Error('given up');
        });
        await work.then(
          () => committed.push(...done),
          (error: unknown) => {
            if (!isGivenUp) throw error;
          },
        );
      }
    };
    // One who reads while they write, in small pages, and one who reads all of it afterwards.
    const follow = async (limit: number): Promise<readonly string[]> => {
      const seen: string[] = [];
      for (let after = start; ;) {
        const more = await readAll(feed, after, limit);
        seen.push(...more.seen);
        after = more.next;
        // What is committed is numbered soon after, by whoever has the lock.
        if (isOver && seen.length >= committed.length) return seen;
        await sleep(3);
      }
    };
    const followers = [follow(3), follow(500)];
    await Promise.all(Array.from({ length: 8 }, (_, number) => writer(number)));
    isOver = true;
    const [few, many] = await Promise.all(followers);
    const { seen: later } = await readAll(feed, start);
    expect([...later].sort()).toEqual([...committed].sort());
    expect(few).toEqual(later);
    expect(many).toEqual(later);
    const last = new Map<string, number>();
    for (const one of later) {
      const [id = '', revision] = one.split(' ');
      expect(Number(revision)).toBeGreaterThan(last.get(id) ?? 0);
      last.set(id, Number(revision));
    }
  });

  itAtOnce('is the same in another process', async () => {
    const { next: start } = await read(feed, null);
    await db.knex.raw(bump, [idOf(3)]);
    const other = await openDatabase(store.config);
    try {
      expect((await readAll(makeFeed({ db: other, cursorKey: CURSOR_KEY }), start)).seen).toHaveLength(1);
    } finally {
      await other.close();
    }
    expect((await readAll(feed, start)).seen).toHaveLength(1);
  });

  it('shows what was removed and created, and one item for a row that was replaced', async () => {
    const { next: start } = await read(feed, null);
    await db.knex.raw('UPDATE records SET archived_at = now() WHERE id = ?', [idOf(4)]);
    await db.knex.raw('UPDATE records SET archived_at = NULL WHERE id = ?', [idOf(4)]);
    await db.knex.raw("UPDATE records SET path = '/b/', revision = revision + 1 WHERE id = ?", [idOf(4)]);
    await db.knex.raw('DELETE FROM records WHERE id = ?', [idOf(4)]);
    const { items } = await read(feed, start);
    expect(items.map((item) => (item.change === 'rights' ? null : [item.change, item.namespace, item.from]))).toEqual([
      ['archived', '/a', undefined],
      ['restored', '/a', undefined],
      ['moved', '/b', '/a'],
      ['deleted', '/b', undefined],
    ]);
  });

  it('is read in the turns of its reader, and ends itself where the store cannot stop it', async () => {
    const { next: start } = await read(feed, null);
    await db.knex.raw(bump, [idOf(10)]);
    const askers = new Set<unknown>();
    const noted: Database['read'] = (statement, options) => {
      askers.add(options?.asker);
      return db.read(statement, options);
    };
    const within = (longestQuery: number): Feed =>
      makeFeed({ db: { ...db, read: noted, readReplica: noted, longestQuery }, cursorKey: CURSOR_KEY });
    const { items, next } = await read(within(60_000), start);
    expect(items).toMatchObject([{ change: 'changed', id: idOf(10) }]);
    expect((await read(within(60_000), null)).items).toEqual([]);
    expect(askers).toEqual(new Set([OWNER.actorId]));
    // A statement may end within the millisecond in which it began.
    const isLate = async (after: string): Promise<boolean> =>
      read(within(0), after).then(
        () => false,
        (error: unknown) => error instanceof Error && 'code' in error && error.code === '2203A',
      );
    for (const after of [start, next]) await until(() => isLate(after));
  });

  it('refuses a cursor whose changes are gone, in words that say how to begin anew', async () => {
    const { next: start } = await read(feed, null);
    await db.knex.raw(bump, [idOf(5)]);
    await db.knex.raw(bump, [idOf(6)]);
    const { next: end } = await readAll(feed, start);
    await removeChanges(db, { keep: 60_000_000, rows: 1 });
    await expect(read(feed, start)).rejects.toMatchObject({
      code: 'changes.expired',
      message: expect.stringContaining('read everything again') as unknown,
    });
    // The last one that was removed may still be the last that somebody has seen.
    expect((await read(feed, end)).items).toEqual([]);
    const brief = makeFeed({ db, cursorKey: CURSOR_KEY, retention: { keep: 5, rows: 1_000 } });
    const { next } = await read(brief, null);
    await sleep(20);
    await expect(read(brief, next)).rejects.toMatchObject({ code: 'changes.expired' });
    // It is as old as it is, whether anything has happened since or not.
    expect((await read(feed, next)).items).toEqual([]);
  });

  it('finds out that the store has lost its end and given the same places again', async () => {
    await db.knex.raw(bump, [idOf(7)]);
    const { next: start } = await read(feed, null);
    await db.knex.raw(bump, [idOf(8)]);
    const { next } = await readAll(feed, start);
    const mark = (
      await db.knex.raw<{ rows: { mark: number }[] }>('SELECT mark FROM changes ORDER BY position DESC LIMIT 2')
    ).rows;
    await db.knex.raw('DELETE FROM changes WHERE position = (SELECT position FROM changes_head)');
    await db.knex.raw('UPDATE changes_head SET position = position - 1, mark = ?', [mark[1]?.mark ?? 0]);
    await db.knex.raw(bump, [idOf(9)]);
    expect((await readAll(feed, start)).seen).toHaveLength(1);
    await expect(read(feed, next)).rejects.toMatchObject({ code: 'changes.expired' });
  });

  it('begins anew after TRUNCATE', async () => {
    const { next: start } = await read(feed, null);
    await db.knex.raw('TRUNCATE records CASCADE');
    await expect(read(feed, start)).rejects.toMatchObject({ code: 'changes.expired' });
    const { next } = await read(feed, null);
    expect((await read(feed, next)).items).toEqual([]);
  });
});
