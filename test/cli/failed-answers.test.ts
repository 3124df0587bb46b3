// The JSON of verbs that fail: always one object with `error`, and its usual fields as far as there is something to
// say, whatever failed.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { FAILING, POLICY } from './policies.js';
import { expectPlain, type Ran, runIn } from './verb-table.js';

const AS = ['--as', 'orcid:ana'];
const PROVE = ['--identity', 'orcid:ana', '--scope', 'resource:read', '--namespace', '/'];
const SIGN = ['--environment', 'production', '--generation', '1', '--expires', '2999-01-01T00:00:00Z'];
const ATTEST = ['--key', 'key', '-o', 'a.json'];
const DIGEST = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);

const TESTS = { passed: 0, failed: 0, failures: [] };
const GUARDRAILS = { held: 0, violated: 0, violations: [], reliesOn: [] };
const UNCHECKED = { ok: false, policy: null, diagnostics: [], tests: TESTS, guardrails: GUARDRAILS };
/** Of the good policy of this test. */
const CHECKED = { ok: false, policy: 'facility', diagnostics: [], tests: TESTS, guardrails: GUARDRAILS };
const INVALID = { ...UNCHECKED, diagnostics: expect.arrayContaining([expect.any(Object)]) };
const UNTESTED = { ...TESTS, results: [] };
const UNFORMATTED = { ok: false, changed: [], unchanged: 0, diagnostics: [] };
const SIDE = { snapshot: DIGEST, decisions: DIGEST };
const WHOLE = { ok: false, signatures: [], policy: 'facility', ...SIDE };
const UNVERIFIED = { ok: false, signatures: [] };
const DAMAGED = { file: 'damaged.json', sha256: DIGEST };
const NOTHING = {};

const UNCONFIGURED = { ok: false, file: null, settings: expect.any(Array), warnings: [] };

