// A create in one statement whose end the gateway does not see, or does not wait for: it was done whole or not at all, and
// repeating it with its key says which.
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

  it('was done, if the connection was lost with its answer: its key has the answer', async () => {
    const front = await losingFront(urlOf(store.config));
    const db = await openDatabase({ ...store.config, kind: 'external', url: front.url });
    const doors = await openCommandDoors({ db, actors: ACTORS });
    front.loseAnswerTo('answer lost');
    expect(codeOf(await create(doors, 'answer lost'))).toBe('503 db.unavailable');
    const again = await create(doors, 'answer lost');
    expect([again.status, again.header('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await made('answer lost')).toEqual({ records: 1, events: 1 });
    await doors.close();
    await db.close();
    front.close();
  });

  it.each([
    ['its time was up', 300, '504 db.timeout', ''],
    [
      'the server ended its connection',
      60_000,
      '503 db.unavailable',
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'record_counts'::regclass`,
    ],
  ])('was not done, if %s: its key is free', async (name, statementTimeout, code, ending) => {
    const db = await openDatabase({ ...store.config, statementTimeout });
    const doors = await openCommandDoors({ db, actors: ACTORS });
    await store.db.transaction(async (holder) => {
      // The create gets as far as its trigger, which is after its checks.
      await holder.raw('LOCK TABLE record_counts IN EXCLUSIVE MODE');
      const interrupted = create(doors, name);
      await until(isWaiting);
      if (ending !== '') await store.db.knex.raw(ending);
      expect(codeOf(await interrupted)).toBe(code);
    });
    expect(await made(name)).toEqual({ records: 0, events: 0 });
    const again = await create(doors, name);
    expect([again.status, again.header('idempotency-replayed')]).toEqual([201, undefined]);
    expect(await made(name)).toEqual({ records: 1, events: 1 });
    await doors.close();
    await db.close();
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}

function urlOf(config: object): URL {
  if (!('url' in config)) throw new Error('a store without a server');
  return new URL(String(config.url));
}

interface LosingFront {
  readonly url: string;
  /** Ends the connection that sends this text, in place of passing on what the server answers. */
  readonly loseAnswerTo: (text: string) => void;
  readonly close: () => void;
}

/** A way to the server by TCP. */
async function losingFront(server: URL): Promise<LosingFront> {
  const sockets: Socket[] = [];
  let lost = '';
  const front = createServer((near) => {
    const far = connect(`${server.searchParams.get('host') ?? ''}/.s.PGSQL.${server.port || '5432'}`);
    let isLosing = false;
    near.on('data', (chunk) => {
      isLosing ||= lost !== '' && chunk.includes(lost);
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (!isLosing) near.write(chunk);
      else if (lost !== '') near.destroy();
      if (isLosing) lost = '';
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
    loseAnswerTo: (text) => {
      lost = text;
    },
    close: () => {
      front.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
