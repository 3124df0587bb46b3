// `config check` on the files that settings name: every one that a gateway could not use is reported at once, with its place, its path
// and what to do; what a gateway would use with a warning is a warning here, too.
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { formatPublicKey } from '../../engine/index.js';
import { main } from '../../server/cli/main.js';
import { SETTINGS } from '../../server/config/settings.js';
import { rowsOf } from '../../server/config/setting.js';
import { makeKeyPair } from '../../server/signing/ed25519.js';
import { issue, type Issued, makeAuthority } from '../support/certificates.js';
import { makeIo } from '../support/cli-io.js';
import { runCli } from '../support/run-cli.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const URL = 'postgres://a@127.0.0.1:1/x';

let folder: string;
let authority: Issued;
let expired: Issued;

beforeAll(async () => {
  folder = await makeFolder({
    secret: 'hunter2-canary\n',
    empty: '',
    garbage: 'not in PEM form: hunter2-canary\n',
    revoked: `${'a'.repeat(64)}\n`,
    'not-revoked': 'alice hunter2-canary\n',
    'keyring.yaml': `threshold: 1\nkeys:\n  - { name: ann, publicKey: ${formatPublicKey(makeKeyPair().publicKey)} }\n`,
    timed: `${URL}?query_timeout=5\n`,
    signing: makeKeyPair().privatePem,
    'policy/policy.yaml': 'bailiwick: 1\nname: checked\nproviders: { orcid: {} }\n',
    signers: 'ann@example.org ssh-ed25519 AAAA\n',
    url: 'postgres://a:hunter2-canary@db.example.org/x\n',
  });
  authority = await makeAuthority(folder);
  await issue(folder, 'server', { authority });
  expired = await issue(folder, 'expired', { authority, days: -1 });
  mkdirSync(join(folder, 'a-folder'));
  renameSync(await newDataDir(), join(folder, '.bailiwick'));
  for (const name of ['secret', 'url', 'timed', 'signing', 'server.key', 'expired.key'])
    chmodSync(join(folder, name), 0o600);
});

interface Checked {
  readonly status: number;
  readonly report: {
    readonly ok: boolean;
    readonly faults: readonly { readonly place: string; readonly message: string; readonly fix?: string }[];
    readonly warnings: readonly { readonly place: string; readonly message: string; readonly fix?: string }[];
  };
  readonly stderr: string;
}

