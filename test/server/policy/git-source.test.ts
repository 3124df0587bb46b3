// A policy at a ref of a git repository: what was committed is served, exactly as it was committed and signed, and nothing that the
// repository holds besides runs a program, changes a file or is taken for what it is not.
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openObjects } from '../../../server/policy/sources/git-objects.js';
import { type GitSourceOptions, makeGitSource } from '../../../server/policy/sources/git-source.js';
import { checkOut } from '../../../server/policy/sources/git-tree.js';
import { A, B, filesOf, follow, type Followed, HEADER } from '../../support/followed-policy.js';
import {
  type Committer,
  makeCommitter,
  makeRepository,
  PROGRAMS,
  type Repository,
  signingBy,
} from '../../support/git-repository.js';
import { makeFolder } from '../../support/temp-folder.js';

let repository: Repository;
beforeEach(async () => {
  repository = await makeRepository();
});

async function followed(options: Partial<GitSourceOptions> = {}): Promise<Followed> {
  const at = { repository: repository.path, ref: 'refs/heads/main', path: '', signersFile: null, programs: PROGRAMS };
  return follow({ source: makeGitSource({ ...at, ...options }) });
}

const left = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bailiwick-policy-'));

describe('a folder in a repository', () => {
  it('is checked, compiled and tested as it was committed, whatever the checkout has, and leaves nothing behind', async () => {
    const before = left();
    const commit = repository.commit(filesOf('/a'));
    writeFileSync(join(repository.path, 'policy.yaml'), 'not committed');
    const { look, policies } = await followed();
    expect((await look())[1]).toBeNull();
    const first = policies.current();
    expect(first.source).toEqual({ kind: 'git', repository: repository.path, ref: 'refs/heads/main', commit });
    repository.commit({
      ...filesOf('/a'),
      'grants/all.yaml': filesOf('/a')['grants/all.yaml']?.replace('read', 'raed') ?? '',
    });
    expect(await look()).toEqual([first.policy.digest, 'policy.invalid']);
    expect(policies.state().refusal?.problems).toEqual([expect.stringMatching(/^grants\/all\.yaml:4:14: /)]);
    repository.commit(filesOf('/b'));
    expect((await look())[1]).toBeNull();
    expect(policies.current().policy.digest).not.toBe(first.policy.digest);
    expect(left()).toEqual(before);
  });

  it.each([
    ['a folder', 'policies', null],
    ['a snapshot', 'built/snapshot.json', B.policy.digest],
  ])('may be a part of a bare repository: %s', async (_, path, digest) => {
    repository.commit({ 'policies/policy.yaml': HEADER, 'built/snapshot.json': B.bytes });
    const bare = join(await makeFolder(), 'policies.git');
    repository.run('clone', '-q', '--bare', repository.path, bare);
    const { look, policies } = await followed({ repository: bare, path });
    expect((await look())[1]).toBeNull();
    expect(policies.current().policy.digest).not.toBe(A.policy.digest);
    if (digest !== null) expect(policies.current().policy.digest).toBe(digest);
  });

  it('is taken as git keeps it: no attribute, filter, hook or setting of the repository has a say', async () => {
    const ran = join(await makeFolder(), 'ran');
    repository.run('config', 'core.fsmonitor', `touch ${ran}`);
    repository.run('config', 'filter.swap.smudge', `touch ${ran}; sed s:/a:/:`);
    repository.run('config', 'gpg.program', `touch ${ran}`);
    repository.run('config', 'core.hooksPath', '.hooks');
    repository.commit({
      ...filesOf('/a'),
      '.gitattributes': '* filter=swap\ngrants/all.yaml export-ignore\npolicy.yaml export-subst\n',
      '.hooks/post-checkout': `#!/bin/sh\ntouch ${ran}\n`,
    });
    rmSync(ran, { force: true });
    const { look, policies } = await followed();
    expect((await look())[1]).toBeNull();
    expect(policies.current().policy.counts.grants).toBe(1);
    expect(existsSync(ran)).toBe(false);
  });

  it('holds no links, no submodules, and no names that lead out of it', async () => {
    const { look } = await followed();
    const blob = repository.run('hash-object', '-w', '--stdin');
    const raw = (name: string): string =>
      repository.rawTree(Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]));
    const above = (inner: string): string =>
      repository.rawTree(Buffer.concat([Buffer.from('40000 ..\0'), Buffer.from(inner, 'hex')]));
    for (const tree of [
      repository.tree(`120000 blob ${blob}\tpolicy.yaml`),
      repository.tree(`160000 commit ${'1'.repeat(40)}\tpolicy.yaml`),
      raw('..'),
      raw('.GIT'),
      above(raw('escaped.yaml')),
    ]) {
      repository.run('update-ref', 'refs/heads/main', repository.run('commit-tree', '-m', 'policy', tree));
      expect(await look()).toEqual([A.policy.digest, 'source.unreadable']);
    }
    expect(existsSync(join(tmpdir(), 'escaped.yaml'))).toBe(false);
  });

  it('has no more bytes than a policy may have, in its files and in their names', async () => {
    const before = left();
    repository = await makeRepository('sha256');
    const blob = repository.feed('x'.repeat(600), ['hash-object', '-w', '--stdin']);
    const run = {
      repository: repository.path,
      programs: PROGRAMS,
      signal: new AbortController().signal,
      silence: 10_000,
    };
    const objects = openObjects(run, blob);
    const files = repository.tree(['a', 'b'].map((name) => `100644 blob ${blob}\t${name}.yaml`).join('\n'));
    const limits = { fileBytes: 600, totalBytes: 1_000 };
    await expect(checkOut(objects, files, limits)).rejects.toThrow(
      'has more than 1,000 bytes in the files there, up to "b.yaml": keep the policy in a folder of its own',
    );
    // Of a file that no policy can have, only the size is written.
    const { folder, remove } = await checkOut(objects, files, { fileBytes: 500, totalBytes: 0 });
    expect(statSync(join(folder, 'b.yaml')).size).toBe(600);
    await remove();
    const named = (letter: string): string =>
      `040000 tree ${repository.rawTree(Buffer.concat([Buffer.from(`100644 ${letter.repeat(6 * 2 ** 20)}\0`), Buffer.from(blob, 'hex')]))}\t${letter}`;
    await expect(checkOut(objects, repository.tree(['a', 'b', 'c'].map(named).join('\n')))).rejects.toThrow(
      'has files and folders there whose names have more than 16777216 characters together',
    );
    objects.close();
    expect(left()).toEqual(before);
  });

  it('says what is missing: the folder, the repository, the ref', async () => {
    const gone = await followed({ repository: '/nonexistent/policies' });
    await gone.look();
    expect(gone.policies.state().refusal?.message).toBe('there is no such folder');
    const plain = await followed({ repository: await makeFolder() });
    await plain.look();
    expect(plain.policies.state().refusal?.message).toBe('it is not a git repository');
    repository.commit(filesOf('/a'));
    const elsewhere = await followed({ path: 'elsewhere' });
    expect(await elsewhere.look()).toEqual([A.policy.digest, 'source.missing']);
    const other = await followed({ ref: 'refs/heads/other' });
    await other.look();
    expect(other.policies.state().refusal?.message).toContain('there is no `refs/heads/other`');
  });
});

