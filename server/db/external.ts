// The external store: a PostgreSQL server named by DATABASE_URL. The URL holds a password, so it is kept out of every
// object that might be printed and of every error.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { POOL_LIMITS } from '../limits/store.js';
import { type ConnectionSource, openClient, StoreClient } from './connections.js';
import { codeOf, reasonOf, StoreError } from './failures.js';
import { assertOwnSession } from './pooler.js';
import { PLANNER_SETTINGS, SCHEMA } from './session-settings.js';
import { TIMES, timesOf } from './url-times.js';

export interface ExternalOptions {
  readonly url: string;
  /** Milliseconds; 0 means no limit, whatever the database or the role is set to. */
  readonly statementTimeout: number;
  /** Milliseconds. */
  readonly idleInTransaction: number;
  readonly connectTimeout: number;
  readonly acquireTimeout: number;
}

/** Connects to nothing yet. Throws `StoreError` where the URL cannot be used. */
export function externalSource(options: ExternalOptions): ConnectionSource {
  const { connectTimeout, acquireTimeout } = options;
  const config = configOf(options); // refuses a wrong URL now, not at the first request
  const place = placeOfUrl(options.url);
  const times = limitsOf(options);
  const statementTimeout = times.get('statement_timeout') ?? 0;
  let isClosed = false;
  const source: ConnectionSource = {
    config,
    greeting: greetingOf(times),
    reach: (attempt) =>
      attempt().catch((error: unknown) => {
        if (OF_POOL.test(reasonOf(error))) throw error;
        const failure = whyRefused(error, place);
        isClosed = !isPassing(failure);
        throw failure;
      }),
    assertOpens: async () => {
      if (!isClosed) return;
      try {
        const client = await source.reach(() => openClient(source));
        isClosed = false;
        client.end().catch(() => undefined);
      } catch (error) {
        if (isClosed) throw error;
      }
    },
    connectTimeout,
    acquireTimeout,
    deadline: statementTimeout === 0 ? 0 : statementTimeout + POOL_LIMITS.statementGrace,
  };
  return source;
}

/** Throws `StoreError` where a URL cannot be used, or two are of one server. */
export function replicaSources(
  urls: readonly string[],
  limits: Omit<ExternalOptions, 'url'>,
): readonly (ConnectionSource & { readonly address: string })[] {
  const sources = urls.map((url) => {
    const source = externalSource({ url, ...limits });
    const { host, port } = clientOf(url);
    return { ...source, address: `${host}:${String(port)}` };
  });
  if (new Set(sources.map(({ address }) => address)).size < sources.length)
    throw new StoreError('store.url', 'two of the replicas that the settings name are one server: name each once');
  return sources;
}

/** The pool's own refusals: no connection was opened. */
const OF_POOL = /^(?:timeout exceeded when trying to connect$|Cannot use a pool after calling end)/;

/** Whether a busy server or pooler fails like this, too, which is no reason to send requests elsewhere. */
function isPassing({ code, cause }: StoreError): boolean {
  return BUSY.has(code) || /^(?:08|53)/.test(codeOf(cause) ?? '') || /timeout/.test(reasonOf(cause));
}

const BUSY: ReadonlySet<string> = new Set(['store.busy', 'store.timeout', 'store.connections']);

/** The time limits of a session, by the server's names: those of the URL before ours. */
function limitsOf({ url, statementTimeout, idleInTransaction }: ExternalOptions): ReadonlyMap<string, number> {
  const usual = [
    ['statement_timeout', statementTimeout],
    ['idle_in_transaction_session_timeout', idleInTransaction],
  ] as const;
  return new Map([...usual, ...timesOf(parametersOf(url))]);
}