async function check(lines: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Checked> {
  writeFileSync(join(folder, 'bailiwick.yaml'), `${lines.join('\n')}\n`);
  const [json, text] = [makeIo({ env }), makeIo({ env })];
  const status = await main(['config', 'check', '--format', 'json'], { ...json.io, cwd: folder });
  expect(await main(['config', 'check'], { ...text.io, cwd: folder })).toBe(status);
  const [stdout, stderr] = [json.stdout(), text.stderr()];
  for (const printed of [stdout, json.stderr(), text.stdout(), stderr]) expect(printed).not.toContain('hunter2-canary');
  return { status, report: JSON.parse(stdout) as Checked['report'], stderr };
}

const ALL_GOOD = [
  'databaseUrlFile: url',
  'authentication:',
  '  introspection:',
  '    - { url: "https://id.example.org/i", clientId: b, clientSecretFile: secret, provider: facility }',
  '  mtls: { caFile: authority.crt, provider: workloads, subjectFrom: "san:uri" }',
  '  revocationsFile: revoked',
  'snapshot:',
  '  source: { url: "https://policies.example.org/s.json", caFile: authority.crt }',
  '  keyringFile: keyring.yaml',
  '  environment: production',
  '  requireSignature: true',
  'tls: { certFile: server.crt, keyFile: server.key }',
];

describe('config check', () => {
  it('has nothing to say of files that can be used', async () => {
    const { status, report, stderr } = await check(ALL_GOOD);
    expect(report).toMatchObject({ ok: true, faults: [], warnings: [] });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('reports every file that is missing, at once, with its place, its path and what to do', async () => {
    const lines = ALL_GOOD.map((line) => line.replaceAll(/(File:) ([\w.-]+)/g, '$1 none/$2'));
    const { status, report, stderr } = await check(lines);
    const at = (name: string): string => join(folder, 'none', name);
    const told = report.faults.map(({ place, message }) => `${place}: ${message}`).sort();
    expect(told).toEqual(
      [
        `bailiwick.yaml:1:18: \`databaseUrlFile\` names a file that does not exist`,
        `bailiwick.yaml:4:73: \`authentication.introspection.0.clientSecretFile\`: the file \`${at('secret')}\` does not exist`,
        `bailiwick.yaml:5:19: \`authentication.mtls.caFile\`: the file \`${at('authority.crt')}\` does not exist`,
        `bailiwick.yaml:6:20: \`authentication.revocationsFile\`: the file \`${at('revoked')}\` does not exist`,
        `bailiwick.yaml:8:65: \`snapshot.source.caFile\`: the file \`${at('authority.crt')}\` does not exist`,
        `bailiwick.yaml:9:16: \`snapshot.keyringFile\`: the file \`${at('keyring.yaml')}\` does not exist`,
        `bailiwick.yaml:12:18: \`tls.certFile\`: the file \`${at('server.crt')}\` does not exist`,
        `bailiwick.yaml:12:44: \`tls.keyFile\`: the file \`${at('server.key')}\` does not exist`,
      ].sort(),
    );
    for (const { fix } of report.faults) expect(fix).toMatch(/\w/);
    expect(status).toBe(2);
    expect(stderr).toContain(`${at('server.key')}\` does not exist; `);
  });

  it.each<readonly [what: string, lines: readonly string[], faults: readonly (readonly [key: string, says: string])[]]>(
    [
      ['no certificate', ['tls: { certFile: garbage, keyFile: server.key }'], [['tls.certFile', 'has no certificate']]],
      ['no key', ['tls: { certFile: server.crt, keyFile: garbage }'], [['tls.keyFile', 'has no private key']]],
      [
        'neither',
        ['tls: { certFile: server.key, keyFile: server.crt }'],
        [
          ['tls.certFile', 'has no certificate'],
          ['tls.keyFile', 'has no private key'],
        ],
      ],
      [
        'the key of another certificate',
        ['tls: { certFile: server.crt, keyFile: expired.key }'],
        [['tls.keyFile', 'is not the key of the certificate in']],
      ],
      ['a folder', ['tls: { certFile: a-folder, keyFile: server.key }'], [['tls.certFile', 'is not a regular file']]],
      [
        'a device',
        ['authentication: { revocationsFile: /dev/zero }'],
        [['authentication.revocationsFile', 'is not a']],
      ],
      ['no fingerprint', ['authentication: { revocationsFile: not-revoked }'], [['revocationsFile', 'in line 1']]],
      [
        'an empty secret',
        ALL_GOOD.map((line) => line.replace('clientSecretFile: secret', 'clientSecretFile: empty')),
        [['authentication.introspection.0.clientSecretFile', 'is empty']],
      ],
      [
        'clients vouched for by nobody',
        ALL_GOOD.map((line) => line.replace('mtls: { caFile: authority.crt', 'mtls: { caFile: garbage')),
        [['authentication.mtls.caFile', 'has no certificate']],
      ],
      [
        'no keyring',
        ALL_GOOD.map((line) => line.replace('keyring.yaml', 'garbage')),
        [['snapshot.keyringFile', 'garbage:1:1']],
      ],
      [
        'no signers',
        ['snapshot: { source: { git: a-folder, signersFile: empty } }'],
        [['signersFile', 'lists no key that may sign']],
      ],
    ],
  )('reports a file that is %s', async (_, lines, faults) => {
    const { status, report } = await check(lines);
    expect(report.faults.map(({ message }) => message)).toEqual(
      faults.map(([key, says]) => expect.stringMatching(new RegExp(`${key}\`: .*${says}`)) as unknown),
    );
    for (const { place, fix } of report.faults) {
      expect(place).toMatch(/^bailiwick\.yaml:\d+:\d+$/);
      expect(fix).toMatch(/\w/);
    }
    expect([status, report.ok]).toEqual([2, false]);
  });

  it.each<readonly [what: string, line: string, says: string, status: number, env?: Readonly<Record<string, string>>]>([
    [
      'a parameter of the URL that nobody knows',
      `databaseUrl: ${URL}?query_timeout=5`,
      '1:14: `databaseUrl`: the database URL has a parameter',
      2,
    ],
    ['the same in a file', 'databaseUrlFile: timed', '1:18: `databaseUrl`: the database URL has a parameter', 2],
    [
      'an authority that is not there',
      `databaseUrl: ${URL}?sslmode=require&sslrootcert=/none`,
      '1:14: `databaseUrl`: sslrootcert=/none in the database URL cannot be read',
      6,
    ],
    [
      'one replica under two URLs',
      `databaseReadUrl: ${URL} ${URL}2`,
      '1:18: `databaseReadUrl`: two of the replicas',
      2,
      { DATABASE_URL: URL },
    ],
    [
      'a replica that cannot be used',
      `databaseReadUrl: ${URL}?pool=5`,
      '1:18: `databaseReadUrl`: the database URL has a parameter',
      2,
      { DATABASE_URL: URL },
    ],
    ['a signing key that is none', 'audit: { signingKey: garbage }', '1:22: `audit.signingKey`: the file `', 2],
    [
      'a signing key that others can read',
      'audit: { signingKey: server.crt }',
      '1:22: `audit.signingKey`: the file `',
      2,
    ],
    [
      'an audit folder that is a file',
      'dataDir: .bailiwick\naudit: { folder: garbage }',
      '2:18: `audit.folder`: the audit folder ',
      6,
    ],
    [
      'an audit folder without a store',
      'audit: { folder: audit }',
      'dataDir: `dataDir`: settings of a gateway are given',
      2,
    ],
    [
      'no way in',
      'authentication: { keys: { enabled: false } }',
      '1:36: `authentication.keys.enabled`: no method of authentication',
      2,
    ],
    [
      'the key of a witness under another id',
      `audit: { signingKey: signing, witnesses: [{ url: "https://w.example.org", key: w.example.org+00000000+${'A'.repeat(44)} }] }`,
      '1:80: `audit.witnesses.0.key`: ',
      2,
    ],
  ])('reports what `serve` refuses: %s', async (_, line, says, status, env = {}) => {
    const { status: checked, report } = await check([line], env);
    expect(report.faults.map(({ place, message }) => `${place}: ${message}`)).toEqual([expect.stringContaining(says)]);
    for (const { fix } of report.faults) expect(fix).toMatch(/\w/);
    expect(checked).toBe(2);
    const at = ['--policy', 'policy', '--listen', '127.0.0.1:0', '--admin-listen', 'none'];
    expect(await runCli(['serve', ...at], { cwd: folder, env })).toMatchObject({ status, stdout: '' });
  });

  it('makes no audit folder, which `serve` would', async () => {
    const lines = ['dataDir: data', 'audit: { folder: logs/audit }'];
    expect(await check(lines)).toMatchObject({ status: 0, report: { ok: true, faults: [] } });
    expect(existsSync(join(folder, 'logs'))).toBe(false);
  });

  it('reports them beside every other error', async () => {
    const { report } = await check(['listn: x', 'tls: { certFile: none, keyFile: server.key }'], {
      BAILIWICK_WORKERS: 'many',
    });
    expect(report.faults.map(({ place }) => place)).toEqual([
      'bailiwick.yaml:1:1',
      'BAILIWICK_WORKERS',
      'bailiwick.yaml:2:18',
    ]);
  });

  it('names the variable or flag that a file comes from', async () => {
    const { report } = await check([], {
      BAILIWICK_TLS_CERT_FILE: 'none.crt',
      BAILIWICK_TLS_KEY_FILE: 'server.key',
      DATABASE_URL_FILE: '/dev/zero',
    });
    expect(report.faults.map(({ place }) => place).sort()).toEqual(['BAILIWICK_TLS_CERT_FILE', 'DATABASE_URL_FILE']);
  });

  it('warns of certificates that have expired and of secrets that others can read, as `serve` does', async () => {
    for (const name of ['secret', 'url', 'expired.key']) chmodSync(join(folder, name), 0o644);
    try {
      const lines = ALL_GOOD.map((line) => line.replaceAll('server.', 'expired.'));
      const { status, report, stderr } = await check(lines);
      expect(report.warnings.map(({ place, message }) => `${place}: ${message}`).sort()).toEqual(
        [
          `bailiwick.yaml:1:18: \`databaseUrlFile\`: every user of this machine can read \`${join(folder, 'url')}\``,
          `bailiwick.yaml:4:73: \`authentication.introspection.0.clientSecretFile\`: every user of this machine can read \`${join(folder, 'secret')}\``,
          expect.stringContaining(`\`tls.certFile\`: the certificate in \`${expired.certFile}\` expired`) as unknown,
          `bailiwick.yaml:12:40: \`tls.keyFile\`: every user of this machine can read \`${expired.keyFile}\``,
        ].sort(),
      );
      expect([status, report.ok]).toEqual([0, true]);
      expect(stderr.split('\n').filter((line) => line.startsWith('warning: '))).toHaveLength(4);
    } finally {
      for (const name of ['secret', 'url', 'expired.key']) chmodSync(join(folder, name), 0o600);
    }
  });
});

it('no setting names a file that nobody looks at', () => {
  const document = { authentication: { introspection: [{}], mtls: {} } };
  const named = rowsOf(SETTINGS, document).filter(({ key, holds }) => key.endsWith('File') && holds === 'value');
  expect(named.length).toBeGreaterThan(7);
  expect(named.filter(({ setting }) => setting.file === undefined).map(({ key }) => key)).toEqual([]);
});
