// Whoever may write to the files of a repository may put anything under the name of any object. Git prints it; the
// gateway takes nothing that is not what its name says, with a signature and without.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultOfRefusal } from '../../../server/policy/policy-fault.js';
import { type GitSourceOptions, makeGitSource } from '../../../server/policy/sources/git-source.js';
import { A, filesOf, follow, type Followed, grantsAt } from '../../support/followed-policy.js';
import {
  FORGERIES,
  type Forgery,
  interruptedGit,
  looseBytes,
  loosePath,
  writeLoose,
} from '../../support/git-forgeries.js';
import {
  type Committer,
  makeCommitter,
  makeRepository,
  PROGRAMS,
  type Repository,
  signingBy,
} from '../../support/git-repository.js';
import { makeFolder } from '../../support/temp-folder.js';

const EVIL = Buffer.from(grantsAt('/'));

let ana: Committer;
let signersFile: string;
beforeAll(async () => {
  ana = await makeCommitter('ana');
  signersFile = join(await makeFolder({ allowed_signers: ana.allowed }), 'allowed_signers');
});

const AT = { ref: 'refs/heads/main', path: '', programs: PROGRAMS };

function followed({ path: repository }: Repository, options: Partial<GitSourceOptions> = {}): Promise<Followed> {
  return follow({ source: makeGitSource({ ...AT, repository, signersFile, ...options }) });
}

/** What git prints under the name. */
function printed({ run }: Repository, name: string): string {
  return run('cat-file', run('cat-file', '-t', name), name);
}

/** The parts of a signed commit, and of a signed tag on it, by what would take their place. */
function partsOf(repository: Repository): Readonly<Record<Forgery['kind'], { name: string; forgery: Forgery }>> {
  const { run } = repository;
  run(...signingBy(ana), 'tag', '-s', '-m', 'release', 'v1');
  const evil = run('hash-object', '-w', '--stdin');
  const tree = Buffer.concat([Buffer.from('100644 all.yaml\0'), Buffer.from(evil, 'hex')]);
  const other = (kind: 'commit' | 'tag', name: string): Forgery => ({
    kind,
    bytes: Buffer.from(`${printed(repository, name)}\nmore`),
  });
  const nameOf = (revision: string): string => run('rev-parse', revision);
  const [commit, tag] = [nameOf('HEAD'), nameOf('refs/tags/v1')];
  return {
    blob: { name: nameOf('HEAD:grants/all.yaml'), forgery: { kind: 'blob', bytes: EVIL } },
    tree: { name: nameOf('HEAD:grants'), forgery: { kind: 'tree', bytes: tree } },
    commit: { name: commit, forgery: other('commit', commit) },
    tag: { name: tag, forgery: other('tag', tag) },
  };
}

/** What is found at one look: an offer, or the code of a fault. */
async function foundIn({ path: repository }: Repository, options: Partial<GitSourceOptions> = {}): Promise<string> {
  const source = makeGitSource({ ...AT, repository, signersFile, ...options });
  try {
    const found = await source.look('now', new AbortController().signal);
    if (found.kind === 'offer') await found.offer.release?.();
    return found.kind;
  } catch (error) {
    return faultOfRefusal(error).code;
  }
}

describe.each(['sha1', 'sha256'] as const)('a repository that names its objects by %s', (format) => {
  it.each(FORGERIES)('holds a forged blob in %s: refused, signed or not', async (_, forge) => {
    const repository = await makeRepository(format);
    repository.commit(filesOf('/a'), ana);
    const { name, forgery } = partsOf(repository).blob;
    await forge(repository, name, forgery);
    expect(printed(repository, name)).toBe(EVIL.toString().trim());
    const signed = await followed(repository);
    expect(await signed.look()).toEqual([A.policy.digest, 'source.forged']);
    expect(signed.policies.state().refusal?.message).toContain(`something else under the name ${name}`);
    // A snapshot, or a path further down, is read in the same way.
    for (const options of [
      { signersFile: null },
      { ref: 'refs/tags/v1' },
      { path: 'grants' },
      { path: 'grants/all.yaml' },
    ])
      expect(await foundIn(repository, options)).toBe('source.forged');
  });

  it.each(['tree', 'commit', 'tag'] as const)('holds a forged %s: refused, signed or not', async (kind) => {
    const repository = await makeRepository(format);
    repository.commit(filesOf('/a'), ana);
    const { name, forgery } = partsOf(repository)[kind];
    writeLoose(loosePath(repository.objects, name), forgery);
    expect(repository.run('cat-file', '-s', name)).toBe(String(forgery.bytes.length));
    const ref = kind === 'tag' ? 'refs/tags/v1' : 'refs/heads/main';
    for (const signers of [signersFile, null])
      expect(await foundIn(repository, { ref, signersFile: signers })).toBe('source.forged');
  });

  it('is taken from a signed commit and a signed tag, packed or not', async () => {
    const repository = await makeRepository(format);
    repository.commit(filesOf('/a'), ana);
    partsOf(repository);
    for (const ref of ['refs/heads/main', 'refs/tags/v1']) expect(await foundIn(repository, { ref })).toBe('offer');
    repository.run('gc', '-q');
    expect(await foundIn(repository)).toBe('offer');
  });
});

