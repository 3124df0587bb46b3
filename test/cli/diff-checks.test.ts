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
const COUNT = 'guardrails: [{ id: few, atMost: { identities: 2, scope: resource:write, at: /labs } }]\n';
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
  [
    'two identities that excluded each other',
    { 'policy.yaml': `${ALL['policy.yaml']}exclusive:\n  - [ad:s1, ad:s2]\n` },
    { exclusive: { added: ['ad:s1, ad:s2'] } },
    0,
  ],
  [
    'a guardrail that asks for more',
    { 'g.yaml': GUARDRAIL.replace('/labs', '/') },
    { guardrails: { changed: ['closed'] } },
    0,
  ],
  ['a comment that accepts a finding', { 'a.yaml': `# bailiwick-ignore LINT_TEST: reviewed\n${GRANTS}` }, {}, 7],
  [
    'a comment that accepts nothing, since it has no reason',
    { 'a.yaml': `# bailiwick-ignore LINT_TEST\n${GRANTS}` },
    {},
    0,
  ],
  ['a person changed', { 'p.yaml': PEOPLE.replace('vendor:s1', 'vendor:s2') }, { people: { changed: ['ana'] } }, 7],
];

interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly (string | { readonly id: string })[];
}

const NONE = { added: [], removed: [], changed: [] };

