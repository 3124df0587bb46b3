// Where a policy argument leads: to a path, or to what git has at `<revision>:<path>` (docs/cli.md "What all verbs share").
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Content } from '../policy/sources/source.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, pathOf } from './io.js';

/** Uses what the user named. What was taken out of git is there only meanwhile. Throws `CliFailure`. */
export async function atPolicy<T>(io: CliIo, shown: string, use: (content: Content) => Promise<T>): Promise<T> {
  const path = pathOf(io, shown);
  // As it was written: `HEAD:../..` is no path, though it would be one without the name before `..`.
  if (!shown.includes(':') || (await exists(isAbsolute(shown) ? shown : `${io.cwd}/${shown}`)))
    return use({ kind: 'file', path });
  const { openRevision, revisionPathOf } = await import('../policy/sources/revision.js');
  const named = revisionPathOf(shown);
  if (named === null) return use({ kind: 'file', path });
  const found = await openRevision(named, { cwd: io.cwd, programs: io.env['PATH'] ?? '' });
  if ('code' in found) {
    const { code, message } = found;
    const status = code === 'source.forged' ? EXIT.integrity : EXIT.usage;
    const help =
      'name a folder, a snapshot, or `<revision>:<folder>` of the git checkout that you are in, as in `main:policies`';
    throw new CliFailure(status, { code, message: `\`${shown}\` cannot be used: ${message}` }, { help });
  }
  try {
    return await use(found.content);
  } finally {
    await found.release?.();
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
