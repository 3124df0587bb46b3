// decide as a user runs it: answers in order, every malformed line in its place (docs/cli.md "Requests for decide").
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { FAILING, PASSING, POLICY } from './policies.js';

describe('decide', () => {
  let cwd = '';
  beforeAll(async () => {
    cwd = await makeFolder(
      Object.fromEntries(
        Object.entries({ ...POLICY, 'tests.yaml': PASSING }).map(([path, text]) => [`policy/${path}`, text]),
      ),
    );
    expect((await runCli(['compile', 'policy', '-o', 'snapshot.json'], { cwd })).status).toBe(0);
  });

  const ana = { identities: [{ provider: 'orcid', subject: 'ana' }] };
  const access = (scope: string, target: string, more = {}): object => ({ kind: 'access', scope, target, ...more });
  const decide = async (
    lines: readonly unknown[],
    args: readonly string[] = [],
  ): Promise<{ status: number | null; answers: unknown[]; stderr: string }> => {
    const stdin = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    const run = await runCli(['decide', 'snapshot.json', ...args], { cwd, stdin });
    return {
      status: run.status,
      stderr: run.stderr,
      answers: run.stdout
        .trim()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    };
  };

  test('answers in order, allowed and denied alike with exit 0', async () => {
    expect(
      await decide([
        { id: 'r1', actor: ana, request: access('resource:read', '/labs/optics') },
        { id: 'r2', actor: ana, request: access('resource:read', '/labs') },
        { id: 'r3', actor: ana, request: access('resource:read', '/labs/optics', { context: '/labs/optics/run-7' }) },
        {
          id: 'r4',
          actor: { ...ana, credentialScopes: ['resource:read'] },
          request: access('resource:write', '/labs/optics'),
        },
        {
          id: 'r5',
          actor: { ...ana, namespaceRestrictions: ['/other'] },
          request: access('resource:read', '/labs/optics'),
        },
        { id: 'r6', actor: { ...ana, namespaceRestrictions: null }, request: access('resource:read', 'labs/optics/') },
        { id: 'r7', actor: ana, request: access('resource:fly', '/labs/optics') },
        { id: 'r8', actor: ana, request: access('resource:fly', '/labs//optics') },
        { id: 'r9', actor: 'local', request: access('resource:write', '/anywhere') },
        {
          id: 'r10',
          actor: { identities: ['orcid:ana'] },
          request: { kind: 'copy', source: '/labs/optics', destination: '/labs' },
        },
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

  test('decides on whatever a path or a scope holds; other fields that are not strings stay an error', async () => {
    const nul = '/labs/optics\0';
    const half = '/labs/\ud800';
    const at = (text: string): object => access('resource:read', text);
    expect(
      await decide([
        { id: 'target', actor: ana, request: at(nul) },
        { id: 'context', actor: ana, request: access('resource:read', '/labs/optics', { context: half }) },
        { id: 'restriction', actor: { ...ana, namespaceRestrictions: ['/', nul] }, request: at('/labs/optics') },
        { id: 'creation', actor: ana, request: { kind: 'create-namespace', namespace: half } },
        { id: 'source', actor: ana, request: { kind: 'copy', source: nul, destination: '/labs/optics' } },
        { id: 'destination', actor: ana, request: { kind: 'copy', source: '/labs/optics', destination: half } },
        { id: 'local', actor: 'local', request: at(half) },
        { id: 'scope', actor: ana, request: access('resource:read\0', '/labs/optics') },
        { id: 'both', actor: ana, request: access('\udfff', nul) },
        '{"id":"duplicate","actor":"local","request":{"kind":"access","scope":"\\u0000","target":"/","target":"/"}}',
        { id: 'field', actor: ana, request: access('resource:read', '/labs/optics', { [nul]: '/' }) },
        { id: 'identity', actor: { identities: ['orcid:ana\0'] }, request: at('/labs/optics') },
        { id: 'credential', actor: { ...ana, credentialScopes: ['resource:read\0'] }, request: at('/labs/optics') },
        { id: 'deeper', actor: ana, request: access('resource:read', '/labs/optics', { context: { target: nul } }) },
      ]),
    ).toEqual({
      status: 2,
      stderr: '',
      answers: [
        ...['target', 'context', 'restriction', 'creation', 'source', 'destination', 'local'].map((id) => ({
          id,
          decision: 'deny',
          step: 'canonicalize',
        })),
        { id: 'scope', decision: 'deny', step: 'unknown_scope' },
        { id: 'both', decision: 'deny', step: 'canonicalize' },
        { id: 'duplicate', error: { code: 'request.duplicate_key', message: expect.any(String) } },
        ...['field', 'identity', 'credential', 'deeper'].map((id) => ({
          id,
          error: { code: 'request.invalid_unicode', message: expect.any(String) },
        })),
      ],
    });
  });

  const request = access('resource:read', '/labs/optics');
  const malformed: readonly (readonly [what: string, line: unknown, id: unknown, code: string])[] = [
    ['no JSON', '{"id":"x"', null, 'request.malformed'],
    ['a duplicate key', '{"id":"x","id":"y"}', null, 'request.duplicate_key'],
    ['an escaped duplicate key', '{"actor":"local","\\u0061ctor":{}}', null, 'request.duplicate_key'],
    ['a key of a prototype', '{"id":"x","__proto__":{}}', 'x', 'request.forbidden_key'],
    ['an id in a prototype', '{"__proto__":{"id":"x"}}', null, 'request.forbidden_key'],
    ['a duplicate key beside the id', '{"id":7,"actor":"local","actor":{}}', 7, 'request.duplicate_key'],
    ['bad Unicode beside the id', '{"id":"x","actor":"\\ud800"}', 'x', 'request.invalid_unicode'],
    ['bad Unicode in the id', '{"actor":"\\ud800","id":"\\ud800"}', null, 'request.invalid_unicode'],
    ['a rounded id after another fault', '{"__proto__":1,"id":9007199254740993}', null, 'request.forbidden_key'],
    ['nesting beside the id', `{"id":"x","at":${'['.repeat(100)}${']'.repeat(100)}}`, 'x', 'request.too_deep'],
    ['nesting without end', '['.repeat(100), null, 'request.too_deep'],
    ['no object', '[]', null, 'request.schema'],
    ['no actor', { id: 'x', request }, 'x', 'request.schema'],
    ['no request', { id: 'x', actor: ana }, 'x', 'request.schema'],
    ['credentialScopes null', { id: 'x', actor: { ...ana, credentialScopes: null }, request }, 'x', 'request.schema'],
    [
      'a scope that is none in the credential',
      { id: 'x', actor: { ...ana, credentialScopes: ['resource:*'] }, request },
      'x',
      'request.schema',
    ],
    ['a misspelt key', { id: 'x', actor: { ...ana, credentialScope: [] }, request }, 'x', 'request.schema'],
    [
      'an identity that is not NFC',
      { id: 'x', actor: { identities: ['orcid:e\u0301'] }, request },
      'x',
      'request.schema',
    ],
    ['an identity without a colon', { id: 'x', actor: { identities: ['ana'] }, request }, 'x', 'request.schema'],
    ['no identities', { id: 'x', actor: {}, request }, 'x', 'request.schema'],
    [
      'restrictions that are no list',
      { id: 'x', actor: { ...ana, namespaceRestrictions: '/labs' }, request },
      'x',
      'request.schema',
    ],
    ['an unknown kind', { id: 'x', actor: ana, request: { kind: 'fly' } }, 'x', 'request.schema'],
    [
      'a target that is no text',
      { id: 'x', actor: ana, request: { kind: 'access', scope: 'resource:read', target: 7 } },
      'x',
      'request.schema',
    ],
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

  test.each([
    ['[]', 'the line must be an object'],
    ['{"id":"x","actor":"remote"}', '`/actor` must be an object, or `"local"`'],
    ['{"id":"x"}', '`/actor` must be an object, or `"local"`'],
  ])('says of %s: %s', async (line, message) => {
    expect((await decide([line])).answers).toMatchObject([{ error: { message } }]);
  });

  test('a line that is not UTF-8 keeps an id that is', async () => {
    const line = (id: number, actor: number): Buffer =>
      Buffer.concat([
        Buffer.from('{"id":"'),
        Buffer.from([id]),
        Buffer.from('","actor":"'),
        Buffer.from([actor, 0x22, 0x7d, 0x0a]),
      ]);
    const run = await runCli(['decide', 'snapshot.json'], {
      cwd,
      stdin: Buffer.concat([line(0x61, 0xff), line(0xff, 0x61)]),
    });
    expect(
      run.stdout
        .trim()
        .split('\n')
        .map((answer) => (JSON.parse(answer) as { id: unknown }).id),
    ).toEqual(['a', null]);
  });

  test('an empty line and one of blanks are skipped', async () => {
    const run = await runCli(['decide', 'snapshot.json'], { cwd, stdin: '\n \t \r\n\r\n  ' });
    expect(run).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('a line over the limit and a line that is not UTF-8', async () => {
    const lines = Buffer.concat([Buffer.from(`"${'x'.repeat(1024 * 1024)}"\n`), Buffer.from([0x22, 0xff, 0x22, 0x0a])]);
    const run = await spawnCli(['decide', 'snapshot.json'], { cwd, stdin: lines });
    expect(run.status).toBe(2);
    expect(
      run.stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { error: { code: string } }).error.code),
    ).toEqual(['request.too_large', 'request.invalid_unicode']);
  });

  test('`--at` is the time of lines that name none', async () => {
    const grants =
      'grants:\n  - { id: g, role: staff, namespace: /a, scopes: [resource:read], expires: 2027-01-01T00:00:00Z }\n';
    const folder = await makeFolder({ ...POLICY, 'grants/timed.yaml': grants });
    const line = { id: 'r', actor: ana, request: access('resource:read', '/a') };
    const stdin = [line, { ...line, at: '2027-01-01T01:00:00+01:00' }, { ...line, at: '2026-12-31T23:59:59.999Z' }]
      .map((each) => JSON.stringify(each))
      .join('\n');
    const run = await runCli(['decide', folder, '--at', '2026-06-01T00:00:00Z'], { stdin });
    expect(
      run.stdout
        .trim()
        .split('\n')
        .map((answer) => (JSON.parse(answer) as { decision: string }).decision),
    ).toEqual(['allow', 'deny', 'allow']);
    expect((await runCli(['decide', folder, '--at', 'tomorrow'], { stdin })).status).toBe(2);
  });

  test('requests from a file, answers as text', async () => {
    await writeFile(
      join(cwd, 'requests.jsonl'),
      `${JSON.stringify({ id: 'a', actor: ana, request })}\r\n\r\n${JSON.stringify({ id: '\u001b', actor: 'local', request })}\n{\n`,
    );
    const run = await runCli(['decide', 'policy', '--requests', 'requests.jsonl', '--format', 'text'], { cwd });
    expect(run).toEqual({
      status: 2,
      stdout:
        'a allow staff\n\\x1b allow\n- error request.malformed not JSON: it ends too early, at column 2: a key in double quotes, or `}`, is missing\n',
      stderr: '',
    });
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
    expect([run.status, JSON.parse(run.stdout)]).toEqual([
      4,
      expect.objectContaining({ ok: false, error: expect.any(Object) }),
    ]);
    expect(run.stderr).toContain('tests.yaml:4 failed too much');
  });
});
