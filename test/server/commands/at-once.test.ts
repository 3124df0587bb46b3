// A create or a change is one statement in one trip, after those that read what it depends on. It is the same as in a
// transaction: the same record, answer, event and refusals, and no policy that was replaced before it began decides it.
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { storedActivations } from '../../../server/policy/store/activations.js';
import { afterRead } from '../../support/after-read.js';
import { type Answered, type Sending, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { tripsOf } from '../../support/trips.js';
import { until } from '../../support/until.js';

const ACTORS = { ada: { '/': '*:*' }, wes: { '/': '*:write' } };
const DAY = 86_400_000;
const LATER = 1_000;

describeOnStores('a command in one statement', (store) => {
  const { doors, send } = useCommandDoors(store, ACTORS, ['/a', '/a/b', '/b', '/other', '/shut', '/shut/in']);
  let template = '';
  const create = (fields: object, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send('POST /api/v1/resources', { body: { namespace: '/a/b', ...fields }, ...sending }, actor);
  const copy = (id: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send(`POST /api/v1/resources/${id}/copies`, { body: { destination: '/a/b' }, ...sending }, actor);
  const tripsOfCreate = (...parts: Parameters<typeof create>): Promise<number> => fewestTrips(() => create(...parts));
  const fewestTrips = async (work: () => Promise<unknown>, often = 20): Promise<number> => {
    // The gateway's own look-ups of credentials, templates and activations are counted, too, so the fewest of many count.
    const trips: number[] = [];
    for (let times = 0; times < often; times += 1) trips.push(await tripsOf(work));
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
  const after = (statement: string, work: () => Promise<unknown>): (() => void) => afterRead(store.db, statement, work);
  const countOf = async (): Promise<unknown> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT (SELECT count(*) FROM records)::int AS records, (SELECT count(*) FROM kept_answers)::int AS kept,
        (SELECT count(*) FROM audit_outbox)::int AS events`,
    );
    return rows;
  };

  const isWaiting = async (event: string): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = ? AND datname = current_database()`,
      [event],
    );
    return rows.length > 0;
  };

  beforeAll(async () => {
    expect((await send('POST /api/v1/namespaces/shut/archive', { ifMatch: 1 })).status).toBe(200);
    const body = { namespace: '/a', name: 't', version: '1', schema: { properties: { n: { type: 'integer' } } } };
    template = String((await send('POST /api/v1/resource-templates', { body })).json['id']);
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

  describe('that changes a record', () => {
    const change = (path: string, patch: object | null, ifMatch: number, sending: Sending = {}): Promise<Answered> =>
      send(patch === null ? `POST ${path}` : `PATCH ${path}`, { body: patch ?? {}, ifMatch, ...sending });
    const made = async (fields: object = {}): Promise<string> =>
      `/api/v1/resources/${String((await create({ name: 'changing', properties: { n: 1 }, ...fields })).json['id'])}`;
    /** The fewest trips of many, each on a record of its own. */
    const tripsOfChange = async (patch: object, fields: object = {}): Promise<number> => {
      const paths = await Promise.all(Array.from({ length: 10 }, () => made(fields)));
      return fewestTrips(() => change(paths.pop() ?? '', patch, 1), 10);
    };
    const eventsOf = async (path: string): Promise<unknown> => {
      const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
        `SELECT event::json ->> 'operation' AS operation, event::json -> 'status' AS status, event::json ->> 'records' AS records
          FROM audit_outbox WHERE event LIKE ? ORDER BY position`,
        [`%${path.slice(-36)}%`],
      );
      return rows;
    };

    it('takes two trips: where the record is, and the statement', async () => {
      expect(await tripsOfChange({ description: 'd' })).toBe(2);
      expect(await tripsOfChange({ name: 'renamed' })).toBe(2);
      const paths = await Promise.all(Array.from({ length: 10 }, () => made()));
      const [archived, restored] = [[...paths], [...paths]];
      expect(await fewestTrips(() => change(`${archived.pop() ?? ''}/archive`, null, 1), 10)).toBe(2);
      expect(await fewestTrips(() => change(`${restored.pop() ?? ''}/restore`, null, 2), 10)).toBe(2);
    });

    it('takes another for properties, and one for the template that judges them', async () => {
      expect(await tripsOfChange({ properties: { n: 2 } })).toBe(3);
      expect(await tripsOfChange({ properties: { n: 2 } }, { template })).toBe(4);
    });

    it('is the same in one statement and in a transaction', async () => {
      const texts = async (): Promise<unknown> => {
        const path = await made({ template, description: 'before' });
        const patch = { name: 'after', description: null, properties: { n: null, t: '"\\\u2028', o: { p: [null] } } };
        const changed = await change(path, patch, 1);
        const merged = await change(path, { properties: { n: 3 } }, 2);
        const blind = await doors().send('wes', `PATCH ${path}`, { body: { properties: { n: 4 } }, ifMatch: 3 });
        const archived = await change(`${path}/archive`, null, 4);
        const restored = await change(`${path}/restore`, null, 5);
        const whole = await send(`GET ${path}`);
        const answers = [changed, merged, blind, archived, restored, whole].map(({ status, text, header }) => [
          status,
          text,
          header('etag'),
        ]);
        return JSON.stringify([answers, await eventsOf(path)])
          .replaceAll(path.slice(-36), 'id')
          .replaceAll(/20\d\d-[-\d:.T]+Z/g, 'instant');
      };
      const atOnce = await texts();
      await withLaterActivation(async () => {
        expect(await texts()).toEqual(atOnce);
      });
    });

    it('is refused as in a transaction, and nothing is written', async () => {
      const [open, shut] = [await made({ template }), await made()];
      await change(`${shut}/archive`, null, 1);
      const refused = async (): Promise<readonly string[]> => [
        codeOf(await change(open, { description: 'd' }, 2)),
        codeOf(await change(`${open}/archive`, null, 2)),
        codeOf(await change(shut, { description: 'd' }, 2)),
        codeOf(await change(shut, { description: 'd' }, 9)),
        codeOf(await change(`${shut}/restore`, null, 9)),
        codeOf(await change(open, { properties: { n: 'no number' } }, 1)),
        codeOf(await change(open, { template: '00000000-0000-4000-8000-000000000000' }, 1)),
        codeOf(await change(open, { properties: { a: 'x'.repeat(900_000), b: 'x'.repeat(200_000) } }, 1)),
      ];
      const before = await countOf();
      const atOnce = await refused();
      expect(atOnce).toEqual([
        '412 record.precondition',
        '412 record.precondition',
        '409 record.archived',
        '409 record.archived',
        '412 record.precondition',
        '422 record.invalid',
        '422 reference.not_found',
        '413 request.too_large',
      ]);
      await withLaterActivation(async () => {
        expect(await refused()).toEqual(atOnce);
      });
      expect(await countOf()).toEqual(before);
      expect((await send(`GET ${open}`)).header('etag')).toBe('"1"');
    });

    it('is judged by the record, and by its template, as they are when it is written', async () => {
      const racing = async (race: (path: string) => Promise<unknown>, patch: object): Promise<string> => {
        const path = await made({ template });
        const end = after(`SELECT x.id, x.path, x.revision`, () => race(path));
        try {
          return codeOf(await change(path, patch, 1));
        } finally {
          end();
        }
      };
      const [described, properties] = [{ description: 'd' }, { properties: { n: 2 } }];
      for (const patch of [described, properties]) {
        expect(await racing((path) => change(path, { description: 'raced' }, 1), patch)).toBe(
          '412 record.precondition',
        );
        expect(await racing((path) => change(`${path}/archive`, null, 1), patch)).toBe('409 record.archived');
        expect(await racing((path) => send(`POST ${path}/move`, { body: { namespace: '/a' }, ifMatch: 1 }), patch)).toBe('412 record.precondition'); // prettier-ignore
        expect(await racing(() => Promise.resolve(), patch)).toBe('200 undefined');
      }
      const body = { namespace: '/a', name: 'judges', version: '1', schema: {} };
      const { id } = (await send('POST /api/v1/resource-templates', { body })).json;
      const path = await made({ template: id });
      const end = after('SELECT TRUE AS above', () => send(`POST /api/v1/resource-templates/${String(id)}/move`, { body: { namespace: '/other' }, ifMatch: 1 })); // prettier-ignore
      expect(codeOf(await change(path, properties, 1))).toBe('200 undefined');
      end();
    });

    it('keeps its answer under the key of a batch', async () => {
      const path = await made();
      const body = { commands: [{ method: 'PATCH', path, body: { description: 'd' }, ifMatch: '"1"' }] };
      const first = await send('POST /api/v1/batch', { body, key: 'batch-of-one' });
      const again = await send('POST /api/v1/batch', { body, key: 'batch-of-one' });
      expect([first.status, again.text, again.header('idempotency-replayed')]).toEqual([200, first.text, 'true']);
    });

    if (store.name === 'postgres') {
      it('waits for whoever is writing the record', async () => {
        const path = await made();
        const waiting = await store.db.transaction(async (holder) => {
          await holder.raw('SELECT FROM records WHERE id = ? FOR NO KEY UPDATE', [path.slice(-36)]);
          const changed = change(path, { description: 'd' }, 1);
          await until(() => isWaiting('transactionid'));
          // The statement that waits is not the one that an activation waits for.
          await storedActivations(store.db).settle();
          return [changed];
        });
        expect((await Promise.all(waiting)).map(codeOf)).toEqual(['200 undefined']);
      });
    }
  });

  it('goes the usual way if its key was used, and answers as before', async () => {
    const first = await create({ name: 'keyed' }, { key: 'used' });
    expect(codeOf(await create({ name: 'other' }, { key: 'used' }))).toBe('422 idempotency.key_reused');
    expect((await create({ name: 'keyed' }, { key: 'used' })).text).toBe(first.text);
    doors().setTime(instantOf(Date.now() + 2 * DAY));
    const later = await create({ name: 'keyed' }, { key: 'used' });
    doors().setTime(null);
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
        if (!held.signal.aborted) await once(held.signal, 'abort');
      }),
    );
    await until(() => store.db.pools().some(({ name, free, open }) => name === 'write' && open === max && free === 0));
    const waiting = create({ name: 'overtaken' });
    await until(() => store.db.pools().some(({ name, waiting: queue }) => name === 'write' && queue > 0));
    const { digest } = doors().decree({ ...ACTORS, ada: { '/': '*:read' } });
    held.abort();
    const [answer] = await Promise.all([waiting, ...holding]);
    doors().decree(ACTORS);
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
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