/** What is typed, exit status, and everything that the object says beside `error`. */
const FAILURES: readonly (readonly [args: readonly string[], status: number, fields: object])[] = [
  [['check', 'none'], 2, UNCHECKED],
  [['check', 's.json'], 2, UNCHECKED],
  [['check'], 2, UNCHECKED],
  [['check', 'policy', '--nonsense'], 2, UNCHECKED],
  [['check', 'policy', '--soon', 'later'], 2, UNCHECKED],
  [['check', 'policy', '--level', 'NONE=off'], 2, UNCHECKED],
  [['compile', 'none', '-o', 'x.json'], 2, UNCHECKED],
  [['compile', 'policy'], 2, UNCHECKED],
  [['compile', 'policy', '-o', '-'], 2, UNCHECKED],
  [['compile', 'policy', '-o', 'none/x.json'], 2, { ...CHECKED, ...SIDE, counts: expect.any(Object) }],
  [['compile', 'policy', '-o', 'policy/roles.yaml'], 2, { ...CHECKED, ...SIDE, counts: expect.any(Object) }],
  [['test', 'none'], 2, UNTESTED],
  [['test', 'policy', '--run', '('], 2, UNTESTED],
  [['test', 'policy', '--run', 'nothing like it'], 2, UNTESTED],
  [['test', 'policy', '--threshold', '101'], 2, UNTESTED],
  [['test', 'broken'], 3, { ...UNTESTED, diagnostics: INVALID.diagnostics }],
  [['fmt', 'none'], 2, UNFORMATTED],
  [['fmt', 's.json'], 2, UNFORMATTED],
  [['verify', 'none.json'], 2, UNVERIFIED],
  [['verify'], 2, UNVERIFIED],
  [['verify', 'policy'], 2, UNVERIFIED],
  [['verify', 'policy', '--keyring', 'ring.yaml'], 2, UNVERIFIED],
  [['verify', 'broken'], 3, { ...INVALID, signatures: [] }],
  [['verify', 's.json', '--at', 'soon', '--keyring', 'ring.yaml'], 2, { ...UNVERIFIED, faults: [expect.any(Object)] }],
  [['verify', 's.json', '--environment', 'production'], 2, UNVERIFIED],
  [['verify', 'damaged.json'], 8, { ...UNVERIFIED, ...DAMAGED }],
  [['verify', 'damaged.json', '--keyring', 'bad.yaml'], 8, { ...UNVERIFIED, ...DAMAGED }],
  [['verify', 's.json', '--keyring', 'none.yaml'], 2, WHOLE],
  [['verify', 's.json', '--keyring', 'bad.yaml'], 2, { ...WHOLE, faults: [expect.any(Object)] }],
  [['verify', 's.json', '--keyring', 'ring.yaml', '--statement', 'none.json'], 2, WHOLE],
  [['verify', 's.json', '--keyring', 'ring.yaml'], 8, { ...WHOLE, threshold: 1, faults: [expect.any(Object)] }],
  [['decide', 'none'], 2, NOTHING],
  [['decide', 'damaged.json'], 8, DAMAGED],
  [['decide', 'policy', '--requests', 'none.jsonl'], 2, NOTHING],
  [['decide', 'policy', '--at', 'soon'], 2, NOTHING],
  [['decide', 'failing'], 4, { ...CHECKED, tests: { passed: 0, failed: 1, failures: [expect.any(Object)] } }],
  [['explain', 'none', ...AS, '--scope', 'resource:read', '--namespace', '/'], 2, NOTHING],
  [['explain', 'broken', ...AS, '--scope', 'resource:read', '--namespace', '/'], 3, INVALID],
  [['who-can', 'none', 'resource:read', '/'], 2, NOTHING],
  [['who-can', 'policy', 'resource:fly', '/'], 2, NOTHING],
  [['who-can', 'damaged.json', 'resource:read', '/'], 8, DAMAGED],
  [['what-can', 'none', 'orcid:ana'], 2, NOTHING],
  [['what-can', 'policy', 'ana'], 2, NOTHING],
  [['visible', 'none', ...AS, '--family', 'resource', '--namespace', '/'], 2, NOTHING],
  [['visible', 'policy', ...AS, '--family', 'people', '--namespace', '/'], 2, NOTHING],
  [['diff', 'none', 'policy'], 2, NOTHING],
  [['diff', 'policy', 'none'], 2, { old: SIDE }],
  [['diff', 'policy', 'damaged.json'], 8, { old: SIDE, ...DAMAGED }],
  [['playground', 'none', '-o', 'p.html'], 2, NOTHING],
  [['playground', 'policy', '-o', 'none/p.html'], 2, NOTHING],
  [['calendar', 'none'], 2, NOTHING],
  [['calendar', 'damaged.json'], 8, DAMAGED],
  [['unused', 'none', '--log', 'log'], 2, NOTHING],
  [['unused', 'broken', '--log', 'log'], 3, INVALID],
  [['unused', 'damaged.json', '--log', 'log'], 8, DAMAGED],
  [['history', 'none:policy'], 2, NOTHING],
  [['history', 'policy', '--scope', 'nonsense'], 2, NOTHING],
  [['find', '1234', 'policy'], 2, NOTHING],
  [['policy-at', 'soon'], 2, NOTHING],
  [['policy-at', '2027-01-01T00:00:00Z', '--log', 'none'], 2, NOTHING],
  [['prove', 'none', ...PROVE], 2, NOTHING],
  [['prove', 'policy', '--scope', 'resource:read'], 2, NOTHING],
  [['prove', 'damaged.json', ...PROVE], 8, DAMAGED],
  [['check-proof', 'none', '--root', `sha256:${'0'.repeat(64)}`], 2, NOTHING],
  [['check-proof', 'damaged.json', '--root', `sha256:${'0'.repeat(64)}`], 8, NOTHING],
  [['attest', 'none', ...ATTEST], 2, NOTHING],
  [['attest', 'policy'], 2, NOTHING],
  [['attest', 'damaged.json', ...ATTEST], 8, DAMAGED],
  [['check-attestation', 'none', '--keyring', 'ring.yaml'], 2, NOTHING],
  [['check-attestation', 'damaged.json', '--keyring', 'ring.yaml'], 8, NOTHING],
  [['evidence', 'none.json', '-o', 'e.zip'], 2, NOTHING],
  [['evidence', 'damaged.json', '-o', 'e.zip', '--log', 'log'], 8, DAMAGED],
  [['review', 'start', 'none', '-o', 'r.json'], 2, NOTHING],
  [['review', 'start', 'damaged.json', '-o', 'r.json'], 8, DAMAGED],
  [['review', 'check', 'none', 'policy'], 2, NOTHING],
  [['review', 'check', 'damaged.json', 'policy'], 8, NOTHING],
  [['review', 'report', 'none', 'policy', '--key', 'key', '-o', 'r.json'], 2, NOTHING],
  [['review', 'report', 'damaged.json', 'policy', '--key', 'key', '-o', 'r.json'], 8, NOTHING],
  [['review', 'verify', 'none', '--keyring', 'ring.yaml'], 2, NOTHING],
  [['inspect', 'none'], 2, NOTHING],
  [['inspect', 'damaged.json'], 8, DAMAGED],
  [['init', 'policy'], 2, NOTHING],
  [['import', 'kubernetes', 'none.yaml', '-o', 'new'], 2, { ok: false }],
  [['import', 'nonsense', 'none.yaml', '-o', 'new'], 2, { ok: false }],
  [['keygen', '-o', 'key'], 6, NOTHING],
  [['keygen', '-o', 'none/key'], 2, NOTHING],
  [['sign', 's.json', '--key', 'none', ...SIGN], 2, NOTHING],
  [['sign', 's.json', '--key', 'key.pub', ...SIGN], 2, NOTHING],
  [['sign', 'damaged.json', '--key', 'key', ...SIGN], 8, DAMAGED],
  [['lsp', '--nonsense'], 2, NOTHING],
  [['codes', 'NOT_A_CODE'], 2, NOTHING],
  [['schema', 'nothing'], 2, NOTHING],
  [['export', '--nonsense'], 2, NOTHING],
  [['load', 'none.jsonl'], 2, { ok: false }],
  [['import', 'casbin', 'none.csv', '-o', 'made'], 2, { ok: false }],
  [['load', 'none.jsonl', '--config', 'none.yaml'], 2, { ok: false, faults: [expect.any(Object)] }],
  [['keys', 'list', '--config', 'none.yaml'], 2, { faults: [expect.any(Object)] }],
  [['keys', 'create'], 2, NOTHING],
  [['keys', 'revoke', 'not an id'], 2, NOTHING],
  [['migrate', '--config', 'none.yaml'], 2, { faults: [expect.any(Object)] }],
  [['serve', '--config', 'none.yaml'], 2, { faults: [expect.any(Object)] }],
  [['serve'], 2, NOTHING],
  [['status'], 6, NOTHING],
  [['snapshots'], 6, NOTHING],
  [['activate', 'sha256:0'], 6, NOTHING],
  [['activate'], 2, NOTHING],
  [['rollback'], 2, NOTHING],
  [['shadow'], 6, NOTHING],
  [['shadow', 'sha256:0', '--off'], 2, NOTHING],
  [['rollback', '--reason', 'test'], 6, NOTHING],
  [['publish', 'damaged.json'], 8, DAMAGED],
  [['status', '--admin-socket', 'none'], 2, NOTHING],
  [['console'], 6, NOTHING],
  [['console', '--admin-socket', 'none'], 2, NOTHING],
  [['status', '--admin-url', 'http://gateway.example.org:8081'], 2, NOTHING],
  [['can-i', 'resource:read', '/'], 2, NOTHING],
  [['can-i', 'resource:read', '/', '--key-file', 'none'], 2, NOTHING],
  [['audit', 'verify', '--data-dir', 'none'], 8, NOTHING],
  [['audit', 'verify', '--head', '12'], 2, NOTHING],
  [['audit', 'query', '--kind', 'nonsense'], 2, NOTHING],
  [['audit', 'query', '--outcome', 'denied', '--outcome', 'nonsense'], 2, NOTHING],
  [['audit', 'release'], 2, NOTHING],
  [['audit', 'release', '--lost', 'No'], 2, NOTHING],
  [['audit', 'release', 'none'], 2, NOTHING],
  [['replay', '--data-dir', 'none'], 2, NOTHING],
  [['replay', 'log', '--against', 'none'], 2, NOTHING],
  [['replay', 'log', '--against', 'damaged.json'], 8, DAMAGED],
  [['replay', 'log', '--exit-code'], 2, NOTHING],
  [['local', '--listen', '0.0.0.0:1'], 2, NOTHING],
  [['config', 'check', '--listen', 'x'], 2, { ...UNCONFIGURED, faults: [expect.any(Object)] }],
  [
    ['config', 'check', '--config', 'none.yaml'],
    2,
    { ...UNCONFIGURED, file: expect.any(String), faults: [expect.any(Object)] },
  ],
  [['version', 'x'], 2, NOTHING],
  [['completion', 'tcsh'], 2, NOTHING],
  [['nonsense'], 2, NOTHING],
];

