// Settings: precedence, every fault at once with its place, nothing silently ignored, no secret in a message.
import { describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rowsOf } from '../../../server/config/setting.js';
import { ROWS, SETTINGS } from '../../../server/config/settings.js';
import {
  type Config,
  ConfigError,
  type ConfigSources,
  loadConfig,
  storeOf,
  tableFolderOf,
} from '../../../server/config/index.js';
import { DATABASE_LIMITS } from '../../../server/limits/store.js';
import { makeFolder } from '../../support/temp-folder.js';

const CANARY = 'hunter2-canary';

async function load(sources: Partial<ConfigSources> & { readonly file?: string } = {}): Promise<Config> {
  const cwd = await makeFolder(sources.file === undefined ? {} : { 'bailiwick.yaml': sources.file });
  return loadConfig({ flags: sources.flags ?? {}, env: sources.env ?? {}, cwd });
}

async function faultsOf(sources: Partial<ConfigSources> & { readonly file?: string }): Promise<readonly string[]> {
  try {
    await load(sources);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ place, message, fix }) => `${place}: ${message}${fix === undefined ? '' : `; ${fix}`}`);
  }
  return [];
}

const NO_ISSUERS = { oidc: [], introspection: [], mtls: null, anonymous: null, revocationsFile: null };
const SNAPSHOT = {
  source: {
    ...{ directory: null, url: null, caFile: null, privateNetwork: false },
    ...{ git: null, ref: null, path: null, signersFile: null },
  },
  poll: 2_000,
  requireSignature: false,
  keyringFile: null,
  environment: null,
  tableFolder: null,
  softAge: null,
  hardAge: null,
};

test('no secret has a flag, which `ps` shows to all users; where a URL may hold one, its help says so', () => {
  const secrets = ROWS.filter(({ setting, holds }) => setting.secret === true && holds === 'value');
  expect(secrets.map(({ key }) => key)).toEqual(['databaseUrl', 'databaseReadUrl']);
  const withFlag = secrets.filter(({ flag }) => flag !== null);
  expect(withFlag.map(({ key, setting }) => [key, setting.doc])).toEqual([
    ['databaseUrl', expect.stringContaining('keeps its password out of `ps`')],
  ]);
  // What else is called one, in lists too, is the path of a file.
  const document = { authentication: { introspection: [{}], oidc: [{}], mtls: {} } };
  const named = rowsOf(SETTINGS, document).filter(({ key }) => /secret|password|private[A-Z]?key|keyFile/i.test(key));
  expect(named.map(({ key }) => key).filter((key) => !/File$/.test(key))).toEqual([]);
  expect(named.length).toBeGreaterThan(0);
});

test('defaults', async () => {
  const cwd = await makeFolder();
  expect(await loadConfig({ flags: {}, env: {}, cwd })).toEqual({
    file: null,
    ...{ storeNamedBy: null, otherSetting: null },
    dataDir: join(cwd, '.bailiwick'),
    databaseUrl: null,
    databaseReadUrl: null,
    policy: null,
    workers: 1,
    listen: { host: '127.0.0.1', port: 8080 },
    adminListen: { host: '127.0.0.1', port: 8081 },
    adminSocket: null,
    ...{ console: false, trustProxy: null, cors: { origins: null }, authzen: null },
    authentication: { ...NO_ISSUERS, keys: { enabled: true } },
    database: { ...DATABASE_LIMITS, acquireTimeout: null, waitAtStart: true },
    limits: {
      rate: { perActor: 0, perAddress: 0, unauthenticated: 50 },
      concurrency: { perActor: 4 },
      connections: { total: 4096, perAddress: 256 },
      auditLag: 10_000,
      idempotency: 86_400_000,
    },
    audit: { folder: null, signingKey: null, witnesses: [], queries: 'all', records: 'set', onFailure: 'refuse' },
    changes: { keep: 604_800_000, rows: 1_000_000 },
    snapshot: SNAPSHOT,
    log: { level: 'info', requests: 'all', sample: 1 },
    shutdown: { notice: null, deadline: 20_000 },
    tls: { certFile: null, keyFile: null },
  });
});

