// Programs that a machine may have, which let some tests show more. They are searched for where they are usually
// installed, and missing ones are reported.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program, or null. Folders of `BAILIWICK_TEST_PROGRAMS` come first. */
export function findProgram(name: string): string | null {
  const { BAILIWICK_TEST_PROGRAMS: first = '', PATH: path = '' } = process.env;
  const folders = [...first.split(delimiter), ...path.split(delimiter), '/usr/sbin', '/usr/local/sbin'].filter(
    (one) => one !== '',
  );
  const found = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (found === undefined) process.stderr.write(`${name} is not installed here: what only it can say is not tested\n`);
  return found ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
