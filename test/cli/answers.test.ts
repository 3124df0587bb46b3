// explain, who-can, what-can and visible as a user runs them: the shapes of their JSON, text for people, exit statuses.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { FAILING, POLICY } from './policies.js';

const AT = ['--at', '2027-01-01T00:00:00Z'];
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const STAFF = { id: 'staff', file: 'grants/optics.yaml', line: 3 };
const ANA_IN_STAFF = { ...STAFF, through: [{ role: 'staff', file: 'roles.yaml', line: 3 }] };
const BY_STAFF = '  by staff (grants/optics.yaml:3), through staff (roles.yaml:3)\n';

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const json = async (...args: readonly string[]): Promise<unknown> =>
  JSON.parse((await run(...args, '--format', 'json')).stdout);

beforeAll(async () => {
  cwd = await makeFolder({
    ...Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`old/${path}`, text])),
    'runs/policy.yaml': 'bailiwick: 1\nname: runs\nproviders: { orcid: {} }\n',
    'runs/grants.yaml': `grants:
  - { id: above, identity: "orcid:ana", namespace: /labs, scopes: ["process-run:read"], inherit: false }
  - { id: below, identity: "orcid:ana", namespace: /labs/optics/run-7, scopes: ["process-run:read"] }
`,
  });
  expect((await run('compile', 'old', '-o', 'old.json')).status).toBe(0);
});

describe('who-can', () => {
  test('lists everyone at a path that no grant names, with their grants', async () => {
    expect(await json('who-can', 'old', 'resource:write', '/labs/optics/run-9', ...AT)).toEqual({
      scope: 'resource:write',
      namespace: '/labs/optics/run-9',
      at: '2027-01-01T00:00:00.000Z',
      snapshot: expect.stringMatching(DIGEST),
      identities: [{ identity: 'orcid:ana', grants: [ANA_IN_STAFF] }],
    });
    expect((await run('who-can', 'old.json', 'resource:write', 'labs/optics/', ...AT)).stdout).toBe(
      `orcid:ana\n${BY_STAFF}1 identity holds resource:write at /labs/optics at 2027-01-01T00:00:00.000Z\n`,
    );
    expect((await run('who-can', 'old', 'resource:write', '/', ...AT)).stdout).toBe(
      'nobody holds resource:write at / at 2027-01-01T00:00:00.000Z\n',
    );
  });

  test.each([
    ['a scope', ['resource:wirte', '/labs'], '`resource:wirte` is not a scope', 'did you mean `resource:write`?'],
    [
      'a namespace',
      ['resource:write', '/Labs'],
      '`/Labs` is not a namespace: segments are made of `a-z`, `0-9`, `.`, `_`, `~`, `-`',
      'did you mean `/labs`?',
    ],
    [
      'a namespace that could be meant',
      ['resource:write', ''],
      '`` is not a namespace: it is empty; the root is `/`',
      'write a path such as `/labs/optics`; the root is `/`',
    ],
  ])('refuses what is not %s', async (_what, args, message, help) => {
    expect(await run('who-can', 'old', ...args)).toEqual({
      status: 2,
      stdout: '',
      stderr: `error: ${message}\n  help: ${help}\n`,
    });
  });
});

