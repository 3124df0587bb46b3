// check, compile, decide and inspect as a user runs them: output, files and exit statuses (design 5, interfaces.md).
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n',
  'roles.yaml': 'roles:\n  staff:\n    members: [orcid:ana]\n',
  'grants/optics.yaml': 'within: /labs/optics\ngrants:\n  - id: staff\n    role: staff\n    namespace: /labs/optics\n    scopes: ["resource:*"]\n',
};
const PASSING = 'tests:\n  - name: staff\n    actor: { identities: [orcid:ana] }\n    allow: ["resource:read /labs/optics"]\n';
const FAILING = 'tests:\n  - name: too much\n    actor: { identities: [orcid:ana] }\n    deny: ["resource:write /labs/optics"]\n';
const BROKEN = 'grants:\n  - id: broken\n    role: staf\n    namespace: /labs\n    scopes: [resource:raed]\n';

const digest = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('check', () => {
  test('a sound policy', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    expect(await runCli(['check', '.'], { cwd })).toEqual({ status: 0, stdout: 'no mistakes in 4 files, 1 test passed\n', stderr: '' });
    const json = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: true,
      policy: 'facility',
      diagnostics: [],
      tests: { passed: 1, failed: 0, failures: [] },
      guardrails: { held: 0, violated: 0, violations: [] },
    });
  });

  test('every mistake with its place and its line underlined, a summary, and exit 3', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/broken.yaml': BROKEN, 'grants/ignored.yml': '' });
    const run = await runCli(['check', '.'], { cwd });
    expect([run.status, run.stderr]).toEqual([3, '']);
    const lines = run.stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('grants/broken.yaml:5:14 error SCOPE_UNKNOWN '));
    expect(lines.slice(at + 1, at + 4)).toEqual([
      '   5 |     scopes: [resource:raed]',
      '     |              ^^^^^^^^^^^^^',
      '  help: did you mean `resource:read`?',
    ]);
    expect(run.stdout).toMatch(/^grants\/ignored\.yml:1:1 warning FILE_IGNORED is not read$/m);
    expect(lines.at(-2)).toBe('2 errors, 1 warning in 4 files');
  });

  test('the same as JSON', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/broken.yaml': BROKEN });
    const run = await runCli(['check', '.', '--format=json'], { cwd });
    expect([run.status, run.stderr]).toEqual([3, '']);
    const report = JSON.parse(run.stdout) as { diagnostics: readonly object[] };
    expect(report).toMatchObject({ ok: false, error: { code: 'policy.invalid', message: '2 errors in 4 files' } });
    expect(report.diagnostics).toContainEqual({
      code: 'SCOPE_UNKNOWN',
      severity: 'error',
      file: 'grants/broken.yaml',
      range: { start: { line: 5, column: 14 }, end: { line: 5, column: 27 } },
      message: expect.any(String),
      help: 'did you mean `resource:read`?',
      related: [],
    });
  });

  test('a failed policy test is exit 4, with what was expected, what came and why', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': FAILING });
    const run = await runCli(['check', '.'], { cwd });
    expect(run).toEqual({
      status: 4,
      stdout: [
        'tests.yaml:4 failed too much: resource:write /labs/optics',
        '  expected: deny',
        '  actual:   allow',
        '  grant: staff (grants/optics.yaml:3)',
        'no mistakes in 4 files, 1 of 1 test failed',
        '',
      ].join('\n'),
      stderr: '',
    });
    const json = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      tests: {
        passed: 0,
        failed: 1,
        failures: [
          {
            test: 'too much',
            file: 'tests.yaml',
            line: 4,
            request: 'resource:write /labs/optics',
            expected: 'deny',
            actual: 'allow',
            grants: [{ id: 'staff', file: 'grants/optics.yaml', line: 3 }],
          },
        ],
      },
      error: { code: 'policy.tests_failed' },
    });
  });

  const VIOLATED = 'guardrails:\n  - id: nobody-writes\n    never: { scopes: [resource:write], under: /labs }\n  - id: nobody-runs\n    never: { scopes: [process-run:write], under: /labs }\n';

  test('a violated guardrail is exit 5, with all witnesses, their grants and what to remove', async () => {
    const cwd = await makeFolder({ ...POLICY, 'guardrails.yaml': VIOLATED });
    const run = await runCli(['check', '.'], { cwd });
    expect(run).toEqual({
      status: 5,
      stdout: [
        'guardrails.yaml:2 violated guardrail nobody-writes',
        '  orcid:ana: resource:write at and below /labs/optics',
        '    grant: staff (grants/optics.yaml:3)',
        '  holds without: staff (grants/optics.yaml:3)',
        'no mistakes in 4 files, 0 tests passed, 1 of 2 guardrails violated',
        '',
      ].join('\n'),
      stderr: '',
    });
    const grant = { id: 'staff', file: 'grants/optics.yaml', line: 3 };
    expect(JSON.parse((await runCli(['check', '.', '--format', 'json'], { cwd })).stdout)).toMatchObject({
      ok: false,
      error: { code: 'policy.guardrail_violated', message: '1 guardrail violated' },
      guardrails: {
        held: 1,
        violated: 1,
        violations: [
          {
            guardrail: 'nobody-writes',
            file: 'guardrails.yaml',
            line: 2,
            witnesses: [{ identities: ['orcid:ana'], namespace: '/labs/optics', extent: 'subtree', scopes: ['resource:write'], from: null, until: null, grants: [grant] }],
            repair: [grant],
          },
        ],
      },
    });
  });

  test('of several exit statuses the smallest wins, and everything is told', async () => {
    const cwd = await makeFolder({ ...POLICY, 'guardrails.yaml': VIOLATED, 'tests.yaml': FAILING });
    const run = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(run.status).toBe(4);
    expect(JSON.parse(run.stdout)).toMatchObject({ tests: { failed: 1 }, guardrails: { violated: 1 }, error: { code: 'policy.tests_failed' } });
  });

  test('what an unreadable file may declare is not called missing as well', async () => {
    const cwd = await makeFolder({ 'grants/optics.yaml': POLICY['grants/optics.yaml'] });
    await symlink('/etc/hostname', join(cwd, 'policy.yaml'));
    await symlink('/etc', join(cwd, 'roles'));
    const { stdout, status } = await runCli(['check', '.', '--format', 'json'], { cwd });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; file: string }[] };
    expect(status).toBe(3);
    expect(diagnostics.map(({ code, file }) => `${file} ${code}`)).toEqual(['policy.yaml FILE_SYMLINK', 'roles FILE_SYMLINK']);
  });

  test('names and text of a policy cannot steer the terminal', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/\u202eevil\u009b.yaml': '\u202e: "\u009b2J"\n' });
    const { stdout } = await runCli(['check', '.'], { cwd });
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const json = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(json.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test('a missing folder is exit 2', async () => {
    const run = await runCli(['check', 'nothing', '--format', 'json']);
    expect(run).toEqual({ status: 2, stdout: '{"error":{"code":"cli.not_found","message":"`nothing` does not exist"}}\n', stderr: '' });
  });
});

