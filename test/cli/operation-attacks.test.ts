// Mistakes of operators and traps of attackers: settings with secrets in them, local mode where a server is meant,
// private keys in the wrong place, hostile names and files. One row per attack with its id, run in this process; none
// gets as far as listening.
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, ftruncateSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { main } from '../../server/cli/main.js';
import { readConfig } from '../../server/config/index.js';
import { ROWS } from '../../server/config/settings.js';
import { makeKeyPair } from '../../server/signing/ed25519.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';
import { expectPlain } from './verb-table.js';

const CANARY = 'canary7f3a9c';
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----\n${CANARY}\n-----END PRIVATE KEY-----\n`;

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  /** Of `bailiwick.yaml`. */
  readonly file?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(cwd: string, args: readonly string[], env: Given['env'] = {}): Promise<Ran> {
  const made = makeIo({ env });
  const status = await main(args, { ...made.io, cwd });
  return { status, stdout: made.stdout(), stderr: made.stderr() };
}

async function start(verb: 'serve' | 'local', { env, file, files = {}, args = [] }: Given): Promise<readonly Ran[]> {
  const cwd = await makeFolder({
    ...Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policies/${path}`, text])),
    ...(file === undefined ? {} : { 'bailiwick.yaml': file }),
    ...files,
  });
  const policy = verb === 'local' ? [] : ['--policy', 'policies'];
  const admin = verb === 'local' ? [] : ['--admin-listen', 'none'];
  const all = [verb, ...policy, ...admin, '--listen', '127.0.0.1:0', ...args];
  return [
    await run(cwd, all, env),
    await run(cwd, [...all, '--format', 'json'], env),
    await run(cwd, all, { ...env, BAILIWICK_DEBUG: '1', DEBUG: '*', NODE_ENV: 'development' }),
  ];
}

const NO_WAIT = 'database: { waitAtStart: false }\n';
const TOKENS = 'audience: b, provider: p, algorithms: [RS256]';

function signing(snapshot: string, key: string): readonly string[] {
  const statement = ['--environment', 'e', '--generation', '1', '--expires', '2099-01-01T00:00:00Z'];
  return ['sign', snapshot, '--key', key, ...statement];
}

describe('O05 a start that fails prints no secret', () => {
  it.each<[string, Given]>([
    ['a database URL of no PostgreSQL', { env: { DATABASE_URL: `mysql://a:${CANARY}@db/x` } }],
    ['a database URL without slashes', { env: { DATABASE_URL: `postgres:a:${CANARY}@db/x` } }],
    ['a database URL that is no URL', { env: { DATABASE_URL: `postgres://a:${CANARY}@[db/x` } }],
    ['a database URL on the command line', { args: ['--database-url', `postgres//a:${CANARY}@db/x`] }],
    ['a database that is not there', { env: { DATABASE_URL: `postgres://a:${CANARY}@127.0.0.1:1/x` }, file: NO_WAIT }],
    [
      'its password in a parameter',
      { env: { DATABASE_URL: `postgres://127.0.0.1:1/x?user=a&password=${CANARY}` }, file: NO_WAIT },
    ],
    ['its URL in place of the file with it', { env: { DATABASE_URL_FILE: `postgres://a:${CANARY}@db/x` } }],
    ['a file with another URL', { env: { DATABASE_URL_FILE: 'url' }, files: { url: `mysql://a:${CANARY}@db/x` } }],
    [
      'a private key that is none',
      { file: 'tls: { certFile: c, keyFile: k }\n', files: { c: CANARY, k: PRIVATE_KEY } },
    ],
    [
      'a private key in place of its file',
      { env: { BAILIWICK_TLS_KEY_FILE: PRIVATE_KEY, BAILIWICK_TLS_CERT_FILE: 'c' }, files: { c: 'x' } },
    ],
    [
      'a password in the address of keys',
      { file: `authentication: { oidc: [{ issuer: i, ${TOKENS}, jwksUrl: "https://a:${CANARY}@id/jwks" }] }\n` },
    ],
    [
      'a password in an issuer',
      { file: `authentication: { oidc: [{ issuer: "https://a:${CANARY}@id/", ${TOKENS} }] }\n` },
    ],
    [
      'a password in the address of introspection',
      {
        file: `authentication: { introspection: [{ url: "https://a:${CANARY}@id/", clientId: c, clientSecretFile: s, provider: p }] }\n`,
      },
    ],
    ['a secret in place of a setting', { file: `authentication: { introspection: [{ clientSecret: ${CANARY} }] }\n` }],
    ['a password in the address of a policy', { env: { BAILIWICK_POLICY_URL: `https://a:${CANARY}@policies/s` } }],
    ['a secret in a number', { env: { BAILIWICK_WORKERS: CANARY } }],
    ['a secret in an address', { env: { BAILIWICK_LISTEN: CANARY, BAILIWICK_ADMIN_LISTEN: CANARY } }],
    [
      'a private key for a keyring',
      {
        file: 'snapshot: { requireSignature: true, keyringFile: k, environment: e }\n',
        files: { k: PRIVATE_KEY },
      },
    ],
    ['settings that are no YAML', { file: `databaseUrl: "postgres://a:${CANARY}@db/x\n` }],
  ])('%s', async (_, given) => {
    for (const { status, stdout, stderr } of await start('serve', given)) {
      expect(stdout + stderr).not.toContain(CANARY);
      expect([1, 2, 6, 8, 10]).toContain(status);
      expect(stdout + stderr).toMatch(/\w/);
    }
  });
});

