// What a snapshot was compiled from, as its statement says it: named by whoever signs, or found in git. What is found is
// proved: a policy folder of that commit compiles to this very snapshot.
import type { StatementSource } from '../../engine/index.js';
import { GitError } from '../policy/sources/git-command.js';
import type { CheckoutHead } from '../policy/sources/revision.js';
import { atPolicy } from './at-policy.js';
import { CliFailure, EXIT, usage } from './exit.js';
import type { CliIo } from './io.js';

interface SourceFlags {
  /** True: to be found in git. */
  readonly sourceCommit?: string | true;
  readonly sourceRepository?: string | true;
}

/** Null if nothing is to be said. Throws `CliFailure`. */
export async function sourceOf(io: CliIo, flags: SourceFlags, digest: string): Promise<StatementSource | null> {
  const { sourceCommit, sourceRepository } = flags;
  if (sourceCommit === undefined) {
    if (sourceRepository === undefined) return null;
    throw usage('`--source-repository` needs `--source-commit`', 'without a commit, it is found in git');
  }
  if (typeof sourceRepository === 'string' && hasPassword(sourceRepository))
    throw usage('`--source-repository` holds a password, which everybody could read', 'name the repository without it');
  if (sourceCommit !== true && sourceRepository !== true)
    return { commit: sourceCommit, repository: sourceRepository ?? null };
  const head = await headOf(io);
  if (sourceCommit === true && !(await compilesTo(io, head, digest))) {
    throw failure(
      `no policy folder of the commit ${head.commit} compiles to this snapshot`,
      'compile what is committed, or name the commit that it was compiled from',
    );
  }
  if (sourceRepository === true && head.repository === null)
    throw failure('git knows no remote `origin`', 'name the repository with `--source-repository <url>`');
  return {
    commit: sourceCommit === true ? head.commit : sourceCommit,
    repository: sourceRepository === true ? head.repository : (sourceRepository ?? null),
  };
}

function hasPassword(url: string): boolean {
  return URL.canParse(url) && new URL(url).password !== '';
}

async function headOf(io: CliIo): Promise<CheckoutHead> {
  const { headAround } = await import('../policy/sources/revision.js');
  const help = 'run this in the checkout of the policy, or name the commit with `--source-commit <commit>`';
  const head = await headAround({ cwd: io.cwd, programs: io.env['PATH'] ?? '' }).catch((error: unknown) => {
    if (error instanceof GitError) throw failure(`the git checkout of \`${io.cwd}\` ${error.message}`, help);
    throw error;
  });
  if (head !== null) return head;
  throw failure(`\`${io.cwd}\` is not in a git checkout with a commit`, help);
}

async function compilesTo(io: CliIo, { commit, folders }: CheckoutHead, digest: string): Promise<boolean> {
  const { openPolicy } = await import('../policy/open/open-policy.js');
  for (const folder of folders) {
    const opened = await atPolicy(io, `${commit}:${folder === '.' ? '' : folder}`, async (content) =>
      content.kind === 'parts' ? null : openPolicy(content.path, 'study'),
    );
    if (opened?.kind === 'opened' && opened.policy.digest === digest) return true;
  }
  return false;
}

function failure(message: string, help: string): CliFailure {
  return new CliFailure(EXIT.precondition, 'statement.source', message, { help });
}