let cwd: string;
beforeAll(async () => {
  const files = (folder: string, of: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(of).map(([path, text]) => [`${folder}/${path}`, text]);
  cwd = await makeFolder(
    Object.fromEntries([
      ...files('policy', POLICY),
      ...files('failing', { ...POLICY, 'tests.yaml': FAILING }),
      ...files('log', { 'a1.000000000000001.jsonl': '' }),
    ]),
  );
  await cp(fromRoot('fixtures/examples/broken'), join(cwd, 'broken'), { recursive: true });
  expect((await runIn(cwd, ['compile', 'policy', '-o', 's.json'])).status).toBe(0);
  expect((await runIn(cwd, ['keygen', '-o', 'key'])).status).toBe(0);
  const [, publicKey = ''] = (await readFile(join(cwd, 'key.pub'), 'utf8')).split('\n');
  await writeFile(join(cwd, 'ring.yaml'), `threshold: 1\nkeys: [{ name: x, publicKey: ${publicKey} }]\n`);
  await writeFile(join(cwd, 'bad.yaml'), `threshold: 0\nkeys: [{ name: x, publicKey: ${publicKey} }]\n`);
  const whole = await readFile(join(cwd, 's.json'), 'utf8');
  await writeFile(join(cwd, 'damaged.json'), whole.replace('facility', 'faculty'));
});

const answerOf = ({ stdout }: Ran): Readonly<Record<string, unknown>> =>
  JSON.parse(stdout) as Readonly<Record<string, unknown>>;
const ERROR = { code: expect.stringMatching(/^[a-z]+\.[a-z_]+$/), message: expect.stringMatching(/./) };

describe('what fails says in JSON', () => {
  test.each(FAILURES.map((one) => [one[0].join(' '), one] as const))('%s', async (_line, [args, status, fields]) => {
    const ran = await runIn(cwd, [...args, '--format', 'json']);
    expectPlain(ran);
    expect([answerOf(ran), ran.status, ran.stderr]).toEqual([
      { ...fields, error: expect.objectContaining(ERROR) },
      status,
      '',
    ]);
    expect(ran.stdout).toMatch(/^[^\n]+\n$/);
  });

  it('of every verb', async () => {
    const { stdout } = await runIn('/', ['--help']);
    const commands = /\nAuthor policies:\n(.*)\n\n`bailiwick help <verb>`/s.exec(stdout)?.[1] ?? '';
    const verbs = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, verb]) => verb);
    const tried = new Set(FAILURES.map(([[verb]]) => verb));
    expect(verbs.filter((verb) => !tried.has(verb))).toEqual(['help']);
  });

  it('also for `decide`, which prints JSON without being asked, and then for people too', async () => {
    const plain = await runIn(cwd, ['decide', 'none']);
    expect([plain.status, answerOf(plain)]).toEqual([2, { error: ERROR }]);
    expect(plain.stderr).toBe('error: `none` does not exist\n');
    const text = await runIn(cwd, ['decide', 'none', '--format', 'text']);
    expect(text).toEqual({ status: 2, stdout: '', stderr: plain.stderr });
    const failing = await runIn(cwd, ['decide', 'failing']);
    expect(answerOf(failing)).toMatchObject({ ok: false, tests: { failed: 1 }, error: ERROR });
    expect(failing.stderr).toContain('too much');
  });

  it('which files `fmt` had changed before it could not go on', async () => {
    // A name that leaves no room for that of the draft beside it.
    const long = `b${'x'.repeat(240)}.yaml`;
    const folder = await makeFolder({ 'p/a.yaml': 'roles:   {}\n', [`p/${long}`]: 'roles:   {}\n' });
    const ran = await runIn(folder, ['fmt', 'p', '--format', 'json']);
    expect([ran.status, answerOf(ran)]).toEqual([
      2,
      { ok: false, changed: ['a.yaml'], unchanged: 0, diagnostics: [], error: ERROR },
    ]);
    expect(await readFile(join(folder, 'p/a.yaml'), 'utf8')).toBe('roles: {}\n');
  });
});
