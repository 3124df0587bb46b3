// Several writers at once, and a policy that changes while one of them is at work: no change is lost, nothing is done twice, and
// nothing is done under a policy that would not have allowed it.
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answered, type CommandDoors, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ACTORS = { ada: { '/': '*:*' }, ben: { '/': '*:*' }, wes: { '/': '*:write' } };

describeOnStores('writers at once', (store) => {
  const { doors, send } = useCommandDoors(store, ACTORS, ['/a', '/b']);
  const make = async (name: string): Promise<string> => {
    const made = await send('POST /api/v1/resources', { body: { namespace: '/a', name, properties: { n: 0 } } });
    return `/api/v1/resources/${String(made.json['id'])}`;
  };

  it('change a revision once: one succeeds, and all others are refused', async () => {
    const path = await make('raced');
    for (let revision = 1; revision <= 5; revision += 1) {
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          send(`PATCH ${path}`, { body: { properties: { n } }, ifMatch: revision }, n % 2 === 0 ? 'ada' : 'ben'),
        ),
      );
      const won = answers.filter(({ status }) => status === 200);
      expect(won.length).toBe(1);
      expect(new Set(answers.filter(({ status }) => status !== 200).map(codeOf))).toEqual(
        new Set(['412 record.precondition']),
      );
      expect((await send(`GET ${path}`)).text).toBe(won[0]?.text);
    }
  });

  it('lose no change: every client that reads, adds and retries until it is done is counted', async () => {
    const path = await make('counted');
    const add = async (actor: string): Promise<void> => {
      for (;;) {
        const { json, header } = await send(`GET ${path}`, {}, actor);
        const { n } = json['properties'] as { readonly n: number };
        const changed = await send(
          `PATCH ${path}`,
          { body: { properties: { n: n + 1 } }, ifMatch: header('etag') ?? '' },
          actor,
        );
        if (changed.status === 200) return;
        expect(codeOf(changed)).toBe('412 record.precondition');
      }
    };
    await Promise.all(Array.from({ length: 24 }, (_, n) => add(n % 2 === 0 ? 'ada' : 'ben')));
    expect((await send(`GET ${path}`)).json).toMatchObject({ properties: { n: 24 }, revision: 25 });
  });

  it('make a namespace once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        send('PUT /api/v1/namespaces/a/once', { body: {} }, n % 3 === 0 ? 'wes' : 'ada'),
      ),
    );
    const told = answers.filter(({ json }) => 'id' in json);
    expect(answers.every(({ status }) => status === 200 || status === 201)).toBe(true);
    expect(new Set(told.map(({ text }) => text)).size).toBe(1);
    expect(told.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
  });

  it('in opposite order, in batches: one after the other, or one gets a conflict', async () => {
    const [one, two] = [await make('one'), await make('two')];
    const commandsOf = (paths: readonly string[]): readonly object[] =>
      paths.map((path) => ({ method: 'PATCH', path, body: { description: 'x' }, ifMatch: '"1"' }));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        send('POST /api/v1/batch', { body: { commands: commandsOf(n % 2 === 0 ? [one, two] : [two, one]) } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(['412 record.precondition', '409 record.conflict']).toContain(codeOf(answer));
    }
    for (const path of [one, two]) expect((await send(`GET ${path}`)).json['revision']).toBe(2);
  });

  /** Sends it while the store is held, changes the policy, and lets go. */
  const overtaken = async (
    path: string,
    actors: Parameters<CommandDoors['decree']>[0],
    ask: () => Promise<Answered>,
  ): Promise<{ readonly answer: Answered; readonly pinned: string; readonly current: string }> => {
    const pinned = doors().services.policies.current().policy.digest;
    const asked: Promise<Answered>[] = [];
    const current = await store.db.transaction(async (trx) => {
      await trx.raw('SELECT 1 FROM records WHERE id = ?::uuid FOR UPDATE', [path.split('/').at(-1) ?? '']);
      asked.push(ask());
      // The embedded engine is this transaction's alone; a server lets the request come as far as the record.
      if (store.name === 'postgres') await sleep(150);
      else await new Promise(setImmediate);
      return doors().decree(actors).digest;
    });
    const [answer] = await Promise.all(asked);
    if (answer === undefined) throw new Error('nothing was asked');
    return { answer, pinned, current };
  };

  it('are also decided by the policy that is current before the commit', async () => {
    const path = await make('swapped');
    const change = (): Promise<Answered> => send(`PATCH ${path}`, { body: { name: 'changed' }, ifMatch: 1 });
    const reading = { ...ACTORS, ada: { '/': '*:read' } };
    const { answer, current } = await overtaken(path, reading, change);
    expect([codeOf(answer), answer.json['step'], answer.header('bailiwick-snapshot')]).toEqual([
      '403 authz.denied',
      'no_matching_grant',
      current,
    ]);
    doors().decree(ACTORS);
    expect((await send(`GET ${path}`)).json).toMatchObject({ name: 'swapped', revision: 1 });
  });

  it('are told by a policy that lets them read nothing what it tells of everything', async () => {
    const path = await make('hidden');
    const change = (): Promise<Answered> => send(`PATCH ${path}`, { body: { name: 'changed' }, ifMatch: 1 });
    const { answer, current } = await overtaken(path, { ...ACTORS, ada: {} }, change);
    expect([codeOf(answer), answer.header('bailiwick-snapshot')]).toEqual(['404 record.not_found', current]);
    doors().decree(ACTORS);
    expect((await send(`GET ${path}`)).json['revision']).toBe(1);
  });

  it('are answered under the policy that was pinned, where the next one allows it as well', async () => {
    const path = await make('allowed');
    const change = (): Promise<Answered> => send(`PATCH ${path}`, { body: { name: 'changed' }, ifMatch: 1 });
    const { answer, pinned } = await overtaken(path, { ...ACTORS, cy: { '/': '*:read' } }, change);
    // On the embedded store the record is looked up before the request waits.
    expect([answer.status, answer.json['name']]).toEqual([200, 'changed']);
    if (store.name === 'postgres') expect(answer.header('bailiwick-snapshot')).toBe(pinned);
    doors().decree(ACTORS);
  });

  it('of whom one is a load: what it changes raises the revision, and a change of before is refused', async () => {
    const path = await make('loaded');
    await store.db.knex.raw(`UPDATE records SET properties = '{"n":7}', revision = revision + 1 WHERE id = ?::uuid`, [
      path.split('/').at(-1) ?? '',
    ]);
    expect(codeOf(await send(`PATCH ${path}`, { body: {}, ifMatch: 1 }))).toBe('412 record.precondition');
  });

  it('find a record where it was moved to', async () => {
    const path = await make('moved');
    const id = path.split('/').at(-1) ?? '';
    const answers: Promise<Answered>[] = [];
    await store.db.transaction(async (trx) => {
      await trx.raw(`UPDATE records SET path = '/b/', revision = revision + 1 WHERE id = ?::uuid`, [id]);
      answers.push(send(`PATCH ${path}`, { body: { name: 'x' }, ifMatch: 2 }));
      if (store.name === 'postgres') await sleep(150);
    });
    const [answer] = await Promise.all(answers);
    expect([answer?.status, answer?.json['namespace'], answer?.json['revision']]).toEqual([200, '/b', 3]);
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