describe('what-can', () => {
  test('is the whole tree of one identity', async () => {
    expect(await json('what-can', 'old.json', 'orcid:ana', ...AT)).toEqual({
      identity: 'orcid:ana',
      at: '2027-01-01T00:00:00.000Z',
      snapshot: expect.stringMatching(DIGEST),
      access: [
        {
          namespace: '/labs/optics',
          extent: 'subtree',
          scopes: ['resource:read', 'resource:write'],
          grants: [ANA_IN_STAFF],
        },
      ],
    });
    expect((await run('what-can', 'old', 'orcid:ana', ...AT)).stdout).toBe(
      `at and below /labs/optics\n  resource:*\n${BY_STAFF}orcid:ana holds this, in 1 region, at 2027-01-01T00:00:00.000Z\n`,
    );
  });

  test('of somebody that the policy does not name is nothing', async () => {
    expect(await json('what-can', 'old', 'orcid:nobody', ...AT)).toMatchObject({
      identity: 'orcid:nobody',
      access: [],
    });
    expect(await run('what-can', 'old', 'orcdi:ana', ...AT)).toEqual({
      status: 0,
      stdout: 'orcdi:ana holds nothing, at 2027-01-01T00:00:00.000Z\n',
      stderr: 'note: the policy declares no provider `orcdi`; did you mean `orcid`?\n',
    });
    expect((await run('what-can', 'old', 'orcid:Ana', ...AT)).stderr).toBe(
      'note: the policy names `orcid:Ana` nowhere; did you mean `orcid:ana`?\n',
    );
    expect((await run('what-can', 'old', 'orcid-group:x', ...AT)).stderr).toBe(
      'note: the policy names `orcid-group:x` nowhere\n',
    );
  });

  test.each([
    ['ana', '`ana` is not an identity: it has no colon'],
    ['orcid:', '`orcid:` is not an identity: the subject is empty'],
    ['ORCID:ana', '`ORCID:ana` is not an identity: the part before the first colon is not a provider name'],
  ])('refuses %s, which is no identity', async (identity, message) => {
    expect(await run('what-can', 'old', identity)).toEqual({
      status: 2,
      stdout: '',
      stderr: `error: ${message}\n  help: write \`provider:subject\`, such as \`orcid:0000-0002-1825-0097\`\n`,
    });
  });
});

describe('visible', () => {
  const asking = ['visible', 'old', '--as', 'orcid:ana', '--family', 'resource', ...AT];
  test.each([
    [
      'what is seen from below',
      ['--namespace', '/labs/optics/run-7'],
      { kind: 'some', exact: ['/labs/optics', '/labs/optics/run-7'], subtrees: [] },
    ],
    ['a subtree', ['--namespace', '/', '--reach', 'subtree'], { kind: 'some', exact: [], subtrees: ['/labs/optics'] }],
    [
      'nothing, and at which step',
      ['--namespace', '/labs'],
      { kind: 'none', step: 'no_matching_grant', exact: [], subtrees: [] },
    ],
    [
      'a credential without scopes',
      ['--namespace', '/labs/optics', '--credential-scopes', ''],
      { kind: 'none', step: 'credential_scope', exact: [], subtrees: [] },
    ],
    [
      'a restriction elsewhere',
      ['--namespace', '/labs/optics', '--restrict', '/a,/b'],
      { kind: 'none', step: 'restriction', exact: [], subtrees: [] },
    ],
    [
      'what is no path',
      ['--namespace', '/labs//optics'],
      { kind: 'none', step: 'canonicalize', exact: [], subtrees: [] },
    ],
  ])('says %s', async (_what, args, expected) => {
    expect(await json(...asking, ...args)).toEqual({
      ...expected,
      at: '2027-01-01T00:00:00.000Z',
      snapshot: expect.stringMatching(DIGEST),
    });
  });

  test('says which string is not a namespace', async () => {
    expect((await run(...asking, '--namespace', '/Labs', '--restrict', '/labs,/a//b')).stdout).toBe(
      'nothing is visible: denied at canonicalize: `/Labs` is not a namespace: segments are made of `a-z`, `0-9`, `.`, `_`, `~`, `-`; did you mean `/labs`?; `/a//b` is not a namespace: it has an empty segment; did you mean `/a/b`?\n',
    );
  });

  test('has every reach for process runs', async () => {
    const asked = [
      'visible',
      'runs',
      '--as',
      'orcid:ana',
      '--family',
      'process-run',
      '--namespace',
      '/labs/optics',
      ...AT,
    ];
    expect(await json(...asked, '--reach', 'lineage')).toMatchObject({ exact: ['/labs'], subtrees: [] });
    expect(await json(...asked, '--reach', 'subtree')).toMatchObject({ exact: [], subtrees: ['/labs/optics/run-7'] });
    expect(await json(...asked)).toMatchObject({ kind: 'none', step: 'no_matching_grant' });
  });
});

