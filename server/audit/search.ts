// Finds events by who, where, what and when (docs/audit.md "Searching"). Streams, so the memory it takes does not grow
// with the log.
import { type Instant, isWithin, type NamespacePath, parseInstant, canonicalize } from '../../engine/index.js';
import { readLine } from './chain.js';
import type { EventKind, Outcome } from './event.js';
import { isStoredEvent, type StoredEvent } from './event-schema.js';
import { showsRecord } from './listed.js';
import { listLogs, type LogFile } from './log-files.js';
import { readFiles } from './read-log.js';
import { makeSilences, type Silence } from './silences.js';

/** All given parts must match; what is not given matches anything. A list matches if any of its values does. */
export interface Search {
  /** Ids of actors, identities or fingerprints. An identity finds the questions about it, too. */
  readonly actors?: readonly string[];
  /** Only events that may have touched records there or below. */
  readonly namespace?: NamespacePath | null;
  readonly outcomes?: readonly Outcome[];
  readonly kinds?: readonly EventKind[];
  /** Only events that name this record, or whose answers showed it or may have. */
  readonly record?: string | null;
  /** Only events of the request with this id, the gateway's own. */
  readonly request?: string | null;
  /** From this instant on, inclusive. */
  readonly since?: Instant | null;
  /** Up to this instant, exclusive. */
  readonly until?: Instant | null;
}

export interface FoundLine {
  readonly event: StoredEvent;
  /** The line exactly as in the log. */
  readonly line: string;
  /** Why the line does not verify; null if it does, as far as it and the line before it show. */
  readonly fault: LineFault | null;
  /** Whether its answer showed the record in question; absent if it names the record. */
  readonly shown?: 'yes' | 'maybe';
}

/**
 * `edited`: it does not match its own hash. `broken`: it does not follow the line before it. `unreadable`: nobody can say
 * which records it showed.
 */
export type LineFault = 'edited' | 'broken' | 'unreadable';

export interface SearchReport {
  readonly events: number;
  readonly found: number;
  /** Lines that are not events. */
  readonly malformed: number;
  /** What the events do not say about the record in question. */
  readonly unrecorded: Unrecorded;
  /** Events that were found and do not verify. */
  readonly unverified: number;
}

export interface Unrecorded {
  /** Lists and copies that do not say which records they showed. */
  readonly lists: number;
  /** Counts that do not say which records they counted. */
  readonly counts: number;
  /** When queries left no event. */
  readonly silences: readonly Silence[];
  /** Logs whose first events are elsewhere, with the number of the first event that is here. */
  readonly begins: readonly { readonly log: string; readonly seq: number }[];
}

/** Calls `onFound` with the events in the order of the logs. Rejects if the folder cannot be read. */
export async function searchLogs(folder: string, search: Search, onFound: OnFound): Promise<SearchReport> {
  return searchFiles(await listLogs(folder), search, onFound);
}

type OnFound = (found: readonly FoundLine[]) => Promise<void>;

/** The same in these files, by the log that they are of. */
export async function searchFiles(
  logs: ReadonlyMap<string, readonly LogFile[]>,
  search: Search,
  onFound: OnFound,
): Promise<SearchReport> {
  const matches = makeMatch(search);
  const record = search.record?.toLowerCase() ?? null;
  const silences = makeSilences(search);
  const unrecorded = { lists: 0, counts: 0 };
  const begins: Unrecorded['begins'][number][] = [];
  let [events, total, malformed, unverified] = [0, 0, 0, 0];
  for (const [log, files] of logs) {
    // The first line is taken as it is: older files may be elsewhere.
    let before: StoredEvent | null = null;
    for await (const { lines, torn } of readFiles(files)) {
      const found: FoundLine[] = [];
      for (const line of lines) {
        const event = line === null ? null : readStored(line);
        if (line === null || event === null) malformed += 1;
        else {
          events += 1;
          if (before === null && event.seq > 1) begins.push({ log, seq: event.seq });
          silences.see(event);
          if (matches(event)) {
            const about = record === null ? 'named' : aboutRecord(event, record);
            if (about === 'lists' || about === 'counts') unrecorded[about] += 1;
            else if (about !== 'no') {
              const fault = faultOf(line, { event, before, log }) ?? (about === 'unreadable' ? about : null);
              const shown = about === 'unreadable' ? 'maybe' : about;
              found.push({ event, line, fault, ...(shown === 'named' ? {} : { shown }) });
            }
          }
          before = event;
        }
      }
      if (torn > 0) malformed += 1;
      total += found.length;
      unverified += found.filter(({ fault }) => fault !== null).length;
      if (found.length > 0) await onFound(found);
    }
  }
  return {
    events,
    found: total,
    malformed,
    unverified,
    unrecorded: { ...unrecorded, silences: silences.all(), begins },
  };
}