describe('precedence', () => {
  const file = 'listen: 127.0.0.1:1003\n';
  test.each([
    ['a flag wins', { listen: '127.0.0.1:1001' }, { BAILIWICK_LISTEN: '127.0.0.1:1002' }, file, 1001],
    ['then the environment', {}, { BAILIWICK_LISTEN: '127.0.0.1:1002' }, file, 1002],
    ['then the file', {}, {}, file, 1003],
  ])('%s', async (_name, flags, env, text, port) => {
    expect((await load({ flags, env, file: text })).listen.port).toBe(port);
  });
});

test('the whole file', async () => {
  const cwd = await makeFolder({
    'etc/settings.yaml': [
      'databaseUrl: postgres://localhost/bailiwick',
      'databaseReadUrl: postgres://replica/bailiwick',
      'policy: ../policies',
      'listen: "[::1]:9000"',
      'adminListen: none',
      'adminSocket: admin.sock',
      'cors: { origins: ["https://a.example"] }',
      'authentication:',
      '  keys: { enabled: false }',
      'database: { maxConnections: 20, waitAtStart: false, statementTimeout: 1m }',
      'limits:',
      '  rate: { unauthenticated: 5 }',
      'changes: { keep: 2d, rows: 5000 }',
      'log: { level: warn, requests: refused, sample: 10 }',
      'shutdown: { notice: 5s }',
      'tls: { certFile: tls.crt, keyFile: /run/tls.key }',
    ].join('\n'),
  });
  const config = await loadConfig({ flags: { config: 'etc/settings.yaml' }, env: {}, cwd });
  expect(config).toEqual({
    file: join(cwd, 'etc/settings.yaml'),
    storeNamedBy: 'settings.yaml:1:14',
    otherSetting: { key: 'databaseReadUrl', place: 'settings.yaml:2:18' },
    dataDir: join(cwd, '.bailiwick'),
    databaseUrl: 'postgres://localhost/bailiwick',
    databaseReadUrl: ['postgres://replica/bailiwick'],
    policy: join(cwd, 'policies'),
    workers: 1,
    listen: { host: '::1', port: 9000 },
    adminListen: null,
    adminSocket: join(cwd, 'etc/admin.sock'),
    console: false,
    trustProxy: null,
    authzen: null,
    cors: { origins: ['https://a.example'] },
    authentication: { ...NO_ISSUERS, keys: { enabled: false } },
    database: {
      maxConnections: 20,
      maxWriters: 4,
      maxVital: 2,
      replicaLag: 1_000,
      statementTimeout: 60_000,
      waitAtStart: false,
      idleInTransaction: 10_000,
      connectTimeout: 5_000,
      acquireTimeout: null,
    },
    limits: {
      rate: { perActor: 0, perAddress: 0, unauthenticated: 5 },
      concurrency: { perActor: 4 },
      connections: { total: 4096, perAddress: 256 },
      auditLag: 10_000,
      idempotency: 86_400_000,
    },
    audit: { folder: null, signingKey: null, witnesses: [], queries: 'all', records: 'set', onFailure: 'refuse' },
    changes: { keep: 172_800_000, rows: 5_000 },
    snapshot: SNAPSHOT,
    log: { level: 'warn', requests: 'refused', sample: 10 },
    shutdown: { notice: 5_000, deadline: 20_000 },
    tls: { certFile: join(cwd, 'etc/tls.crt'), keyFile: '/run/tls.key' },
  });
  const readUrls = ['postgres://replica/bailiwick'];
  expect(storeOf(config)).toEqual({ kind: 'external', url: 'postgres://localhost/bailiwick', readUrls });
});

