// Which logs that the store knows should be in a folder, and which of them are not (docs/audit.md "Verifying").
import { listLogs } from './log-files.js';
import { readArchiveList } from './archived-files.js';
import type { NotedHead, LogLocation } from './outbox.js';

/** Whether a log was last written at this place. An embedded store moves from machine to machine with its logs. */
export function isFrom(place: LogLocation, store: 'embedded' | 'external'): (log: NotedHead) => boolean {
  return ({ host, folder }) => folder === place.folder && (store === 'embedded' || host === place.host);
}

/** The logs of these of which the folder has nothing, and which its list of archived files does not name. */
export async function missingFrom(folder: string, known: readonly NotedHead[]): Promise<readonly NotedHead[]> {
  const here = await listLogs(folder);
  const archived = new Set((await readArchiveList(folder)).files.map(({ log }) => log));
  return known.filter(({ log }) => !here.has(log) && !archived.has(log));
}
