// The settings of `database`: how many connections the store gets, and how long it may take.
import { group, setting } from './setting.js';
import { DATABASE_LIMITS } from '../limits/store.js';
import { count, DURATION, FLAG, inSeconds } from './value-types.js';

const CONNECTIONS = count(1, 1_000);

export const DATABASE = group('connections to the store, and their time limits', {
  maxConnections: setting(CONNECTIONS, { default: DATABASE_LIMITS.maxConnections, doc: 'connections for queries' }),
  maxWriters: setting(CONNECTIONS, {
    default: DATABASE_LIMITS.maxWriters,
    doc: 'connections for everything that writes',
  }),
  maxVital: setting(CONNECTIONS, {
    default: DATABASE_LIMITS.maxVital,
    doc: 'connections for keys and health, which queries cannot take',
  }),
  waitAtStart: setting(FLAG, {
    default: true,
    doc: 'whether `serve` waits at its start for a store that cannot be reached, and answers /livez on `adminListen`; otherwise it ends with status 10',
  }),
  replicaLag: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.replicaLag),
    doc: 'how old the data of a replica may be; while it is older or its age is unknown, the primary answers',
  }),
  statementTimeout: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.statementTimeout),
    doc: 'longest time for one statement of a request and for all of its transaction; on the embedded store queries and transactions end after a third of it',
  }),
  idleInTransaction: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.idleInTransaction),
    doc: 'longest time that an open transaction may idle',
  }),
  connectTimeout: setting(DURATION, {
    default: inSeconds(DATABASE_LIMITS.connectTimeout),
    doc: 'longest time that a new connection may take',
  }),
  acquireTimeout: setting(DURATION, {
    default: null,
    doc: `longest time that a request may wait for a connection (default: ${inSeconds(DATABASE_LIMITS.acquireTimeout.external)}, on the embedded store ${inSeconds(DATABASE_LIMITS.acquireTimeout.embedded)})`,
    example: inSeconds(DATABASE_LIMITS.acquireTimeout.external),
  }),
});
