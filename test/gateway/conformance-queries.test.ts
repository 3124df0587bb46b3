// Every query case of the conformance suite against a running gateway: over HTTP, with API keys, on the embedded store
// and, if there is one, on a real PostgreSQL.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalize, instantOf, isScopeName, makeIdentity, type Policy, scopeSetOf } from '../../engine/index.js';
import { createKey } from '../../server/auth/api-keys.js';
import { type Gateway, startGateway } from '../../server/compose.js';
import { migrate } from '../../server/db/migrate.js';
import { loadDataset } from '../../server/load/load-dataset.js';
import { call, type Reply } from '../support/gateway.js';
import { loadNeutralPolicy } from '../support/neutral-policy.js';
import {
  datasetLines,
  type NeutralActor,
  type NeutralDataset,
  type NeutralQuery,
  type QueryCase,
  readQueryCases,
  toEnvelope,
  uuidsOf,
} from '../support/neutral-queries.js';
import { type OpenedStore, type TestStore, testStores } from '../support/stores.js';

const suite = readQueryCases();
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const NO_LIMITS = { perActor: 0, perAddress: 0, unauthenticated: 0 };

it('holds a plausible number of cases', () => {
  expect(suite.cases.length).toBeGreaterThan(80);
  expect(suite.errors.length).toBeGreaterThan(8);
  expect(suite.non_interference.cases.length).toBeGreaterThan(40);
});

for (const store of testStores()) {
  describe(`queries on the ${store.name} store`, () => {
    const rooms = new Map<string, Room>();
    beforeAll(async () => {
      for (const [name, dataset] of Object.entries(suite.datasets)) rooms.set(name, await openRoom(store, dataset));
    });
    afterAll(async () => {
      for (const room of rooms.values()) await room.close();
    });
    const ask = (
      dataset: string,
      { policy, actor, query }: Pick<QueryCase, 'policy' | 'actor' | 'query'>,
    ): Promise<Asked> => found(rooms.get(dataset)).ask({ policy, actor, query });

    it.each(suite.cases.map((one) => [one.id, one] as const))('%s', async (_, one) => {
      const { pages, count } = await ask(one.dataset, one);
      if (one.expect.read_gate !== undefined) {
        for (const reply of [found(pages[0]), count]) {
          expect([reply.status, reply.json?.['code'], reply.json?.['step']]).toEqual([
            403,
            'authz.denied',
            one.expect.read_gate,
          ]);
        }
        return;
      }
      const ids = uuidsOf(found(suite.datasets[one.dataset]));
      const expected = one.expect.page_ids.map((id) => found(ids.get(id)));
      const got = itemIds(found(pages.at(-1)));
      if (one.ordered || one.query.order !== undefined) expect(got).toEqual(expected);
      else expect([...got].sort()).toEqual([...expected].sort());
      expect([count.status, count.json?.['count']]).toEqual([200, one.expect.count]);
    });

    it.each(suite.errors.map((one) => [one.id, one] as const))('%s is a bad request', async (_, one) => {
      const { pages } = await ask(one.dataset, one);
      expect(found(pages[0]).status).toBe(400);
    });

    it.each(suite.non_interference.cases.map((id) => [id] as const))(
      '%s answers alike when only invisible records differ',
      async (id) => {
        const one = found(suite.cases.find((candidate) => candidate.id === id));
        const quiet = await ask(suite.non_interference.from, one);
        const noisy = await ask(suite.non_interference.to, one);
        expect(noisy.pages.map(comparable)).toEqual(quiet.pages.map(comparable));
        expect(comparable(noisy.count)).toEqual(comparable(quiet.count));
      },
    );

    it('denies alike where the namespace exists and where it does not', async () => {
      const gated = found(suite.cases.find((one) => one.expect.read_gate !== undefined && one.group === 'identities'));
      const here = await ask(gated.dataset, gated);
      const nowhere = await ask(gated.dataset, { ...gated, query: { ...gated.query, context: '/lab/nowhere' } });
      expect(comparable(found(nowhere.pages[0]))).toEqual(comparable(found(here.pages[0])));
    });
  });
}

interface Asked {
  /** The pages that were read to come to the asked one, which is the last. */
  readonly pages: readonly Reply[];
  readonly count: Reply;
}

/** A dataset in a store of its own, behind one gateway in serve mode and one in local mode. */
interface Room {
  readonly ask: (one: Pick<QueryCase, 'policy' | 'actor' | 'query'>) => Promise<Asked>;
  readonly close: () => Promise<void>;
}

