// A store that nobody opened: for what wants the routes alone, to describe them. Whatever asks it is refused.
import knex from 'knex';
import type { Database } from './database.js';

export function noStore(): Database {
  const refuse = (): Promise<never> => Promise.reject(new Error('there is no store here'));
  return Object.freeze({
    kind: 'embedded',
    // Without a connection to make.
    knex: knex({ client: 'pg', version: '15' }),
    read: refuse,
    readReplica: refuse,
    replica: null,
    longestQuery: null,
    vital: refuse,
    write: refuse,
    transaction: refuse,
    listen: refuse,
    pools: () => [],
    ping: refuse,
    close: () => Promise.resolve(),
  });
}
