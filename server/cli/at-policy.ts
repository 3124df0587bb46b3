// Where a policy argument leads: to a path, or to what git has at `<revision>:<path>` (docs/cli.md "What all verbs share").
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { PolicyFault } from '../policy/policy-fault.js';
import type { RevisionPath, Standing } from '../policy/sources/revision.js';
import type { Content } from '../policy/sources/source.js';
import { CliFailure, EXIT } from './exit.js';
import { type CliIo, pathOf } from './io.js';

/** Uses what the user named. What was taken out of git is there only meanwhile. Throws `CliFailure`. */
export async function atPolicy<T>(io: CliIo, shown: string, use: (content: Content) => Promise<T>): Promise<T> {
  const path = pathOf(io, shown);
  const named = await revisionNamed(io, shown);
  if (named === null) return use({ kind: 'file', path });
  const { openRevision } = await import('../policy/sources/revision.js');
  const found = await openRevision(named, standingOf(io));
  if ('code' in found) throw unusable(shown, found);
  try {
    return await use(found.content);
  } finally {
    await found.release?.();
  }
}

/**
 * What a reviewed policy was made from, as `<commit>:<path>`: where its revision left the one of `base`. Null if that is the base itself, or cannot
 * be known because one of the two is not in git. Throws `CliFailure`.
 */
export async function forkFrom(io: CliIo, base: string, reviewed: string): Promise<string | null> {
  const [before, after] = [await revisionNamed(io, base), await revisionNamed(io, reviewed)];
  if (before === null || after === null) return null;
  const { forkOf, isAtCommit } = await import('../policy/sources/revision.js');
  const fork = await forkOf([before.revision, after.revision], standingOf(io));
  if (fork !== null && typeof fork !== 'string') throw unusable(reviewed, fork);
  if (fork === null)
    throw new CliFailure(
      EXIT.usage,
      'revision.unrelated',
      `\`${base}\` and \`${reviewed}\` have no commit in common here`,
      {
        help: 'fetch the full history, for example with `fetch-depth: 0`',
      },
    );
  // A folder that was not there yet, or had another name, is compared with the base.
  const isThere = await isAtCommit({ revision: fork, path: after.path }, standingOf(io));
  if (typeof isThere !== 'boolean') throw unusable(reviewed, isThere);
  return isThere ? `${fork}:${after.path}` : null;
}

/** Null for the path of a file. */
async function revisionNamed(io: CliIo, shown: string): Promise<RevisionPath | null> {
  // As it was written: `HEAD:../..` is no path, though it would be one without the name before `..`.
  if (!shown.includes(':') || (await exists(isAbsolute(shown) ? shown : `${io.cwd}/${shown}`))) return null;
  const { revisionPathOf } = await import('../policy/sources/revision.js');
  return revisionPathOf(shown);
}

function standingOf({ cwd, env }: CliIo): Standing {
  return { cwd, programs: env['PATH'] ?? '' };
}

function unusable(shown: string, { code, message }: PolicyFault): CliFailure {
  const status = code === 'source.forged' ? EXIT.integrity : EXIT.usage;
  const help =
    'name a folder, a snapshot, or `<revision>:<folder>` of the git checkout that you are in, as in `main:policies`';
  return new CliFailure(status, code, `\`${shown}\` cannot be used: ${message}`, { help });
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
