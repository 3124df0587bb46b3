// Which policy was in force at an instant, as each log says (docs/history.md "What was in force"). It streams, so the memory
// it takes does not grow with the log.
import { type Instant, parseInstant } from '../../engine/index.js';
import type { StoredEvent } from './event-schema.js';
import { type LineFault, searchLogs } from './search.js';

export interface InForce {
  readonly log: string;
  /** The last event up to the instant that says which policy decides; null if there is none in these files. */
  readonly event: StoredEvent | null;
  /** The event that ended it; null if it was in force to the end of the log. */
  readonly ended: StoredEvent | null;
  /** The log's first event in these files. The events before it are elsewhere unless its number is 1. */
  readonly first: StoredEvent;
  /** The log's last event: nothing says what was in force after it. */
  readonly last: StoredEvent;
  /** Why the event does not verify; null if it does. */
  readonly fault: LineFault | null;
}

export interface InForceReport {
  /** One for each log, in the order of their names. */
  readonly logs: readonly InForce[];
  /** Lines that are not events. */
  readonly malformed: number;
}

/** Rejects if the folder cannot be read. */
export async function policiesInForce(folder: string, at: Instant): Promise<InForceReport> {
  const logs = new Map<string, InForce>();
  const { malformed } = await searchLogs(folder, {}, (found) => {
    for (const { event, fault } of found) {
      const known = logs.get(event.log) ?? { ...NOTHING, log: event.log, first: event, last: event };
      logs.set(event.log, after({ ...known, last: event }, { event, fault, at }));
    }
    return Promise.resolve();
  });
  return { logs: [...logs.values()], malformed };
}

const NOTHING = { event: null, ended: null, fault: null };

interface Next {
  readonly event: StoredEvent;
  readonly fault: LineFault | null;
  readonly at: Instant;
}

/** The order is that of the log. Times may go back a little, so an event up to the instant counts wherever it stands. */
function after(known: InForce, { event, fault, at }: Next): InForce {
  if (!TURNS.has(event.operation)) return known;
  const time = parseInstant(event.time);
  if (time !== null && time <= at) return { ...known, event, fault, ended: null };
  return known.event === null || known.ended !== null ? known : { ...known, ended: event };
}

/** With a stop, nothing is in force. */
const TURNS: ReadonlySet<string> = new Set(['gateway.start', 'policy.activate', 'gateway.stop']);