/** `lists`, `counts`: the event may be about the record, and does not say so. */
type About = 'named' | 'yes' | 'maybe' | 'no' | 'unreadable' | 'lists' | 'counts';

function aboutRecord(event: StoredEvent, record: string): About {
  const { id, listed, records, operation } = event;
  if (records?.some((one) => one.toLowerCase() === record) === true) return 'named';
  if (listed !== undefined) {
    const { kind } = showsRecord(id, listed, record);
    return kind === 'unrecorded' ? 'lists' : kind;
  }
  if (isList(event)) return /\.(?:count|aggregate)$/.test(operation) ? 'counts' : 'lists';
  // A copy shows its source, too, which earlier versions did not name.
  return operation.endsWith('.copy') && event.kind === 'command' && records?.length === 1 ? 'lists' : 'no';
}

/** Whether the answer was about records without saying which. */
function isList({ kind, outcome, access, items, records, subject }: StoredEvent): boolean {
  if (kind !== 'query' || outcome !== 'allowed' || subject !== undefined || items === 0) return false;
  return access !== null && 'reach' in access && records === undefined;
}

function faultOf(
  line: string,
  { event, before, log }: { readonly event: StoredEvent; readonly before: StoredEvent | null; readonly log: string },
): LineFault | null {
  const read = readLine(line);
  if (read === null || read.digest !== read.hash) return 'edited';
  const follows = before === null || (event.previous === before.hash && event.seq === before.seq + 1);
  return follows && event.log === log ? null : 'broken';
}

/** The event of a line, whatever its place in the chain; null if the line is not an event. */
export function readStored(line: string): StoredEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    return isStoredEvent(value) ? value : null;
  } catch {
    return null;
  }
}

function makeMatch({
  actors = [],
  namespace = null,
  outcomes = [],
  kinds = [],
  request = null,
  since = null,
  until = null,
}: Omit<Search, 'record'>): (event: StoredEvent) => boolean {
  const [who, how, what] = [new Set(actors), new Set(outcomes), new Set(kinds)];
  const isNamed = ({ actor, subject }: StoredEvent): boolean =>
    who.has(actor.id) ||
    (actor.fingerprint !== null && who.has(actor.fingerprint)) ||
    [...actor.identities, ...(subject?.identities ?? [])].some((one) => who.has(one));
  const isInTime = ({ time }: StoredEvent): boolean => {
    if (since === null && until === null) return true;
    const at = parseInstant(time);
    return at !== null && (since === null || at >= since) && (until === null || at < until);
  };
  return (event) =>
    (who.size === 0 || isNamed(event)) &&
    (how.size === 0 || how.has(event.outcome)) &&
    (what.size === 0 || what.has(event.kind)) &&
    (request === null || event.requestId === request) &&
    isInTime(event) &&
    (namespace === null || touches(event, namespace) || isAtOrBelow(event.namespace ?? '', namespace));
}

/** A query in a namespace below may show what is published above, and a query of a subtree whatever is below. */
function touches({ access }: StoredEvent, namespace: NamespacePath): boolean {
  if (access === null) return false;
  if ('source' in access) return isAtOrBelow(access.source, namespace) || isAtOrBelow(access.destination, namespace);
  const { context, target, creates, reach } = access;
  if ([context, target, ...(creates === undefined ? [] : [creates])].some((path) => isAtOrBelow(path, namespace)))
    return true;
  return reach === 'subtree' && isAtOrBelow(namespace, context);
}

function isAtOrBelow(text: string, above: string): boolean {
  const [path, root] = [canonicalize(text), canonicalize(above)];
  return path.ok && root.ok && isWithin(path.path, root.path);
}
