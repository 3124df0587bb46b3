// Small files as the user named them, with faults in the words of the command line.
import { readSmallFile, type SmallFile, SmallFileError } from '../lib/small-file.js';
import { SigningError } from './signing-error.js';

/** A file as the user named it and as it is opened. */
export interface NamedFile {
  readonly path: string;
  readonly shown: string;
}

/** Throws `SigningError`. */
export async function readNamedFile({ path, shown }: NamedFile, limit: number): Promise<SmallFile> {
  try {
    return await readSmallFile(path, limit);
  } catch (error) {
    if (!(error instanceof SmallFileError)) throw error;
    throw new SigningError(CODES[error.fault], `\`${shown}\` ${error.message}`, { cause: error.cause });
  }
}

const CODES = { missing: 'file.not_found', unreadable: 'file.unreadable', too_large: 'file.too_large' } as const;