describe('the store is one choice', () => {
  const URL = 'postgres://localhost/b';
  const file = `databaseUrl: ${URL}\n`;
  test.each<[string, Partial<ConfigSources> & { readonly file?: string }, object]>([
    ['a folder on the command line', { flags: { dataDir: '/d' }, file }, { kind: 'embedded', dataDir: '/d' }],
    ['a folder in a variable', { env: { BAILIWICK_DATA_DIR: '/d' }, file }, { kind: 'embedded', dataDir: '/d' }],
    [
      'a folder on the command line, over a variable',
      { flags: { dataDir: '/d' }, env: { DATABASE_URL: URL } },
      { kind: 'embedded', dataDir: '/d' },
    ],
    [
      'a server in a variable',
      { env: { DATABASE_URL: URL }, file: 'dataDir: d\n' },
      { kind: 'external', url: URL, readUrls: [] },
    ],
    [
      'a folder on the command line, over what another program meant by the variable',
      { flags: { dataDir: '/d' }, env: { DATABASE_URL: 'mysql://x' } },
      { kind: 'embedded', dataDir: '/d' },
    ],
  ])('made by what is nearest: %s', async (_name, sources, expected) => {
    expect(storeOf(await load(sources))).toEqual(expected);
  });

  const GIT = 'policy: p\nsnapshot: { source: { git: https://x/y, ref: refs/heads/main, path: policies } }\n';
  test.each<[string, Partial<ConfigSources> & { readonly file?: string }, string]>([
    ['flags', { flags: { dataDir: 'd', databaseUrl: URL } }, '--database-url: disagrees with --data-dir'],
    [
      'variables',
      { env: { BAILIWICK_DATA_DIR: 'd', DATABASE_URL: URL } },
      'DATABASE_URL: disagrees with BAILIWICK_DATA_DIR',
    ],
    ['the file', { file: `dataDir: d\n${file}` }, 'bailiwick.yaml:2:14: disagrees with `dataDir`'],
    [
      'a variable and one that names a file',
      { env: { DATABASE_URL: URL, DATABASE_URL_FILE: 'f' } },
      'DATABASE_URL_FILE: disagrees with DATABASE_URL',
    ],
    // What needs the setting that lost is no fault of its own.
    ['another setting', { file: GIT }, 'bailiwick.yaml:2:28: disagrees with `policy`'],
  ])('and is refused where one source makes it twice: %s', async (_name, sources, expected) => {
    expect(await faultsOf(sources)).toEqual([`${expected}; set one of the two`]);
  });

  test('which a file of the secret also makes', async () => {
    const cwd = await makeFolder({ 'run/url': `${URL}\n`, 'bailiwick.yaml': 'databaseUrlFile: run/url\n' });
    expect((await loadConfig({ flags: {}, env: {}, cwd })).databaseUrl).toBe(URL);
    await writeFile(join(cwd, 'other'), `mysql://${CANARY}`);
    const faults = loadConfig({ flags: {}, env: { DATABASE_URL_FILE: 'other' }, cwd }).catch((error: unknown) => error);
    expect(JSON.stringify(await faults)).toMatch(/DATABASE_URL_FILE.*is not a PostgreSQL URL/);
    expect(JSON.stringify(await faults)).not.toContain(CANARY);
    expect(await faultsOf({ env: { DATABASE_URL_FILE: 'nowhere' } })).toEqual([
      'DATABASE_URL_FILE: names a file that does not exist; name a file with the value and nothing else',
    ]);
  });
});

test('a number out of its bounds is one fault', async () => {
  expect(await faultsOf({ file: 'limits: { rate: { perActor: 1000000.5 } }\n' })).toEqual([
    'bailiwick.yaml:1:29: `limits.rate.perActor` must be a whole number from 0 to 1000000',
  ]);
});

test('an empty file sets nothing', async () => {
  expect((await load({ file: '# nothing yet\n' })).listen.port).toBe(8080);
});

test('DATABASE_URL is understood, and refused where it contradicts the variable of ours', async () => {
  const url = 'postgres://localhost/a';
  expect((await load({ env: { DATABASE_URL: url } })).databaseUrl).toBe(url);
  expect(await faultsOf({ env: { DATABASE_URL: url, BAILIWICK_DATABASE_URL: 'postgres://localhost/b' } })).toEqual([
    'DATABASE_URL: disagrees with BAILIWICK_DATABASE_URL; set one of the two',
  ]);
});