describe('O08 local mode', () => {
  const SWITCHES: readonly (readonly [variable: string, value: string])[] = [
    ['NODE_ENV', 'development'],
    ['BAILIWICK_LOCAL', 'true'],
    ['BAILIWICK_MODE', 'local'],
    ['BAILIWICK_NO_AUTH', '1'],
    ['BAILIWICK_DEBUG', '1'],
  ];

  it('is no setting: none of 32 combinations of variables changes what a server asks for', async () => {
    const cwd = await makeFolder();
    const flags = { policy: 'policies', listen: '0.0.0.0:8080' };
    const plain = await readConfig({ flags, env: {}, cwd });
    for (let combination = 0; combination < 2 ** SWITCHES.length; combination += 1) {
      const env = Object.fromEntries(SWITCHES.filter((_, index) => (combination & (1 << index)) !== 0));
      const { config, faults } = await readConfig({ flags, env, cwd });
      if (faults.length === 0) expect(config).toEqual(plain.config);
    }
    expect(ROWS.filter(({ key }) => /\b(?:local|mode|insecure|disable)/i.test(key))).toEqual([]);
  });

  it.each<[string, Given]>([
    ['a flag', { args: ['--local'] }],
    ['a flag with a value', { args: ['--mode', 'local'] }],
    ['a flag against credentials', { args: ['--no-auth'] }],
    ['a key of the file', { file: 'local: true\n' }],
    ['a mode in the file', { file: 'mode: local\n' }],
    ['no method of authentication', { file: 'authentication: { keys: { enabled: false } }\n' }],
    ['authentication that is false', { file: 'authentication: false\n' }],
  ])('cannot be reached by `serve`: %s', async (_, given) => {
    for (const { status } of await start('serve', given)) expect(status).toBe(2);
  });

  it.each<[string, Given, RegExp]>([
    ['a network', { args: ['--listen', '0.0.0.0:0'] }, /loopback/],
    ['a network, by a variable', { args: ['--listen', '[::]:0'], env: {} }, /loopback/],
    ['issuers of tokens', { file: `authentication: { oidc: [{ issuer: "https://id/", ${TOKENS} }] }\n` }, /oidc/],
    [
      'certificates of clients',
      {
        file: 'tls: { certFile: c, keyFile: k }\nauthentication: { mtls: { caFile: c, provider: p, subjectFrom: "san:uri" } }\n',
      },
      /mtls/,
    ],
    ['revocations', { file: 'authentication: { revocationsFile: r }\n' }, /revocationsFile/],
    ['a proxy in front', { file: 'trustProxy: [10.0.0.0/8]\n' }, /trustProxy/],
    ['pages of other origins', { file: 'cors: { origins: ["https://app.example.org"] }\n' }, /cors/],
    [
      'signed policies',
      { file: 'snapshot: { requireSignature: true, keyringFile: k, environment: e }\n' },
      /requireSignature/,
    ],
    ['a policy', { args: ['--policy', 'policies'] }, /there is no option `--policy`/],
  ])('does not start where settings expect more of it: %s', async (_, given, words) => {
    for (const { status, stdout, stderr } of await start('local', given)) {
      expect(stdout + stderr).toMatch(words);
      expect(status).toBe(2);
    }
  });
});

