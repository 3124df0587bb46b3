// Runs the workflows of docs/in-ci.md: their `run:` steps with bash, in a clone of a real repository, as a runner would.
// Stand-ins replace what a runner provides: the checkout is a clone, `npm ci` finds bailiwick installed, and `gh` notes
// what it was asked.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readYaml, type YamlValue } from '../engine/compiler.js';
import { fromRoot } from './support/root.js';

type Fields = Readonly<Record<string, YamlValue>>;

interface Step {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Ran {
  /** Of the step that failed, if one did. */
  readonly failed: string | null;
  readonly stdout: string;
  readonly summary: string;
  /** The arguments of `gh`, and the file that it was given. */
  readonly comment: string | null;
}

/** Has the comments that a file lists, and notes what is written. `--jq` is jq's own work, done here by the file. */
const GH = `#!/bin/sh
case "$*" in
  "api repos/labs/policy/issues/7/comments --paginate --jq "*) cat "$GH_COMMENTS" 2>/dev/null || true ;;
  *) { echo "$*"; cat comment.md; } > "$GH_CALLED" ;;
esac
`;

const EXPRESSIONS: ReadonlyMap<string, string> = new Map([
  ['${{ github.base_ref }}', 'main'],
  ['${{ github.event.merge_group.base_sha }}', 'origin/main'],
  ['${{ github.event.number }}', '7'],
  ['${{ github.token }}', 'no-token'],
  ['${{ github.repository }}', 'labs/policy'],
]);
const OWN_BRANCH = 'github.event.pull_request.head.repo.full_name == github.repository';

let folder: string;
let steps: readonly Step[];
let queueSteps: readonly Step[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bailiwick-ci-'));
  steps = await readSteps('check', [OWN_BRANCH]);
  queueSteps = await readSteps('merge', []);
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin', 'npm'), '#!/bin/sh\n[ "$*" = "ci --ignore-scripts" ]\n');
  await writeFile(join(folder, 'bin', 'gh'), GH);
  for (const name of ['npm', 'gh']) await chmod(join(folder, 'bin', name), 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The steps of the workflow that has this job. */
async function readSteps(job: string, expected: readonly string[]): Promise<readonly Step[]> {
  const page = await readFile(fromRoot('docs/in-ci.md'), 'utf8');
  const workflows = Array.from(page.matchAll(/^```yaml\n(.*?)^```$/gms), ([, text = '']) => {
    const { diagnostics, value } = readYaml({ path: 'policy.yml', bytes: new TextEncoder().encode(text) });
    expect(diagnostics).toEqual([]);
    // What is not a workflow has no jobs.
    return ((value as Fields)['jobs'] ?? {}) as Readonly<Record<string, { readonly steps: readonly Fields[] }>>;
  });
  const listed = workflows.find((jobs) => job in jobs)?.[job]?.steps ?? [];
  const conditions = listed.flatMap((step) => (step['if'] === undefined ? [] : [step['if']]));
  expect(conditions).toEqual(expected);
  return listed.flatMap(({ run, env = {} }) => {
    if (typeof run !== 'string') return [];
    const known = Object.entries(env as Readonly<Record<string, string>>).map(([name, text]) => {
      const value = EXPRESSIONS.get(text);
      if (value === undefined) throw new Error(`the workflow has an expression that this test does not know: ${text}`);
      return [name, value];
    });
    return [{ command: run, env: Object.fromEntries(known) as Readonly<Record<string, string>> }];
  });
}

/** A repository with this commit on `main`, a change on a branch, and a clone of it with the branch checked out. */
async function cloneWith(name: string, main: readonly Change[], branch: readonly Change[]): Promise<string> {
  const origin = await originWith(name, main);
  await git(origin, 'checkout', '--quiet', '-b', 'change');
  await commit(origin, branch);
  return cloneOf(name, origin);
}

/** The same of a queue, in which each of some changes was made on a branch of its own, and then merged into one. */
async function queueWith(
  name: string,
  main: readonly Change[],
  changes: readonly (readonly Change[])[],
  how: '--no-ff' | '--squash',
): Promise<string> {
  const origin = await originWith(name, main);
  for (const [i, change] of changes.entries()) {
    await git(origin, 'checkout', '--quiet', '-b', `pr-${String(i)}`, 'main');
    await commit(origin, change);
  }
  await git(origin, 'checkout', '--quiet', '-b', 'queue', 'main');
  for (const i of changes.keys()) {
    await git(origin, 'merge', '--quiet', how, ...(how === '--no-ff' ? ['--no-edit'] : []), `pr-${String(i)}`);
    if (how === '--squash') await commit(origin, []);
  }
  return cloneOf(name, origin);
}

const git = (cwd: string, ...args: readonly string[]): Promise<unknown> =>
  promisify(execFile)('git', ['-c', 'user.name=ci', '-c', 'user.email=ci@example.org', ...args], { cwd });

async function commit(origin: string, changes: readonly Change[]): Promise<void> {
  for (const change of changes) await change(origin);
  await git(origin, 'add', '--all');
  await git(origin, 'commit', '--quiet', '--allow-empty', '--message', 'a change');
}

async function originWith(name: string, main: readonly Change[]): Promise<string> {
  const origin = join(folder, `${name}-origin`);
  await mkdir(origin);
  await git(origin, 'init', '--quiet', '--initial-branch', 'main');
  await writeFile(join(origin, '.gitignore'), 'node_modules/\n');
  await commit(origin, main);
  return origin;
}

async function cloneOf(name: string, origin: string): Promise<string> {
  const clone = join(folder, name);
  await git(folder, 'clone', '--quiet', origin, clone);
  await mkdir(join(clone, 'node_modules', '.bin'), { recursive: true });
  const command = join(folder, 'bailiwick');
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${fromRoot('dist/server/cli/main.js')}' "$@"\n`);
  await chmod(command, 0o755);
  await symlink(command, join(clone, 'node_modules', '.bin', 'bailiwick'));
  return clone;
}

type Change = (folder: string) => Promise<unknown>;

const addPolicy: Change = (to) => cp(fromRoot('policies'), join(to, 'policies'), { recursive: true });
const addFile =
  (path: string, text: string): Change =>
  (to) =>
    writeFile(join(to, 'policies', path), text);

/** Runs the steps as a runner does: one after the other, until one fails. */
async function runSteps(cwd: string, comments = '', some = steps): Promise<Ran> {
  const summary = `${cwd}.summary`;
  const called = `${cwd}.gh`;
  await writeFile(summary, '');
  await writeFile(`${cwd}.comments`, comments);
  const base = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    npm_config_offline: 'true',
  };
  let stdout = '';
  let failed: string | null = null;
  for (const { command, env } of some) {
    try {
      const ran = await promisify(execFile)('bash', ['-e', '-c', command], {
        cwd,
        env: { ...base, ...env, GITHUB_STEP_SUMMARY: summary, GH_CALLED: called, GH_COMMENTS: `${cwd}.comments` },
      });
      stdout += ran.stdout;
    } catch (error) {
      stdout += (error as { readonly stdout?: string }).stdout ?? '';
      failed = command;
      break;
    }
  }
  const comment = await readFile(called, 'utf8').catch(() => null);
  return { failed, stdout, summary: await readFile(summary, 'utf8'), comment };
}

const MARK = '<!-- bailiwick diff -->\n';
const GRANT = `within: /beamlines/amx
grants:
  - id: visitor-reads
    identity: github:a-visitor
    scopes: [resource:read]
    namespace: /beamlines/amx
    inherit: false
    reason: a visit
`;

it('comments the difference that a pull request makes', async () => {
  const ran = await runSteps(await cloneWith('changes', [addPolicy], [addFile('grants/visit.yaml', GRANT)]));
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('github:a-visitor');
  expect(ran.comment).toBe(`pr comment 7 --body-file comment.md\n${MARK}${ran.summary}`);
});

it('updates the comment that it has made, and makes no other', async () => {
  const clone = await cloneWith('again', [addPolicy], [addFile('grants/visit.yaml', GRANT)]);
  const ran = await runSteps(clone, '4711\n4712\n');
  expect(ran.failed).toBeNull();
  expect(ran.comment).toBe(
    `api --silent --method PATCH repos/labs/policy/issues/comments/4711 --field body=@comment.md\n${MARK}${ran.summary}`,
  );
});

it('says that the policy of the base branch is broken, and lets its repair pass', async () => {
  const wrong = GRANT.replace('resource:read', 'resource:raed');
  const broken: Change = async (to) => {
    await addPolicy(to);
    await addFile('grants/visit.yaml', wrong)(to);
  };
  const ran = await runSteps(await cloneWith('repair', [broken], [addFile('grants/visit.yaml', GRANT)]));
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('The policy of main is broken, so there is nothing to compare with:');
  expect(ran.summary).toContain('resource:raed');
  expect(ran.comment).toContain('is broken');
});

it('says that a first policy has nothing to be compared with', async () => {
  const ran = await runSteps(await cloneWith('first', [], [addPolicy]));
  expect(ran).toMatchObject({ failed: null, summary: 'This adds the first policy: there is none to compare with.\n' });
});

it('fails at a mistake, with an annotation at its path from the root of the repository', async () => {
  const wrong = GRANT.replace('resource:read', 'resource:raed');
  const ran = await runSteps(await cloneWith('mistake', [addPolicy], [addFile('grants/visit.yaml', wrong)]));
  expect(ran).toMatchObject({ failed: 'npx bailiwick check policies --strict --format github', comment: null });
  expect(ran.stdout).toMatch(/^::error file=policies\/grants\/visit\.yaml,line=5,/m);
});

const CREW = 'roles:\n  visit-crew:\n    members:\n      - github:a-visitor\n';
const crewGrant = (scopes: string): string =>
  GRANT.replace('identity: github:a-visitor', 'role: visit-crew').replace('[resource:read]', scopes);
const crew: Change = addFile('roles/visit.yaml', CREW);
const joins: Change = addFile('roles/visit.yaml', `${CREW}      - github:b-visitor\n`);
const runs: Change = addFile('grants/visit.yaml', crewGrant('[resource:read, process-run:read]'));
const reads: Change = addFile('grants/visit.yaml', crewGrant('[resource:read]'));

it('stops a queue whose changes open something together, and says what', async () => {
  const ran = await runSteps(
    await queueWith('queue', [addPolicy, crew, reads], [[joins], [runs]], '--no-ff'),
    '',
    queueSteps,
  );
  expect(ran.failed).toContain('--reviewed');
  expect(ran.summary).toContain('that no reviewed change opened by itself');
  expect(ran.summary).toMatch(/^\| ! \| `github:b-visitor` \| `process-run:read` \| `\/beamlines\/amx` /m);
});

it('lets a queue pass whose changes open what each of them opens', async () => {
  const other = addFile(
    'grants/other.yaml',
    GRANT.replace('visitor-reads', 'other-reads').replace('resource:read', 'process-run:read'),
  );
  const queue = await queueWith('apart', [addPolicy, crew, reads], [[joins], [other]], '--no-ff');
  const ran = await runSteps(queue, '', queueSteps);
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('the merge opens nothing that a reviewed change did not open by itself');
});

it('stops a queue that squashes, of which it cannot tell what was reviewed', async () => {
  const ran = await runSteps(
    await queueWith('squash', [addPolicy, crew, reads], [[joins]], '--squash'),
    '',
    queueSteps,
  );
  expect([ran.failed === null, ran.summary]).toEqual([false, '']);
});
