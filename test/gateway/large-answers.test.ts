// Questions whose answers would be large: what one request gets is bounded in bytes, and nobody else waits while it is made.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { instantOf } from '../../engine/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { sql } from '../../server/db/sql.js';
import { ASK_LIMITS } from '../../server/limits/http.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import {
  call,
  callAdmin,
  openGateway,
  type Reply,
  snapshotOf,
  type TestGateway,
  type TestGrant,
} from '../support/gateway.js';
import { longestTurn, type Turns } from '../support/longest-turn.js';
import { newDataDir, PATIENT } from '../support/stores.js';

/** Ada holds one thing by so many grants. Some others hold another by many with long reasons. */
const GRANTS = 4_000;
const OTHERS = 16;
const REASON = 'x'.repeat(1_000);
const { bytes, policy } = snapshotOf([
  ...Array.from({ length: GRANTS }, (): TestGrant => [
    { provider: 'orcid', subject: 'ada' },
    '/labs',
    ['resource:read'],
  ]),
  ...Array.from({ length: OTHERS * 600 }, (_, index): TestGrant => [
    { provider: 'orcid', subject: `other${String(index % OTHERS)}` },
    '/depot',
    ['resource:write'],
    REASON,
  ]),
]);

let dataDir: string;
let db: Database;
let open: TestGateway;
let key: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at: instantOf(Date.now()) });
  open = await openGateway({ db, mode: { kind: 'serve', policy }, admin: true });
  key = (await open.key({ actor: 'portal', identities: [], decide: true })).text;
});
afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const QUESTION = {
  actor: { identities: ['orcid:ada'] },
  request: { kind: 'access', scope: 'resource:read', target: '/labs' },
};

const askOnce = (verb: string, questions: number): Promise<Reply> =>
  call(open.port, { path: `/api/v1/${verb}`, key, body: { items: Array<object>(questions).fill(QUESTION) } });

/** Whether a busy machine kept the gateway from confirming its policy in time. Then waits as long as the answer says. */
async function wasLate({ json }: Reply): Promise<boolean> {
  if (json?.['code'] !== 'snapshot.unavailable') return false;
  await sleep(Number(json['retryAfter']) * 1_000);
  return true;
}

async function ask(verb: string, questions: number): Promise<Reply> {
  const reply = await askOnce(verb, questions);
  return (await wasLate(reply)) ? ask(verb, questions) : reply;
}

it.each(['decide', 'explain'])('the answers of one request to /%s have no more than so many bytes', async (verb) => {
  const one = await ask(verb, 1);
  expect(one.status).toBe(200);
  const most = Math.floor(ASK_LIMITS.answerBytes / JSON.stringify(one.json).length);
  const large = await ask(verb, most);
  expect(large.status).toBe(200);
  expect(large.json?.['results']).toHaveLength(most);
  const refused = await ask(verb, 1_000);
  expect(refused).toMatchObject({
    status: 413,
    json: {
      code: 'request.too_large',
      errors: [
        { pointer: '/items', message: 'the answers have more than 16 MiB together: ask fewer questions at once' },
      ],
    },
  });
});

async function turnsOfMany(): Promise<Turns<Reply>> {
  const turns = await longestTurn(() => askOnce('decide', 1_000));
  return (await wasLate(turns.done)) ? turnsOfMany() : turns;
}

it('nobody waits for all questions of another to be decided', async () => {
  const { longest, all } = await turnsOfMany();
  expect(longest).toBeLessThan(all / 2);
});

it('nobody waits for all keys to be listed', async () => {
  const [each, batches] = [1_000, [0, 1, 2, 3, 4, 5]];
  for (const batch of batches) {
    await db.write((writing) =>
      writing.rows(sql`INSERT INTO api_keys (id, actor, secret_hash, identities, restrictions, admin, created_at)
        SELECT lpad((${batch * each}::int + i)::text, 16, 'k'), 'ada', decode(repeat('00', 32), 'hex'), '[]', '["/labs"]', false, now()
        FROM generate_series(1, ${each}::int) i`),
    );
  }
  const { text: admin } = await open.key({ actor: 'root', identities: [], admin: true });
  const list = async (): Promise<void> => {
    const { status, json } = await callAdmin(open.admin?.port ?? 0, { path: '/admin/v1/keys', key: admin });
    expect(status).toBe(200);
    // With the two that are made here.
    expect(json?.['keys']).toHaveLength(each * batches.length + 2);
  };
  const { longest, all } = await longestTurn(list);
  expect(longest).toBeLessThan(all / 2);
});

it('a page ends before it has too many bytes, and the next goes on from there', async () => {
  const identities: unknown[] = [];
  let after: string | null = null;
  let pages = 0;
  do {
    const body = { scope: 'resource:write', namespace: '/depot', page: { size: OTHERS, after } };
    const { text } = await call(open.port, { path: '/api/v1/who-can', key, body });
    expect(text.length).toBeLessThan(ASK_LIMITS.pageBytes + 1_000);
    const page = JSON.parse(text) as { readonly identities: readonly { readonly identity: string }[] } & {
      readonly count: number;
      readonly page: { readonly next: string | null };
    };
    expect(page.count).toBe(OTHERS);
    identities.push(...page.identities.map(({ identity }) => identity));
    after = page.page.next;
    pages += 1;
  } while (after !== null);
  expect(pages).toBe(2);
  const all = Array.from({ length: OTHERS }, (_, index) => `orcid:other${String(index)}`);
  expect(identities).toEqual(all.sort());
});
