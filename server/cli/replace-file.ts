// One file of the user's replaced by what was made of it: whole, with its permissions, and only while it still is what was
// read, so that an edit made meanwhile is never lost.
import { readFile, stat } from 'node:fs/promises';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { fileFailure } from './path-failure.js';
import { writeWhole } from './write-whole.js';

export interface Replacement {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** How messages name the file. */
  readonly shown: string;
}

/** `path` is absolute. Throws `CliFailure`. */
export async function replaceFile(path: string, { from, to, shown }: Replacement): Promise<void> {
  const [now, facts] = await Promise.all([readFile(path), stat(path)]).catch((error: unknown) => {
    throw fileFailure(error, shown);
  });
  // Two names of one file in the folder: it is as it should be by now.
  if (now.equals(to)) return;
  if (!now.equals(from)) {
    throw new CliFailure(
      EXIT.precondition,
      { code: 'cli.changed', message: `\`${shown}\` was changed meanwhile, and was left as it is` },
      { help: 'run the command again' },
    );
  }
  await writeWhole(path, to, { shown, protectedFiles: [], mode: facts.mode & 0o777 });
}
