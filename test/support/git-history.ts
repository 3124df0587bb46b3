// Histories for tests, of any shape, written by git itself in one go.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepository, PROGRAMS, type Repository } from './git-repository.js';
import { makeFolder } from './temp-folder.js';

export interface MadeCommit {
  /** All files of the commit. */
  readonly files: Readonly<Record<string, string>>;
  /** Indexes of earlier commits. */
  readonly parents: readonly number[];
  readonly author?: string;
  readonly message?: string;
  /** When it says that it was made, in hours after the first commit of a history. */
  readonly hour?: number;
}

export interface MadeHistory extends Repository {
  /** The commits' names, in their order. The last one is the branch `main`. */
  readonly names: readonly string[];
}

/** The first commit is of 2026-01-01, and each other one is an hour later than the one before, unless it says when. */
export async function makeHistory(
  commits: readonly MadeCommit[],
  format: 'sha1' | 'sha256' = 'sha1',
): Promise<MadeHistory> {
  const repository = await makeRepository(format);
  const marks = join(await makeFolder(), 'marks');
  const input = commits
    .map((commit, i) => commitText(commit, i, i === commits.length - 1 ? 'heads/main' : `made/${String(i)}`))
    .join('');
  execFileSync('git', ['fast-import', '--quiet', '--force', `--export-marks=${marks}`], {
    cwd: repository.path,
    env: { PATH: PROGRAMS, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    input,
  });
  const byMark = new Map(
    readFileSync(marks, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  );
  const names = commits.map((_, i) => byMark.get(`:${String(i + 1)}`) ?? '');
  return { ...repository, names };
}

const BEGIN = Date.parse('2026-01-01T00:00:00Z') / 1000;

function commitText(
  { files, parents, author = 'Ann', message = 'policy', hour }: MadeCommit,
  i: number,
  ref: string,
): string {
  const when = `${String(BEGIN + (hour ?? i) * 3600)} +0000`;
  const [first, ...merged] = parents.map((parent) => `:${String(parent + 1)}`);
  return [
    `commit refs/${ref}`,
    `mark :${String(i + 1)}`,
    `author ${author} <${author.toLowerCase().replaceAll(/[^a-z]/g, '')}@example.org> ${when}`,
    `committer GitHub <noreply@example.org> ${when}`,
    data(message),
    ...(first === undefined ? [] : [`from ${first}`]),
    ...merged.map((parent) => `merge ${parent}`),
    'deleteall',
    ...Object.entries(files).map(([path, text]) => `M 644 inline ${path}\n${data(text)}`),
    '',
  ].join('\n');
}

function data(text: string): string {
  return `data ${String(Buffer.byteLength(text))}\n${text}`;
}