async function openRoom(store: TestStore, dataset: NeutralDataset): Promise<Room> {
  const opened = await store.open();
  const db = opened.database;
  await migrate(db);
  const lines = datasetLines(dataset).map((text, index) => ({ number: index + 1, bytes: Buffer.from(text) }));
  const report = await loadDataset(db, oneGroup(lines), { onConflict: 'report', now: instantOf(0) });
  expect(report.faults).toEqual([]);
  const policies = new Map<string, Policy>();
  const served = await start(opened, {
    kind: 'serve',
    policy: loadNeutralPolicy({ identities: {}, roles: {}, grants: [] }),
  });
  const local = await start(opened, { kind: 'local' });
  const keys = new Map<string, string>();
  const ask: Room['ask'] = async ({ policy, actor, query }) => {
    const neutral = found(suite.actors[actor]);
    if (neutral.local === true) return askAll(local.address.port, undefined, toEnvelope(query, dataset), query);
    if (!policies.has(policy)) policies.set(policy, loadNeutralPolicy(found(suite.policies[policy])));
    served.policies.activate({ policy: found(policies.get(policy)) }, 'test');
    const known = keys.get(actor) ?? (await makeKey(opened, actor, neutral));
    keys.set(actor, known);
    return askAll(served.address.port, known, toEnvelope(query, dataset), query);
  };
  const close = async (): Promise<void> => {
    await served.close();
    await local.close();
    await opened.dispose();
  };
  return { ask, close };
}

async function* oneGroup<T>(lines: readonly T[]): AsyncGenerator<readonly T[]> {
  yield await Promise.resolve(lines);
}

function start(opened: OpenedStore, mode: Parameters<typeof startGateway>[0]['mode']): Promise<Gateway> {
  return startGateway({
    mode,
    db: opened.database,
    listen: { host: '127.0.0.1', port: 0 },
    rate: NO_LIMITS,
    concurrency: { perActor: 4 },
    log: silent,
  });
}

async function makeKey(opened: OpenedStore, name: string, actor: NeutralActor): Promise<string> {
  const made = await createKey(
    opened.database,
    {
      actor: name,
      identities: actor.identities.map(({ provider, subject }) => {
        const result = makeIdentity(provider, subject);
        if (!result.ok) throw new Error(result.fault);
        return result.identity;
      }),
      scopes: actor.scopes === 'all' ? null : scopeSetOf(actor.scopes.filter(isScopeName)),
      restrictions:
        actor.restrictions?.map((text) => {
          const result = canonicalize(text);
          if (!result.ok) throw new Error(result.fault);
          return result.path;
        }) ?? null,
      expires: null,
      admin: false,
    },
    instantOf(Date.now()),
  );
  return made.text;
}

/** The neutral page is an offset and a limit: the offset is read as a page first, then the cursor goes on. */
async function askAll(
  port: number,
  key: string | undefined,
  envelope: Readonly<Record<string, unknown>>,
  { page = {} }: NeutralQuery,
): Promise<Asked> {
  const send = (path: string, body: unknown): Promise<Reply> =>
    call(port, { path, body, ...(key === undefined ? {} : { key }) });
  const pages: Reply[] = [];
  let after: unknown = null;
  if (page.offset !== undefined && page.offset > 0) {
    const skipped = await send('/api/v1/query', { ...envelope, page: { size: page.offset } });
    pages.push(skipped);
    after = asPage(skipped)?.next ?? null;
  }
  const size = page.limit === undefined ? {} : { size: page.limit };
  pages.push(await send('/api/v1/query', { ...envelope, page: { ...size, ...(after === null ? {} : { after }) } }));
  const { orderBy: _, ...counted } = envelope;
  return { pages, count: await send('/api/v1/query/count', counted) };
}

function asPage(reply: Reply): { readonly next: unknown } | null {
  const page = reply.json?.['page'];
  return typeof page === 'object' && page !== null && 'next' in page ? page : null;
}

function itemIds(reply: Reply): readonly string[] {
  const items = reply.json?.['items'];
  if (!Array.isArray(items)) throw new Error(`no items: ${reply.text}`);
  return items.map((item: { readonly id: string }) => item.id);
}

/** What must not differ: everything but the request id, the date, cursors and what differs with the store's own clock. */
function comparable({ status, headers, text }: Reply): unknown {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  const body = text
    .replace(/"requestId":"[^"]*"/, '"requestId":"*"')
    .replace(/"next":"[^"]*"/, '"next":"*"')
    .replace(/"(createdAt|updatedAt)":"[^"]*"/g, '"$1":"*"');
  return { status, headers: { ...rest, 'content-length': body.length }, body };
}

function found<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('missing from the suite');
  return value;
}
