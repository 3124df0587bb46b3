// All settings, each listed once. Flags, variables, `bailiwick.yaml` and its schema, help texts, `config check`, the
// example file and the type of the configuration are derived from this table. To add a setting, add its row here and
// use its value.
import { AUTHENTICATION } from './authentication.js';
import { DATABASE } from './database.js';
import {
  type FlagNames,
  group,
  later,
  list,
  optional,
  type SettingRow,
  rowsOf,
  rowsOfSetting,
  setting,
  type SwitchNames,
  type ValuesOf,
} from './setting.js';
import { SNAPSHOT } from './snapshot.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import {
  ADDRESS,
  ADDRESS_OR_NONE,
  AGE,
  BASE_URL,
  count,
  DATABASE_URL,
  DATABASE_URLS,
  DURATION,
  DURATION_OR_OFF,
  FLAG,
  inSeconds,
  NETWORKS,
  oneOf,
  ORIGINS,
  OUTGOING_URL,
  PATH,
  PATH_OR_NONE,
  VOCABULARY,
  WITNESS_KEY,
} from './value-types.js';

const RATE = count(0, 1_000_000);

export const SETTINGS = Object.freeze({
  dataDir: setting(PATH, {
    default: '.bailiwick',
    flag: '--data-dir <folder>',
    choice: 'store',
    doc: 'folder of the embedded store',
  }),
  databaseUrl: setting(DATABASE_URL, {
    default: null,
    flag: '--database-url <url>',
    env: ['DATABASE_URL'],
    secret: true,
    secretFile: true,
    choice: 'store',
    doc: 'an external PostgreSQL instead of the embedded store; a variable or a file keeps its password out of `ps`',
    example: 'postgres://bailiwick@db.example.org/bailiwick',
  }),
  databaseReadUrl: setting(DATABASE_URLS, {
    default: null,
    env: ['DATABASE_READ_URL'],
    secret: true,
    secretFile: true,
    needs: 'databaseUrl',
    doc: 'streaming replicas of that PostgreSQL, with spaces between: pages and counts come from one that is no older than `database.replicaLag`',
    example: 'postgres://bailiwick@replica.example.org/bailiwick',
  }),
  policy: setting(PATH, {
    default: null,
    flag: '--policy <path>',
    choice: 'policy',
    doc: 'policy folder (checked and compiled first) or snapshot file',
    example: 'policies',
  }),
  listen: setting(ADDRESS, {
    default: '127.0.0.1:8080',
    flag: '--listen <host:port>',
    doc: 'address of the API',
  }),
  adminListen: setting(ADDRESS_OR_NONE, {
    default: '127.0.0.1:8081',
    flag: '--admin-listen <host:port>',
    doc: 'address for admins and monitoring, in clear text on loopback, elsewhere with the same `tls`; `none` turns it off',
  }),
  adminSocket: setting(PATH_OR_NONE, {
    default: null,
    flag: '--admin-socket <path>',
    doc: 'Unix socket for the commands of this user (default: admin.sock in the data folder); `none` turns it off',
    example: '/run/bailiwick/admin.sock',
  }),
  console: setting(FLAG, {
    default: false,
    flag: '--console',
    doc: 'whether `adminListen` and the admin socket serve the console, a page at /console; `bailiwick console` needs no setting',
  }),
  trustProxy: setting(NETWORKS, {
    default: null,
    doc: 'addresses and networks of the proxies whose `X-Forwarded-For` is trusted; unless set, none is',
    example: '[10.0.0.0/8]',
  }),
  cors: group('web pages of other origins that may send requests to the API, with a credential in `Authorization`', {
    origins: setting(ORIGINS, {
      default: null,
      doc: 'their origins, as browsers send them; there is no wildcard',
      example: '[https://app.example.org]',
    }),
  }),
  secretsFile: later('BAILIWICK_SECRETS_FILE'),
  workers: setting(count(1, 64), {
    default: 1,
    flag: '--workers <count>',
    doc: 'processes that answer requests; with two or more, this process manages them and owns the log, an embedded store and the sources',
  }),
  authentication: AUTHENTICATION,
  database: DATABASE,
  limits: group('limits for callers', {
    rate: group('requests a second; 0 is no limit', {
      perActor: setting(RATE, { default: 0, doc: 'for one actor' }),
      perAddress: setting(RATE, { default: 0, doc: 'from one client address' }),
      unauthenticated: setting(RATE, { default: 50, doc: 'from one client address without a valid credential' }),
    }),
    concurrency: group('requests at once; 0 is no limit', {
      perActor: setting(count(0, 10_000), {
        default: 4,
        doc: 'for one actor; further requests of this actor wait, and other actors are not delayed',
      }),
    }),
    connections: group('connections of clients to the API at once', {
      total: setting(count(16, 1_000_000), {
        default: HTTP_LIMITS.connections,
        doc: 'of all; if the table is full, the oldest one without a valid credential is closed for a new one',
      }),
      perAddress: setting(count(1, 1_000_000), {
        default: HTTP_LIMITS.connectionsOfAddress,
        doc: 'of one client address without a valid credential; connections of `trustProxy` are not counted',
      }),
    }),
    auditLag: setting(DURATION, {
      default: inSeconds(AUDIT_LIMITS.lag),
      doc: 'longest time that the audit log may be unwritable before writes are refused',
    }),
    idempotency: setting(AGE, {
      default: '24h',
      doc: 'how long the answer to a create, copy or batch is kept under its Idempotency-Key',
    }),
    expandedRows: later(),
  }),
  changes: group('the feed of changes (docs/feed.md)', {
    keep: setting(AGE, {
      default: '7d',
      doc: 'how long a change is kept for those who follow them; with an older cursor, a client has to start again',
    }),
    rows: setting(count(1_000, 1_000_000_000), {
      default: CHANGES_LIMITS.rows,
      doc: 'how many changes are kept at most; older ones are removed first',
    }),
  }),
  snapshot: SNAPSHOT,
  authzen: optional('other services ask in the words of AuthZEN 1.0 (docs/authzen.md), with decide keys', {
    baseUrl: setting(BASE_URL, {
      default: null,
      required: true,
      example: 'https://pdp.example.org',
      doc: 'where clients reach this gateway; the discovery document names it',
    }),
    vocabulary: setting(VOCABULARY, {
      default: null,
      example: '{ actions: { can_read: resource:read } }',
      doc: 'what the names of clients mean here: `subjects`, `resources`, `actions`. Unless set, names mean themselves',
    }),
  }),
  audit: group('the log of decisions', {
    folder: setting(PATH, {
      default: null,
      doc: 'folder of the log (default: `audit` in the data folder)',
      example: '/var/lib/bailiwick/audit',
    }),
    signingKey: setting(PATH, {
      default: null,
      doc: 'private key of `keygen` that signs checkpoints of the log, every 1,000 events and at the end',
      example: '/etc/bailiwick/audit.key',
    }),
    witnesses: list('who else signs checkpoints of the log (C2SP tlog-witness)', {
      url: setting(OUTGOING_URL, {
        default: null,
        required: true,
        example: 'https://witness.example.org',
        doc: 'where it takes checkpoints, without `/add-checkpoint`',
      }),
      key: setting(WITNESS_KEY, {
        default: null,
        required: true,
        example: 'witness.example.org+2117e12c+BFDYWOCYXsx/YEGKrwzFq1h/QsJXCohAlanozKzQ9lRc',
        doc: 'its verifier key, as it publishes it',
      }),
    }),
    queries: setting(oneOf('all', 'denied', 'none'), { default: 'all', doc: 'which queries and reads are recorded' }),
    records: setting(oneOf('set', 'ids', 'none'), {
      default: 'set',
      doc: 'how events of queries hold the records that were shown: up to 16 by id and more as a set, all by id, or not at all',
    }),
    onFailure: setting(oneOf('refuse', 'continue'), {
      default: 'refuse',
      doc: 'what happens to queries while the log cannot be written; writes are always refused',
    }),
  }),
  log: group('the log on standard error', {
    level: setting(oneOf('info', 'warn', 'error'), {
      default: 'info',
      doc: 'the lowest level that is written; `error` is what somebody must act on',
    }),
    requests: setting(oneOf('all', 'refused', 'none'), {
      default: 'all',
      doc: 'which requests get a line; faults of the gateway itself always do',
    }),
    sample: setting(count(1, 1_000_000), {
      default: 1,
      doc: 'of the requests that were not refused, one in this many gets a line',
    }),
  }),
  shutdown: group('orderly shutdown after SIGTERM or SIGINT', {
    notice: setting(DURATION_OR_OFF, {
      default: null,
      doc: 'how long `/readyz` says 503 while requests are still answered, so that load balancers stop sending requests first',
      example: '5s',
    }),
    deadline: setting(DURATION, {
      default: inSeconds(HTTP_LIMITS.drainTimeout),
      doc: 'how long requests in flight may take to end before their connections are cut',
    }),
  }),
  tls: group('certificate of the API; without one it is in clear text. Both files are read again when they change', {
    certFile: setting(PATH, {
      default: null,
      env: ['BAILIWICK_TLS_CERT_FILE'],
      needs: 'tls.keyFile',
      file: 'certificate',
      doc: 'PEM file with the certificate and, after it, those that lead to its root',
      example: '/etc/bailiwick/tls/tls.crt',
    }),
    keyFile: setting(PATH, {
      default: null,
      env: ['BAILIWICK_TLS_KEY_FILE'],
      needs: 'tls.certFile',
      file: 'private key',
      doc: 'PEM file with the private key of the certificate, not encrypted',
      example: '/etc/bailiwick/tls/tls.key',
    }),
  }),
});