describe('two folders', () => {
  test.each(CASES)('%s', async (_name, edits, expected, status) => {
    const [old, changed] = [await makeFolder(ALL), await makeFolder(edited(edits))];
    const { status: exit, stdout } = await runCli(['diff', old, changed, '--no-weaker-checks', '--format', 'json']);
    const { accepted: _, ...checks } = (JSON.parse(stdout) as { checks: Record<string, Changes> }).checks;
    for (const kind of ['guardrails', 'delegation']) {
      const { changed: list = [] } = checks[kind] ?? {};
      checks[kind] = { ...NONE, ...checks[kind], changed: list.map((one) => (typeof one === 'string' ? one : one.id)) };
    }
    const parts = Object.entries(expected).map(([kind, change]) => [kind, { ...NONE, ...(change as object) }]);
    expect([exit, checks]).toEqual([
      status,
      {
        delegation: NONE,
        exclusive: NONE,
        guardrails: NONE,
        people: NONE,
        tests: NONE,
        ...(Object.fromEntries(parts) as object),
      },
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
    const [old2, weaker] = [
      await makeFolder({ ...ALL, 'c.yaml': COUNT }),
      await makeFolder({
        ...edited({ 'a.yaml': GRANTS.replace('[ad:s1]', '[ad:s1, ad:s2]') }),
        'c.yaml': COUNT.replace('2', '3'),
      }),
    ];
    const lines = (await runCli(['diff', old2, weaker])).stdout.split('\n').filter((line) => /closed|few/.test(line));
    expect(lines).toEqual([
      'guardrails changed: closed, few',
      '  few weaker: identities 2 → 3',
      '  closed weaker: `except` gained ad:s2',
    ]);
    const { stdout } = await runCli(['diff', old, changed, '--format', 'markdown']);
    expect(stdout).toContain('**guardrails removed**: `closed`\n');
  });
});

describe('a delegated folder', () => {
  const folders = (folder: string): Readonly<Record<string, string | null>> => ({
    'policy.yaml': `${HEADER}folders: { ${folder} }\n`,
    'a.yaml': null,
    'teams/labs/a.yaml': GRANTS,
    'g.yaml': null,
  });
  const labs = (rest: string): Readonly<Record<string, string | null>> => folders(`teams/labs: { ${rest} }`);

  test.each<[string, string, string, number, readonly string[]]>([
    ['narrower', 'within: /', 'within: /labs', 0, ['within / → /labs']],
    ['wider', 'within: /labs', 'within: /', 7, ['within /labs → /']],
    ['that exports more', 'within: /labs', 'within: /labs, exports: [staff]', 7, ['exports staff']],
    ['that exports less', 'within: /labs, exports: [staff]', 'within: /labs', 0, ['no longer exports staff']],
  ])('%s', async (_name, before, after, status, changes) => {
    const [old, changed] = [await makeFolder(edited(labs(before))), await makeFolder(edited(labs(after)))];
    const run = await runCli(['diff', old, changed, '--no-weaker-checks', '--format', 'json']);
    const { checks } = JSON.parse(run.stdout) as {
      checks: { delegation: { changed: { id: string; changes: string[]; before: object; after: object }[] } };
    };
    const [change] = checks.delegation.changed;
    expect([run.status, change?.id, change?.changes]).toEqual([status, 'teams/labs', changes]);
    expect(change?.before).not.toEqual(change?.after);
  });

  it('that is one no longer is weaker', async () => {
    const [old, changed] = [await makeFolder(edited(labs('within: /labs'))), await makeFolder(edited(folders('')))];
    const run = await runCli(['diff', old, changed, '--no-weaker-checks']);
    expect([run.status, run.stdout.split('\n')[1]]).toEqual([7, 'delegation removed: teams/labs']);
    expect(run.stderr).toBe('refused: checks became weaker, which `--no-weaker-checks` forbids\n');
  });
});

describe('the `within` of a file', () => {
  const files = (within: string, more: Readonly<Record<string, string | null>> = {}): Promise<string> =>
    makeFolder(edited({ 'a.yaml': `${within}${GRANTS}`, ...more }));
  const LABS = 'within: /labs\n';
  const FOLDER = `${HEADER}folders: { teams: { within: /labs } }\n`;

  test.each<[string, Promise<string>, Promise<string>, number, readonly string[]]>([
    ['added', files(''), files(LABS), 0, ['delegation added: a.yaml']],
    ['narrower', files('within: /\n'), files(LABS), 0, ['delegation changed: a.yaml', '  a.yaml: within / → /labs']],
    [
      'wider',
      files(LABS),
      files('within: /\n'),
      7,
      ['delegation changed: a.yaml', '  a.yaml weaker: within /labs → /'],
    ],
    ['dropped', files(LABS), files(''), 7, ['delegation removed: a.yaml', '  a.yaml weaker: no longer within /labs']],
    [
      'dropped, with other grants in the file',
      files(LABS),
      files('', { 'a.yaml': GRANTS.replace('id: a', 'id: b') }),
      7,
      ['delegation removed: a.yaml', '  a.yaml weaker: no longer within /labs'],
    ],
    [
      'dropped where the file was renamed',
      files(LABS),
      files('', { 'a.yaml': null, 'b.yaml': GRANTS }),
      7,
      ['delegation removed: a.yaml', '  a.yaml weaker: no longer within /labs'],
    ],
    [
      'kept where the file was renamed',
      files(LABS),
      files('', { 'a.yaml': null, 'b.yaml': `${LABS}${GRANTS}` }),
      0,
      ['delegation removed: a.yaml', 'delegation added: b.yaml'],
    ],
    [
      'gone with the file and its grants',
      files(LABS),
      files('', { 'a.yaml': 'roles: { staff: { members: [ad:s1] } }\n', 't.yaml': TESTS }),
      0,
      ['delegation removed: a.yaml'],
    ],
    [
      'dropped in a folder that is delegated as far',
      makeFolder(edited({ 'policy.yaml': FOLDER, 'a.yaml': null, 'g.yaml': null, 'teams/a.yaml': `${LABS}${GRANTS}` })),
      makeFolder(edited({ 'policy.yaml': FOLDER, 'a.yaml': null, 'g.yaml': null, 'teams/a.yaml': GRANTS })),
      0,
      ['delegation removed: teams/a.yaml'],
    ],
  ])('%s', async (_name, before, after, status, lines) => {
    const run = await runCli(['diff', await before, await after, '--no-weaker-checks']);
    const shown = run.stdout.split('\n').filter((line) => /^delegation|^ +\S+\.yaml/.test(line));
    expect([run.status, shown]).toEqual([status, lines]);
    expect((await runCli(['diff', await before, await after, '--format', 'json'])).status).toBe(0);
  });

  it('is stated by a snapshot', async () => {
    const cwd = await makeFolder({});
    for (const [name, folder] of [
      ['old', files(LABS)],
      ['new', files('')],
    ] as const)
      expect((await runCli(['compile', await folder, '-o', join(cwd, `${name}.json`)])).status).toBe(0);
    const { status, stdout } = await runCli(['diff', 'old.json', 'new.json', '--no-weaker-checks'], { cwd });
    expect([status, stdout.split('\n')[1]]).toEqual([7, 'delegation differs']);
  });
});

describe('whom a guardrail speaks of', () => {
  const GRANT = '- { id: v1, identity: "vendor:v1", namespace: /labs, scopes: [resource:read] }\n';
  const MORE = GRANT.replaceAll('v1', 'v2');
  const of = (to: string): string =>
    `guardrails: [{ id: vendors, never: { scopes: ["*:write"], under: /labs, to: ${to} } }]\n`;
  const folder = (guardrail: string, grants: string, members: string): Promise<string> =>
    makeFolder({
      'policy.yaml': HEADER,
      'a.yaml': `roles: { visitors: { members: [${members}] } }\ngrants:\n${grants}`,
      'g.yaml': guardrail,
    });
  const PROVIDER = of('{ providers: [vendor] }');
  const ROLE = of('{ roles: [visitors] }');
  const EVERYONE = of('').replace(', to: ', '');

  test.each<[string, readonly [string, string, string], readonly [string, string, string], number, readonly string[]]>([
    ['a newcomer of its provider', [PROVIDER, GRANT, ''], [PROVIDER, `${GRANT}${MORE}`, ''], 0, []],
    ['a newcomer in its role', [ROLE, GRANT, ''], [ROLE, GRANT, 'vendor:v1'], 0, []],
    ['somebody who left the policy', [ROLE, `${GRANT}${MORE}`, 'vendor:v2'], [ROLE, GRANT, ''], 0, []],
    ['somebody let off', [ROLE, GRANT, 'vendor:v1'], [ROLE, GRANT, ''], 7, ['`to` lost vendor:v1']],
    ['everyone now', [PROVIDER, GRANT, ''], [EVERYONE, GRANT, ''], 0, ['`to` is everyone']],
    [
      'another provider',
      [PROVIDER, GRANT, ''],
      [of('{ providers: [ad] }'), GRANT, ''],
      7,
      ['`to` providers lost vendor', '`to` providers gained ad', '`to` lost vendor:v1'],
    ],
  ])('%s', async (_name, before, after, status, changes) => {
    const [old, changed] = [await folder(...before), await folder(...after)];
    const run = await runCli(['diff', old, changed, '--no-weaker-checks', '--format', 'json']);
    const { checks } = JSON.parse(run.stdout) as { checks: { guardrails: { changed: { changes: string[] }[] } } };
    expect([run.status, checks.guardrails.changed.flatMap((one) => one.changes)]).toEqual([status, changes]);
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
