// The feed beside a replica that lags: whoever does as docs/feed.md says misses nothing, though queries are answered by what the replica has.
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_SCOPES, FAMILIES, instantOf, resolveActor, ROOT, type ScopeName } from '../../../engine/index.js';
import { type ChangeItem, type Feed, type FeedPage, makeFeed } from '../../../server/changes/feed.js';
import { type FeedView, viewOf } from '../../../server/changes/view.js';
import type { Database } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { policyOf } from '../../support/gateway.js';
import { findPostgres, runSql, type TestPostgres } from '../../support/postgres.js';
import { useReplicated } from '../../support/replicated.js';
import { times } from '../../support/test-runs.js';
import { until } from '../../support/until.js';

const LAG = 4_000;
const WRITES = times({ usual: 120, deep: 1_000 });
const OWNER = { actorId: 'ada', families: FAMILIES, namespace: ROOT };
const ADA = { provider: 'orcid', subject: 'ada' };
const READ: readonly ScopeName[] = ['resource:read'];

function viewOn(...namespaces: readonly string[]): FeedView {
  const policy = policyOf(namespaces.map((namespace) => [ADA, namespace, READ] as const));
  return viewOf(
    resolveActor(policy, { kind: 'key', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null }),
    instantOf(0),
  );
}

const withPostgres = findPostgres() === null ? describe.skip : describe;

withPostgres('the feed beside a replica', () => {
  const replicated = useReplicated(LAG);
  let replica: TestPostgres;
  let db: Database;
  let feed: Feed;
  beforeAll(() => {
    ({ replica, db } = replicated());
    feed = makeFeed({ db, cursorKey: new Uint8Array(32) });
  });

  /** What a query finds: on the replica, while that is no older than allowed. */
  const query = async (path: string): Promise<{ readonly ids: readonly string[]; readonly isReplica: boolean }> => {
    const rows = await db.readReplica<{ readonly id: string; readonly is: boolean }>(
      sql`SELECT r.id::text AS id, pg_is_in_recovery() AS is FROM records AS r WHERE r.path LIKE ${`${path}%`}::text
          UNION ALL SELECT '', pg_is_in_recovery()`,
    );
    return { ids: rows.map(({ id }) => id).filter((id) => id !== ''), isReplica: rows[0]?.is === true };
  };
  const create = async (path: string): Promise<string> => {
    const id = randomUUID();
    await db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
       VALUES (?, 2, ?, 'n', '{}', 1, now(), now(), 'test')`,
      [id, path],
    );
    return id;
  };
  const read = (view: FeedView, after: string | null): Promise<FeedPage> =>
    feed.read({ view, at: instantOf(0), owner: OWNER, after, limit: 500 });
  const ids = (items: readonly ChangeItem[]): readonly string[] =>
    items.flatMap((item) => (item.change === 'rights' ? [] : [item.id]));

  beforeEach(async () => {
    await runSql(replica.url, 'SELECT pg_wal_replay_resume()');
    while (!(await query('/a')).isReplica) await sleep(50);
  });

  it('gives whoever begins what the replica does not have yet', async () => {
    const view = viewOn('/a');
    await create('/a/');
    await runSql(replica.url, 'SELECT pg_wal_replay_pause()');
    const late = await create('/a/');
    const { items, next } = await read(view, null);
    const queried = await query('/a');
    expect([items, queried.isReplica, queried.ids.includes(late)]).toEqual([[], true, false]);
    // The replica answers the feed, too, unless it knows of a change without a place: then the primary does.
    await runSql(replica.url, 'SELECT pg_wal_replay_resume()');
    let cursor = next;
    await until(async () => {
      const page = await read(view, cursor);
      cursor = page.next;
      return ids(page.items).includes(late);
    });
    // Once everybody has it, nobody is given it again.
    await sleep(LAG + 100);
    expect((await read(view, (await read(view, null)).next)).items).toEqual([]);
  });

  it('gives whoever gains something what the replica does not have of it', async () => {
    const [before, after] = [viewOn('/a'), viewOn('/a', '/b')];
    const early = await create('/b/');
    await read(before, null);
    await sleep(LAG + 100);
    await runSql(replica.url, 'SELECT pg_wal_replay_pause()');
    // The cursor of somebody who has followed to the end, behind a change that it could not see.
    const start = (await read(before, null)).next;
    const late = await create('/b/');
    const known = await create('/a/');
    const cursor = await read(before, start);
    expect(ids(cursor.items)).toEqual([known]);
    const gained = await read(after, cursor.next);
    expect(gained.items[0]).toMatchObject({ change: 'rights', gained: [{ namespace: '/b' }] });
    const queried = await query('/b');
    expect([queried.isReplica, queried.ids]).toEqual([true, [early]]);
    // The replica answers the feed, too: what it does not have is in a later answer, whichever cursor of this one the client goes on from.
    await runSql(replica.url, 'SELECT pg_wal_replay_resume()');
    for (const from of [gained.next, gained.items[0]?.cursor ?? '']) {
      const seen = new Set(ids(gained.items));
      for (let cursorThen = from; !seen.has(late);) {
        const page = await read(after, cursorThen);
        for (const id of ids(page.items)) seen.add(id);
        cursorThen = page.next;
      }
      expect(seen).toContain(late);
    }
  });

  it('gives each change once and in order, while the replica stops and goes on', async () => {
    const view = viewOn('/a');
    await sleep(LAG + 100);
    let cursor = (await read(view, null)).next;
    const [written, seen]: [string[], string[]] = [[], []];
    const over = new AbortController();
    const toggle = (async (): Promise<void> => {
      for (let turn = 0; !over.signal.aborted; turn += 1) {
        await runSql(replica.url, `SELECT pg_wal_replay_${turn % 2 === 0 ? 'pause' : 'resume'}()`);
        await sleep(turn % 3 === 0 ? LAG + 500 : 300);
      }
    })();
    const write = (async (): Promise<void> => {
      for (let i = 0; i < WRITES; i += 1) {
        written.push(await create(i % 3 === 0 ? '/b/' : '/a/'));
        await sleep(40);
      }
    })();
    const isDone = write.finally(() => {
      over.abort();
    });
    for (let isLast = false; !isLast;) {
      isLast = over.signal.aborted;
      const page = await read(view, cursor);
      seen.push(...ids(page.items));
      cursor = page.next;
      await sleep(25);
    }
    await isDone;
    await toggle;
    await runSql(replica.url, 'SELECT pg_wal_replay_resume()');
    for (let page = await read(view, cursor); page.items.length > 0; page = await read(view, cursor)) {
      seen.push(...ids(page.items));
      cursor = page.next;
    }
    expect(seen).toEqual(written.filter((_, i) => i % 3 !== 0));
  });
});
