// A command that is begun again, because what it depends on has changed or the store gave it up, and one that is sent
// again.
import { expect, it } from '@jest/globals';
import { COMMAND_LIMITS } from '../../../server/limits/records.js';
import { afterRead } from '../../support/after-read.js';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('a command', (store) => {
  const { send } = useCommandDoors(store, { ada: { '/': '*:*' } }, ['/a', '/b']);
  const make = (name: string, more: object = {}, key?: string): Promise<Answered> =>
    send('POST /api/v1/resources', { body: { namespace: '/a', name, ...more }, ...(key === undefined ? {} : { key }) });

  it('ends with a conflict if its record is moved each time', async () => {
    const path = `/api/v1/resources/${String((await make('restless')).json['id'])}`;
    let moves = 0;
    const moveOnce = (): (() => void) =>
      afterRead(store.db, 'SELECT x.id, x.path, x.revision', async () => {
        end();
        moves += 1;
        // More often than it is begun again, so that one that never ends is seen.
        if (moves > 2 * COMMAND_LIMITS.retry) return;
        const body = { namespace: moves % 2 === 0 ? '/a' : '/b' };
        expect((await send(`POST ${path}/move`, { body, ifMatch: moves })).status).toBe(200);
        end = moveOnce();
      });
    let end = moveOnce();
    const { status, json } = await send(`PATCH ${path}`, { body: { description: 'd' }, ifMatch: 1 });
    end();
    expect([status, json['code'], moves]).toEqual([409, 'record.conflict', COMMAND_LIMITS.retry + 1]);
  });

  it.each([
    ['40001', '409 record.conflict'],
    ['40P01', '409 record.conflict'],
    ['22012', '500 internal'],
  ])('that the store ends with %s each time is answered with %s', async (state, expected) => {
    await store.db.knex.raw(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.name = 'refused' THEN RAISE EXCEPTION USING ERRCODE = '${state}'; END IF; RETURN NEW; END $$`);
    await store.db.knex.raw('CREATE TRIGGER refuse BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION refuse()');
    const { status, json } = await make('refused');
    await store.db.knex.raw('DROP TRIGGER refuse ON records');
    await store.db.knex.raw('DROP FUNCTION refuse');
    expect(`${String(status)} ${String(json['code'])}`).toBe(expected);
  });

  it('that was done is answered again, though it would be refused by now', async () => {
    const body = { namespace: '/a', name: 't', version: '1', schema: {} };
    const { id } = (await send('POST /api/v1/resource-templates', { body })).json;
    const first = await make('of a template', { template: id }, 'made');
    await send(`POST /api/v1/resource-templates/${String(id)}/archive`, { body: {}, ifMatch: 1 });
    expect((await make('of a template', { template: id })).status).toBe(422);
    const again = await make('of a template', { template: id }, 'made');
    expect([again.status, again.text, again.header('idempotency-replayed')]).toEqual([201, first.text, 'true']);
  });

  it('that depends on an earlier one of its batch is answered again with it', async () => {
    const commands = [
      { method: 'POST', path: '/api/v1/resources', body: { namespace: '/a', name: 'r' }, as: 'r' },
      { method: 'PATCH', path: '/api/v1/resources/$r', body: { description: 'd' }, ifMatch: '"1"' },
      { method: 'POST', path: '/api/v1/resources/$r/copies', body: { destination: '/b' } },
    ];
    const first = await send('POST /api/v1/batch', { body: { commands }, key: 'batch' });
    expect(first.status).toBe(200);
    const again = await send('POST /api/v1/batch', { body: { commands }, key: 'batch' });
    expect([again.text, again.header('idempotency-replayed')]).toEqual([first.text, 'true']);
  });

  it('that is answered again is recorded as a reading, but not if its record was deleted', async () => {
    const events = async (id: string): Promise<unknown> => {
      const { rows } = await store.db.knex.raw<{ rows: { operation: string }[] }>(
        `SELECT event::json ->> 'operation' AS operation FROM audit_outbox WHERE event LIKE ? ORDER BY position`,
        [`%${id}%`],
      );
      return rows.map(({ operation }) => operation);
    };
    const id = String((await make('short-lived', {}, 'life')).json['id']);
    await make('short-lived', {}, 'life');
    expect(await events(id)).toEqual(['resource.create', 'resource.read']);
    await send(`POST /api/v1/resources/${id}/archive`, { body: {}, ifMatch: 1 });
    await send(`DELETE /api/v1/resources/${id}`, { ifMatch: 2 });
    expect((await make('short-lived', {}, 'life')).json).toEqual({ id, revision: 1 });
    expect(await events(id)).toEqual(['resource.create', 'resource.read', 'resource.archive', 'resource.delete']);
  });
});
