// What people read when something went wrong outside the policy: each message says what happened and what to do.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

describe('a snapshot that an editor changed', () => {
  const BACK = 'its bytes must stay as they were compiled: restore the file, or compile the policy again';
  let cwd: string;
  let whole: Buffer;

  beforeAll(async () => {
    cwd = await makeFolder(POLICY);
    await runCli(['compile', '.', '-o', 'policy.json'], { cwd });
    whole = await readFile(join(cwd, 'policy.json'));
  });

  const CHANGES: readonly (readonly [string, (text: string) => string, string])[] = [
    ['a line feed', (text) => `${text}\n`, 'was given a line end or a space at its end, as editors do'],
    ['CRLF', (text) => `${text}\r\n`, 'was given a line end or a space at its end, as editors do'],
    ['a byte order mark', (text) => `\uFEFF${text}`, 'was given a byte order mark'],
    ['a mark and a line end', (text) => `\uFEFF${text}\n`, 'was given a byte order mark'],
    ['a new layout', (text) => JSON.stringify(JSON.parse(text), null, 2), 'was reformatted or cut short'],
    ['half of it', (text) => text.slice(0, text.length / 2), 'was reformatted or cut short'],
  ];

  it.each(CHANGES)('by %s is reported by every verb', async (_, change, what) => {
    await writeFile(join(cwd, 'edited.json'), change(whole.toString('utf8')));
    for (const verb of [
      ['verify', 'edited.json'],
      ['inspect', 'edited.json'],
      ['what-can', 'edited.json', 'orcid:ana'],
      ['diff', 'policy.json', 'edited.json'],
      ['serve', '--policy', 'edited.json', '--listen', '127.0.0.1:0'],
    ]) {
      const { status, stdout, stderr } = await runCli(verb, { cwd });
      expect([verb[0], status, stdout + stderr]).toEqual([
        verb[0],
        8,
        expect.stringContaining(`the file is a snapshot that ${what}; ${BACK}`),
      ]);
    }
  });

  it('is not reported for any other file', async () => {
    const { stderr } = await runCli(['inspect', 'policy.yaml'], { cwd });
    expect(stderr).toBe(
      'error: `policy.yaml` is not an intact snapshot: the file is not a snapshot\n' +
        '  help: this looks like a file of a policy folder: name the folder `.`\n',
    );
  });
});

test('a person who breaks a rule by an identity that `to` does not name is reported with the one that it names', async () => {
  const cwd = await makeFolder({
    'policy.yaml': 'bailiwick: 1\nname: facility\nproviders: { ad: {}, vendor: {} }\n',
    'grants.yaml': 'grants:\n  - { id: archive, identity: "ad:s1101", scopes: ["resource:*"], namespace: /archive }\n',
    'guardrails.yaml':
      'people:\n  sam: { identities: ["ad:s1101", "vendor:s1101"] }\nguardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /archive, to: { providers: [vendor] } } }\n',
  });
  const { status, stdout } = await runCli(['check', '.'], { cwd });
  expect([status, stdout]).toEqual([
    5,
    expect.stringContaining(
      [
        '  sam (ad:s1101): resource:write at and below /archive',
        '    grant: archive (grants.yaml:2)',
        '    sam is also vendor:s1101, whom `to` names',
        '',
      ].join('\n'),
    ),
  ]);
});

test('a line for `decide` gets every missing field reported, and what a slip was meant to be', async () => {
  const cwd = await makeFolder(POLICY);
  const lines = [
    { actor: { identities: ['orcid:ana'] }, request: { kind: 'copy' } },
    { actor: { identity: 'orcid:ana' }, request: { kind: 'copy', source: '/a', destination: '/b' } },
  ];
  const { status, stdout } = await runCli(['decide', '.'], {
    cwd,
    stdin: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  });
  const told = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { error: { message: string } }).error.message);
  expect([status, ...told]).toEqual([
    2,
    '`/request` lacks `source` and `destination`',
    '`/actor/identity` is not a known field; did you mean `identities`? known here: `identities`, `credentialScopes`, `namespaceRestrictions`',
  ]);
});

test('a string that is not a name is refused with what a name is', async () => {
  const cwd = await makeFolder({
    'policy.yaml': 'bailiwick: 1\nname: facility\nproviders: { ad: {} }\n',
    'roles.yaml': 'roles:\n  Staff Team: { members: ["ad:x"] }\n  "-": { members: ["ad:x"] }\n',
  });
  const { stdout } = await runCli(['check', '.'], { cwd });
  const words =
    'names are made of `a-z`, `0-9`, `.`, `_`, `-`, begin with a letter or digit, and have at most 128 characters';
  const helps = stdout.split('\n').filter((line) => line.startsWith('  help: '));
  expect(helps).toEqual([`  help: write \`staff-team\`, or another name: ${words}`, `  help: ${words}`]);
});

test('a grant without a beginning breaks `expires`, and is named with what it lacks', async () => {
  const grant = (id: string, window: string): string =>
    `  - { id: ${id}, identity: vendor:acme, scopes: [resource:read], namespace: /labs${window} }\n`;
  const cwd = await makeFolder({
    'policy.yaml': 'bailiwick: 1\nname: facility\nproviders: { vendor: {} }\n',
    'grants.yaml': `grants:\n${grant('mri-coil-contract', ', expires: 2027-03-01T00:00:00Z')}${grant('open', '')}`,
    'guardrails.yaml': 'guardrails:\n  - { id: contractors-leave, expires: { providers: [vendor], within: 90d } }\n',
  });
  const help =
    '`mri-coil-contract` has no `notBefore`, `open` has no `notBefore` and no `expires`: give them both, since the time between the two is what counts';
  const { status, stdout } = await runCli(['check', '.', '--level', 'LINT_GRANT_REDUNDANT=off'], { cwd });
  expect([status, stdout]).toEqual([5, expect.stringContaining(`\n  help: ${help}\n`)]);
  const json = await runCli(['check', '.', '--format', 'json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject({ guardrails: { violations: [{ help }] } });
});

test('keys of `to` that stand beside it are shown in their place', async () => {
  const cwd = await makeFolder({
    'policy.yaml': 'bailiwick: 1\nname: facility\nproviders: { vendor: {} }\n',
    'guardrails.yaml':
      'guardrails:\n  - { id: g, never: { providers: [vendor], roles: [staff], scopes: ["*:write"], under: /archive } }\n',
  });
  const { stdout } = await runCli(['check', '.'], { cwd });
  expect(stdout.split('\n').filter((line) => line.startsWith('  help: '))).toEqual([
    '  help: write it inside `to`: `to: { providers: … }`',
    '  help: write it inside `to` or `except`: `to: { roles: … }`',
  ]);
});