describe('O10 a private key', () => {
  let cwd: string;
  let pem: string;
  beforeAll(async () => {
    cwd = await makeFolder(
      Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policies/${path}`, text])),
    );
    for (const args of [
      ['keygen', '-o', 'release.key'],
      ['compile', 'policies', '-o', 's.json'],
      signing('s.json', 'release.key'),
    ])
      expect(await run(cwd, args)).toMatchObject({ status: 0 });
    pem = readFileSync(join(cwd, 'release.key'), 'utf8');
  });

  it('is for its owner alone, and one that others can read signs nothing', async () => {
    expect(statSync(join(cwd, 'release.key')).mode & 0o777).toBe(0o600);
    writeFileSync(join(cwd, 'open.key'), pem);
    chmodSync(join(cwd, 'open.key'), 0o644);
    const args = ['--environment', 'e', '--generation', '2', '--expires', '2099-01-01T00:00:00Z', '-o', 'other.json'];
    expect((await run(cwd, ['sign', 's.json', '--key', 'open.key', ...args])).status).not.toBe(0);
  });

  it('is in nothing that is published', () => {
    const secret = pem.replaceAll(/-----.*-----|\s/g, '');
    expect(secret.length).toBeGreaterThan(40);
    for (const name of ['s.json', 's.json.dsse.json', 'release.key.pub'])
      expect(readFileSync(join(cwd, name), 'utf8')).not.toContain(secret.slice(-40));
  });

  it('is no keyring, on whatever way it gets there', async () => {
    const pair = makeKeyPair();
    for (const text of [
      pem,
      pair.privatePem,
      `threshold: 1\nkeys:\n  - { name: a, publicKey: "${pem.split('\n')[1] ?? ''}" }\n`,
    ]) {
      writeFileSync(join(cwd, 'keyring'), text);
      const { status, stdout, stderr } = await run(cwd, ['verify', 's.json', '--keyring', 'keyring']);
      expect(status).toBe(2);
      expect(stdout + stderr).not.toContain(text.split('\n')[1]);
    }
  });

  it('is no setting of a gateway, but for the one that signs the heads of its own log', () => {
    const keys = ROWS.map(({ key }) => key).filter(
      (key) => /signing|private/i.test(key) && !/privateNetwork/.test(key),
    );
    expect(keys).toEqual(['audit.signingKey']);
  });

  it('is in no file of the repository', () => {
    const begins = ['BEGIN PRIVATE KEY', 'BEGIN EC PRIVATE KEY', 'BEGIN RSA PRIVATE KEY'].map((one) => `-----${one}`);
    const listed = execFileSync('git', ['ls-files'], { cwd: fromRoot(''), encoding: 'utf8' })
      .trim()
      .split('\n');
    expect(listed.length).toBeGreaterThan(500);
    const found = listed.filter((path) => {
      const text = readFileSync(fromRoot(path), 'latin1');
      return begins.some((begin) => new RegExp(`${begin}-----\\s+[A-Za-z0-9+/]{40}`).test(text));
    });
    expect(found).toEqual([]);
  });
});

describe('O14 the command line', () => {
  const HOSTILE = ['a\u001b[2Jb', 'a\nerror: b', 'a\u009b31mb', '../../etc/passwd', '-', 'a\u202eb', 'a'.repeat(5_000)];
  let cwd: string;
  beforeAll(async () => {
    const folders = HOSTILE.slice(0, 3).flatMap((name, index) => [
      [`folder-${String(index)}/grants/${name}.yaml`, 'grants: 7\n'] as const,
      ...Object.entries(POLICY).map(([path, text]) => [`folder-${String(index)}/${path}`, text] as const),
    ]);
    cwd = await makeFolder(Object.fromEntries(folders));
    const huge = openSync(join(cwd, 'huge.json'), 'w');
    ftruncateSync(huge, 5 * 1024 ** 3);
    closeSync(huge);
  });

  const plain = (ran: Ran): void => {
    expectPlain(ran);
    // eslint-disable-next-line no-control-regex -- what a terminal would obey is what is looked for
    expect(ran.stdout + ran.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(ran.stderr).not.toMatch(/^error: b/m);
    expect(ran.stdout.length + ran.stderr.length).toBeLessThan(40_000);
  };

  it.each(HOSTILE.map((name) => [JSON.stringify(name.slice(0, 20)), name]))(
    'answers plainly to the name %s',
    async (_, name) => {
      for (const args of [
        ['check', name],
        ['verify', name, '--keyring', name],
        ['compile', name, '-o', 'out.json'],
        ['inspect', name],
        ['rollback', '--to', name, '--reason', name, '--admin-socket', name],
        ['activate', name, '--reason', name, '--admin-socket', name],
        ['publish', name, '--to', name],
        ['keys', 'create', '--actor', name, '--scope', name, '--data-dir', '/dev/null/none'],
        ['who-can', name, name, name],
        ['status', '--admin-socket', name],
        [name],
      ]) {
        for (const format of [[], ['--format', 'json']]) {
          const ran = await run(cwd, [...args, ...format]);
          plain(ran);
          expect([2, 3, 6, 8]).toContain(ran.status);
        }
      }
    },
  );

  it.each([0, 1, 2])('answers plainly to a file with such a name in a folder: %d', async (index) => {
    for (const verb of ['check', 'compile', 'fmt', 'test']) {
      const ran = await run(cwd, [verb, `folder-${String(index)}`, ...(verb === 'compile' ? ['-o', 'out.json'] : [])]);
      plain(ran);
      expect(ran.status).not.toBe(0);
    }
  });

  it.each([
    ['verify', 'huge.json', '--keyring', 'huge.json'],
    ['inspect', 'huge.json'],
    ['who-can', 'huge.json', 'resource:read', '/labs'],
    signing('huge.json', 'huge.json'),
    ['config', 'check', '--config', 'huge.json'],
  ])('reads no file of five gigabytes: %s', async (...args) => {
    const before = process.memoryUsage().rss;
    const ran = await run(cwd, args);
    plain(ran);
    expect([2, 8]).toContain(ran.status);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 ** 2);
  });
});
