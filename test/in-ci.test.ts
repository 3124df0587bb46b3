// The action and the component of deploy/ci, and the workflow of docs/in-ci.md for queues, do what they say, in clones of real repositories.
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import {
  addFile,
  addPolicy,
  addReadme,
  type Change,
  cloneWith,
  git,
  queueSteps,
  queueWith,
  type Ran,
  runSteps,
  steps,
  writtenIn,
} from './support/ci-runner.js';
import { fromRoot } from './support/root.js';
import { makeFolder } from './support/temp-folder.js';

const MARK = '<!-- bailiwick diff policies -->\n';
const GRANT = `within: /beamlines/amx
grants:
  - id: visitor-reads
    identity: github:a-visitor
    scopes: [resource:read]
    namespace: /beamlines/amx
    inherit: false
    reason: a visit
`;
const WRONG = GRANT.replace('resource:read', 'resource:raed');
const breakIt: Change = addFile('grants/visit.yaml', WRONG);
const addGrant: Change = addFile('grants/visit.yaml', GRANT);

it('comments the difference that a pull request makes', async () => {
  const ran = await runSteps(await cloneWith('changes', [addPolicy], { branch: [addGrant] }));
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('github:a-visitor');
  expect(ran.comment).toBe(`pr comment 7 --body-file FILE\n${MARK}${ran.summary}`);
});

it('updates the comment that it has made, and makes no other', async () => {
  const clone = await cloneWith('again', [addPolicy], { branch: [addGrant] });
  const ran = await runSteps(clone, { comments: '4711\n4712\n' });
  expect(ran.failed).toBeNull();
  expect(ran.comment).toBe(
    `api --silent --method PATCH repos/labs/policy/issues/comments/4711 --field body=@FILE\n${MARK}${ran.summary}`,
  );
});

it('cuts a difference that is too long for a comment, at the end of a line', async () => {
  const [comments] = steps.filter(({ always }) => always);
  const command = `awk 'BEGIN { for (i = 0; i < 3000; i++) print "| a row of the difference, ä |" }' > "$POLICY_REPORT"`;
  const some = comments === undefined ? [] : [{ ...comments, command }, comments];
  const ran = await runSteps(await cloneWith('long', [], { branch: [] }), { some });
  expect(ran.failed).toBeNull();
  expect(ran.comment?.length).toBeGreaterThan(50_000);
  expect(ran.comment?.length).toBeLessThan(65_536);
  expect(ran.comment).toMatch(/ä \|\n\n… the rest is in the summary of the job\n$/);
});

it('fails at a gate, and comments what it opens', async () => {
  const ran = await runSteps(await cloneWith('gate', [addPolicy], { branch: [addGrant] }), {
    gates: 'weaker-checks new-access',
  });
  expect(ran.failed).toBe(7);
  expect(ran.comment).toContain('`github:a-visitor`');
  const same = await runSteps(await cloneWith('same', [addPolicy], { branch: [addReadme] }), {
    gates: 'weaker-checks new-access',
  });
  expect(same.failed).toBeNull();
  expect(same.summary).toContain('0 gained, 0 lost');
});

it('says that the policy of the base branch is broken, and compares with the last version that was not', async () => {
  const clone = await cloneWith('repair', [addPolicy], { branch: [addGrant], later: [addReadme, breakIt] });
  const ran = await runSteps(clone);
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('The policy of `origin/main` is not valid:');
  expect(ran.summary).toContain('resource:raed');
  expect(ran.summary).toMatch(/This compares with `[0-9a-f]{40}`, the last version that was\./);
  expect(ran.summary).toContain('github:a-visitor');
  expect(ran.comment).toContain('is not valid');
  const gated = await runSteps(
    await cloneWith('gated', [addPolicy], { branch: [addGrant], later: [addReadme, breakIt] }),
    {
      gates: 'new-access',
    },
  );
  expect(gated.failed).toBe(7);
});

it('stays closed at a gate if no version of the base is valid', async () => {
  const main: Change = async (to) => {
    await addPolicy(to);
    await breakIt(to);
  };
  const open = await runSteps(await cloneWith('never', [main], { branch: [addGrant] }));
  expect(open.failed).toBeNull();
  expect(open.summary).toContain('No version before it is valid, so there is nothing to compare with.');
  expect(
    (await runSteps(await cloneWith('never-gated', [main], { branch: [addGrant] }), { gates: 'new-access' })).failed,
  ).toBe(7);
});

