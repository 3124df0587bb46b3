// A policy argument that names a revision of the git checkout, as its user runs it: what was committed counts.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CliRun, runCli } from '../support/run-cli.js';
import { loosePath, writeLoose } from '../support/git-forgeries.js';
import { makeRepository, type Repository } from '../support/git-repository.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const AT = '2099-01-01T00:00:00Z';
let repository: Repository;
const run = (args: readonly string[], cwd = repository.path): Promise<CliRun> => runCli(args, { cwd });

beforeAll(async () => {
  repository = await makeRepository();
  repository.commit({ 'readme.txt': 'nothing' });
  const files = Object.entries(POLICY).map(([path, text]): [string, string] => [`policies/${path}`, text]);
  repository.commit(Object.fromEntries(files));
  repository.run('tag', '-a', '-m', 'one', 'v1');
  const file = join(await makeFolder(), 'snapshot.json');
  expect((await run(['compile', 'policies', '-o', file])).status).toBe(0);
  const snapshot = readFileSync(file);
  repository.commit({ ...Object.fromEntries(files), 'built/snapshot.json': snapshot });
  // What is not committed: a grant, and a file that is no policy.
  writeFileSync(
    join(repository.path, 'policies', 'more.yaml'),
    'grants:\n  - { id: more, identity: orcid:ana, namespace: /, scopes: [namespace:write] }\n',
  );
  mkdirSync(join(repository.path, 'policies', 'deep'));
});

describe('a policy at a revision', () => {
  it.each([
    'HEAD:policies',
    'main:policies',
    'main:policies/',
    'v1:policies',
    'HEAD~0:policies',
    'HEAD:built/snapshot.json',
  ])('%s is what was committed there', async (old) => {
    const { status, stdout, stderr } = await run(['diff', old, 'policies', '--exit-code']);
    expect([status, stderr]).toEqual([7, '']);
    expect(stdout).toContain('grant `more` to orcid:ana was added');
  });

  it('is named from the current folder with `./`', async () => {
    const deep = join(repository.path, 'policies', 'deep');
    expect(await run(['check', 'HEAD:../'], deep)).toMatchObject({ status: 0 });
    expect(await run(['check', 'HEAD:./'], join(repository.path, 'policies'))).toMatchObject({ status: 0 });
    expect(await run(['check', 'HEAD:policies'], deep)).toMatchObject({ status: 0 });
  });

  it('is one whose layout `fmt` checks, and does not write', async () => {
    expect(await run(['fmt', 'HEAD:policies', '--check'])).toMatchObject({
      stderr: expect.stringMatching(/to be formatted, \d+ unchanged\n$/),
    });
    const ran = await run(['fmt', 'HEAD:policies']);
    expect([ran.status, ran.stderr]).toEqual([
      2,
      'error: `HEAD:policies` is in git, so it cannot be written\n  help: name a folder, or add `--check`\n',
    ]);
  });

  it.each<[string, readonly string[]]>([
    ['check', ['check', 'HEAD:policies']],
    ['test', ['test', 'HEAD:policies']],
    ['compile', ['compile', 'HEAD:policies', '-o', '-']],
    ['inspect', ['inspect', 'HEAD:policies']],
    ['who-can', ['who-can', 'HEAD:policies', 'resource:read', '/labs/optics', '--at', AT]],
    ['what-can', ['what-can', 'HEAD:policies', 'orcid:ana', '--at', AT]],
    [
      'visible',
      ['visible', 'HEAD:policies', '--as', 'orcid:ana', '--family', 'resource', '--namespace', '/labs', '--at', AT],
    ],
    ['decide', ['decide', 'HEAD:policies']],
    ['export rls', ['export', 'rls', 'HEAD:policies']],
    ['export rego', ['export', 'rego', 'HEAD:policies', '-o', 'bundle']],
    ['export cedar', ['export', 'cedar', 'HEAD:policies', '-o', 'cedar']],
  ])('is a policy for %s as the folder is', async (_, args) => {
    const folder = await makeRepository();
    folder.commit(Object.fromEntries(Object.entries(POLICY).map(([path, text]) => [`policies/${path}`, text])));
    const there = await run(
      args.map((arg) => arg.replace('HEAD:', '')),
      folder.path,
    );
    expect(await run(args)).toEqual(there);
    expect(there.status).toBe(0);
  });

  it('leaves nothing behind', async () => {
    const left = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bailiwick-policy-'));
    const before = left();
    await run(['check', 'HEAD:policies']);
    await run(['check', 'HEAD:built']);
    expect(left().filter((name) => !before.includes(name))).toEqual([]);
  });
});

it.each<[string, string]>([
  ['nope:policies', 'has no revision `nope`'],
  ['--all:policies', 'has no revision `--all`'],
  ['main..v1:policies', 'has no revision `main..v1`'],
  ['HEAD:nope', 'there is no `nope` at `HEAD`'],
  ['HEAD:../..', '`../..` leads out of the git checkout'],
  ['HEAD~9:policies', 'has no revision `HEAD~9`'],
  ['HEAD^{tree}:policies', 'has no revision `HEAD^{tree}`'],
])('%s is refused, and what could stand there is said', async (named, words) => {
  const { status, stderr } = await run(['check', '--', named]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  expect(stderr).toContain('`<revision>:<folder>` of the git checkout that you are in');
});

it('a snapshot at a revision is no folder to check', async () => {
  const { status, stderr } = await run(['check', 'HEAD:built/snapshot.json']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('`HEAD:built/snapshot.json` is not a folder')]);
});

it('outside of a checkout there are no revisions, and a folder with a colon is a folder', async () => {
  const elsewhere = tmpdir();
  expect((await run(['check', 'HEAD:policies'], elsewhere)).stderr).toContain('is not in a git checkout');
  mkdirSync(join(repository.path, 'HEAD:here'));
  expect((await run(['check', 'HEAD:here'])).status).toBe(3);
});

it('a gateway follows what it serves, so it serves no revision', async () => {
  const { status, stderr } = await run(['serve', '--policy', 'HEAD:policies']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('name its repository with `--policy-git`')]);
});

it('an object that was forged is refused', async () => {
  const forged = await makeRepository();
  forged.commit({ 'p/policy.yaml': 'bailiwick: 1\nname: one\nproviders:\n  orcid: {}\n' });
  const name = forged.run('rev-parse', 'HEAD:p/policy.yaml');
  writeLoose(loosePath(forged.objects, name), { kind: 'blob', bytes: Buffer.from('bailiwick: 1\nname: two\n') });
  const { status, stderr } = await run(['check', 'HEAD:p'], forged.path);
  expect([status, stderr]).toEqual([8, expect.stringContaining(`holds something else under the name ${name}`)]);
});
