// Reads logs line by line, a megabyte at a time, however long they are.
import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { systemCodeOf } from '../lib/small-file.js';
import { AuditError } from './audit-error.js';
import type { LogFile } from './log-files.js';

/** Lines of a file, in groups. */
export interface LineGroup {
  readonly file: LogFile;
  /** The lines without line ends. Null stands for a line that is longer than any event. */
  readonly lines: readonly (string | null)[];
  /** The number of bytes after the last line end, if the file does not end with one. Blanks are none. */
  readonly torn: number;
}

const CHUNK = 1024 * 1024;
const NEWLINE = 0x0a;

/** `from`: how many bytes of the first file are left out. They end with a line. */
export async function* readFiles(files: readonly LogFile[], from = 0): AsyncGenerator<LineGroup> {
  for (const [index, file] of files.entries()) yield* readFile(file, index === 0 ? from : 0);
}

/** Rejects with `AuditError` if the file cannot be read, as that of another user or a folder in its place. */
async function* readFile(file: LogFile, from: number): AsyncGenerator<LineGroup> {
  const unreadable = (cause: unknown): never => {
    throw new AuditError('audit.unreadable', `\`${file.path}\` cannot be read (${systemCodeOf(cause)})`, { cause });
  };
  const handle = await open(file.path, 'r').catch(unreadable);
  try {
    let rest: Buffer = Buffer.alloc(0);
    /** Of the line that has no end yet. */
    let torn = 0;
    /** Whether the reader is inside a line that is longer than any event. */
    let skipping = false;
    for (let at = from; ;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, at).catch(unreadable);
      if (bytesRead === 0) break;
      at += bytesRead;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(NEWLINE);
      torn = end < 0 ? torn + bytesRead : bytes.length - end - 1;
      rest = bytes.subarray(end + 1);
      const lines = end < 0 ? [] : linesOf(bytes.subarray(0, end));
      if (skipping && lines.length > 0) lines[0] = null;
      if (lines.length > 0) skipping = false;
      if (rest.length > AUDIT_LIMITS.lineBytes) {
        skipping = true;
        rest = Buffer.alloc(0);
      }
      yield { file, lines, torn: 0 };
    }
    if (skipping || !isBlank(rest)) yield { file, lines: [], torn };
  } finally {
    await handle.close();
  }
}

const BLANK = 0x20;

/** What a writer writes to find out whether the disk takes events again, and a crash may leave of that (writer.ts). */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === BLANK);
}

/** Lines that are not UTF-8 become null: decoding would turn them into other characters. */
function linesOf(bytes: Buffer): (string | null)[] {
  if (isUtf8(bytes)) return bytes.toString('utf8').split('\n');
  const lines: (string | null)[] = [];
  for (let at = 0; at <= bytes.length;) {
    const end = bytes.indexOf(NEWLINE, at);
    const line = bytes.subarray(at, end < 0 ? bytes.length : end);
    lines.push(isUtf8(line) ? line.toString('utf8') : null);
    at += line.length + 1;
  }
  return lines;
}
