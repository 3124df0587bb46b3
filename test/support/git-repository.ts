// A git repository for tests, and people who sign commits with SSH keys of their own.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from './temp-folder.js';

/** Where git is. */
export const PROGRAMS = process.env['PATH'] ?? '';

export interface Committer {
  readonly name: string;
  readonly keyFile: string;
  /** A line of a file of allowed signers. */
  readonly allowed: string;
}

export interface Repository {
  /** A checkout. */
  readonly path: string;
  /** Where its objects are. */
  readonly objects: string;
  readonly run: (...args: readonly string[]) => string;
  readonly feed: (input: string | Uint8Array, args: readonly string[]) => string;
  /** The name of a tree, of lines as `git ls-tree` prints them; and of one of any bytes. */
  readonly tree: (listing: string) => string;
  readonly rawTree: (bytes: Uint8Array) => string;
  /** The files of the commit, and no others; by nobody unless given. The commit's name. */
  readonly commit: (files: Readonly<Record<string, Uint8Array | string>>, by?: Committer) => string;
}

export async function makeCommitter(name: string): Promise<Committer> {
  const keyFile = join(await makeFolder(), 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', keyFile]);
  return { name, keyFile, allowed: `${name}@example.org ${readFileSync(`${keyFile}.pub`, 'utf8')}` };
}

export async function makeRepository(format: 'sha1' | 'sha256' = 'sha1'): Promise<Repository> {
  const path = await makeFolder();
  const feed = (input: string | Uint8Array, args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], {
      cwd: path,
      env: { PATH: PROGRAMS, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
      encoding: 'utf8',
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    }).trim();
  const run = (...args: readonly string[]): string => feed('', args);
  run('init', '-q', '-b', 'main', `--object-format=${format}`);
  return {
    path,
    objects: join(path, '.git', 'objects'),
    run,
    feed,
    tree: (listing) => feed(`${listing}\n`, ['mktree', '--missing']),
    rawTree: (bytes) => feed(bytes, ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin']),
    commit: (files, by) => {
      for (const name of run('ls-files').split('\n').filter(Boolean)) rmSync(join(path, name), { force: true });
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), content);
      }
      run('add', '-A');
      const signing = by === undefined ? [] : signingBy(by);
      run(...signing, 'commit', '-q', '--allow-empty', '-m', 'policy', by === undefined ? '--no-gpg-sign' : '-S');
      return run('rev-parse', 'HEAD');
    },
  };
}

export function signingBy({ keyFile }: Committer): readonly string[] {
  return ['-c', 'gpg.format=ssh', '-c', `user.signingkey=${keyFile}`];
}
