// When a gateway recorded no queries, as it says itself at each start. Whoever looks for who did something, or for what
// nobody needed, has to know where the log is silent.
import { type Instant, parseInstant } from '../../engine/index.js';
import type { StoredEvent } from './event-schema.js';

export interface Silence {
  readonly log: string;
  readonly queries: 'denied' | 'none';
  readonly from: string;
  /** Null if the gateway goes on so. */
  readonly until: string | null;
}

export interface Silences {
  /** Takes the next event of a log. Logs come one after another. */
  readonly see: (event: StoredEvent) => void;
  readonly all: () => readonly Silence[];
}

/** Only what overlaps the time from `since` to `until`. */
export function makeSilences({
  since = null,
  until = null,
}: {
  readonly since?: Instant | null;
  readonly until?: Instant | null;
}): Silences {
  const done: Silence[] = [];
  let open: Silence | null = null;
  const end = (at: string | null): void => {
    if (open === null) return;
    const [from, to] = [parseInstant(open.from), at === null ? null : parseInstant(at)];
    const isLater = until !== null && from !== null && from >= until;
    const isEarlier = since !== null && to !== null && to <= since;
    if (!isLater && !isEarlier) done.push({ ...open, until: at });
    open = null;
  };
  return {
    see: ({ log, operation, recording, time }) => {
      if (open !== null && open.log !== log) end(null);
      if (operation !== 'gateway.start' && operation !== 'gateway.stop') return;
      end(time);
      const queries = operation === 'gateway.start' ? (recording?.queries ?? 'all') : 'all';
      if (queries !== 'all') open = { log, queries, from: time, until: null };
    },
    all: () => {
      end(null);
      return done;
    },
  };
}
