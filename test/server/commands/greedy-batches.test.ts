// One actor sends batches that are far too much work. They end soon, they leave nothing, and others are served all the
// while.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { COMMAND_LIMITS } from '../../../server/limits/records.js';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { tripsByConnection } from '../../support/trips.js';

const ACTORS = { greedy: { '/a': '*:*' }, modest: { '/b': '*:*' }, root: { '/': '*:*' } };
const KILOBYTES = 900;

describeOnStores('a batch that is too much', (store) => {
  let db: Database;
  let doors: CommandDoors;
  let copies: object;

  beforeAll(async () => {
    // As long as usual: while a transaction has the embedded engine, nobody learns which policy is in force.
    db = await openDatabase({ ...store.config, statementTimeout: 5_000 });
    doors = await openCommandDoors({ db, actors: ACTORS });
    for (const path of ['/a', '/b']) await doors.send('root', `PUT /api/v1/namespaces${path}`, { body: {} });
    const properties = Object.fromEntries(
      Array.from({ length: KILOBYTES }, (_, index) => [`k${String(index)}`, 'x'.repeat(1_000)]),
    );
    const made = await doors.send('greedy', 'POST /api/v1/resources', {
      body: { namespace: '/a', name: 'large', properties },
    });
    const path = `${String(made.header('location'))}/copies`;
    copies = { commands: Array.from({ length: 100 }, () => ({ method: 'POST', path, body: { destination: '/a' } })) };
  });

  afterAll(async () => {
    await doors.close();
    await db.close();
  });

  const stored = async (): Promise<unknown> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly unknown[] }>(
      "SELECT count(*)::int AS count FROM records WHERE path = '/a/' AND family = ?",
      [2],
    );
    return rows[0];
  };

  it('does not keep others waiting until they are refused', async () => {
    const greedy = Array.from({ length: 4 }, () => doors.send('greedy', 'POST /api/v1/batch', { body: copies }));
    const state = { isOver: false };
    const over = Promise.all(greedy).finally(() => {
      state.isOver = true;
    });
    const modest: Answered[] = [];
    while (!state.isOver) {
      const create = doors.send('modest', 'POST /api/v1/resources', { body: { namespace: '/b', name: 'small' } });
      const count = doors.send('modest', 'POST /api/v1/query/count', { body: { family: 'resource', namespace: '/b' } });
      modest.push(...(await Promise.all([create, count])));
      await sleep(20);
    }
    const answers = (await over).map(({ status, json }) => `${String(status)} ${String(json['code'])}`);
    for (const answer of answers) expect(['413 request.too_large', '504 db.timeout']).toContain(answer);
    const refused = modest.filter(({ status }) => status >= 400).map(({ text }) => text);
    expect({ refused, log: refused.length > 0 ? doors.log : [] }).toEqual({ refused: [], log: [] });
    expect(modest.length).toBeGreaterThan(2);
    expect(await stored()).toEqual({ count: 1 });
  });

  it('stops at the record with which its answer is too large', async () => {
    const patient = await openDatabase({ ...store.config, statementTimeout: 0 });
    const others = await openCommandDoors({ db: patient, actors: ACTORS });
    const trips = await tripsByConnection(async () => {
      const answer = await others.send('greedy', 'POST /api/v1/batch', { body: copies });
      expect([answer.status, answer.json['code']]).toEqual([413, 'request.too_large']);
    });
    const most = Math.ceil(COMMAND_LIMITS.batchAnswerBytes / (KILOBYTES * 1_000));
    expect(Math.max(...trips)).toBeLessThan(5 * most);
    expect(await stored()).toEqual({ count: 1 });
    await others.close();
    await patient.close();
  });
});
