// A create is one statement in one trip, after another that reads what it refers to. It is the same create as in a
// transaction: the same record, answer, event and refusals, and no policy that was replaced before it began decides it.
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import type { AuditEvent } from '../../../server/audit/event.js';
import { localActor } from '../../../server/auth/request-actor.js';
import { createStatement } from '../../../server/commands/create-at-once.js';
import { readGround } from '../../../server/commands/stored.js';
import { openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import type { Rows } from '../../../server/db/writing.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { storedActivations } from '../../../server/policy/store/activations.js';
import { contentOf } from '../../../server/records/content.js';
import { pathOf } from '../../engine/oracle/worlds.js';
import { type Answered, type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { planOf, readsOf } from '../../support/query-plans.js';
import { describeOnStores } from '../../support/stores.js';
import { tripsOf } from '../../support/trips.js';
import { until } from '../../support/until.js';

const ACTORS = { ada: { '/': '*:*' }, wes: { '/': '*:write' } };
const DAY = 86_400_000;
const LATER = 1_000;

describeOnStores('a create', (store) => {
  let doors: CommandDoors;
  let template = '';
  const send = (request: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    doors.send(actor, request, sending);
  const create = (fields: object, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send('POST /api/v1/resources', { body: { namespace: '/a/b', ...fields }, ...sending }, actor);
  const copy = (id: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send(`POST /api/v1/resources/${id}/copies`, { body: { destination: '/a/b' }, ...sending }, actor);
  const tripsOfCreate = (...parts: Parameters<typeof create>): Promise<number> => fewestTrips(() => create(...parts));
  const fewestTrips = async (work: () => Promise<unknown>): Promise<number> => {
    // The gateway's own look-ups of credentials, templates and activations are counted, too, so the fewest of many count.
    const trips: number[] = [];
    for (let times = 0; times < 20; times += 1) trips.push(await tripsOf(work));
    return Math.min(...trips);
  };
  /** The newest activation of the store is one that no gateway of these tests has. */
  const withLaterActivation = async (work: () => Promise<void>): Promise<void> => {
    await store.db.knex.raw(
      `INSERT INTO activations (generation, policy, snapshot, decisions, reason, activated_at, kind, asked_by)
        VALUES (?, 'p', 's', 'd', 'r', now(), 'activated', 'test')`,
      [LATER],
    );
    try {
      await work();
    } finally {
      await store.db.knex.raw('DELETE FROM activations WHERE generation = ?', [LATER]);
    }
  };

  /** Creates from a template that another writer archives or changes after it was read. */
  const raced = async (): Promise<Readonly<Record<string, string>>> => {
    const racingCopy = async (change: (path: string) => Promise<unknown>): Promise<string> => {
      const { id } = (await create({ name: 'raced source', properties: { n: 1 } })).json;
      const end = after('SELECT x.path, x.revision', () => change(`/api/v1/resources/${String(id)}`));
      try {
        const copied = await copy(String(id));
        return `${codeOf(copied)} ${JSON.stringify(copied.json['properties'])}`;
      } finally {
        end();
      }
    };
    const racing = async (change: (path: string) => Promise<unknown>): Promise<string> => {
      const body = { namespace: '/a', name: 'raced', version: '1', schema: { required: ['n'] } };
      const { id } = (await send('POST /api/v1/resource-templates', { body })).json;
      const end = after('SELECT TRUE AS above', () => change(`/api/v1/resource-templates/${String(id)}`));
      try {
        return codeOf(await create({ name: 'racing', template: id, properties: { n: 1 } }));
      } finally {
        end();
      }
    };
    return {
      nothing: await racing(() => Promise.resolve()),
      described: await racing((path) => send(`PATCH ${path}`, { body: { description: 'd' }, ifMatch: 1 })),
      archived: await racing((path) => send(`POST ${path}/archive`, { ifMatch: 1 })),
      moved: await racing((path) => send(`POST ${path}/move`, { body: { namespace: '/other' }, ifMatch: 1 })),
      copied: await racingCopy(() => Promise.resolve()),
      copiedChanged: await racingCopy((path) => send(`PATCH ${path}`, { body: { properties: { n: 2 } }, ifMatch: 1 })),
      copiedMoved: await racingCopy((path) => send(`POST ${path}/move`, { body: { namespace: '/b' }, ifMatch: 1 })),
      copiedArchived: await racingCopy((path) => send(`POST ${path}/archive`, { ifMatch: 1 })),
    };
  };
  /** Does it once the next statement that begins like this has been answered. Returns what ends that. */
  const after = (statement: string, work: () => Promise<unknown>): (() => void) => {
    const { read } = store.db;
    let isDone = false;
    Object.assign(store.db, {
      read: async (...parameters: Parameters<typeof read>) => {
        const rows = await read(...parameters);
        if (!isDone && parameters[0].text.startsWith(statement)) {
          isDone = true;
          await work();
        }
        return rows;
      },
    });
    return () => Object.assign(store.db, { read });
  };
  const countOf = async (): Promise<unknown> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT (SELECT count(*) FROM records)::int AS records, (SELECT count(*) FROM kept_answers)::int AS kept,
        (SELECT count(*) FROM audit_outbox)::int AS events`,
    );
    return rows;
  };

  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: ACTORS });
    for (const path of ['/a', '/a/b', '/b', '/other', '/shut', '/shut/in'])
      await send(`PUT /api/v1/namespaces${path}`, { body: {} });
    expect((await send('POST /api/v1/namespaces/shut/archive', { ifMatch: 1 })).status).toBe(200);
    const body = { namespace: '/a', name: 't', version: '1', schema: { properties: { n: { type: 'integer' } } } };
    template = String((await send('POST /api/v1/resource-templates', { body })).json['id']);
  });

  afterAll(async () => {
    await doors.close();
  });

  it('takes one trip to the store', async () => {
    expect(await tripsOfCreate({ name: 'plain', properties: { n: 1 } })).toBe(1);
    expect(await tripsOfCreate({ name: 'by one who may not read it' }, {}, 'wes')).toBe(1);
  });

  it('takes another trip before it for the records that it refers to', async () => {
    expect(await tripsOfCreate({ name: 'made from a template', template, properties: { n: 1 } })).toBe(2);
  });

  it('takes two trips before it for a copy: where the source is, and what it holds', async () => {
    const { id } = (await create({ name: 'source', properties: { n: 1 } })).json;
    expect(await fewestTrips(() => copy(String(id)))).toBe(3);
    const made = (await create({ name: 'source from a template', template, properties: { n: 1 } })).json;
    expect(await fewestTrips(() => copy(String(made['id'])))).toBe(4);
  });

  it('reads only what it names, whatever the store held when its statements were planned', async () => {
    // A plan stays for as long as its connection does, so it may be older than nearly all records.
    const opened = await store.open();
    const [namespace, id] = [pathOf('/a/b'), '00000000-0000-4000-8000-000000000000'];
    const content = contentOf('resource', { name: 'x', template: id });
    const creating = {
      record: { id, family: 'resource', namespace, content, copiedFrom: null },
      refersTo: [{ id, namespace, revision: 1 }],
      ...{ generation: 1, key: { owner: 'o', fingerprint: 'f' }, keepFor: 1, event: {} as AuditEvent },
    } as const;
    const statements = [createStatement({ at: instantOf(0), actor: localActor('f') }, creating)];
    const rows: Rows = (statement) => {
      statements.push(statement);
      return Promise.resolve([]);
    };
    await readGround({ rows }, { namespaces: [namespace], ids: [id] });
    for (const statement of statements) {
      const reads = readsOf(await planOf(opened.database, statement)).filter(
        ({ node }) => node['Index Name'] !== undefined,
      );
      const found = reads.map(({ node }) => `${String(node['Index Name'])} ${String(node['Index Cond'])}`);
      expect(found.map((text) => text.replaceAll(/\w+\.|_\d+|\(|\)/g, '')).sort()).toEqual([
        'records_namespace_path path = path',
        expect.stringMatching(/^records_pkey id = (?:id|ANY \$\d+)$/),
      ]);
    }
    await opened.dispose();
  });

  it('takes a transaction if its name must be unique', async () => {
    const body = { namespace: '/a', name: 'unique', version: '1', schema: {}, uniqueName: true };
    const { id } = (await send('POST /api/v1/resource-templates', { body })).json;
    const made = [1, 2].map((n) => create({ name: 'only one', template: id, properties: { n } }));
    expect((await Promise.all(made)).map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('is judged by what it refers to as it is when it is written', async () => {
    expect(await raced()).toEqual({
      nothing: '201 undefined',
      described: '201 undefined',
      archived: '422 reference.not_found',
      moved: '422 reference.not_found',
      copied: '201 undefined {"n":1}',
      copiedChanged: '201 undefined {"n":2}',
      copiedMoved: '201 undefined {"n":1}',
      copiedArchived: '409 record.archived undefined',
    });
  });

  it('is the same in one statement and in a transaction', async () => {
    const texts = async (): Promise<readonly unknown[]> => {
      const body = { name: 'the same', description: 'd', properties: { n: 1, t: '"\\\u2028\u0001', o: { p: [null] } } };
      await store.db.knex.raw('DELETE FROM kept_answers');
      const first = await create(body, { key: 'same' });
      const again = await create(body, { key: 'same' });
      expect([again.text, again.header('idempotency-replayed')]).toEqual([first.text, 'true']);
      const asWes = await create({ ...body, template }, {}, 'wes');
      const copied = await copy(String(first.json['id']), { key: 'copy' });
      expect((await copy(String(first.json['id']), { key: 'copy' })).text).toBe(copied.text);
      const { rows } = await store.db.knex.raw<{ rows: { fingerprint: string; answers: string }[] }>(
        `SELECT fingerprint, answers FROM kept_answers ORDER BY answers::json -> 0 ->> 'id'`,
      );
      const kept = rows.map(({ fingerprint, answers }) => ({ fingerprint, answers: JSON.parse(answers) as unknown }));
      const ids = [first, asWes, copied].map(({ json }) => String(json['id']));
      const said = JSON.stringify([first, asWes, copied].map(({ status, text, header }) => [status, text, header('etag'), header('location')])); // prettier-ignore
      return [said, canonicalJson(kept)].map((text) =>
        ids
          .reduce((rest, id, n) => rest.replaceAll(id, `id ${String(n)}`), text)
          .replaceAll(/20\d\d-[-\d:.T]+Z/g, 'instant'),
      );
    };
    const atOnce = await texts();
    let usual: readonly unknown[] = [];
    await withLaterActivation(async () => {
      usual = await texts();
    });
    expect(atOnce).toEqual(usual);
  });

  it('is refused as in a transaction, and nothing is written', async () => {
    const refused = async (): Promise<readonly string[]> => [
      codeOf(await create({ namespace: '/none', name: 'x' })),
      codeOf(await create({ namespace: '/shut', name: 'x' })),
      codeOf(await create({ namespace: '/shut/in', name: 'x' })),
      codeOf(await create({ name: 'big', properties: { text: 'x'.repeat(900_000), more: 'x'.repeat(200_000) } })),
      codeOf(await create({ name: 'x', template: '00000000-0000-4000-8000-000000000000' })),
      codeOf(await create({ name: 'x', template, properties: { n: 'no number' } })),
    ];
    const before = await countOf();
    const atOnce = await refused();
    expect(atOnce.slice(0, 3)).toEqual(['404 namespace.not_found', '409 record.archived', '409 record.archived']);
    await withLaterActivation(async () => {
      expect(await refused()).toEqual(atOnce);
    });
    expect(await countOf()).toEqual(before);
  });

  it('goes the usual way if its key was used, and answers as before', async () => {
    const first = await create({ name: 'keyed' }, { key: 'used' });
    expect(codeOf(await create({ name: 'other' }, { key: 'used' }))).toBe('422 idempotency.key_reused');
    expect((await create({ name: 'keyed' }, { key: 'used' })).text).toBe(first.text);
    doors.setTime(instantOf(Date.now() + 2 * DAY));
    const later = await create({ name: 'keyed' }, { key: 'used' });
    doors.setTime(null);
    expect(later.json['id']).not.toBe(first.json['id']);
  });

  it('goes the usual way if the store knows a newer activation than this gateway', async () => {
    await withLaterActivation(async () => {
      expect(await tripsOfCreate({ name: 'behind' })).toBe(4);
    });
    expect(await tripsOfCreate({ name: 'up to date' })).toBe(1);
  });

  // The embedded store has one transaction at a time, so nothing is ever in flight there.
  if (store.name === 'embedded') return;

  it('is decided again if the policy changed while it waited for a connection', async () => {
    const { max = 0 } = store.db.pools().find(({ name }) => name === 'write') ?? {};
    const held = new AbortController();
    const holding = Array.from({ length: max }, () =>
      store.db.transaction(async () => {
        await once(held.signal, 'abort');
      }),
    );
    await until(() => store.db.pools().some(({ name, free, open }) => name === 'write' && open === max && free === 0));
    const waiting = create({ name: 'overtaken' });
    await until(() => store.db.pools().some(({ name, waiting: queue }) => name === 'write' && queue > 0));
    const { digest } = doors.decree({ ...ACTORS, ada: { '/': '*:read' } });
    held.abort();
    const [answer] = await Promise.all([waiting, ...holding]);
    doors.decree(ACTORS);
    expect([codeOf(answer), answer.header('bailiwick-snapshot')]).toEqual(['403 authz.denied', digest]);
  });

  it('is waited for by an activation, and what begins meanwhile is decided again', async () => {
    const ended: string[] = [];
    const note = (what: string) => () => ended.push(what);
    const isNewest = async (): Promise<unknown> =>
      (await store.db.knex.raw<{ rows: unknown[] }>('SELECT is_newest(1) AS newest')).rows;
    const running = await store.db.transaction(async (holder) => {
      // The create gets as far as its trigger, which is after its checks.
      await holder.raw('LOCK TABLE record_counts IN EXCLUSIVE MODE');
      const created = create({ name: 'in flight' }).finally(note('created'));
      await until(() => isWaiting('relation'));
      const settled = storedActivations(store.db).settle().then(note('settled'));
      await until(() => isWaiting('advisory'));
      expect(await isNewest()).toEqual([{ newest: false }]);
      expect(ended).toEqual([]);
      return [created, settled];
    });
    await Promise.all(running);
    expect(ended.sort()).toEqual(['created', 'settled']);
    expect(await isNewest()).toEqual([{ newest: true }]);
  });

  it('sees an activation that came after it began, whatever isolation the database is set to', async () => {
    const set = (change: string): Promise<unknown> =>
      store.db.knex.raw(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$`);
    await set("SET default_transaction_isolation = ''repeatable read''");
    const db = await openDatabase(store.config);
    try {
      const isNewest = db.write(async ({ rows }) => {
        const newest = (): Promise<readonly unknown[]> => rows(sql`SELECT is_newest(${1}::bigint) AS newest`);
        const found = [...(await newest())];
        await withLaterActivation(async () => {
          found.push(...(await newest()));
        });
        return found;
      });
      expect(await isNewest).toEqual([{ newest: true }, { newest: false }]);
    } finally {
      await db.close();
      await set('RESET default_transaction_isolation');
    }
  });

  const isWaiting = async (locktype: string): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = ?
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [locktype],
    );
    return rows.length > 0;
  };
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
