// `diff` reports what changed in guardrails, tests and people, and `--no-weaker-checks` refuses a change that checks
// less than before.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../support/run-cli.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const HEADER = 'bailiwick: 1\nname: imaging\nproviders: { ad: {}, vendor: {} }\n';
const GRANTS =
  'roles: { staff: { members: [ad:s1] } }\ngrants: [{ id: a, role: staff, namespace: /labs, scopes: [resource:read] }]\n';
const GUARDRAIL =
  'guardrails: [{ id: closed, never: { scopes: ["*:write"], under: /labs, except: { roles: [staff] } } }]\n';
const PEOPLE = 'people: { ana: { identities: [ad:s1, vendor:s1] } }\n';
const TESTS = 'tests: [{ name: reads, actor: { identities: [ad:s1] }, allow: ["resource:read /labs"] }]\n';
const ALL = { 'policy.yaml': HEADER, 'a.yaml': GRANTS, 'g.yaml': GUARDRAIL, 'p.yaml': PEOPLE, 't.yaml': TESTS };

/** The same with some files written again, or taken away. */
const edited = (edits: Readonly<Record<string, string | null>>): Record<string, string> => {
  const files: Record<string, string | null> = { ...ALL, ...edits };
  return Object.fromEntries(Object.entries(files).filter((file): file is [string, string] => file[1] !== null));
};

const CASES: readonly (readonly [string, Readonly<Record<string, string | null>>, object, number])[] = [
  ['nothing', {}, {}, 0],
  ['a guardrail removed', { 'g.yaml': null }, { guardrails: { removed: ['closed'] } }, 7],
  [
    'a guardrail changed',
    { 'g.yaml': GUARDRAIL.replace('/labs', '/labs/a') },
    { guardrails: { changed: ['closed'] } },
    7,
  ],
  ['a guardrail described', { 'g.yaml': GUARDRAIL.replace('id: closed', 'id: closed, description: why') }, {}, 0],
  ['a guardrail added', { 'h.yaml': GUARDRAIL.replace('closed', 'again') }, { guardrails: { added: ['again'] } }, 0],
  [
    'somebody put into a role that a guardrail leaves out',
    { 'a.yaml': GRANTS.replace('[ad:s1]', '[ad:s1, ad:s2]') },
    { guardrails: { changed: ['closed'] } },
    7,
  ],
  ['a test removed', { 't.yaml': null }, { tests: { removed: ['reads'] } }, 7],
  ['a person removed', { 'p.yaml': null }, { people: { removed: ['ana'] } }, 7],
  [
    'a person added, whose identities `atMost` counts once from then on',
    { 'q.yaml': 'people: { zoe: { identities: [ad:s2, vendor:s2] } }\n' },
    { people: { added: ['zoe'] } },
    7,
  ],
  ['a person changed', { 'p.yaml': PEOPLE.replace('vendor:s1', 'vendor:s2') }, { people: { changed: ['ana'] } }, 7],
];

const NONE = { added: [], removed: [], changed: [] };

describe('two folders', () => {
  test.each(CASES)('%s', async (_name, edits, expected, status) => {
    const [old, changed] = [await makeFolder(ALL), await makeFolder(edited(edits))];
    const { status: exit, stdout } = await runCli(['diff', old, changed, '--no-weaker-checks', '--format', 'json']);
    const { checks } = JSON.parse(stdout) as { checks: object };
    const parts = Object.entries(expected).map(([kind, change]) => [kind, { ...NONE, ...(change as object) }]);
    expect([exit, checks]).toEqual([
      status,
      { guardrails: NONE, people: NONE, tests: NONE, ...(Object.fromEntries(parts) as object) },
    ]);
    expect((await runCli(['diff', old, changed])).status).toBe(0);
  });

  it('says so in text and in markdown', async () => {
    const [old, changed] = [await makeFolder(ALL), await makeFolder(edited({ 'g.yaml': null, 't.yaml': null }))];
    expect((await runCli(['diff', old, changed])).stdout.split('\n').slice(0, 3)).toEqual([
      'no access is gained or lost',
      'guardrails removed: closed',
      'tests removed: reads',
    ]);
    const { stdout } = await runCli(['diff', old, changed, '--format', 'markdown']);
    expect(stdout).toContain('**guardrails removed**: `closed`\n');
  });
});

it('names the folder where a file of it was given', async () => {
  const folder = await makeFolder(ALL);
  const { status, stderr } = await runCli(['diff', folder, join(folder, 'policy.yaml')]);
  expect(status).toBe(8);
  expect(stderr).toContain(`  help: this looks like a file of a policy folder: name the folder \`${folder}\`\n`);
});

describe('a snapshot', () => {
  let cwd = '';
  beforeAll(async () => {
    cwd = await makeFolder({});
    for (const [name, files] of [
      ['old', ALL],
      ['less', edited({ 'g.yaml': null })],
    ] as const) {
      const folder = await makeFolder(files);
      expect((await runCli(['compile', folder, '-o', join(cwd, `${name}.json`)])).status).toBe(0);
    }
    copyFileSync(fromRoot('fixtures/snapshots/format-1.json'), join(cwd, 'before.json'));
  });

  test.each([
    ['is the same', 'old.json', 'old.json', false, 0],
    ['was compiled under less', 'old.json', 'less.json', true, 7],
    ['was compiled under more, which differs too', 'less.json', 'old.json', true, 7],
    ['does not say, and is the same file', 'before.json', 'before.json', false, 0],
    ['does not say, and is another file', 'before.json', 'old.json', true, 7],
  ])('%s', async (_name, old, changed, guardrails, status) => {
    const { status: exit, stdout } = await runCli(['diff', old, changed, '--no-weaker-checks', '--format', 'json'], {
      cwd,
    });
    const { checks } = JSON.parse(stdout) as { checks: { guardrails: object } };
    expect([exit, checks.guardrails]).toEqual([status, { changed: guardrails }]);
  });

  it('says that guardrails differ, and not which', async () => {
    expect((await runCli(['diff', 'old.json', 'less.json'], { cwd })).stdout.split('\n').slice(0, 2)).toEqual([
      'no access is gained or lost',
      'guardrails differ',
    ]);
  });
});
