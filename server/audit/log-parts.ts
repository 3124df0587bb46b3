// The files of each log of a folder in order, with those that were archived (docs/audit.md "Files").
import { join } from 'node:path';
import { type ArchivedFile, readArchiveList, stateOfArchived } from './archived-files.js';
import type { Fault } from './check-chain.js';
import { listLogs, type LogFile } from './log-files.js';

/** A file to read, or the number of the last event before the file that comes after those that are elsewhere. */
export type LogPart = LogFile | { readonly skipTo: number };

interface Finding {
  readonly archive: string | null;
  readonly report: (fault: Fault) => void;
}

/** The files of each log in order, those that were archived where they are. */
export async function findParts(
  folder: string,
  { archive, report }: Finding,
): Promise<{ readonly parts: ReadonlyMap<string, readonly LogPart[]>; readonly unread: readonly string[] }> {
  const logs = await listLogs(folder);
  const { files: archived, others } = await readArchiveList(folder);
  for (const line of others) {
    report({
      log: null,
      seq: 1,
      kind: 'archived',
      text: `archived.sha256 has a line that names no file of a log: ${line}`,
    });
  }
  const unread: string[] = [];
  const parts = new Map<string, LogPart[]>();
  for (const log of new Set([...logs.keys(), ...archived.map((file) => file.log)])) {
    const here = logs.get(log) ?? [];
    const moved: LogFile[] = [];
    for (const file of archived) {
      if (file.log !== log || here.some(({ first }) => first === file.first)) continue;
      if (archive === null) unread.push(file.name);
      else if (await isAsListed(archive, file, report)) moved.push({ ...file, path: join(archive, file.name) });
    }
    const all = [...moved, ...here].sort((a, b) => a.first - b.first);
    parts.set(log, withGaps(all, archive === null ? archived.filter((file) => file.log === log) : []));
  }
  return { parts, unread };
}

/** Where archived files are not read, the events before the next file are taken to be in them. */
function withGaps(files: readonly LogFile[], elsewhere: readonly ArchivedFile[]): LogPart[] {
  return files.flatMap((file, index): LogPart[] => {
    const before = files[index - 1]?.first ?? 0;
    const isGap = elsewhere.some(({ first }) => first > before && first < file.first);
    return isGap ? [{ skipTo: file.first - 1 }, file] : [file];
  });
}

export function skippedTo(parts: readonly LogPart[]): number {
  return Math.max(0, ...parts.map((part) => ('skipTo' in part ? part.skipTo : 0)));
}

async function isAsListed(archive: string, file: ArchivedFile, report: Finding['report']): Promise<boolean> {
  const state = await stateOfArchived(archive, file);
  if (state !== 'same') {
    const how = state === null ? 'is not there' : 'was changed: it does not have the digest in archived.sha256';
    report({ log: file.log, seq: file.first, kind: 'archived', text: `${join(archive, file.name)} ${how}` });
  }
  return state !== null;
}
