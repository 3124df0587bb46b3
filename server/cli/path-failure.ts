// Paths of the command line that cannot be used: missing or unreadable is exit 2.
import { type PathFault, pathFaultOf } from '../policy/path-fault.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';

/** What a failed file operation says to the user; `shown` is the path as they wrote it. */
export function fileFailure(error: unknown, shown: string): CliFailure {
  return pathFailure(pathFaultOf(error), shown);
}

export function pathFailure(fault: PathFault, shown: string): CliFailure {
  const failure = (code: string, what: string, cause?: unknown): CliFailure =>
    new CliFailure(EXIT.usage, { code, message: `\`${shown}\` ${what}` }, cause === undefined ? {} : { cause });
  switch (fault.kind) {
    case 'missing':
      return failure('cli.not_found', 'does not exist');
    case 'not_a_folder':
      return failure('cli.not_a_folder', 'is not a folder');
    case 'unreadable':
      return failure('cli.unreadable', `cannot be read (${fault.code})`, fault.cause);
  }
}