describe('compile', () => {
  test('writes the snapshot, readable by all, and prints both digests', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    const run = await runCli(['compile', '.', '-o', '.out.json'], { cwd });
    const bytes = await readFile(join(cwd, '.out.json'));
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/^no mistakes in 4 files, 1 test passed$/m);
    expect(run.stdout).toContain(`snapshot  ${digest(bytes)}\n`);
    expect(run.stdout).toMatch(/^decisions sha256:[0-9a-f]{64}$/m);
    expect(statSync(join(cwd, '.out.json')).mode & 0o777).toBe(0o644);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('the JSON adds file, digests and counts', async () => {
    const cwd = await makeFolder(POLICY);
    const run = await runCli(['compile', '.', '-o', '.out.json', '--format', 'json'], { cwd });
    expect(JSON.parse(run.stdout)).toEqual({
      ok: true,
      policy: 'facility',
      diagnostics: [],
      tests: { passed: 0, failed: 0, failures: [] },
      guardrails: { held: 0, violated: 0, violations: [] },
      file: '.out.json',
      snapshot: digest(readFileSync(join(cwd, '.out.json'))),
      decisions: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      counts: { identities: 1, roles: 1, grants: 1, namespaces: expect.any(Number) },
    });
  });

  test.each([
    ['an invalid policy', { 'grants/broken.yaml': BROKEN }, 3],
    ['a failed test', { 'tests.yaml': FAILING }, 4],
    ['both', { 'grants/broken.yaml': BROKEN, 'tests.yaml': FAILING }, 3],
  ])('%s leaves the old file as it was', async (_name, more, status) => {
    const cwd = await makeFolder({ ...POLICY, ...more, '.out.json': 'old' });
    const run = await runCli(['compile', '.', '-o', '.out.json'], { cwd });
    expect(run.status).toBe(status);
    expect(run.stdout).toContain('nothing written to .out.json\n');
    expect(await readFile(join(cwd, '.out.json'), 'utf8')).toBe('old');
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('`-o -` is the snapshot alone on stdout', async () => {
    const cwd = await makeFolder(POLICY);
    const run = await runCli(['compile', '.', '-o', '-'], { cwd });
    expect(run.status).toBe(0);
    expect(run.stderr).toContain(`snapshot  ${digest(Buffer.from(run.stdout))}\n`);
    expect((await runCli(['compile', '.', '-o', '-', '--format', 'json'], { cwd })).status).toBe(2);
  });

  test('the same policy gives the same bytes from anywhere, in any locale and time zone', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    const other = await makeFolder(Object.fromEntries(Object.entries({ ...POLICY, 'tests.yaml': PASSING }).reverse()));
    const one = await runCli(['compile', '.', '-o', '-'], { cwd, env: { TZ: 'Asia/Tokyo', LC_ALL: 'tr_TR.UTF-8' } });
    const two = await runCli(['compile', other, '-o', '-']);
    expect(one.stdout).toBe(two.stdout);
    expect(one.stdout.length).toBeGreaterThan(100);
  });

  test('a link is followed, and the file it names replaced', async () => {
    const cwd = await makeFolder({ ...POLICY, '.real.json': 'old' });
    await symlink('.real.json', join(cwd, '.link.json'));
    expect((await runCli(['compile', '.', '-o', '.link.json'], { cwd })).status).toBe(0);
    expect(await readFile(join(cwd, '.real.json'), 'utf8')).toMatch(/^\{/);
  });

  test.each([
    ['a folder', '.'],
    ['a device', '/dev/null'],
    ['a folder that is not there', 'nothing/out.json'],
    ['a file of the policy', 'roles.yaml'],
  ])('%s cannot be the output: exit 2, nothing changed', async (_name, output) => {
    const cwd = await makeFolder(POLICY);
    const run = await runCli(['compile', '.', '-o', output], { cwd });
    expect([run.status, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toMatch(/^error: `[^`]+` /);
    expect(await readFile(join(cwd, 'roles.yaml'), 'utf8')).toBe(POLICY['roles.yaml']);
    expect(statSync('/dev/null').isFile()).toBe(false);
  });

  (process.getuid?.() === 0 ? test.skip : test)('a folder that may not be written', async () => {
    const cwd = await makeFolder(POLICY);
    const out = await makeFolder();
    await chmod(out, 0o500);
    const run = await runCli(['compile', '.', '-o', join(out, 'x.json')], { cwd });
    await chmod(out, 0o700);
    expect(run.status).toBe(2);
  });
});

describe('decide', () => {
  let cwd = '';
  beforeAll(async () => {
    cwd = await makeFolder(Object.fromEntries(Object.entries({ ...POLICY, 'tests.yaml': PASSING }).map(([path, text]) => [`policy/${path}`, text])));
    expect((await runCli(['compile', 'policy', '-o', 'snapshot.json'], { cwd })).status).toBe(0);
  });

  const ana = { identities: [{ provider: 'orcid', subject: 'ana' }] };
  const access = (scope: string, target: string, more = {}): object => ({ kind: 'access', scope, target, ...more });
  const decide = async (lines: readonly unknown[], args: readonly string[] = []): Promise<{ status: number | null; answers: unknown[]; stderr: string }> => {
    const stdin = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    const run = await runCli(['decide', 'snapshot.json', ...args], { cwd, stdin });
    return { status: run.status, stderr: run.stderr, answers: run.stdout.trim().split('\n').map((line): unknown => JSON.parse(line)) };
  };

  test('answers in order, allowed and denied alike with exit 0', async () => {
    expect(
      await decide([
        { id: 'r1', actor: ana, request: access('resource:read', '/labs/optics') },
        { id: 'r2', actor: ana, request: access('resource:read', '/labs') },
        { id: 'r3', actor: ana, request: access('resource:read', '/labs/optics', { context: '/labs/optics/run-7' }) },
        { id: 'r4', actor: { ...ana, credentialScopes: ['resource:read'] }, request: access('resource:write', '/labs/optics') },
        { id: 'r5', actor: { ...ana, namespaceRestrictions: ['/other'] }, request: access('resource:read', '/labs/optics') },
        { id: 'r6', actor: { ...ana, namespaceRestrictions: null }, request: access('resource:read', 'labs/optics/') },
        { id: 'r7', actor: ana, request: access('resource:fly', '/labs/optics') },
        { id: 'r8', actor: ana, request: access('resource:fly', '/labs//optics') },
        { id: 'r9', actor: 'local', request: access('resource:write', '/anywhere') },
        { id: 'r10', actor: { identities: ['orcid:ana'] }, request: { kind: 'copy', source: '/labs/optics', destination: '/labs' } },
        { id: 'r11', actor: ana, request: { kind: 'create-namespace', namespace: '/labs/optics/x' } },
      ]),
    ).toEqual({
      status: 0,
      stderr: '',
      answers: [
        { id: 'r1', decision: 'allow', grants: ['staff'] },
        { id: 'r2', decision: 'deny', step: 'no_matching_grant' },
        { id: 'r3', decision: 'allow', grants: ['staff'] },
        { id: 'r4', decision: 'deny', step: 'credential_scope' },
        { id: 'r5', decision: 'deny', step: 'restriction' },
        { id: 'r6', decision: 'allow', grants: ['staff'] },
        { id: 'r7', decision: 'deny', step: 'unknown_scope' },
        { id: 'r8', decision: 'deny', step: 'canonicalize' },
        { id: 'r9', decision: 'allow', grants: [] },
        { id: 'r10', decision: 'deny', step: 'destination_write', cause: 'no_matching_grant' },
        { id: 'r11', decision: 'deny', step: 'no_matching_grant' },
      ],
    });
  });

  const request = access('resource:read', '/labs/optics');
  const malformed: readonly (readonly [what: string, line: unknown, id: unknown, code: string])[] = [
    ['no JSON', '{"id":"x"', null, 'request.malformed'],
    ['a duplicate key', '{"id":"x","id":"y"}', null, 'request.duplicate_key'],
    ['an escaped duplicate key', '{"actor":"local","\\u0061ctor":{}}', null, 'request.duplicate_key'],
    ['a key of a prototype', '{"id":"x","__proto__":{}}', null, 'request.forbidden_key'],
    ['nesting without end', '['.repeat(100), null, 'request.too_deep'],
    ['no object', '[]', null, 'request.schema'],
    ['no actor', { id: 'x', request }, 'x', 'request.schema'],
    ['no request', { id: 'x', actor: ana }, 'x', 'request.schema'],
    ['credentialScopes null', { id: 'x', actor: { ...ana, credentialScopes: null }, request }, 'x', 'request.schema'],
    ['a scope that is none in the credential', { id: 'x', actor: { ...ana, credentialScopes: ['resource:*'] }, request }, 'x', 'request.schema'],
    ['a misspelt key', { id: 'x', actor: { ...ana, credentialScope: [] }, request }, 'x', 'request.schema'],
    ['an identity that is not NFC', { id: 'x', actor: { identities: ['orcid:e\u0301'] }, request }, 'x', 'request.schema'],
    ['an identity without a colon', { id: 'x', actor: { identities: ['ana'] }, request }, 'x', 'request.schema'],
    ['no identities', { id: 'x', actor: {}, request }, 'x', 'request.schema'],
    ['restrictions that are no list', { id: 'x', actor: { ...ana, namespaceRestrictions: '/labs' }, request }, 'x', 'request.schema'],
    ['an unknown kind', { id: 'x', actor: ana, request: { kind: 'fly' } }, 'x', 'request.schema'],
    ['a target that is no text', { id: 'x', actor: ana, request: { kind: 'access', scope: 'resource:read', target: 7 } }, 'x', 'request.schema'],
    ['a time without offset', { id: 'x', actor: ana, request, at: '2027-01-01T00:00:00' }, 'x', 'request.schema'],
    ['a number beyond 2^53', '{"id":9007199254740993}', null, 'request.malformed'],
    ['an id that is no text', { id: {}, actor: ana, request }, null, 'request.schema'],
  ];

  test('malformed lines are errors in their places, the others are answered, and exit 2', async () => {
    const good = { id: 'good', actor: ana, request };
    const { status, answers, stderr } = await decide(malformed.flatMap(([, line]) => [line, good]));
    expect([status, stderr]).toEqual([2, '']);
    const expected = malformed.flatMap(([what, , id, code]) => [
      [what, { id, error: { code, message: expect.any(String) } }],
      ['good', { id: 'good', decision: 'allow', grants: ['staff'] }],
    ]);
    // What a line is wrong about stands beside its answer, so that a failure says which.
    expect(answers.map((answer, i) => [i % 2 === 0 ? malformed[i / 2]?.[0] : 'good', answer])).toEqual(expected);
  });

  test('a line over the limit and a line that is no UTF-8', async () => {
    const lines = Buffer.concat([Buffer.from(`"${'x'.repeat(1024 * 1024)}"\n`), Buffer.from([0x22, 0xff, 0x22, 0x0a])]);
    const run = await runCli(['decide', 'snapshot.json'], { cwd, stdin: lines });
    expect(run.status).toBe(2);
    expect(run.stdout.trim().split('\n').map((line) => (JSON.parse(line) as { error: { code: string } }).error.code)).toEqual([
      'request.too_large',
      'request.invalid_unicode',
    ]);
  });

  test('`--at` is the time of lines that name none', async () => {
    const grants = 'grants:\n  - { id: g, role: staff, namespace: /a, scopes: [resource:read], expires: 2027-01-01T00:00:00Z }\n';
    const folder = await makeFolder({ ...POLICY, 'grants/timed.yaml': grants });
    const line = { id: 'r', actor: ana, request: access('resource:read', '/a') };
    const stdin = [line, { ...line, at: '2027-01-01T01:00:00+01:00' }, { ...line, at: '2026-12-31T23:59:59.999Z' }].map((each) => JSON.stringify(each)).join('\n');
    const run = await runCli(['decide', folder, '--at', '2026-06-01T00:00:00Z'], { stdin });
    expect(run.stdout.trim().split('\n').map((answer) => (JSON.parse(answer) as { decision: string }).decision)).toEqual(['allow', 'deny', 'allow']);
    expect((await runCli(['decide', folder, '--at', 'tomorrow'], { stdin })).status).toBe(2);
  });

  test('requests from a file, answers as text', async () => {
    await writeFile(join(cwd, 'requests.jsonl'), `${JSON.stringify({ id: 'a', actor: ana, request })}\r\n\r\n${JSON.stringify({ id: '\u001b', actor: 'local', request })}\n{\n`);
    const run = await runCli(['decide', 'policy', '--requests', 'requests.jsonl', '--format', 'text'], { cwd });
    expect(run).toEqual({ status: 2, stdout: 'a allow staff\n\\x1b allow\n- error request.malformed not JSON\n', stderr: '' });
  });

  test('no requests, no answers', async () => {
    expect(await runCli(['decide', 'snapshot.json'], { cwd })).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test.each([
    ['a damaged snapshot', (bytes: Buffer) => Buffer.from(bytes.toString('utf8').replace('optics', 'optica')), 8],
    ['half of one', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2), 8],
    ['an empty file', () => Buffer.alloc(0), 8],
  ])('%s is exit 8, also for inspect', async (_name, damage, status) => {
    const folder = await makeFolder({ 's.json': damage(readFileSync(join(cwd, 'snapshot.json'))) });
    for (const verb of ['decide', 'inspect']) {
      const run = await runCli([verb, 's.json', '--format', 'json'], { cwd: folder });
      expect([run.status, run.stderr]).toEqual([status, '']);
      expect(JSON.parse(run.stdout)).toMatchObject({ error: { code: expect.stringMatching(/^snapshot\./) } });
    }
  });

  test.each([
    ['a missing policy', ['decide', 'nothing'], 2],
    ['missing requests', ['decide', 'snapshot.json', '--requests', 'nothing'], 2],
    ['a folder of requests', ['decide', 'snapshot.json', '--requests', '.'], 2],
    ['policy and requests both on stdin', ['decide', '-'], 2],
  ])('%s is exit %d', async (_name, args, status) => {
    expect((await runCli(args, { cwd })).status).toBe(status);
  });

  test('a folder that does not pass `check` decides nothing', async () => {
    const folder = await makeFolder({ ...POLICY, 'tests.yaml': FAILING });
    const run = await runCli(['decide', folder], { stdin: JSON.stringify({ id: 'x', actor: ana, request }) });
    expect([run.status, run.stdout]).toEqual([4, '']);
    expect(run.stderr).toContain('tests.yaml:4 failed too much');
  });
});

describe('inspect', () => {
  test('a snapshot and the folder it came from have the same facts', async () => {
    const cwd = await makeFolder(POLICY);
    const compiled = JSON.parse((await runCli(['compile', '.', '-o', '.s.json', '--format', 'json'], { cwd })).stdout) as Record<string, unknown>;
    const file = await runCli(['inspect', '.s.json', '--format', 'json'], { cwd });
    const folder = await runCli(['inspect', '.', '--format', 'json'], { cwd });
    const stdin = await runCli(['inspect', '-', '--format', 'json'], { cwd, stdin: readFileSync(join(cwd, '.s.json')) });
    expect([file.status, folder.stdout, stdin.stdout]).toEqual([0, file.stdout, file.stdout]);
    expect(JSON.parse(file.stdout)).toEqual({
      policy: 'facility',
      format: 1,
      snapshot: compiled['snapshot'],
      decisions: compiled['decisions'],
      counts: compiled['counts'],
    });
  });

  test('--namespaces lists digests in path order, the root first', async () => {
    const cwd = await makeFolder(POLICY);
    const json = await runCli(['inspect', '.', '--namespaces', '--format', 'json'], { cwd });
    const { namespaces } = JSON.parse(json.stdout) as { namespaces: { namespace: string; digest: string }[] };
    expect(namespaces.map((entry) => entry.namespace)).toEqual(['/', '/labs', '/labs/optics']);
    for (const entry of namespaces) expect(entry.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const text = await runCli(['inspect', '.', '--namespaces'], { cwd });
    for (const entry of namespaces) expect(text.stdout).toContain(`${entry.digest} ${entry.namespace}\n`);
  });
});
