// Whether the logs of a folder are intact: every event unchanged and in its place, and none missing, as far as the logs
// themselves show (docs/audit.md "Verifying"). A head that was noted elsewhere shows whether the end was cut off.
import { AUDIT_LIMITS } from '../limits/logs.js';
import { BEGINNING, type ChainLine, type Head, readLine } from './chain.js';
import { listLogs, type LogFile } from './log-files.js';
import { readFiles } from './read-log.js';

export type FaultKind = 'malformed' | 'edited' | 'missing' | 'order' | 'broken' | 'foreign' | 'torn' | 'head';

export interface Fault {
  readonly log: string;
  /** The number of the event that is wrong or missing, as far as it is known. */
  readonly seq: number;
  readonly kind: FaultKind;
  readonly text: string;
}

export interface LogReport {
  readonly log: string;
  readonly events: number;
  /** Null if the log has no event. */
  readonly head: Head | null;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly events: number;
  readonly logs: readonly LogReport[];
  /** The first thousand faults; `count` counts all of them. */
  readonly faults: readonly Fault[];
  readonly count: number;
}

export interface VerifyOptions {
  /** Heads that were noted elsewhere: each must be in one of the logs. */
  readonly heads?: readonly Head[];
  /** The head at which a log begins, if its older files are kept elsewhere. */
  readonly after?: Head;
  readonly onProgress?: (events: number) => void;
}

/** Rejects if the folder cannot be read. */
export async function verifyLogs(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const heads = options.heads ?? [];
  const faults: Fault[] = [];
  const logs: LogReport[] = [];
  const seen = new Map<Head, 'found' | 'other' | 'absent'>(heads.map((head) => [head, 'absent']));
  let count = 0;
  let events = 0;
  const report = (fault: Fault): void => {
    count += 1;
    if (faults.length < AUDIT_LIMITS.keptFaults) faults.push(fault);
  };
  for (const [log, files] of await listLogs(folder)) {
    const check = makeCheck(log, { report, after: options.after ?? BEGINNING });
    const found = await verifyLog(files, {
      ...check,
      see: ({ seq, hash }) => {
        for (const head of heads) {
          if (head.seq !== seq) continue;
          if (head.hash === hash) seen.set(head, 'found');
          else if (seen.get(head) === 'absent') seen.set(head, 'other');
        }
      },
      onProgress: (more) => options.onProgress?.(events + more),
    });
    events += found;
    logs.push({ log, events: found, head: check.head() });
  }
  for (const [{ seq }, how] of seen) {
    if (how === 'found') continue;
    const text =
      how === 'other'
        ? `event ${String(seq)} is not the one that was noted: the log was written anew`
        : `there is no event ${String(seq)}, which was noted as the end of the log: its end was cut off`;
    report({ log: logs[0]?.log ?? '', seq, kind: 'head', text });
  }
  return { ok: count === 0, events, logs, faults, count };
}

interface Check {
  /** Takes the next line of the log. */
  readonly line: (text: string | null) => ChainLine | null;
  readonly torn: (file: LogFile, bytes: number) => void;
  readonly head: () => Head | null;
}

interface CheckOptions {
  readonly report: (fault: Fault) => void;
  readonly after: Head;
}

function makeCheck(log: string, { report, after }: CheckOptions): Check {
  let last = after.seq;
  /** Null after a line that is not an event. */
  let previous: string | null = after.hash;
  let head: Head | null = null;
  const fault = (seq: number, kind: FaultKind, text: string): void => {
    report({ log, seq, kind, text });
  };
  const judge = (line: ChainLine): void => {
    const { seq } = line;
    if (line.digest !== line.hash) fault(seq, 'edited', `event ${String(seq)} was changed: its hash does not match`);
    if (line.log !== log) fault(seq, 'foreign', `event ${String(seq)} belongs to another log`);
    if (seq > last + 1) {
      const missing =
        seq === last + 2 ? `event ${String(last + 1)} is` : `events ${String(last + 1)} to ${String(seq - 1)} are`;
      fault(last + 1, 'missing', `${missing} missing`);
    } else if (seq <= last) fault(seq, 'order', `event ${String(seq)} comes after event ${String(last)}`);
    else if (previous !== null && line.previous !== previous) {
      fault(seq, 'broken', `event ${String(seq)} does not follow the event before it: one of them was replaced`);
    }
  };
  return {
    line: (text) => {
      const line = text === null ? null : readLine(text);
      if (line === null) {
        fault(last + 1, 'malformed', `the line after event ${String(last)} is not an event`);
        // A line that is not an event still takes the place of one, so the events after it do not count as missing.
        last += 1;
        previous = null;
        return null;
      }
      judge(line);
      // Later events are compared with what is really there, so that one fault is reported only once.
      last = line.seq;
      previous = line.digest;
      head = { seq: line.seq, hash: line.hash };
      return line;
    },
    torn: (file, bytes) => {
      fault(last + 1, 'torn', `${file.path} ends with an incomplete line (${String(bytes)} bytes)`);
    },
    head: () => head,
  };
}

interface Watch extends Check {
  readonly see: (line: ChainLine) => void;
  readonly onProgress: (events: number) => void;
}

async function verifyLog(files: readonly LogFile[], { line, torn, see, onProgress }: Watch): Promise<number> {
  let events = 0;
  for await (const group of readFiles(files)) {
    for (const text of group.lines) {
      const found = line(text);
      if (found === null) continue;
      events += 1;
      see(found);
    }
    if (group.torn > 0) torn(group.file, group.torn);
    onProgress(events);
  }
  return events;
}
