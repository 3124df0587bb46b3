// A batch waits for nobody at records and names that its actor may not write: so no actor keeps others from theirs.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

describeOnStores('a batch', (store) => {
  let doors: CommandDoors;
  let [own, others, template] = ['', '', ''];
  const make = async (collection: string, body: object): Promise<string> =>
    String((await doors.send('ada', `POST /api/v1/${collection}`, { body })).json['id']);
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return rows.length > 0;
  };
  /** What a batch is told while somebody else has the lock; `waits` if it waits for that. The embedded store has one transaction at a time: nobody has it there. */
  const toldMeanwhile = async (lock: string, binding: string, second: object): Promise<string> => {
    const change = { method: 'PATCH', path: `/api/v1/resources/${own}`, body: {}, ifMatch: '"1"' };
    const send = (): Promise<Answered> =>
      doors.send('lab', 'POST /api/v1/batch', { body: { commands: [change, second] } });
    const said = ({ status, json }: Answered): string =>
      typeof json['code'] === 'string' ? `${String(status)} ${json['code']}` : String(status);
    if (store.name === 'embedded') return said(await send());
    const answer: { told?: string } = {};
    const [sent, told] = await store.db.transaction(async (holder) => {
      await holder.raw(lock, [binding]);
      const isSent = send().then((answered) => {
        answer.told = said(answered);
      });
      await until(async () => answer.told !== undefined || (await isWaiting()));
      return [[isSent], answer.told ?? 'waits'] as const;
    });
    await Promise.all(sent);
    return told;
  };

  beforeAll(async () => {
    const lab = { '/labs': 'resource:*', '/': 'resource-template:read', '/near': 'resource:write' };
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' }, lab } });
    for (const path of ['/labs', '/near', '/other'])
      await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    own = await make('resources', { namespace: '/labs', name: 'own' });
    others = await make('resources', { namespace: '/other', name: 'others' });
    template = await make('resource-templates', { namespace: '/', name: 't', version: '1', schema: {}, uniqueName: true }); // prettier-ignore
  });

  afterAll(async () => {
    await doors.close();
  });

  it('does not wait for a record of others, but for its own', async () => {
    const lock = 'SELECT FROM records WHERE id = ? FOR NO KEY UPDATE';
    const change = (id: string): object => ({ method: 'PATCH', path: `/api/v1/resources/${id}`, body: {}, ifMatch: '"1"' }); // prettier-ignore
    expect(await toldMeanwhile(lock, others, change(others))).toBe('404 record.not_found');
    expect(await toldMeanwhile(lock, own, change(own))).toBe(
      store.name === 'postgres' ? 'waits' : '412 record.precondition',
    );
  });

  it('does not wait for a name that it may not both give and read, but for one that it may', async () => {
    const lock = 'SELECT pg_advisory_xact_lock(hashtextextended(?, 1))';
    const creation = (namespace: string): object => ({
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace, name: 'n', template },
    });
    expect(await toldMeanwhile(lock, 'resource /other n', creation('/other'))).toBe('403 authz.denied');
    expect(await toldMeanwhile(lock, 'resource /near n', creation('/near'))).toBe('403 authz.denied');
    expect(await toldMeanwhile(lock, 'resource /labs n', creation('/labs'))).toBe(
      store.name === 'postgres' ? 'waits' : '200',
    );
  });
});
