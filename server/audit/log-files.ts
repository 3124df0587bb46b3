// The files of the audit folder (docs/audit.md "Files"): which logs there are, and the order of their files. A file is
// named after its log and its first event, `<log>.<seq>.jsonl`, so the order of names is the order of the chain.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface LogFile {
  readonly log: string;
  /** The number of its first event. */
  readonly first: number;
  readonly path: string;
}

const NAME = /^([0-9a-z]{1,32})\.(\d{15})\.jsonl$/;

export function logFilePath(folder: string, log: string, first: number): string {
  return join(folder, `${log}.${String(first).padStart(15, '0')}.jsonl`);
}

/** The files of each log, in the order of names. Rejects if the folder cannot be read. */
export async function listLogs(folder: string): Promise<ReadonlyMap<string, readonly LogFile[]>> {
  const logs = new Map<string, LogFile[]>();
  for (const name of (await readdir(folder)).sort()) {
    const named = parseLogFileName(name);
    if (named === null) continue;
    const files = logs.get(named.log) ?? [];
    files.push({ ...named, path: join(folder, name) });
    logs.set(named.log, files);
  }
  return logs;
}

/** Null if no file of a log has such a name. */
export function parseLogFileName(name: string): Omit<LogFile, 'path'> | null {
  const [, log, first] = NAME.exec(name) ?? [];
  return log === undefined ? null : { log, first: Number(first) };
}
