// Whether the lines of one log follow one another (docs/audit.md "Verifying").
import { type ChainLine, type Head, readLine } from './chain.js';

export type FaultKind =
  | 'malformed'
  | 'edited'
  | 'missing'
  | 'order'
  | 'late'
  | 'broken'
  | 'foreign'
  | 'torn'
  | 'head'
  | 'snapshot'
  | 'absent'
  | 'gone'
  | 'archived'
  | 'checkpoint';

export interface Fault {
  /** Null if it is not known which log is meant, or if there is none. */
  readonly log: string | null;
  /** The number of the event that is wrong or missing, as far as it is known. */
  readonly seq: number;
  readonly kind: FaultKind;
  readonly text: string;
}

export interface ChainCheck {
  /** Begins a file. `next`: the number of the first event of the file after it; null if there is none. */
  readonly begin: (next: number | null) => void;
  /**
   * Whether the next line is none of the log, but one that an owner wrote who had lost it: every owner begins a file, and
   * the lines before that have come to an end.
   */
  readonly isLate: (text: string | null) => boolean;
  /** Takes the next line of the log. Null stands for a line that is longer than any event. */
  readonly line: (text: string | null) => ChainLine | null;
  /** A file ends with so many bytes of an incomplete line. */
  readonly torn: (path: string, bytes: number) => void;
  /** The lines up to this number are elsewhere. */
  readonly skip: (seq: number) => void;
  readonly head: () => Head | null;
}

interface CheckOptions {
  readonly report: (fault: Fault) => void;
  /** Where the log begins. */
  readonly after: Head;
}

export function checkChain(log: string, { report, after: start }: CheckOptions): ChainCheck {
  let last = start.seq;
  /** Null after a line that is not an event, or that is elsewhere. */
  let previous: string | null = start.hash;
  let head: Head | null = null;
  let next: number | null = null;
  let late = 0;
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
    begin: (first) => {
      if (late > 0) fault(last + 1, 'late', textOfLate(late, last));
      [next, late] = [first, 0];
    },
    isLate: (text) => {
      if (next !== last + 1 || text === null) return false;
      const line = readLine(text);
      const isOurs = line !== null && line.log === log && line.digest === line.hash;
      if (isOurs) late += 1;
      return isOurs;
    },
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
    torn: (path, bytes) => {
      fault(last + 1, 'torn', `${path} ends with an incomplete line (${String(bytes)} bytes)`);
    },
    skip: (seq) => {
      last = seq;
      previous = null;
    },
    head: () => head,
  };
}

function textOfLate(lines: number, last: number): string {
  const [what, were] = lines === 1 ? ['a line', 'was'] : [`${String(lines)} lines`, 'were'];
  return `${what} after event ${String(last)} ${were} written by an owner that had lost the log: no event of the log is lost or changed`;
}