describe('faults', () => {
  test.each<[string, Partial<ConfigSources> & { file?: string }, readonly (string | RegExp)[]]>([
    ['an empty variable', { env: { DATABASE_URL: '' } }, [/^DATABASE_URL: is empty/]],
    [
      'a misspelt variable',
      { env: { BAILIWICK_LISTN: 'x' } },
      ['BAILIWICK_LISTN: there is no such setting; did you mean `BAILIWICK_LISTEN`?'],
    ],
    [
      'a variable that is nothing',
      { env: { BAILIWICK_FOO: 'x' } },
      [
        'BAILIWICK_FOO: there is no such setting; unset it; `bailiwick config example` lists the settings and their variables',
      ],
    ],
    ['a port in a variable', { env: { BAILIWICK_PORT: '8080' } }, [/^BAILIWICK_PORT: there is no such setting; /]],
    [
      'a setting of the file in a variable',
      { env: { BAILIWICK_AUDIT_FOLDER: 'x', BAILIWICK_LOG_LEVEL: 'debug' } },
      [/^BAILIWICK_AUDIT_FOLDER: there is no such setting; /, /^BAILIWICK_LOG_LEVEL: there is no such setting; /],
    ],
    [
      'a variable that a flag overrides',
      {
        flags: { policy: 'p', listen: '127.0.0.1:1' },
        env: { BAILIWICK_LISTEN: 'x', BAILIWICK_POLICY_URL: 'ftp://x/' },
      },
      [/^BAILIWICK_LISTEN: must be `host:port`/, /^BAILIWICK_POLICY_URL: must begin with `https/],
    ],
    ['an address without port', { flags: { listen: 'localhost' } }, [/^--listen: must be `host:port`/]],
    ['a port that is none', { flags: { listen: '127.0.0.1:70000' } }, [/^--listen: must be/]],
    ['a missing file that was named', { flags: { config: 'nothing.yaml' } }, ['nothing.yaml: is missing']],
    [
      'an unknown key',
      { file: 'listn: 127.0.0.1:1\n' },
      ['bailiwick.yaml:1:1: there is no setting `listn`; did you mean `listen`?'],
    ],
    [
      'an unknown key, a value of the wrong type and one that cannot be',
      { file: 'listen: foo\nnope: 1\nauthentication:\n  keys: { enabled: 3 }\ndatabase: { statementTimeout: 2h }\n' },
      [
        'bailiwick.yaml:2:1: there is no setting `nope`',
        'bailiwick.yaml:4:20: `authentication.keys.enabled` must be `true` or `false`',
        /^bailiwick.yaml:1:9: `listen` must be `host:port`/,
        'bailiwick.yaml:5:31: `database.statementTimeout` must be at most `1h`',
      ],
    ],
    ['a key of a prototype', { file: 'constructor: 1\n' }, [/^bailiwick.yaml:1:1: /]],
    [
      'a text for a boolean',
      { file: 'authentication:\n  keys: { enabled: "false" }\n' },
      [/^bailiwick.yaml:2:20: `authentication.keys.enabled` must be `true` or `false`$/],
    ],
    ['a number for a boolean', { file: 'authentication:\n  keys: { enabled: 0 }\n' }, [/must be `true` or `false`$/]],
    [
      'no time',
      { file: 'database: { statementTimeout: 0s }\n' },
      [/`database.statementTimeout` must be at least `1s`; it cannot be switched off/],
    ],
    [
      'a time without a unit',
      { file: 'database: { statementTimeout: 3 }\n' },
      [/`database.statementTimeout` must be a duration such as/],
    ],
    [
      'a time that is too long',
      { file: 'database: { idleInTransaction: 2h }\n' },
      [/`database.idleInTransaction` must be at most `1h`$/],
    ],
    [
      'no connections',
      { file: 'database: { maxConnections: 0 }\n' },
      [/`database.maxConnections` must be a whole number from 1 to 1000$/],
    ],
    [
      'no connections for keys and health, and no time to get one',
      { file: 'database: { maxVital: 0, connectTimeout: 0s, acquireTimeout: 2h }\n' },
      [
        /`database.maxVital` must be a whole number from 1 to 1000$/,
        /`database.connectTimeout` must be at least `/,
        /`database.acquireTimeout` must be at most `1h`$/,
      ],
    ],
    [
      'a negative rate',
      { file: 'limits: { rate: { perActor: -1 } }\n' },
      [/`limits.rate.perActor` must be a whole number from 0 to 1000000$/],
    ],
    [
      'a certificate without its key',
      { file: 'tls: { certFile: a }\n' },
      ['bailiwick.yaml:1:18: `tls.certFile` needs `tls.keyFile`, which is not set; set both or none'],
    ],
    [
      'a key without its certificate, in a variable',
      { env: { BAILIWICK_TLS_KEY_FILE: 'k' } },
      ['BAILIWICK_TLS_KEY_FILE: needs `tls.certFile`, which is not set; set both or none'],
    ],
    ['a duplicate key', { file: 'listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n' }, [/^bailiwick.yaml:2:1: /]],
    ['an anchor', { file: 'listen: &a 127.0.0.1:1\n' }, [/^bailiwick.yaml:1:/]],
    ['a list', { file: '- listen\n' }, [/^bailiwick.yaml:1:1: /]],
    ['an empty text', { file: 'dataDir: ""\n' }, ['bailiwick.yaml:1:10: `dataDir` is empty']],
    [
      'all sources at once',
      { flags: { listen: 'x' }, env: { DATABASE_URL: 'mysql://x' }, file: 'policy: ""\n' },
      [/^DATABASE_URL: /, /^--listen: /, /^bailiwick.yaml:1:/],
    ],
  ])('O13 %s', async (_name, sources, expected) => {
    const faults = await faultsOf(sources);
    expect(faults).toHaveLength(expected.length);
    for (const pattern of expected) {
      expect(faults).toContainEqual(typeof pattern === 'string' ? pattern : expect.stringMatching(pattern));
    }
  });

  test('no message holds a password', async () => {
    const bad = `postgres//bailiwick:${CANARY}@db/x`;
    const faults = [
      ...(await faultsOf({ env: { DATABASE_URL: bad } })),
      ...(await faultsOf({ flags: { databaseUrl: bad } })),
      ...(await faultsOf({ file: `databaseUrl: ${bad}\n` })),
      ...(await faultsOf({ file: `databaseUrl: [${bad}]\n` })),
    ];
    expect(faults).toHaveLength(4);
    expect(faults.join('\n')).not.toContain(CANARY);
  });

  test('variables that an orchestrator sets are left alone', async () => {
    expect(
      await faultsOf({
        env: {
          BAILIWICK_SERVICE_HOST: '10.0.0.1',
          BAILIWICK_SERVICE_PORT: '80',
          BAILIWICK_SERVICE_PORT_API: '80',
          BAILIWICK_PORT: 'tcp://10.0.0.1:80',
          BAILIWICK_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
          BAILIWICK_PORT_8080_TCP_ADDR: '10.0.0.1',
          BAILIWICK_ADMIN_SERVICE_HOST: '10.0.0.1',
          BAILIWICK_ADMIN_PORT: 'tcp://10.0.0.1:81',
        },
      }),
    ).toEqual([]);
  });
});

test('tables are kept where nobody can write both a table and its hash but the gateway, or where the settings say', async () => {
  const config = await load();
  const folderOf = (given: Partial<Config['snapshot']>, databaseUrl: string | null): string | null =>
    tableFolderOf({ ...config, databaseUrl, snapshot: { ...config.snapshot, ...given } });
  const own = join(config.dataDir, 'tables');
  const external = 'postgres://localhost/bailiwick';
  expect(folderOf({}, null)).toBe(own);
  expect(folderOf({}, external)).toBeNull();
  expect(folderOf({ requireSignature: true }, null)).toBeNull();
  for (const databaseUrl of [null, external]) {
    expect(folderOf({ requireSignature: true, tableFolder: '/tables' }, databaseUrl)).toBe('/tables');
    expect(folderOf({ tableFolder: 'none' }, databaseUrl)).toBeNull();
  }
});