it('says that all access of a first policy is new, and stays closed at a gate for that', async () => {
  const summary = 'This adds the first policy: all access in it is new.\n';
  const first = async (gates: string): Promise<Ran> =>
    runSteps(await cloneWith(`first-${gates}`, [], { branch: [addPolicy] }), { gates });
  expect(await first('weaker-checks')).toMatchObject({ failed: null, summary });
  expect(await first('new-access')).toMatchObject({ failed: 7, summary });
});

it('does not take a base that git cannot read for one without a policy', async () => {
  const torn = await cloneWith('torn', [addPolicy], { branch: [addGrant] });
  const { stdout: tree } = await git(torn, 'rev-parse', 'origin/main^{tree}');
  await rm(join(torn, '.git', 'objects', tree.slice(0, 2), tree.slice(2, 40)));
  const ran = await runSteps(torn);
  expect([ran.failed, ran.summary]).toEqual([
    2,
    'git cannot read the commit `origin/main`: fetch all of its history\n',
  ]);
});

it('compares a policy that is the root of its repository', async () => {
  const cwd = await makeFolder({ 'policy.yaml': 'bailiwick: 1\nname: labs\nproviders: { orcid: {} }\n' });
  await git(cwd, 'init', '--quiet', '--initial-branch', 'main');
  await git(cwd, 'add', '--all');
  await git(cwd, 'commit', '--quiet', '--message', 'a policy');
  const grant = '  - { id: o, identity: "orcid:0000-0000-4181-2064", namespace: /labs, scopes: [resource:read] }\n';
  await writeFile(join(cwd, 'optics.yaml'), `grants:\n${grant}`);
  const command = `${process.execPath} ${fromRoot('dist/server/bin/bailiwick.js')}`;
  const env = { ...process.env, POLICY_FOLDER: '.', POLICY_BASE: 'main', POLICY_COMMAND: command };
  const ran = (gates: string): Promise<{ readonly stdout: string }> =>
    promisify(execFile)('sh', [fromRoot('deploy/ci/policy.sh')], { cwd, env: { ...env, POLICY_GATES: gates } });
  await ran('');
  expect(await readFile(join(cwd, 'policy-difference.md'), 'utf8')).toContain('/labs');
  await expect(ran('new-access')).rejects.toMatchObject({ code: 7 });
});

it('fails at a mistake, with an annotation at its path from the root of the repository, and comments it', async () => {
  const ran = await runSteps(await cloneWith('mistake', [addPolicy], { branch: [breakIt] }));
  expect(ran.failed).toBe(3);
  expect(ran.stdout).toMatch(/^::error file=policies\/grants\/visit\.yaml,line=5,/m);
  expect(ran.comment).toContain('This policy is not valid, so there is nothing to compare:');
  expect(ran.comment).toContain('resource:raed');
});

it('fails at a gate that there is not, and at a base that is not in the checkout', async () => {
  const ran = await runSteps(await cloneWith('unknown', [addPolicy], { branch: [addGrant] }), { gates: 'new-acess' });
  expect([ran.failed, ran.summary]).toEqual([
    2,
    'there is no gate `new-acess`; there are new-access and weaker-checks\n',
  ]);
  const shallow = await cloneWith('shallow', [addPolicy], { branch: [addGrant] });
  await git(shallow, 'update-ref', '-d', 'refs/remotes/origin/main');
  const lost = await runSteps(shallow);
  expect([lost.failed, lost.summary]).toEqual([
    2,
    'the commit `origin/main` is not in this checkout: fetch all of its history\n',
  ]);
});

