// Batches that give the same unique names in opposite orders wait for one another: the store never has to end a deadlock.
import { beforeAll, expect, it } from '@jest/globals';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { deadlocksOf } from '../../support/deadlocks.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('names that batches lock', (store) => {
  const { send, make } = useCommandDoors(store, { ada: { '/': '*:*' } }, ['/a', '/a/b']);
  let [asking, other, plain] = ['', '', ''];
  const told = ({ status, json }: Answered): string =>
    typeof json['code'] === 'string' ? `${String(status)} ${json['code']}` : String(status);

  beforeAll(async () => {
    const template = { namespace: '/', name: 't', version: '1', schema: {} };
    asking = await make('resource-templates', { ...template, uniqueName: true });
    other = await make('resource-templates', { ...template, version: '2', uniqueName: true });
    plain = await make('resource-templates', template);
  });
  it('are given by many batches in opposite orders, in every way, and the store ends no deadlock', async () => {
    const before = await deadlocksOf(store.db);
    const names = Array.from({ length: 12 }, (_, n) => `n${String(n)}`);
    const orders = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? names : [...names].reverse()));
    // Each batch needs the same names. Whoever comes first has them.
    const race = async (batches: readonly (readonly object[])[]): Promise<void> => {
      const answers = await Promise.all(batches.map((commands) => send('POST /api/v1/batch', { body: { commands } })));
      const lost = Array.from({ length: batches.length - 1 }, () => '409 record.name_taken');
      expect(answers.map(told).sort()).toEqual(['200', ...lost]);
    };
    const creation = (namespace: string, name: string, template = asking): object => ({
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace, name, template },
    });
    await race(orders.map((order) => order.map((name) => creation('/a', name))));

    // With a template that each batch makes itself.
    const body = { namespace: '/a', name: 'own', version: '1', schema: {}, uniqueName: true };
    const own = { method: 'POST', path: '/api/v1/resource-templates', body, as: 't' };
    await race(orders.map((order) => [own, ...order.map((name) => creation('/a/b', name, '$t'))]));

    await store.db.knex.raw('DELETE FROM records WHERE family IN (2, 4)');
    const made = async (namespace: string, name: string, template = asking): Promise<string> =>
      `/api/v1/resources/${await make('resources', { namespace, name, template })}`;
    const ways: readonly ((name: string, from: string) => Promise<object>)[] = [
      (name) => Promise.resolve(creation('/a', name)),
      async (name, from) => ({ method: 'POST', path: `${await made(from, name)}/copies`, body: { destination: '/a' } }),
      async (name, from) => {
        const path = `${await made(from, name)}/move`;
        return { method: 'POST', path, body: { namespace: '/a' }, ifMatch: '"1"' };
      },
      async (name, from) => {
        const path = await made('/a', `${name} of ${from}`);
        return { method: 'PATCH', path, body: { name }, ifMatch: '"1"' };
      },
      async (name) => {
        const path = await made('/a', name, plain);
        return { method: 'PATCH', path, body: { template: other }, ifMatch: '"1"' };
      },
      async (name) => {
        const path = await made('/a', name);
        await send(`POST ${path}/archive`, { ifMatch: 1 });
        return { method: 'POST', path: `${path}/restore`, ifMatch: '"2"' };
      },
    ];
    const batches: (readonly object[])[] = [];
    for (const [n, order] of orders.entries()) {
      const from = `/a/s${String(n)}`;
      await send(`PUT /api/v1/namespaces${from}`, { body: {} });
      const commands: object[] = [];
      for (const name of order) commands.push((await ways[Number(name.slice(1)) % ways.length]?.(name, from)) ?? {});
      batches.push(commands);
    }
    await race(batches);
    expect(await deadlocksOf(store.db)).toBe(before);
  }, 60_000);
});
