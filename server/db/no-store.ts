// A store that nobody opened, for describing the routes without a database. It rejects every use.
import type { Database } from './database.js';

export function noStore(): Database {
  const refuse = (): Promise<never> => Promise.reject(new Error('there is no store here'));
  return Object.freeze({
    kind: 'embedded',
    isPartitioned: false,
    get knex(): never {
      throw new Error('there is no store here');
    },
    read: refuse,
    readReplica: refuse,
    replicas: () => [],
    replicaLag: null,
    longestQuery: null,
    vital: refuse,
    rows: refuse,
    vacuum: refuse,
    write: refuse,
    writeOne: refuse,
    transaction: refuse,
    listen: refuse,
    pools: () => [],
    hearOfDisk: () => undefined,
    ping: refuse,
    close: () => Promise.resolve(true),
  });
}
