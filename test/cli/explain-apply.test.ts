// `explain` of an allowed access lists what would deny it, and `--apply` writes one of the changes: comments stay, and nothing is written
// where the files are not those that the change was proposed for.
import { describe, expect, it, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepository } from '../support/git-repository.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const HEADER = 'bailiwick: 1\nname: labs\nproviders: { ad: {} }\n';
const ALL = `roles:
  crew:
    members:
      - ad:ann # since May
      - ad:ben
grants:
  # Why the crew reads.
  - id: crew
    role: crew
    scopes: [resource:read, resource:write]
    namespace: /labs
`;
const CHECKS = `guardrails:
  - { id: a-writer, atLeast: { identities: 2, scope: resource:write, at: /labs } }
  - { id: one-reader, atMost: { identities: 1, scope: resource:read, at: /labs } }
tests:
  - { name: ann reads, actor: { identities: [ad:ann] }, allow: ["resource:read /labs"] }
  - { name: ann is out, actor: { identities: [ad:ann] }, deny: ["resource:read /labs"] }
`;
const ASKED = ['--as', 'ad:ann', '--scope', 'resource:read', '--namespace', '/labs', '--at', '2099-01-01T00:00:00Z'];
const folderOf = (more: Readonly<Record<string, string>> = {}): Promise<string> =>
  makeFolder({ 'policy.yaml': HEADER, 'all.yaml': ALL, ...more });
const readAll = (folder: string): string => readFileSync(join(folder, 'all.yaml'), 'utf8');

describe('an allowed access', () => {
  it('has the changes that deny it, least first, with what else they take and what they break', async () => {
    const { status, stdout } = await runCli(['explain', await folderOf({ 'checks.yaml': CHECKS }), ...ASKED]);
    expect(status).toBe(0);
    expect(stdout.slice(stdout.indexOf('help'))).toBe(
      [
        'help: any one of these changes would deny it (first column: other accesses it also takes away)',
        '  1. 3  end the membership of ad:ann in role `crew` at 2099-01-01T00:00:00.000Z (all.yaml:4); breaks guardrail `a-writer`; breaks test `ann reads`',
        '       from ad:ann',
        '  2. 3  remove ad:ann from role `crew` (all.yaml:4); breaks guardrail `a-writer`; repairs guardrail `one-reader`; breaks test `ann reads`; repairs test `ann is out`',
        '       from ad:ann',
        '  3. 3  take resource:read from grant `crew` (`scopes: [resource:write]`) (all.yaml:8); repairs guardrail `one-reader`; breaks test `ann reads`; repairs test `ann is out`',
        '       from ad:ann, ad:ben',
        '  4. 7  drop grant `crew` (all.yaml:8); breaks guardrail `a-writer`; repairs guardrail `one-reader`; breaks test `ann reads`; repairs test `ann is out`',
        '       from ad:ann, ad:ben',
        '  5. 7  end grant `crew` at 2099-01-01T00:00:00.000Z (all.yaml:8); breaks guardrail `a-writer`; breaks test `ann reads`',
        '       from ad:ann, ad:ben',
        '',
      ].join('\n'),
    );
  });

  it('says the same in JSON, with the rows that are taken away', async () => {
    const { stdout } = await runCli(['explain', await folderOf(), ...ASKED, '--format', 'json']);
    const { edits, more } = JSON.parse(stdout) as { edits: readonly object[]; more?: boolean };
    expect([edits.length, more]).toEqual([5, undefined]);
    expect(edits[1]).toEqual({
      text: 'remove ad:ann from role `crew`',
      change: { kind: 'drop-member', role: 'crew', member: 'ad:ann', file: 'all.yaml', line: 4 },
      opens: { cells: 0 },
      closes: {
        ...{ cells: 4, others: 3, identities: 1 },
        rows: [
          {
            ...{ namespace: '/labs', extent: 'subtree', identities: ['ad:ann'] },
            ...{ scopes: ['resource:read', 'resource:write'], from: null, until: null },
          },
        ],
      },
    });
    expect(edits[0]).toMatchObject({ change: { kind: 'end-member', expires: '2099-01-01T00:00:00.000Z' } });
  });

  it('is known of a snapshot, except for what a change breaks', async () => {
    const folder = await folderOf();
    expect((await runCli(['compile', folder, '-o', join(folder, 'snapshot.json')])).status).toBe(0);
    const { status, stdout } = await runCli(['explain', join(folder, 'snapshot.json'), ...ASKED]);
    expect([status, stdout.match(/^ {2}\d\. /gm)?.length]).toEqual([0, 5]);
  });
});

