// Finds events by who, where, what and when (docs/audit.md "Searching"). Streams, so that a log of any length is asked in the same memory.
import { type Instant, isWithin, type NamespacePath, parseInstant, canonicalize } from '../../engine/index.js';
import type { EventKind, Outcome } from './event.js';
import { isStoredEvent, type StoredEvent } from './event-schema.js';
import { listLogs } from './log-files.js';
import { readFiles } from './read-log.js';

/** Every part that is given must hold; a list is any of it. */
export interface Search {
  /** Ids of actors, identities or fingerprints. */
  readonly actors: readonly string[];
  /** What may have touched records there or below. */
  readonly namespace: NamespacePath | null;
  readonly outcomes: readonly Outcome[];
  readonly kinds: readonly EventKind[];
  readonly record: string | null;
  /** Included. */
  readonly since: Instant | null;
  /** Excluded. */
  readonly until: Instant | null;
}

export interface FoundLine {
  readonly event: StoredEvent;
  /** As the log has it. */
  readonly line: string;
}

export interface SearchReport {
  readonly events: number;
  readonly found: number;
  /** Lines that are not events. */
  readonly malformed: number;
}

/** Calls `onFound` for each event in the order of the logs. Rejects where the folder cannot be read. */
export async function searchLogs(
  folder: string,
  search: Search,
  onFound: (found: readonly FoundLine[]) => Promise<void>,
): Promise<SearchReport> {
  const matches = makeMatch(search);
  let [events, total, malformed] = [0, 0, 0];
  for (const files of (await listLogs(folder)).values()) {
    for await (const { lines, torn } of readFiles(files)) {
      const found: FoundLine[] = [];
      for (const line of lines) {
        const event = line === null ? null : readStored(line);
        if (line === null || event === null) malformed += 1;
        else {
          events += 1;
          if (matches(event)) found.push({ event, line });
        }
      }
      if (torn > 0) malformed += 1;
      total += found.length;
      if (found.length > 0) await onFound(found);
    }
  }
  return { events, found: total, malformed };
}

/** Of a line, whatever its place in the chain; null if it is no event. */
export function readStored(line: string): StoredEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    return isStoredEvent(value) ? value : null;
  } catch {
    return null;
  }
}

function makeMatch({
  actors,
  namespace,
  outcomes,
  kinds,
  record,
  since,
  until,
}: Search): (event: StoredEvent) => boolean {
  const [who, how, what] = [new Set(actors), new Set(outcomes), new Set(kinds)];
  const isNamed = ({ actor }: StoredEvent): boolean =>
    who.has(actor.id) ||
    (actor.fingerprint !== null && who.has(actor.fingerprint)) ||
    actor.identities.some((one) => who.has(one));
  const isInTime = ({ time }: StoredEvent): boolean => {
    if (since === null && until === null) return true;
    const at = parseInstant(time);
    return at !== null && (since === null || at >= since) && (until === null || at < until);
  };
  return (event) =>
    (who.size === 0 || isNamed(event)) &&
    (how.size === 0 || how.has(event.outcome)) &&
    (what.size === 0 || what.has(event.kind)) &&
    (record === null || event.records?.includes(record) === true) &&
    isInTime(event) &&
    (namespace === null || touches(event, namespace));
}

/** A query from below may show what is published above it, and one of a subtree whatever is below it. */
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
