// A store that aborts transactions in favour of others, as a distributed one does all the time. Commands are repeated,
// a conflict is reported to whoever needs to know, and nothing is done twice, by halves or without being acknowledged.
import { beforeAll, expect, it } from '@jest/globals';
import { useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';

const WRITERS = 32;
const ROUNDS = times({ usual: 3, deep: 40 });

describeOnStores('a storm of serialization failures', (store) => {
  const { send } = useCommandDoors(store, { ada: { '/': '*:*' } });

  /** Writes of records fail so often, in the two ways in which a store gives one up. */
  const storm = (share: number): Promise<unknown> =>
    store.db.knex.raw(`CREATE OR REPLACE FUNCTION bailiwick.storm() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF random() < ${String(share)} THEN
          RAISE EXCEPTION 'given up' USING ERRCODE = CASE WHEN random() < 0.5 THEN '40001' ELSE '40P01' END;
        END IF;
        RETURN NEW;
      END $$`);

  beforeAll(async () => {
    await send('PUT /api/v1/namespaces/a', { body: {} });
    await storm(0);
    await store.db.knex.raw(
      'CREATE TRIGGER storm BEFORE INSERT OR UPDATE ON records FOR EACH ROW EXECUTE FUNCTION bailiwick.storm()',
    );
  });

  /** Since the last time. */
  async function eventsOf(): Promise<readonly { readonly operation: string; readonly records: readonly string[] }[]> {
    const { rows } = await store.db.knex.raw<{ rows: readonly { event: string }[] }>(
      'DELETE FROM audit_outbox RETURNING event',
    );
    return rows.map(({ event }) => JSON.parse(event) as never);
  }

  it('loses no change of one record that all want to change, and makes none twice', async () => {
    await storm(0);
    const made = await send('POST /api/v1/resources', {
      body: { namespace: '/a', name: 'counted', properties: { n: 0 } },
    });
    const path = `/api/v1/resources/${String(made.json['id'])}`;
    await eventsOf();
    await storm(0.3);
    let [done, conflicts] = [0, 0];
    const write = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { json, header } = await send(`GET ${path}`);
        const { n } = json['properties'] as { readonly n: number };
        const changed = await send(`PATCH ${path}`, {
          body: { properties: { n: n + 1 } },
          ifMatch: header('etag') ?? '',
        });
        if (changed.status === 200) done += 1;
        else if (changed.status === 409) conflicts += 1;
        else expect([changed.status, changed.json['code']]).toEqual([412, 'record.precondition']);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await storm(0);
    expect(done).toBeGreaterThan(0);
    expect((await send(`GET ${path}`)).json).toMatchObject({ properties: { n: done }, revision: done + 1 });
    expect(await eventsOf()).toHaveLength(done);
    // Four more tries are enough nearly always.
    expect(conflicts).toBeLessThan(WRITERS * ROUNDS * 0.1);
  });

  it('makes what is asked for with one key once, however often it was tried by both sides', async () => {
    await eventsOf();
    await storm(0.6);
    const make = async (n: number): Promise<string> => {
      const body = { namespace: '/a', name: `made-${String(n)}` };
      for (;;) {
        const made = await send('POST /api/v1/resources', { body, key: `storm-${String(n)}` });
        if (made.status === 201) return String(made.json['id']);
        expect([409, made.json['code']]).toEqual([made.status, 'record.conflict']);
      }
    };
    const ids = await Promise.all(Array.from({ length: WRITERS }, (_, n) => make(n)));
    await storm(0);
    const body = { family: 'resource', namespace: '/a', reach: 'exact', where: { name: { startsWith: 'made-' } } };
    const found = await send('POST /api/v1/query', { body: { ...body, select: ['id'], page: { size: 500 } } });
    const stored = (found.json['items'] as readonly { readonly id: string }[]).map(({ id }) => id);
    expect(stored.sort()).toEqual([...ids].sort());
    expect((await eventsOf()).flatMap(({ records }) => records).sort()).toEqual([...ids].sort());
  });

  it('leaves nothing of a batch that is given up at last', async () => {
    await eventsOf();
    await storm(1);
    const commands = ['x', 'y'].map((name) => ({
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace: '/a', name },
    }));
    const answer = await send('POST /api/v1/batch', { body: { commands }, key: 'given-up' });
    expect([answer.status, answer.json['code']]).toEqual([409, 'record.conflict']);
    await storm(0);
    expect(await eventsOf()).toEqual([]);
    const again = await send('POST /api/v1/batch', { body: { commands }, key: 'given-up' });
    expect([again.status, again.header('idempotency-replayed')]).toEqual([200, undefined]);
    expect(await eventsOf()).toHaveLength(2);
  });
});
