// The text of a file that may not be there.
import { readFile } from 'node:fs/promises';
import { systemCodeOf } from './small-file.js';

/** The text of a file; empty if there is no such file. */
export async function textIn(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
