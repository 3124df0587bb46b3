// The files of the audit folder (docs/audit.md "Files"): which logs there are, and in what order their files go on. A file is named
// after its log and its first event, `<log>.<seq>.jsonl`, so that the order of names is that of the chain.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface LogFile {
  readonly log: string;
  /** Of its first event. */
  readonly first: number;
  readonly path: string;
}

const NAME = /^([0-9a-z]{1,32})\.(\d{15})\.jsonl$/;

export function logFilePath(folder: string, log: string, first: number): string {
  return join(folder, `${log}.${String(first).padStart(15, '0')}.jsonl`);
}

/** By log, in the order of names. Rejects where the folder cannot be read. */
export async function listLogs(folder: string): Promise<ReadonlyMap<string, readonly LogFile[]>> {
  const logs = new Map<string, LogFile[]>();
  for (const name of (await readdir(folder)).sort()) {
    const [, log, first] = NAME.exec(name) ?? [];
    if (log === undefined) continue;
    const files = logs.get(log) ?? [];
    files.push({ log, first: Number(first), path: join(folder, name) });
    logs.set(log, files);
  }
  return logs;
}