/** These are set and not asked for when a connection is made, because poolers refuse to pass them on then. */
function greetingOf(times: ReadonlyMap<string, number>): string {
  const settings = [
    ...[...times].map(([name, time]) => [name, String(time)] as const),
    ['search_path', SCHEMA] as const,
    // Whatever the database or the role is set to: each statement must see what was committed before it.
    ['default_transaction_isolation', "'read committed'"] as const,
    ...PLANNER_SETTINGS,
  ];
  return settings.map(([name, value]) => `SET ${name} = ${value}`).join('; ');
}

function parametersOf(url: string): URLSearchParams {
  return new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]);
}

/**
 * Makes a first connection, so that a wrong address or password, or a pooler that cannot be used, is reported at start
 * with a code of its own. Says what the store is like.
 */
export function probeExternal(source: ConnectionSource): Promise<StoreShape> {
  return source.reach(async () => {
    const client = await openClient(source);
    try {
      await assertOwnSession(client, () => openClient(source));
      return { isPartitioned: (await client.run(PARTITIONED)).length > 0 };
    } finally {
      client.end().catch(() => undefined);
    }
  });
}

/** What is found out about a pooler, which does not say where it is. */
const OF_POOLER: ReadonlySet<string> = new Set(['store.pooler', 'store.connections']);

export interface StoreShape {
  /** Whether records are in several partitions (server/db/partitions.ts). */
  readonly isPartitioned: boolean;
}

const PARTITIONED = `SELECT FROM pg_partitioned_table WHERE partrelid = to_regclass('${SCHEMA}.records')`;

/**
 * What each new connection is made with. The driver itself would read the TLS files of the URL, and throw where they
 * cannot be read. Here they are read for each connection, so that new ones are used without a restart; while one cannot
 * be read or has no certificate, what was read last is used.
 */
function configOf({ url, connectTimeout }: ExternalOptions): () => pg.ClientConfig {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new StoreError('store.url', 'the database URL does not begin with postgres:// or postgresql://');
  const parameters = parametersOf(url);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) {
    const text = `the database URL has a parameter that the driver does not know, \`${unknown}\`; it knows ${[...PARAMETERS].join(', ')}`;
    throw new StoreError('store.url', text);
  }
  const sslmode = parameters.get('sslmode');
  if (sslmode !== null && !SSL_MODES.has(sslmode)) {
    throw new StoreError('store.tls', `sslmode in the database URL is not one of ${[...SSL_MODES].join(', ')}`);
  }
  const config: pg.ClientConfig = {
    connectionString: without(url, OF_TLS, TIMES),
    application_name: 'bailiwick',
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
  };
  const readTls = (): Pick<pg.ClientConfig, 'ssl' | 'sslnegotiation'> => {
    const fault = faultOfFiles(parameters);
    if (fault !== null) throw new StoreError('store.tls', fault);
    try {
      const { ssl, sslNegotiation } = new StoreClient({ connectionString: withoutAliases(url) }, 0).connection;
      return { ssl, sslnegotiation: sslNegotiation };
    } catch {
      // no cause: the driver's error quotes the URL, or a key file
      throw new StoreError('store.url', 'the driver does not understand the database URL');
    }
  };
  let tls = readTls();
  return () => {
    try {
      tls = readTls();
    } catch {
      // The last one stays.
    }
    return { ...config, ...tls };
  };
}

/** What the driver makes its TLS options of. */
const OF_TLS: ReadonlySet<string> = new Set([
  ...['ssl', 'sslmode', 'sslnegotiation', 'uselibpqcompat'],
  ...['sslrootcert', 'sslcert', 'sslkey'],
]);

