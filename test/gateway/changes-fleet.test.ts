// The feed of a fleet: one gateway of two processes and another beside it, on one PostgreSQL. Whoever asks another of them for each page
// gets each change once, in the order that all of them give.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { instantOf } from '../../engine/index.js';
import { createKey } from '../../server/auth/api-keys.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { call } from '../support/gateway.js';
import { takeDatabase, type TakenDatabase } from '../support/one-postgres.js';
import { findPostgres } from '../support/postgres.js';
import { type Served, startServing } from '../support/serve-process.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: feed\nproviders: { orcid: {} }\n',
  'grants.yaml': `grants:
  - { id: ada, identity: "orcid:ada", namespace: /a, scopes: [resource:read] }
  - { id: wes, identity: "orcid:wes", namespace: /, scopes: ["resource:*", "namespace:*"] }
`,
};
const WRITERS = 4;
const WRITES = 60;

const withPostgres = findPostgres() === null ? describe.skip : describe;

withPostgres('a fleet that shows one feed', () => {
  let taken: TakenDatabase;
  let db: Database;
  const fleet: Served[] = [];
  const keyOf = async (name: string): Promise<string> => {
    const who = { actor: name, identities: [{ provider: 'orcid', subject: name }] };
    const fields = { ...who, scopes: null, restrictions: null, expires: null, admin: false };
    return (await createKey(db, fields, instantOf(Date.now()))).text;
  };
  beforeAll(async () => {
    taken = await takeDatabase('empty');
    db = await openDatabase({ kind: 'external', url: taken.url });
    await migrate(db);
    for (const workers of [['--workers', '2'], []]) {
      const folder = await makeFolder({
        ...Object.fromEntries(Object.entries(POLICY).map(([name, text]) => [`policies/${name}`, text])),
        'bailiwick.yaml': 'audit: { folder: audit }\nadminSocket: admin.sock\n',
      });
      const settings = ['--config', join(folder, 'bailiwick.yaml'), '--policy', join(folder, 'policies')];
      fleet.push(await startServing(null, 'serve', '--database-url', taken.url, ...settings, ...workers));
    }
  });
  afterAll(async () => {
    for (const { child } of fleet) child.kill('SIGTERM');
    for (const { ended } of fleet) await ended;
    await db.close();
    await taken.drop();
  });

  // A request has a connection of its own, so it comes to any of the processes of a gateway.
  const portOf = (turn: number): number => fleet[turn % fleet.length]?.port ?? 0;

  it('gives a reader that hops between gateways and processes each change once, in one order', async () => {
    const [wes, ada] = [await keyOf('wes'), await keyOf('ada')];
    for (const path of ['/a', '/b'])
      await call(portOf(0), { method: 'PUT', path: `/api/v1/namespaces${path}`, key: wes, body: {} });
    const read = async (turn: number, after: string, limit: number): Promise<{ ids: string[]; next: string }> => {
      const path = `/api/v1/changes?limit=${String(limit)}${after === '' ? '' : `&after=${after}`}`;
      const { status, json } = await call(portOf(turn), { method: 'GET', path, key: ada });
      expect(status).toBe(200);
      const items = json?.['items'] as readonly { readonly id: string; readonly revision: number }[];
      return { ids: items.map(({ id, revision }) => `${id} ${String(revision)}`), next: String(json?.['next']) };
    };
    const start = (await read(0, '', 500)).next;
    const written: string[] = [];
    const over = new AbortController();
    const writer = async (number: number): Promise<void> => {
      for (let i = 0; i < WRITES; i += 1) {
        const namespace = i % 3 === 0 ? '/b' : '/a';
        const { status, json, headers } = await call(portOf(number + i), {
          path: '/api/v1/resources',
          key: wes,
          headers: { 'idempotency-key': `${String(number)}-${String(i)}` },
          body: { namespace, name: 'n' },
        });
        expect(status).toBe(201);
        const id = String(json?.['id']);
        if (namespace === '/a') written.push(`${id} 1`);
        if (i % 2 === 0) continue;
        const changed = await call(portOf(number + i + 1), {
          method: 'PATCH',
          path: `/api/v1/resources/${id}`,
          key: wes,
          headers: { 'if-match': String(headers['etag']) },
          body: { description: 'd' },
        });
        expect(changed.status).toBe(200);
        if (namespace === '/a') written.push(`${id} 2`);
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number))).finally(() => {
      over.abort();
    });
    const seen: string[] = [];
    let after = start;
    for (let turn = 0, isLast = false; !isLast || seen.length < written.length; turn += 1) {
      isLast = over.signal.aborted;
      const page = await read(turn, after, 1 + (turn % 5));
      if (isLast && page.ids.length === 0) break;
      seen.push(...page.ids);
      after = page.next;
    }
    await writing;
    expect(seen.toSorted()).toEqual(written.toSorted());
    for (const turn of [0, 1]) {
      const all: string[] = [];
      for (let from = start; ;) {
        const page = await read(turn, from, 500);
        if (page.ids.length === 0) break;
        all.push(...page.ids);
        from = page.next;
      }
      expect(all).toEqual(seen);
    }
  });
});
