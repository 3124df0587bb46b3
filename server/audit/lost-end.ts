// What became of the end of a log, as far as what is left shows it (docs/audit.md "Verifying"): it was cut off, or its
// newest files are elsewhere.
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { textIn } from '../lib/text-in.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { ARCHIVE_LIST, readArchiveList } from './archived-files.js';
import { listLogs, logFilePath } from './log-files.js';
import { parseKept } from './log-place.js';

export interface LogEnd {
  readonly folder: string;
  readonly log: string;
  /** The last event that was read. */
  readonly last: number;
  readonly archive: string | null;
}

/** Continues a sentence that says which event is not there. Rejects if the folder cannot be read. */
export async function whatBecameOfEnd({ folder, log, last, archive }: LogEnd): Promise<string> {
  const listed = (await readArchiveList(folder)).files.filter((file) => file.log === log && file.first > last);
  if (listed.length > 0) {
    const names = listed.map(({ name }) => name).join(', ');
    return archive === null
      ? `its newest files were not read: ${ARCHIVE_LIST} lists ${names}; name their folder with --archive`
      : `its newest files, ${names}, are not in ${archive} as ${ARCHIVE_LIST} lists them`;
  }
  const away = archive === null ? [] : ((await listLogs(archive)).get(log) ?? []).filter(({ first }) => first > last);
  if (archive !== null && away.length > 0) {
    const names = away.map(({ path }) => basename(path)).join(', ');
    return `its newest files were moved to ${archive}, and ${ARCHIVE_LIST} does not list them: ${names}`;
  }
  const here = (await listLogs(folder)).get(log)?.at(-1);
  const nameOf = (first: number): string => basename(logFilePath(folder, log, first));
  // What was kept with the last checkpoint tells which file the log had come to.
  const { place = null } = parseKept(await textIn(join(folder, `${log}.place`))) ?? {};
  if (place !== null && place.tree.size > last) {
    return place.file > last
      ? `its newest files are absent, ${nameOf(place.file)} among them`
      : `its end was cut off from ${nameOf(place.file)}`;
  }
  const isFull = here !== undefined && (await stat(here.path)).size >= AUDIT_LIMITS.fileBytes;
  if (isFull) return `its newest files are absent, those from ${nameOf(last + 1)} on`;
  return `its end was cut off, or its newest files are absent, those from ${nameOf(last + 1)} on`;
}
