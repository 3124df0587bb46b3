// The settings of `database`: how many connections the store gets, and how long it may take.
import { group, setting } from './setting.js';
import { DATABASE_LIMITS } from '../limits/store.js';
import { count, DURATION, FLAG, inSeconds } from './value-types.js';

const CONNECTIONS = count(1, 1_000);

export const DATABASE = group('connections to the store, and their time limits', {
  maxConnections: setting(CONNECTIONS, { default: DATABASE_LIMITS.maxConnections, doc: 'connections for queries' }),
  maxWriters: setting(CONNECTIONS, {
    default: DATABASE_LIMITS.maxWriters,
    doc: 'connections for writes',
  }),
  maxVital: setting(CONNECTIONS, {
    default: DATABASE_LIMITS.maxVital,
    doc: 'connections for API keys and health checks; queries cannot use them',
  }),
  waitAtStart: setting(FLAG, {
    default: true,
    doc: 'whether `serve` waits, with /livez on `adminListen`, if the store cannot be reached when it starts; otherwise it ends with status 10',
  }),
  replicaLag: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.replicaLag),
    doc: 'how old the data of a replica may be; if it is older or its age is unknown, the primary answers',
  }),
  statementTimeout: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.statementTimeout),
    doc: 'longest time for one statement of a request, and for its whole transaction; on the embedded store, queries and transactions have a third of it',
  }),
  idleInTransaction: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.idleInTransaction),
    doc: 'longest time that an open transaction may be idle',
  }),
  connectTimeout: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.connectTimeout),
    doc: 'longest time for opening a connection',
  }),
  acquireTimeout: setting(DURATION, {
    doc: `longest time that a request may wait for a connection (default: ${inSeconds(DATABASE_LIMITS.acquireTimeout.external)}; on the embedded store ${inSeconds(DATABASE_LIMITS.acquireTimeout.embedded)})`,
    example: inSeconds(DATABASE_LIMITS.acquireTimeout.external),
  }),
});