describe('--apply', () => {
  test.each<[number, string]>([
    [1, ALL.replace('ad:ann #', '{ identity: ad:ann, expires: 2099-01-01T00:00:00.000Z } #')],
    [2, ALL.replace('      - ad:ann # since May\n', '')],
    [3, ALL.replace('[resource:read, resource:write]', '[resource:write]')],
    [4, `${ALL.slice(0, ALL.indexOf('grants:'))}grants: []\n`],
    [5, ALL.replace('    namespace', '    expires: 2099-01-01T00:00:00.000Z\n    namespace')],
  ])('writes change %s, after which the access is denied', async (number, after) => {
    const folder = await folderOf();
    const { status, stdout, stderr } = await runCli(['explain', folder, ...ASKED, '--apply', String(number)]);
    expect([status, stderr, readAll(folder)]).toEqual([0, '', after]);
    expect(stdout).toMatch(/^changed: [^]*\nall\.yaml:\d+\n[-+] [^]*snapshot sha256:[0-9a-f]{64}\n$/);
    expect((await runCli(['explain', folder, ...ASKED])).stdout).toMatch(/^denied at no_matching_grant\n/);
  });

  it('writes what allows a denied access, too', async () => {
    const folder = await folderOf();
    const asked = ASKED.map((text) => (text === 'ad:ann' ? 'ad:zoe' : text));
    const ran = await runCli(['explain', folder, ...asked, '--apply', '1', '--format', 'json']);
    const { decision, applied } = JSON.parse(ran.stdout) as {
      decision: string;
      applied: { hunks: object[]; snapshot: string };
    };
    expect([ran.status, decision, applied]).toMatchObject([
      0,
      'deny',
      { edit: 1, hunks: [{ file: 'all.yaml', removed: [] }] },
    ]);
    expect((await runCli(['explain', folder, ...asked])).stdout).toMatch(/^allowed\n/);
    expect(readAll(folder).startsWith(ALL)).toBe(true);
    const compiled = await runCli(['compile', folder, '-o', join(folder, 'snapshot.json'), '--format', 'json']);
    expect(JSON.parse(compiled.stdout)).toMatchObject({ snapshot: applied.snapshot });
  });

  it('writes nothing where the policy is another one by now', async () => {
    const folder = await folderOf();
    const { snapshot } = JSON.parse((await runCli(['explain', folder, ...ASKED, '--format', 'json'])).stdout) as {
      snapshot: string;
    };
    const args = ['explain', folder, ...ASKED, '--apply', '2', '--if-snapshot', snapshot];
    writeFileSync(join(folder, 'more.yaml'), 'roles: { other: { members: [ad:ann] } }\n');
    const ran = await runCli(args);
    expect([ran.status, ran.stderr.includes('is not that policy'), readAll(folder)]).toEqual([6, true, ALL]);
    writeFileSync(join(folder, 'more.yaml'), '# nothing\n');
    expect([(await runCli(args)).status, readAll(folder)]).toEqual([
      0,
      ALL.replace('      - ad:ann # since May\n', ''),
    ]);
  });

  it('writes nothing where a comment about something else would be lost', async () => {
    const scopes = ALL.replace(
      '[resource:read, resource:write]',
      '\n      # to change\n      - resource:write\n      - resource:read',
    );
    const folder = await folderOf({ 'all.yaml': scopes });
    const ran = await runCli(['explain', folder, ...ASKED, '--apply', '3']);
    expect([ran.status, ran.stderr]).toEqual([
      6,
      'error: the change was not written: a comment inside of what would be replaced in `all.yaml` would be lost\n  help: make it by hand\n',
    ]);
    expect(readAll(folder)).toBe(scopes);
  });

  test.each([
    ['6', '`--apply 6` names no change: changes are 1 to 5'],
    ['none', '`--apply` must be the number of a change, and `none` is not one'],
  ])('%s is no number of a change', async (number, message) => {
    const ran = await runCli(['explain', await folderOf(), ...ASKED, '--apply', number]);
    expect([ran.status, ran.stderr.split('\n')[0]]).toEqual([2, `error: ${message}`]);
  });

  it('is not for a change of the credential', async () => {
    const folder = await folderOf();
    const ran = await runCli(['explain', folder, ...ASKED, '--credential-scopes', 'resource:read', '--apply', '1']);
    expect([ran.status, ran.stderr]).toEqual([
      2,
      'error: change 1 is one of the credential, and no policy file has it: take resource:read from the credential (another credential of the actor may keep the access)\n',
    ]);
  });

  it('is not for a snapshot, nor for what git has', async () => {
    const repository = await makeRepository();
    repository.commit({ 'policies/policy.yaml': HEADER, 'policies/all.yaml': ALL });
    const cwd = repository.path;
    expect((await runCli(['compile', 'policies', '-o', 'snapshot.json'], { cwd })).status).toBe(0);
    for (const path of ['snapshot.json', 'HEAD:policies']) {
      const ran = await runCli(['explain', path, ...ASKED, '--apply', '2'], { cwd });
      expect([ran.status, ran.stderr]).toEqual([
        2,
        `error: \`${path}\` cannot be written\n  help: name the policy folder, not a snapshot or what git has\n`,
      ]);
    }
  });
});
