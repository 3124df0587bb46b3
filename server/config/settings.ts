// All settings, each listed once. Flags, variables, `bailiwick.yaml` and its schema, help texts, `config check`, the
// example file and the type of the configuration are derived from this table. To add a setting, add its row here and
// use its value.
import { AUTHENTICATION } from './authentication.js';
import { DATABASE } from './database.js';
import {
  type FlagNames,
  group,
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
    flag: '--database-url <url>',
    env: ['DATABASE_URL'],
    secret: true,
    secretFile: true,
    choice: 'store',
    doc: 'URL of an external PostgreSQL, in place of the embedded store; a variable or a file keeps its password out of `ps`',
    example: 'postgres://bailiwick@db.example.org/bailiwick',
  }),
  databaseReadUrl: setting(DATABASE_URLS, {
    env: ['DATABASE_READ_URL'],
    secret: true,
    secretFile: true,
    needs: 'databaseUrl',
    doc: 'URLs of streaming replicas of that PostgreSQL, separated by spaces; pages and counts are read from a replica whose data is no older than `database.replicaLag`',
    example: 'postgres://bailiwick@replica.example.org/bailiwick',
  }),
  policy: setting(PATH, {
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
    doc: 'address for admins and monitoring, in clear text on loopback and with the `tls` of the API elsewhere; `none` turns it off',
  }),
  adminSocket: setting(PATH_OR_NONE, {
    flag: '--admin-socket <path>',
    doc: 'Unix socket for commands of the same user (default: admin.sock in the data folder); `none` turns it off',
    example: '/run/bailiwick/admin.sock',
  }),
  console: setting(FLAG, {
    default: false,
    flag: '--console',
    doc: 'whether the console is served at /console, on `adminListen` and the admin socket; `bailiwick console` works without it',
  }),
  trustProxy: setting(NETWORKS, {
    doc: 'addresses and networks of the proxies whose `X-Forwarded-For` is trusted (default: none)',
    example: '[10.0.0.0/8]',
  }),
  cors: group('web pages of other origins that may send requests to the API, with a credential in `Authorization`', {
    origins: setting(ORIGINS, {
      doc: 'origins of web pages that may use the API, as browsers send them; there is no wildcard',
      example: '[https://app.example.org]',
    }),
  }),
  workers: setting(count(1, 64), {
    default: 1,
    flag: '--workers <count>',
    doc: 'number of processes that answer requests; with two or more, the main process manages them and owns the audit log, the embedded store and the policy source',
  }),
  authentication: AUTHENTICATION,
  database: DATABASE,
  limits: group('limits for callers', {
    rate: group('requests per second', {
      perActor: setting(RATE, { default: 0, doc: 'requests per second of one actor; 0 is no limit' }),
      perAddress: setting(RATE, { default: 0, doc: 'requests per second from one client address; 0 is no limit' }),
      unauthenticated: setting(RATE, {
        default: 50,
        doc: 'requests per second from one client address without a valid credential; 0 is no limit',
      }),
    }),
    concurrency: group('requests that are handled at the same time', {
      perActor: setting(count(0, 10_000), {
        default: 4,
        doc: 'requests of one actor at the same time; further requests of this actor wait, and other actors are not delayed; 0 is no limit',
      }),
    }),
    connections: group('connections to the API at the same time', {
      total: setting(count(16, 1_000_000), {
        default: HTTP_LIMITS.connections,
        doc: 'connections of all clients; if there are as many, the oldest one without a valid credential is closed for a new one',
      }),
      perAddress: setting(count(1, 1_000_000), {
        default: HTTP_LIMITS.connectionsOfAddress,
        doc: 'connections of one client address without a valid credential; those of the proxies in `trustProxy` are not counted',
      }),
    }),
    auditLag: setting(DURATION, {
      default: inSeconds(AUDIT_LIMITS.lag),
      doc: 'how long the audit log may be unwritable before writes are refused',
    }),
    idempotency: setting(AGE, {
      default: '24h',
      doc: 'how long the answer to a create, copy or batch is kept under its Idempotency-Key',
    }),
  }),
  changes: group('the feed of changes (docs/feed.md)', {
    keep: setting(AGE, {
      default: '7d',
      doc: 'how long changes are kept; a client whose cursor is older has to start again',
    }),
    rows: setting(count(1_000, 1_000_000_000), {
      default: CHANGES_LIMITS.rows,
      doc: 'largest number of changes that are kept; the oldest are removed first',
    }),
  }),
  snapshot: SNAPSHOT,
  authzen: optional('the API of AuthZEN 1.0 (docs/authzen.md), for decide keys', {
    baseUrl: setting(BASE_URL, {
      required: true,
      example: 'https://pdp.example.org',
      doc: 'URL at which clients reach this gateway; the discovery document names it',
    }),
    vocabulary: setting(VOCABULARY, {
      example: '{ actions: { can_read: resource:read } }',
      doc: 'what the names that clients use mean here: `subjects`, `resources`, `actions` (default: each name means itself)',
    }),
  }),
  audit: group('the log of decisions', {
    folder: setting(PATH, {
      file: 'audit folder',
      doc: 'folder of the log (default: `audit` in the data folder)',
      example: '/var/lib/bailiwick/audit',
    }),
    signingKey: setting(PATH, {
      file: 'signing key',
      doc: 'private key of `keygen` that signs checkpoints of the log: after 1,000 events or ten minutes, and when the gateway ends',
      example: '/etc/bailiwick/audit.key',
    }),
    witnesses: list('services that also sign checkpoints of the log (C2SP tlog-witness)', {
      url: setting(OUTGOING_URL, {
        required: true,
        example: 'https://witness.example.org',
        doc: 'URL of the witness, without `/add-checkpoint`',
      }),
      key: setting(WITNESS_KEY, {
        required: true,
        example: 'witness.example.org+2117e12c+BFDYWOCYXsx/YEGKrwzFq1h/QsJXCohAlanozKzQ9lRc',
        doc: 'verifier key of the witness, as it publishes it',
      }),
    }),
    queries: setting(oneOf('all', 'denied', 'none'), {
      default: 'all',
      doc: 'which queries and reads are recorded: `all`, `denied` (only those that were refused) or `none`',
    }),
    records: setting(oneOf('set', 'ids', 'none'), {
      default: 'set',
      doc: 'how the event of a query holds the records that were shown: `set` (up to 16 by id, more as a set), `ids` (all by id) or `none`',
    }),
    onFailure: setting(oneOf('refuse', 'continue'), {
      default: 'refuse',
      doc: 'what happens to queries while the log cannot be written: `refuse` (503 `audit.unavailable`) or `continue`; writes are always refused',
    }),
  }),
  log: group('the log on standard error', {
    level: setting(oneOf('info', 'warn', 'error'), {
      default: 'info',
      doc: 'lowest level that is written: `info`, `warn`, or `error`, which means that somebody must act',
    }),
    requests: setting(oneOf('all', 'refused', 'none'), {
      default: 'all',
      doc: 'which requests get a line: `all`, `refused` or `none`; faults of the gateway itself always get one',
    }),
    sample: setting(count(1, 1_000_000), {
      default: 1,
      doc: 'one in this many of the requests that were not refused gets a line',
    }),
  }),
  shutdown: group('orderly shutdown after SIGTERM or SIGINT', {
    notice: setting(DURATION_OR_OFF, {
      doc: 'how long `/readyz` answers 503 while requests are still answered, so that load balancers send new ones elsewhere (default: no notice)',
      example: '5s',
    }),
    deadline: setting(DURATION, {
      default: inSeconds(HTTP_LIMITS.drainTimeout),
      doc: 'how long requests in progress may take to end before their connections are closed',
    }),
  }),
  tls: group('certificate of the API, which is in clear text without one. Both files are read again when they change', {
    certFile: setting(PATH, {
      env: ['BAILIWICK_TLS_CERT_FILE'],
      needs: 'tls.keyFile',
      file: 'certificate',
      doc: 'PEM file with the certificate, followed by its intermediate certificates',
      example: '/etc/bailiwick/tls/tls.crt',
    }),
    keyFile: setting(PATH, {
      env: ['BAILIWICK_TLS_KEY_FILE'],
      needs: 'tls.certFile',
      file: 'private key',
      doc: 'PEM file with the private key of the certificate, unencrypted',
      example: '/etc/bailiwick/tls/tls.key',
    }),
  }),
});

/** The place of the settings file, which is the one setting that the file cannot hold. */
const CONFIG_FILE = Object.freeze({
  config: setting(PATH, {
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