it('does the same as a component of GitLab', async () => {
  const text = await readFile(fromRoot('deploy/ci/gitlab.yml'), 'utf8');
  const [head, body] = parseAllDocuments(text).map((one) => one.toJS() as unknown);
  const { inputs } = (head as { readonly spec: { readonly inputs: Readonly<Record<string, { default: string }>> } })
    .spec;
  expect(Object.values(inputs).every(({ default: usual }) => typeof usual === 'string')).toBe(true);
  const filled = JSON.stringify(body).replaceAll(/\$\[\[ inputs\.(\w+) \]\]/g, (_, name: string) => {
    const value = name === 'gates' ? 'new-access' : inputs[name]?.default;
    if (value === undefined) throw new Error(`there is no input ${name}`);
    return value;
  });
  expect(filled).not.toContain('$[[');
  const job = (JSON.parse(filled) as Readonly<Record<string, Component>>)['policy'];
  const cwd = await cloneWith('gitlab', [addPolicy], { branch: [addGrant] });
  await mkdir(join(cwd, 'node_modules', 'bailiwick'));
  await symlink(fromRoot('deploy'), join(cwd, 'node_modules', 'bailiwick', 'deploy'));
  const env = { ...job?.variables, POLICY_BASE: 'origin/main' };
  expect(job?.variables['POLICY_BASE']).toBe('$CI_MERGE_REQUEST_DIFF_BASE_SHA');
  const ran = await runSteps(cwd, {
    hasNpx: true,
    some: (job?.script ?? []).map((command) => ({ command, env, always: false })),
  });
  expect(ran.failed).toBe(7);
  expect(await readFile(join(cwd, job?.artifacts.paths[0] ?? ''), 'utf8')).toContain('github:a-visitor');
  expect(await readFile(join(cwd, job?.artifacts.reports.junit ?? ''), 'utf8')).toContain('<testsuites');
});

interface Component {
  readonly script: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly artifacts: { readonly paths: readonly string[]; readonly reports: { readonly junit: string } };
}

it('has the hooks of pre-commit find what they are about', async () => {
  const hooks = parse(await readFile(fromRoot('.pre-commit-hooks.yaml'), 'utf8')) as readonly Hook[];
  const cwd = await cloneWith('hooks', [addPolicy], { branch: [addReadme] });
  const run = async ({ entry, args }: Hook): Promise<number | null> =>
    (await runSteps(cwd, { some: [{ command: [entry, ...args].join(' '), env: {}, always: false }] })).failed;
  const statuses = async (): Promise<unknown> => {
    const found: [string, number | null][] = [];
    for (const hook of hooks) {
      await rm(`${cwd}.temp`, { recursive: true, force: true });
      found.push([hook.id, await run(hook)]);
    }
    return found;
  };
  expect(await statuses()).toEqual([
    ['bailiwick-check', null],
    ['bailiwick-fmt', null],
  ]);
  await addFile('grants/visit.yaml', GRANT)(cwd);
  expect(await statuses()).toEqual([
    ['bailiwick-check', null],
    ['bailiwick-fmt', 7],
  ]);
  await breakIt(cwd);
  expect(await statuses()).toEqual([
    ['bailiwick-check', 3],
    ['bailiwick-fmt', 3],
  ]);
});

interface Hook {
  readonly id: string;
  readonly entry: string;
  readonly args: readonly string[];
}

it('is what the page shows: the workflow uses the action, the configuration the hooks', async () => {
  const uses = (await writtenIn('check')).flatMap((step) => ('uses' in step ? [step.uses] : []));
  expect(uses).toContain('./node_modules/bailiwick/deploy/ci');
  const page = await readFile(fromRoot('docs/in-ci.md'), 'utf8');
  const hooks = parse(await readFile(fromRoot('.pre-commit-hooks.yaml'), 'utf8')) as readonly Hook[];
  for (const { id } of hooks) expect(page).toContain(`- id: ${id}`);
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
    await queueWith('queue', [addPolicy, crew, reads], { changes: [[joins], [runs]], how: '--no-ff' }),
    {
      some: queueSteps,
    },
  );
  expect(ran.failed).toBe(7);
  expect(ran.summary).toContain('that no reviewed change opened by itself');
  expect(ran.summary).toMatch(/^\| ! \| `github:b-visitor` \| `process-run:read` \| `\/beamlines\/amx` /m);
});

it('lets a queue pass whose changes open what each of them opens', async () => {
  const other = addFile(
    'grants/other.yaml',
    GRANT.replace('visitor-reads', 'other-reads').replace('resource:read', 'process-run:read'),
  );
  const queue = await queueWith('apart', [addPolicy, crew, reads], { changes: [[joins], [other]], how: '--no-ff' });
  const ran = await runSteps(queue, { some: queueSteps });
  expect(ran.failed).toBeNull();
  expect(ran.summary).toContain('the merge opens nothing that a reviewed change did not open by itself');
});

it('stops a queue that squashes, of which it cannot tell what was reviewed', async () => {
  const ran = await runSteps(
    await queueWith('squash', [addPolicy, crew, reads], { changes: [[joins]], how: '--squash' }),
    {
      some: queueSteps,
    },
  );
  expect([ran.failed === null, ran.summary]).toEqual([false, '']);
});
