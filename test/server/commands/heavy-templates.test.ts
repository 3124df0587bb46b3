// One actor makes templates whose patterns take long, and records that are judged by them. The others do not wait, and
// nothing that is remembered grows.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { type Answered, type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const PATTERN = Array.from({ length: 9 }, (_, i) => `a[ab]{990}[c${String(i)}]`).join('|');
const SCHEMA = { properties: { s: { not: { pattern: PATTERN } } } };

/** A text of a and b in which no part is like another. */
function text(characters: number, seed = 1): string {
  let state = seed;
  return Array.from({ length: characters }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 31 === 0 ? 'a' : 'b';
  }).join('');
}

describeOnStores('a template that takes long to judge by', (store) => {
  let doors: CommandDoors;
  // Its requests have no deadline: a busy machine may take long to store what was judged.
  let patient: Database;
  let template = '';
  const create = (name: string, s: string, sending: Sending = {}): Promise<Answered> => {
    const body = { namespace: '/a', name, template, properties: { s } };
    return doors.send('greedy', 'POST /api/v1/resources', { body, ...sending });
  };

  beforeAll(async () => {
    const actors = { greedy: { '/a': '*:*' }, modest: { '/b': '*:*' }, root: { '/': '*:*' } };
    patient = await openDatabase({ ...store.config, statementTimeout: 0 });
    doors = await openCommandDoors({ db: patient, actors });
    for (const path of ['/a', '/b']) await doors.send('root', `PUT /api/v1/namespaces${path}`, { body: {} });
    const made = await doors.send('greedy', 'POST /api/v1/resource-templates', {
      body: { namespace: '/a', name: 't', version: '1', schema: SCHEMA },
    });
    expect(made.status).toBe(201);
    template = String(made.json['id']);
  });

  afterAll(async () => {
    await doors.close();
    await patient.close();
  });

  it('judges a small value as ever', async () => {
    expect((await create('small', 'abc')).status).toBe(201);
    const wrong = await create('wrong', `a${'a'.repeat(990)}c`);
    expect(wrong.json['errors']).toEqual([
      expect.objectContaining({ pointer: '/properties/s', message: 'must NOT be valid (required by the template)' }),
    ]);
  });

  it('judges a large value while others are served, once for all copies', async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const made = await create('large', text(8_000));
    expect(made.status).toBe(201);
    const path = `/api/v1/resources/${String(made.json['id'])}/copies`;
    const commands = Array.from({ length: 20 }, () => ({ method: 'POST', path, body: { destination: '/a' } }));
    const copied = await doors.send('greedy', 'POST /api/v1/batch', { body: { commands } });
    expect(copied.status).toBe(200);
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(400);
  });

  it('refuses what takes too long, and lets others go on meanwhile', async () => {
    const before = performance.now();
    const refused = create('endless', text(900_000));
    const other = doors.send('modest', 'POST /api/v1/resources', { body: { namespace: '/b', name: 'other' } });
    expect((await other).status).toBe(201);
    const { status, json } = await refused;
    expect([status, json['errors']]).toEqual([
      422,
      [
        expect.objectContaining({
          pointer: '/properties',
          message: 'is too large to be checked against the schema of its template',
        }),
      ],
    ]);
    expect(performance.now() - before).toBeLessThan(15_000);
    expect((await create('afterwards', 'abc')).status).toBe(201);
  });

  it('judges nothing to give an answer again', async () => {
    const kept = (): Promise<Answered> => create('kept', text(8_000), { key: 'kept' });
    const first = await kept();
    const ended: string[] = [];
    const judged = create('endless', text(900_000)).then(() => ended.push('judged'));
    const again = await kept();
    ended.push('again');
    await judged;
    expect([again.text, again.header('idempotency-replayed')]).toEqual([first.text, 'true']);
    expect(ended).toEqual(['again', 'judged']);
  });

  // Judging knows nothing of stores.
  if (store.name === 'embedded') {
    it('keeps little of what was built while judging', async () => {
      const templates: string[] = [];
      for (let n = 0; n < 20; n += 1) {
        const schema = { properties: { [`s${String(n)}`]: { not: { pattern: PATTERN } } } };
        const made = await doors.send('greedy', 'POST /api/v1/resource-templates', {
          body: { namespace: '/a', name: `t${String(n)}`, version: '1', schema },
        });
        templates.push(String(made.json['id']));
      }
      const before = process.memoryUsage.rss();
      for (const [n, one] of templates.entries()) {
        const properties = { [`s${String(n)}`]: text(8_000, n + 1) };
        const body = { namespace: '/a', name: 'r', template: one, properties };
        expect((await doors.send('greedy', 'POST /api/v1/resources', { body })).status).toBe(201);
      }
      // Twenty such patterns took 170 MB.
      expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
    });
  }
});