describe('a commit that has to be signed', () => {
  let ana: Committer;
  let eve: Committer;
  let signersFile: string;
  beforeAll(async () => {
    [ana, eve] = [await makeCommitter('ana'), await makeCommitter('eve')];
    signersFile = join(await makeFolder({ allowed_signers: ana.allowed }), 'allowed_signers');
  });

  it('is taken from who may sign, and from nobody else: arbitrary software, wrong key', async () => {
    repository.commit(filesOf('/a'), ana);
    const { look, policies } = await followed({ signersFile });
    expect((await look())[1]).toBeNull();
    const { digest } = policies.current().policy;
    repository.commit(filesOf('/b'));
    expect(await look()).toEqual([digest, 'signature.git']);
    repository.commit(filesOf('/b'), eve);
    expect(await look()).toEqual([digest, 'signature.git']);
    // The repository's own word about who may sign is nobody's.
    repository.run('config', 'gpg.ssh.allowedSignersFile', `${signersFile}.theirs`);
    writeFileSync(`${signersFile}.theirs`, eve.allowed);
    expect(await look()).toEqual([digest, 'signature.git']);
    repository.commit(filesOf('/b'), ana);
    expect((await look())[1]).toBeNull();
  });

  it('is not followed by what came before it: rollback', async () => {
    const older = repository.commit(filesOf('/a'), ana);
    repository.commit(filesOf('/b'), ana);
    const { look, policies } = await followed({ signersFile });
    expect((await look())[1]).toBeNull();
    const { digest } = policies.current().policy;
    repository.run('update-ref', 'refs/heads/main', older);
    expect(await look()).toEqual([digest, 'snapshot.rollback_refused']);
  });

  it('is not replaced by another one that the repository puts in its place: mix and match', async () => {
    const signed = repository.commit(filesOf('/a'), ana);
    const { look, policies } = await followed({ signersFile });
    expect((await look())[1]).toBeNull();
    const { digest } = policies.current().policy;
    const other = repository.commit(filesOf('/'));
    repository.run('update-ref', 'refs/heads/main', signed);
    repository.run('replace', `${signed}^{tree}`, `${other}^{tree}`);
    expect(await look()).toEqual([digest, null]);
  });

  it('may be named by a signed tag, under the name that was signed', async () => {
    repository.commit(filesOf('/a'));
    repository.run(...signingBy(ana), 'tag', '-s', '-m', 'release', 'v1');
    const one = await followed({ signersFile, ref: 'refs/tags/v1' });
    expect((await one.look())[1]).toBeNull();
    repository.run('update-ref', 'refs/tags/v2', repository.run('rev-parse', 'refs/tags/v1'));
    const two = await followed({ signersFile, ref: 'refs/tags/v2' });
    expect(await two.look()).toEqual([A.policy.digest, 'signature.git']);
    repository.run('tag', 'plain');
    const plain = await followed({ signersFile, ref: 'refs/tags/plain' });
    expect(await plain.look()).toEqual([A.policy.digest, 'signature.git']);
  });
});

it('that hangs and cannot be killed does not keep the process alive', async () => {
  // What the killed program has started still holds its output, as a program does whose disk is away.
  const programs = await makeFolder({ git: '#!/bin/sh\n/bin/sleep 30 &\nwait\n' });
  chmodSync(join(programs, 'git'), 0o755);
  const module = JSON.stringify(new URL('../../../server/policy/sources/git-command.js', import.meta.url).href);
  const run = JSON.stringify({ repository: repository.path, programs, silence: 100 });
  // Whatever garbage is collected meanwhile.
  const script = `setInterval(gc, 10).unref(); import(${module}).then(({ git }) =>
    git({ ...${run}, signal: new AbortController().signal }, 'show-ref').catch(({ message }) => console.log(message)))`;
  const began = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    '--input-type=module',
    '--eval',
    script,
  ]);
  expect(stdout).toBe('cannot be read: the program `git` could not be run to its end\n');
  expect(performance.now() - began).toBeLessThan(20_000);
});