/** The place of the settings file, which is the one setting that the file cannot hold. */
const CONFIG_FILE = Object.freeze({
  config: setting(PATH, {
    default: null,
    flag: '--config <file>',
    doc: 'settings file (default: bailiwick.yaml, if there is one)',
  }),
});

type ValueFlag = FlagNames<typeof SETTINGS> | FlagNames<typeof CONFIG_FILE>;
type Switch = SwitchNames<typeof SETTINGS>;

/** Commander's names for the flags of settings. */
export type SettingName = ValueFlag | Switch;

/** The values that commander gives them. */
export type SettingFlags = Readonly<Partial<Record<ValueFlag, string>> & Partial<Record<Switch, true>>>;

/** Frozen, with absolute paths. `databaseUrl` may hold a password: never print it. */
export type Config = ValuesOf<typeof SETTINGS> & {
  /** The settings file that was read, or null. */
  readonly file: string | null;
  /** What names the store: a flag, a variable or a place in the file; null if nothing does. */
  readonly storeNamedBy: string | null;
  /** A setting other than the store that a variable or the file gives, with its place; null if there is none. */
  readonly otherSetting: { readonly key: string; readonly place: string } | null;
};

export const ROWS: readonly SettingRow[] = rowsOf(SETTINGS, {});
export const CONFIG_FILE_ROWS: readonly SettingRow[] = rowsOfSetting('config', CONFIG_FILE.config);

/** Requests a second; 0 means no limit. */
export type RateLimits = Config['limits']['rate'];

/** Requests at once; 0 means no limit. */
export type ConcurrencyLimits = Config['limits']['concurrency'];