describe('explain', () => {
  test('an allowed access has every step and its grants', async () => {
    expect(
      await json(
        'explain',
        'old',
        '--as',
        'orcid:ana',
        '--scope',
        'resource:read',
        '--namespace',
        '/labs/optics',
        '--context',
        '/labs/optics/run-7',
        ...AT,
      ),
    ).toEqual({
      decision: 'allow',
      at: '2027-01-01T00:00:00.000Z',
      snapshot: expect.stringMatching(DIGEST),
      request: { kind: 'access', scope: 'resource:read', context: '/labs/optics/run-7', target: '/labs/optics' },
      actor: { identities: ['orcid:ana'], namespaceRestrictions: null },
      steps: ['canonicalize', 'restriction', 'no_matching_grant', 'credential_scope', 'target_relationship'].map(
        (step) => ({ step, passed: true, text: expect.any(String) }),
      ),
      grants: [ANA_IN_STAFF],
      edits: expect.arrayContaining([
        expect.objectContaining({ change: expect.objectContaining({ kind: 'drop-member', member: 'orcid:ana' }) }),
      ]),
    });
  });

  test('a denial says what would allow it, and exits 0', async () => {
    const denied = await run(
      'explain',
      'old',
      '--as',
      'orcid:bob',
      '--scope',
      'resource:write',
      '--namespace',
      '/labs/optics/run-7',
      ...AT,
    );
    expect(denied).toEqual({
      status: 0,
      stdout: [
        'denied at no_matching_grant',
        '  passed  canonicalize       /labs/optics/run-7 is a canonical path',
        '  passed  restriction        the credential is not restricted to namespaces',
        '  failed  no_matching_grant  no grant in force at 2027-01-01T00:00:00.000Z gives orcid:bob resource:write at /labs/optics/run-7',
        'help: any one of these changes would allow it (first column: other accesses it also grants)',
        '  1. 0  grant resource:write at /labs/optics/run-7 alone (`inherit: false`) to orcid:bob',
        '  2. 3  add orcid:bob to role `staff`',
        '',
      ].join('\n'),
      stderr: 'note: the policy names `orcid:bob` nowhere\n',
    });
    const asked = [
      '--scope',
      'process-run:read',
      '--namespace',
      '/labs/optics',
      '--credential-scopes',
      'resource:read',
      ...AT,
    ];
    expect(await json('explain', 'old', '--as', 'orcid:ana', ...asked)).toMatchObject({
      decision: 'deny',
      step: 'no_matching_grant',
      actor: { identities: ['orcid:ana'], credentialScopes: ['resource:read'] },
      edits: [
        {
          change: {
            kind: 'grant',
            namespace: '/labs/optics',
            inherit: false,
            credential: { credentialScopes: ['process-run:read'] },
          },
          opens: { cells: 0 },
        },
        { change: { kind: 'scope', grant: STAFF, scope: 'process-run:read' }, opens: { cells: 1 } },
      ],
    });
  });

  test('namespaces are shown in their canonical form, and what is none as it was typed', async () => {
    const asking = [
      'explain',
      'old',
      '--as',
      'orcid:ana',
      '--scope',
      'resource:read',
      '--restrict',
      'labs/,/Labs',
      ...AT,
    ];
    expect(await json(...asking, '--namespace', 'labs/optics/', '--context', 'labs')).toMatchObject({
      step: 'canonicalize',
      request: { context: '/labs', target: '/labs/optics' },
      actor: { namespaceRestrictions: ['/labs', '/Labs'] },
    });
  });

  test('a provider that is not declared is part of the edits', async () => {
    const { stdout } = await run(
      'explain',
      'old',
      '--as',
      'gitlab:bo',
      '--scope',
      'resource:read',
      '--namespace',
      '/',
      ...AT,
    );
    expect(stdout.split('\n').slice(4, 6)).toEqual([
      'help: any one of these changes would allow it (first column: other accesses it also grants)',
      '  1. 0  declare the provider `gitlab` in policy.yaml and grant resource:read at / alone (`inherit: false`) to gitlab:bo',
    ]);
  });

  test('studies a policy whose tests fail, and says that they do', async () => {
    const folder = await makeFolder({ ...POLICY, 'tests.yaml': FAILING });
    const { status, stdout, stderr } = await runCli(
      ['explain', '.', '--as', 'orcid:ana', '--scope', 'resource:write', '--namespace', '/labs/optics', ...AT],
      { cwd: folder },
    );
    expect([status, stdout.split('\n')[0]]).toEqual([0, 'allowed']);
    expect(stderr).toContain('failed too much: resource:write /labs/optics');
  });
});
