// Paths of the command line that cannot be used: missing or unreadable is exit 2 (design 5).
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';

/** What a failed file operation says to the user; `shown` is the path as they wrote it. */
export function fileFailure(error: unknown, shown: string): CliFailure {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new CliFailure(
      EXIT.usage,
      { code: 'cli.not_found', message: `\`${shown}\` does not exist` },
      { cause: error },
    );
  }
  return new CliFailure(
    EXIT.usage,
    { code: 'cli.unreadable', message: `\`${shown}\` cannot be read (${code})` },
    { cause: error },
  );
}

/** The system's code of an error, such as `EACCES`. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason';
}
