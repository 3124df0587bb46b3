// A write whose end the gateway does not see, or does not wait for: it was done whole or not at all. The answer says if
// nobody knows which, and repeating the write with its key or its `If-Match` says it.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { openDatabase } from '../../../server/db/database.js';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const ACTORS = { ada: { '/': '*:*' } };

describeOnStores('an interrupted create', (store) => {
  const create = (doors: CommandDoors, name: string): Promise<Answered> =>
    doors.send('ada', 'POST /api/v1/resources', { body: { namespace: '/', name }, key: name.replaceAll(' ', '-') });
  /** Records of the name, and events of commands that made one. */
  const made = async (name: string): Promise<unknown> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT count(*)::int AS records, (SELECT count(*) FROM audit_outbox AS o, records AS x
        WHERE x.name = ? AND o.event::json ->> 'kind' = 'command' AND strpos(o.event, x.id::text) > 0)::int AS events
        FROM records WHERE name = ?`,
      [name, name],
    );
    return rows[0];
  };
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'record_counts'::regclass`,
    );
    return rows.length > 0;
  };

  it('has its answer under its key after the gateway has started again', async () => {
    const first = await openCommandDoors({ db: store.db, actors: ACTORS });
    const { text } = await create(first, 'before the start');
    await first.close();
    const second = await openCommandDoors({ db: store.db, actors: ACTORS });
    expect((await create(second, 'before the start')).text).toBe(text);
    expect(await made('before the start')).toEqual({ records: 1, events: 1 });
    await second.close();
  });

  // The embedded store is in this process, and runs one statement at a time to its end.
  if (store.name === 'embedded') return;

  /** Nobody waits longer for a statement than this, or for its answer than a second more. */
  const HASTY = 300;
  const ONE = { namespace: '/', name: 'one of a batch' };

  /** A gateway whose store is behind a front. Closing it closes both. */
  async function openBehind(statementTimeout?: number): Promise<CommandDoors & { readonly front: LosingFront }> {
    const front = await losingFront(urlOf(store.config));
    const time = statementTimeout === undefined ? {} : { statementTimeout };
    const db = await openDatabase({ ...store.config, kind: 'external', url: front.url, ...time });
    const doors = await openCommandDoors({ db, actors: ACTORS });
    const close = async (): Promise<void> => {
      await doors.close();
      await db.close();
      front.close();
    };
    return { ...doors, front, close };
  }

  it.each<[string, Loss, '503 db.unavailable' | '504 db.timeout']>([
    ['the connection was lost', 'ends', '503 db.unavailable'],
    ['the network went silent', 'silent', '504 db.timeout'],
  ])('may have been done, if %s with its answer: its key has the answer', async (name, loss, code) => {
    const doors = await openBehind(HASTY);
    doors.front.loseAnswerTo(name, loss);
    expect(told(await create(doors, name))).toEqual([code, 'unknown']);
    const again = await create(doors, name);
    expect([again.status, again.header('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await made(name)).toEqual({ records: 1, events: 1 });
    await doors.close();
  });

  it.each<[Loss, '503 db.unavailable' | '504 db.timeout']>([
    ['ends', '503 db.unavailable'],
    ['silent', '504 db.timeout'],
  ])('may have been done as a batch, too (the connection %s)', async (loss, code) => {
    const doors = await openBehind(HASTY);
    const commands = [ONE, ONE].map((body) => ({ method: 'POST', path: '/api/v1/resources', body }));
    const batch = (): Promise<Answered> =>
      doors.send('ada', 'POST /api/v1/batch', { body: { commands }, key: `batch-${loss}` });
    doors.front.loseAnswerTo(COMMIT, loss);
    expect(told(await batch())).toEqual([code, 'unknown']);
    const again = await batch();
    expect([again.status, again.header('idempotency-replayed')]).toEqual([200, 'true']);
    await doors.close();
  });

  it('may have been done as a change, too: the same change with its revision says so', async () => {
    const doors = await openBehind();
    const { id } = (await create(doors, 'to change')).json;
    const change = (): Promise<Answered> =>
      doors.send('ada', `PATCH /api/v1/resources/${String(id)}`, { body: { description: 'changed once' }, ifMatch: 1 });
    doors.front.loseAnswerTo('changed once', 'ends');
    expect(told(await change())).toEqual(['503 db.unavailable', 'unknown']);
    expect(told(await change())).toEqual(['412 record.precondition', undefined]);
    await doors.close();
  });

  it('was not done, if the connection was lost before COMMIT', async () => {
    const doors = await openBehind();
    const commands = [{ method: 'POST', path: '/api/v1/resources', body: { ...ONE, name: 'lost before its end' } }];
    const batch = (): Promise<Answered> =>
      doors.send('ada', 'POST /api/v1/batch', { body: { commands: [...commands, ...commands] }, key: 'before' });
    doors.front.loseAnswerTo('lost before its end', 'ends');
    expect(told(await batch())).toEqual(['503 db.unavailable', undefined]);
    expect((await batch()).header('idempotency-replayed')).toBeUndefined();
    await doors.close();
  });

  it.each([
    ['its time was up', HASTY, ['504 db.timeout', undefined], ''],
    [
      'the server ended its connection',
      60_000,
      // A server may end it after COMMIT, too.
      ['503 db.unavailable', 'unknown'],
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'record_counts'::regclass`,
    ],
  ])('was not done, if %s: its key is free', async (name, statementTimeout, answer, ending) => {
    const db = await openDatabase({ ...store.config, statementTimeout });
    const doors = await openCommandDoors({ db, actors: ACTORS });
    await store.db.transaction(async (holder) => {
      // The create gets as far as its trigger, which is after its checks.
      await holder.raw('LOCK TABLE record_counts IN EXCLUSIVE MODE');
      const interrupted = create(doors, name);
      await until(isWaiting);
      if (ending !== '') await store.db.knex.raw(ending);
      expect(told(await interrupted)).toEqual(answer);
    });
    expect(await made(name)).toEqual({ records: 0, events: 0 });
    const again = await create(doors, name);
    expect([again.status, again.header('idempotency-replayed')]).toEqual([201, undefined]);
    expect(await made(name)).toEqual({ records: 1, events: 1 });
    await doors.close();
    await db.close();
  });
});

/** The refusal, and whether it says that the write may have been done all the same. */
function told({ status, json }: Answered): readonly [code: string, outcome: unknown] {
  return [`${String(status)} ${String(json['code'])}`, json['outcome']];
}

function urlOf(config: object): URL {
  if (!('url' in config)) throw new Error('a store without a server');
  return new URL(String(config.url));
}

/** What becomes of a connection in place of an answer. */
type Loss = 'ends' | 'silent';

/** The name that COMMIT is prepared under. */
const COMMIT = 'bailiwick commit';

interface LosingFront {
  readonly url: string;
  /** Loses what the server answers to the next connection that sends this text. */
  readonly loseAnswerTo: (text: string, loss: Loss) => void;
  readonly close: () => void;
}

/** A way to the server by TCP. */
async function losingFront(server: URL): Promise<LosingFront> {
  const sockets: Socket[] = [];
  let lost: { readonly text: string; readonly loss: Loss } | null = null;
  const front = createServer((near) => {
    const far = connect(`${server.searchParams.get('host') ?? ''}/.s.PGSQL.${server.port || '5432'}`);
    let losing: Loss | null = null;
    near.on('data', (chunk) => {
      if (lost !== null && chunk.includes(lost.text)) {
        losing = lost.loss;
        lost = null;
      }
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (losing === null) near.write(chunk);
      else if (losing === 'ends') near.destroy();
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => undefined).on('close', () => other.destroy());
      sockets.push(one);
    }
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const { port } = front.address() as AddressInfo;
  return {
    url: `postgres://postgres@127.0.0.1:${String(port)}${server.pathname}`,
    loseAnswerTo: (text, loss) => {
      lost = { text, loss };
    },
    close: () => {
      front.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