describe('an object that changes while it is read', () => {
  it.each(['blob', 'commit'] as const)('is one or the other: a %s that differs at each question', async (kind) => {
    const repository = await makeRepository();
    repository.commit(filesOf('/a'), ana);
    const { name, forgery } = partsOf(repository)[kind];
    const path = loosePath(repository.objects, name);
    writeFileSync(`${path}.other`, looseBytes(forgery));
    const swap = `mv ${path} ${path}.x; mv ${path}.other ${path}; mv ${path}.x ${path}.other`;
    const { look, policies } = await followed(repository, { programs: await interruptedGit(swap) });
    const genuine = await followed(await committed(filesOf('/a')));
    await genuine.look();
    const expected = [A.policy.digest, genuine.policies.current().policy.digest];
    const faults = new Set<string | null>();
    for (let round = 0; round < 4; round += 1) {
      faults.add((await look())[1]);
      expect(expected).toContain(policies.current().policy.digest);
      writeLoose(path, forgery);
      faults.add((await look())[1]);
      expect(expected).toContain(policies.current().policy.digest);
    }
    expect(faults).toContain('source.forged');
  });
});

async function committed(files: Readonly<Record<string, string>>): Promise<Repository> {
  const repository = await makeRepository();
  repository.commit(files, ana);
  return repository;
}

describe('a repository that hangs', () => {
  it('is given up after a while without an answer, and at once when nobody waits any more', async () => {
    const repository = await committed(filesOf('/a'));
    const path = loosePath(repository.objects, repository.run('rev-parse', 'HEAD:grants/all.yaml'));
    rmSync(path);
    execFileSync('mkfifo', [path]);
    const before = performance.now();
    expect(await foundIn(repository, { silence: 500 })).toBe('source.unreadable');
    const source = makeGitSource({ ...AT, repository: repository.path, signersFile, silence: 60_000 });
    const gone = new AbortController();
    setTimeout(() => {
      gone.abort();
    }, 500);
    const given = await source.look('now', gone.signal).catch((error: unknown) => error);
    expect(given).toMatchObject({ name: expect.stringMatching(/^(?:AbortError|PolicyRefused)$/) });
    expect(performance.now() - before).toBeLessThan(60_000);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('bailiwick-policy-'))).toEqual([]);
  });
});

describe('the commit that was taken', () => {
  it('is not made an ancestor of an older one by grafts or replacements', async () => {
    const repository = await makeRepository();
    const older = repository.commit(filesOf('/a'), ana);
    const newer = repository.commit(filesOf('/b'), ana);
    const { look, policies } = await followed(repository);
    expect((await look())[1]).toBeNull();
    const { digest } = policies.current().policy;
    repository.run('update-ref', 'refs/heads/main', older);
    writeFileSync(join(repository.path, '.git', 'info', 'grafts'), `${older} ${newer}\n`);
    expect(repository.run('rev-list', 'main')).toContain(newer);
    expect(await look()).toEqual([digest, 'snapshot.rollback_refused']);
    repository.run('replace', '--graft', older, newer);
    expect(await look()).toEqual([digest, 'snapshot.rollback_refused']);
    repository.run('update-ref', 'refs/heads/main', newer);
    expect(await look()).toEqual([digest, null]);
  });

  it('is found behind merges and commits that nobody has signed', async () => {
    const repository = await makeRepository();
    repository.commit(filesOf('/a'), ana);
    const { look } = await followed(repository);
    expect((await look())[1]).toBeNull();
    const { run } = repository;
    run('checkout', '-q', '-b', 'side');
    for (const namespace of ['/b', '/c']) repository.commit(filesOf(namespace));
    run('checkout', '-q', 'main');
    run('commit', '-q', '--allow-empty', '-m', 'unsigned');
    run(...signingBy(ana), 'merge', '-q', '-S', '--no-edit', 'side');
    expect((await look())[1]).toBeNull();
  });

  it('is looked for in 10,000 commits, and no further', async () => {
    const repository = await makeRepository();
    repository.commit(filesOf('/a'), ana);
    const { look, policies } = await followed(repository);
    expect((await look())[1]).toBeNull();
    const { digest } = policies.current().policy;
    const chain = (length: number): string =>
      Array.from({ length }, (_, index) =>
        [
          `commit refs/heads/main`,
          `committer a <a@b> ${String(index)} +0000`,
          'data 0',
          index === 0 ? 'from main^0' : '',
        ].join('\n'),
      ).join('\n');
    repository.feed(chain(9_998), ['fast-import', '--quiet', '--force']);
    repository.commit(filesOf('/b'), ana);
    expect((await look())[1]).toBeNull();
    repository.feed(chain(9_999), ['fast-import', '--quiet', '--force']);
    repository.commit(filesOf('/c'), ana);
    expect((await look())[1]).toBe('snapshot.rollback_refused');
    expect(policies.current().policy.digest).not.toBe(digest);
  });
});

describe('a tree', () => {
  it('that stands in many places counts in each of them, and is not written without end', async () => {
    const repository = await makeRepository();
    const blob = repository.run('hash-object', '-w', '--stdin');
    let tree = repository.tree(`100644 blob ${blob}\tx.yaml`);
    for (let depth = 0; depth < 12; depth += 1)
      tree = repository.tree(
        ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `040000 tree ${tree}\t${name}`).join('\n'),
      );
    repository.run('update-ref', 'refs/heads/main', repository.run('commit-tree', '-m', 'policy', tree));
    const { look, policies } = await followed(repository, { signersFile: null });
    expect(await look()).toEqual([A.policy.digest, 'source.unreadable']);
    expect(policies.state().refusal?.message).toContain('more than 40000 files and folders');
    for (let depth = 0; depth < 60; depth += 1) tree = repository.tree(`040000 tree ${tree}\td`);
    repository.run('update-ref', 'refs/heads/main', repository.run('commit-tree', '-m', 'policy', tree));
    await look();
    expect(policies.state().refusal?.message).toContain('nested deeper than 64');
  });
});