/** The URL without these parameters, so that the driver does not act on them. */
function without(url: string, ...names: readonly ReadonlySet<string>[]): string {
  const isKept = (parameter: string): boolean => {
    const [name = ''] = new URLSearchParams(parameter).keys();
    return !names.some((each) => each.has(name));
  };
  return url.replace(/\?[^#]*/, (query) => `?${query.slice(1).split('&').filter(isKept).join('&')}`);
}

/**
 * The driver treats these modes as `verify-full`, and warns on stderr that a later version will not. Here they stay
 * that strict. Operators who want libpq's meaning set `uselibpqcompat=true`.
 */
function withoutAliases(url: string): string {
  if (/[?&]uselibpqcompat=true(?:&|#|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:allow|prefer|require|verify-ca)(?=&|#|$)/, '$1verify-full');
}

/**
 * What is wrong with the first TLS file that cannot be used. The value given for a key file may be the key itself, so
 * it is not quoted.
 */
function faultOfFiles(parameters: URLSearchParams): string | null {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = parameters.get(name);
    if (path === null || path === '') continue;
    const file = `${name === 'sslkey' ? name : `${name}=${path}`} in the database URL`;
    try {
      const bytes = readFileSync(path);
      // Node ignores a file without a certificate, and then reports that the server's certificate is not trusted.
      if (name !== 'sslkey' && !isCertificate(bytes)) return `${file} has no certificate in PEM form`;
    } catch (error) {
      return `${file} cannot be read (${String(codeOf(error))})`;
    }
  }
  return null;
}

function isCertificate(bytes: Buffer): boolean {
  try {
    return bytes.includes('-----BEGIN') && new X509Certificate(bytes).subject !== '';
  } catch {
    return false;
  }
}

/**
 * The parameters that the driver acts on. It would silently ignore others, and some of those protect the connection.
 * `query_timeout` is not among them: the driver would give up a statement that still runs, and use its connection again.
 */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...['host', 'port', 'user', 'password', 'ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
  ...['uselibpqcompat', 'application_name', 'fallback_application_name', 'client_encoding', 'options'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
]);

const SSL_MODES: ReadonlySet<string> = new Set([
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
]);

/** Where the store of a good URL is, for messages: nothing secret. */
export function placeOfUrl(url: string): string {
  const { host, port, database } = clientOf(url);
  return `${host}:${String(port)}, database ${database ?? 'named after the user'}`;
}

function clientOf(url: string): StoreClient {
  // PGSSLNEGOTIATION may want TLS.
  return new StoreClient({ connectionString: without(url, OF_TLS), sslnegotiation: 'postgres' }, 0);
}

/** A wrong certificate, password or address, each with what to do about it: at the start, and whenever a connection is opened. */
function whyRefused(error: unknown, place: string): StoreError {
  const code = codeOf(error) ?? '';
  const reason = reasonOf(error);
  if (error instanceof StoreError) {
    return OF_POOLER.has(error.code) ? new StoreError(error.code, `${place}: ${reason}`, { cause: error }) : error;
  }
  if (/certificate|self.signed|^ERR_TLS|^CERT_|^DEPTH_|UNABLE_TO_|SSL/.test(`${code} ${reason}`)) {
    return new StoreError('store.tls', `TLS with the PostgreSQL at ${place} failed: ${reason}`, { cause: error });
  }
  if (/password/.test(reason)) {
    const what = code.startsWith('28') ? reason : 'it asks for a password, and none is given';
    return new StoreError('store.refused', `the PostgreSQL at ${place} refuses the connection: ${what}`, {
      cause: error,
    });
  }
  if (code === '53300') {
    return new StoreError('store.connections', `the PostgreSQL at ${place} has no connection left: ${reason}`, {
      cause: error,
    });
  }
  if (code === '42501')
    return new StoreError('store.grants', `the PostgreSQL at ${place}: ${reason}`, { cause: error });
  // Poolers call everything a protocol violation: a parameter that they do not pass on, a database that they do not have, and
  // also that they have too many clients or cannot reach the server, which passes.
  const refused = /^(?:28|3D|42)/.test(code) || (code === '08P01' && /parameter|no such/.test(reason));
  return new StoreError(
    refused ? 'store.refused' : 'store.unreachable',
    `the PostgreSQL at ${place} ${refused ? 'refuses the connection' : 'cannot be reached'}: ${reason}`,
    { cause: error },
  );
}
