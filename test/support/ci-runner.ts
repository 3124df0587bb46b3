// What a runner does with the action and the workflows of deploy/ci and docs/in-ci.md: their steps in a clone of a real repository.
// Stand-ins replace what a runner provides: the checkout is a clone, `npm ci` finds bailiwick installed, `npx` starts that, and `gh` notes
// what it was asked.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { parse } from 'yaml';
import { fromRoot } from './root.js';
import { makeFolder } from './temp-folder.js';

interface Step {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it runs if a step before has failed. */
  readonly always: boolean;
}

/** A step as it stands in a workflow or an action. */
interface Written {
  readonly if?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ran {
  /** The status of the step that failed first, if one did. */
  readonly failed: number | null;
  readonly stdout: string;
  readonly summary: string;
  /** The arguments of `gh`, and the file that it was given. */
  readonly comment: string | null;
}

/** Has the comments that a file lists, and notes what is written. `--jq` is jq's own work, done here by the file. */
const GH = `#!/bin/sh
for last in "$@"; do :; done
case "$*" in
  "api repos/labs/policy/issues/7/comments --paginate --jq "*'.user.type == "Bot"'*) cat "$GH_COMMENTS" 2>/dev/null || true ;;
  *) { echo "$*" | sed "s,\\(@\\|file \\)/[^ ]*,\\1FILE,"; cat "/\${last#*/}"; } > "$GH_CALLED" ;;
esac
`;

/** Its own start takes as long as the program's. */
const NPX = `#!/bin/sh
[ "$1" = --no-install ] && shift
[ "$1" = bailiwick ] && shift && exec node_modules/.bin/bailiwick "$@"
exit 90
`;

const EXPRESSIONS: ReadonlyMap<string, string> = new Map([
  ['${{ inputs.policy }}', 'policies'],
  ['${{ inputs.base }}', 'origin/main'],
  ['${{ inputs.command }}', 'npx --no-install bailiwick'],
  ['${{ github.event.merge_group.base_sha }}', 'origin/main'],
  ['${{ github.event.number }}', '7'],
  ['${{ github.token }}', 'no-token'],
  ['${{ github.repository }}', 'labs/policy'],
]);
const OWN_BRANCH =
  "${{ !cancelled() && inputs.comment == 'true' && github.event.pull_request.head.repo.full_name == github.repository }}";

const folder = await makeFolder({
  'bin/npm': '#!/bin/sh\n[ "$*" = "ci --ignore-scripts" ]\n',
  'bin/gh': GH,
  'npx/npx': NPX,
});
for (const name of ['bin/npm', 'bin/gh', 'npx/npx']) await chmod(join(folder, name), 0o755);
const action = parse(await readFile(fromRoot('deploy/ci/action.yml'), 'utf8')) as {
  readonly runs: { readonly using: string; readonly steps: readonly Written[] };
};
expect(action.runs.using).toBe('composite');
export const steps = stepsOf(action.runs.steps);
export const queueSteps = stepsOf(await writtenIn('merge'));

/** The steps of the workflow of docs/in-ci.md that has this job. */
export async function writtenIn(job: string): Promise<readonly Written[]> {
  const page = await readFile(fromRoot('docs/in-ci.md'), 'utf8');
  const files = Array.from(page.matchAll(/^```yaml\n(.*?)^```$/gms), ([, text = '']) => parse(text) as Workflow);
  return files.find(({ jobs = {} }) => job in jobs)?.jobs?.[job]?.steps ?? [];
}

interface Workflow {
  readonly jobs?: Readonly<Record<string, { readonly steps: readonly (Written & { readonly uses?: string })[] }>>;
}

function stepsOf(written: readonly Written[]): readonly Step[] {
  return written.flatMap(({ run, env = {}, if: condition }) => {
    if (run === undefined) return [];
    if (condition !== undefined) expect(condition).toBe(OWN_BRANCH);
    return [{ command: run, env, always: condition !== undefined }];
  });
}

/** A repository with this commit on `main`, a change on a branch, and a clone of it with the branch checked out. */
export async function cloneWith(
  name: string,
  main: readonly Change[],
  { branch, later = [] }: { readonly branch: readonly Change[]; readonly later?: readonly Change[] },
): Promise<string> {
  const origin = await originWith(name, main);
  for (const change of later) await commit(origin, [change]);
  await git(origin, 'checkout', '--quiet', '-b', 'change');
  await commit(origin, branch);
  return cloneOf(name, origin);
}

/** The same of a queue, in which each of some changes was made on a branch of its own, and then merged into one. */
export async function queueWith(
  name: string,
  main: readonly Change[],
  { changes, how }: { readonly changes: readonly (readonly Change[])[]; readonly how: '--no-ff' | '--squash' },
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

export const git = (cwd: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> =>
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
  await writeFile(
    command,
    `#!/bin/sh\nexec '${process.execPath}' '${fromRoot('dist/server/bin/bailiwick.js')}' "$@"\n`,
  );
  await chmod(command, 0o755);
  await symlink(command, join(clone, 'node_modules', '.bin', 'bailiwick'));
  return clone;
}

export type Change = (folder: string) => Promise<unknown>;

export const addPolicy: Change = (to) => cp(fromRoot('policies'), join(to, 'policies'), { recursive: true });
export const addReadme: Change = (to) => writeFile(join(to, 'README.md'), 'read me\n');
export const addFile =
  (path: string, text: string): Change =>
  (to) =>
    writeFile(join(to, 'policies', path), text);

/** Runs the steps as a runner does: one after the other; once one has failed, only those that always run. */
export async function runSteps(
  cwd: string,
  { comments = '', gates = '', some = steps, hasNpx = false }: Running = {},
): Promise<Ran> {
  const [summary, called, temp] = [`${cwd}.summary`, `${cwd}.gh`, `${cwd}.temp`];
  await writeFile(summary, '');
  await writeFile(`${cwd}.comments`, comments);
  await mkdir(temp);
  const base = {
    ...{
      PATH: [...(hasNpx ? [] : [join(folder, 'npx')]), join(folder, 'bin'), process.env['PATH'] ?? ''].join(':'),
      npm_config_offline: 'true',
    },
    ...{ HOME: folder, GITHUB_ACTION_PATH: fromRoot('deploy/ci'), GITHUB_STEP_SUMMARY: summary },
    ...{ GH_CALLED: called, GH_COMMENTS: `${cwd}.comments` },
  };
  const valueOf = (text: string): string => {
    if (!text.includes('${{')) return text;
    if (text === '${{ inputs.gates }}') return gates;
    if (text.startsWith('${{ runner.temp }}/')) return text.replace('${{ runner.temp }}', temp);
    const value = EXPRESSIONS.get(text);
    if (value === undefined) throw new Error(`there is an expression that this test does not know: ${text}`);
    return value;
  };
  let stdout = '';
  let failed: number | null = null;
  for (const { command, env, always } of some) {
    if (failed !== null && !always) continue;
    const own = Object.fromEntries(Object.entries(env).map(([name, text]) => [name, valueOf(text)]));
    try {
      stdout += (await promisify(execFile)('bash', ['-e', '-c', command], { cwd, env: { ...base, ...own } })).stdout;
    } catch (error) {
      const ended = error as { readonly stdout?: string; readonly code?: number };
      stdout += ended.stdout ?? '';
      failed ??= ended.code ?? -1;
    }
  }
  const comment = await readFile(called, 'utf8').catch(() => null);
  return { failed, stdout, summary: await readFile(summary, 'utf8'), comment };
}

interface Running {
  /** The ids of comments that there are. */
  readonly comments?: string;
  readonly gates?: string;
  readonly some?: readonly Step[];
  /** With npx itself. */
  readonly hasNpx?: boolean;
}
