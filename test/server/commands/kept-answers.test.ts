// The key under which an answer is kept, and what a request is told whose key another one has.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NamespacePath } from '../../../engine/index.js';
import { actorOf } from '../../../server/auth/request-actor.js';
import { answerKey, isOvertaken, type Keyed } from '../../../server/commands/kept-answers.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { pathOf } from '../../support/gateway.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const SENT: Keyed = {
  key: 'k',
  method: 'PATCH',
  path: '/api/v1/resources/x',
  body: { a: 1, b: [] },
  conditions: ['"1"'],
};

describe('the key of an answer', () => {
  const keyOf = (
    sent: Partial<Keyed> = {},
    restrictions: readonly NamespacePath[] | null = null,
    id = 'ada',
  ): ReturnType<typeof answerKey> => {
    const identities = [{ provider: 'orcid', subject: id }];
    const actor = actorOf('key', { id, identities, scopes: null, restrictions, credentialFingerprint: 'f' });
    return answerKey(actor, { ...SENT, ...sent });
  };
  const [a, b] = [pathOf('/a'), pathOf('/b')];

  it.each([
    ['actor', keyOf({}, null, 'ben')],
    ['key', keyOf({ key: 'l' })],
    ['method', keyOf({ method: 'POST' })],
    ['path', keyOf({ path: '/api/v1/resources/y' })],
    ['credential, if it is restricted', keyOf({}, [a])],
  ])('is another with another %s', (_what, { owner, fingerprint }) => {
    expect(owner).not.toBe(keyOf().owner);
    expect(fingerprint).toBe(keyOf().fingerprint);
  });

  it('is the same for a credential that is restricted to the same, in whatever order', () => {
    expect(keyOf({}, [b, a])).toEqual(keyOf({}, [a, b]));
    expect(keyOf({}, [a]).owner).not.toBe(keyOf({}, [b]).owner);
  });

  it('has with it what was sent and required, however it is written', () => {
    const { fingerprint } = keyOf();
    expect(keyOf({ body: { b: [], a: 1 } }).fingerprint).toBe(fingerprint);
    expect(keyOf({ body: { a: 2, b: [] } }).fingerprint).not.toBe(fingerprint);
    expect(keyOf({ conditions: ['"2"'] }).fingerprint).not.toBe(fingerprint);
    expect(keyOf({ conditions: [] }).fingerprint).not.toBe(fingerprint);
    expect(keyOf({ conditions: [] }).fingerprint).not.toBe(keyOf({ conditions: [], body: 1 }).fingerprint);
  });
});

describeOnStores('an answer that is kept', (store) => {
  let doors: CommandDoors;
  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    await doors.send('ada', 'PUT /api/v1/namespaces/a', { body: {} });
  });
  afterAll(async () => {
    await doors.close();
  });

  it('is told from one that somebody kept meanwhile', async () => {
    const keep = (owner: string): Promise<unknown> =>
      store.db.knex.raw(`INSERT INTO kept_answers (owner, fingerprint, answers, kept_until) VALUES (?, 'f', '[]', now())`, [owner]); // prettier-ignore
    await keep('one');
    const errors = [await keep('one').catch(isOvertaken), await store.db.knex.raw('SELECT 1 / 0').catch(isOvertaken)];
    expect(errors).toEqual([true, false]);
  });

  it('is not read for another request, however large it is', async () => {
    const create = (name: string): ReturnType<CommandDoors['send']> =>
      doors.send('ada', 'POST /api/v1/resources', { body: { namespace: '/a', name }, key: 'unread' });
    const { status, text } = await create('first');
    await store.db.knex.raw(`UPDATE kept_answers SET answers = '{' || answers WHERE answers LIKE '%first%'`);
    const refused = await create('second');
    expect([status, refused.status, refused.json['code']]).toEqual([201, 422, 'idempotency.key_reused']);
    await store.db.knex.raw(`UPDATE kept_answers SET answers = substr(answers, 2) WHERE answers LIKE '%first%'`);
    expect((await create('first')).text).toBe(text);
  });

  // The embedded store has one transaction at a time.
  if (store.name === 'postgres') {
    it('is told after the request that makes it, which nobody waits for', async () => {
      const [one, other] = ['r', 's'].map((name) => ({
        method: 'POST',
        path: '/api/v1/resources',
        body: { namespace: '/a', name },
      }));
      const create = (): ReturnType<CommandDoors['send']> =>
        doors.send('ada', 'POST /api/v1/batch', { body: { commands: [one, other] }, key: 'same' });
      const first = await store.db.transaction(async (holder) => {
        // The batch gets as far as its events, which come after all that it does.
        await holder.raw('LOCK TABLE audit_outbox IN EXCLUSIVE MODE');
        const created = create();
        await until(async () => {
          const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'relation' AND datname = current_database()`,
          );
          return rows.length > 0;
        });
        const { status, json } = await create();
        expect([status, json['code']]).toEqual([409, 'idempotency.in_progress']);
        return [created];
      });
      const [created] = await Promise.all(first);
      const again = await create();
      expect([again.status, again.text, again.header('idempotency-replayed')]).toEqual([200, created?.text, 'true']);
    });
  }
});
