// A log of some events in a folder of its own, and ways to tamper with it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, instantOf } from '../../engine/index.js';
import { archiveFiles } from '../../server/audit/archive.js';
import { BEGINNING, type Head, link } from '../../server/audit/chain.js';
import { ANONYMOUS, type AuditEvent, type EventParts, makeEvent } from '../../server/audit/event.js';
import { type FileLayer, systemFiles } from '../../server/audit/file-layer.js';
import type { StoredEvent } from '../../server/audit/event-schema.js';
import { readStored } from '../../server/audit/search.js';
import { type AuditTrail, openTrail, type TrailOptions } from '../../server/audit/trail.js';
import { makeWriter, type Writer, type WriterOptions } from '../../server/audit/writer.js';
import { type Logger, makeIdSource } from '../../server/lib/ports.js';
import { makeFolder } from './temp-folder.js';

export const LOG = 'testlog';
export const SILENT: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function eventOf(n: number, parts: Partial<EventParts> = {}): AuditEvent {
  return makeEvent({
    id: `event${String(n)}`,
    at: instantOf(n * 1000),
    kind: 'refusal',
    requestId: `request${String(n)}`,
    actor: ANONYMOUS,
    operation: 'request',
    outcome: 'failed',
    status: 400,
    ...parts,
  });
}

/** An event as a log holds it. */
export function storedOf(parts: Partial<EventParts>, log = LOG): StoredEvent {
  const stored = readStored(link(eventOf(1, parts), log, BEGINNING).line);
  if (stored === null) throw new Error('a line that is no event');
  return stored;
}

export function writerOf(folder: string, options: Partial<WriterOptions> = {}): Writer {
  return makeWriter({
    folder,
    log: LOG,
    head: BEGINNING,
    files: systemFiles,
    isOwner: () => Promise.resolve(true),
    logger: SILENT,
    retryDelay: 10,
    ...options,
  });
}

/** A trail on a store that refuses what it cannot record, by a clock that stands still. */
export function trailIn(
  folder: string,
  db: TrailOptions['db'],
  options: Partial<TrailOptions> = {},
): Promise<AuditTrail> {
  return openTrail({
    folder,
    db,
    queries: 'all',
    onFailure: 'refuse',
    lag: 50,
    clock: { now: () => instantOf(0) },
    nextId: makeIdSource(),
    log: SILENT,
    retryDelay: 10,
    ...options,
  });
}

export interface Written {
  readonly folder: string;
  readonly head: Head;
}

/** `count` events, some in each file. */
export async function writeLog(count: number, fileBytes = 2_000): Promise<Written> {
  const folder = await makeFolder();
  const writer = writerOf(folder, { fileBytes });
  for (let n = 1; n <= count; n += 1) {
    writer.add(eventOf(n));
    // A group goes into one file.
    if (n % 3 === 0) await writer.sync();
  }
  await writer.close();
  return { folder, head: writer.head() };
}

export function logFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(folder, name));
}

/** Moves the files whose last event is older to another folder, but not the last file. Returns that folder. */
export async function archiveLog(folder: string, before: Instant = instantOf(Date.now())): Promise<string> {
  const to = await makeFolder();
  await archiveFiles(folder, { to, before, onMoved: () => undefined });
  if (logFiles(to).length === 0) throw new Error('no file was moved');
  return to;
}

export function readLines(folder: string): string[] {
  return logFiles(folder).flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, -1));
}

/** The whole log as one file with these lines. */
export async function logOf(lines: readonly string[]): Promise<string> {
  const folder = await makeFolder();
  writeFileSync(join(folder, `${LOG}.000000000000001.jsonl`), lines.map((line) => `${line}\n`).join(''));
  return folder;
}

/** A file layer that fails as told: `fault` is asked before each operation. */
export function faultyFiles(fault: (operation: 'create' | 'append' | 'sync') => Error | number | null): FileLayer {
  const refuse = (operation: 'create' | 'sync'): void => {
    const error = fault(operation);
    if (error instanceof Error) throw error;
  };
  return {
    ...systemFiles,
    create: async (path) => {
      refuse('create');
      const file = await systemFiles.create(path);
      return {
        ...file,
        append: async (bytes) => {
          const fate = fault('append');
          if (fate instanceof Error) throw fate;
          return file.append(fate === null ? bytes : bytes.subarray(0, fate));
        },
        sync: async () => {
          refuse('sync');
          await file.sync();
        },
      };
    },
  };
}

export function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}
