// The audit trail of a worker. It hands events to the primary, which owns the log. Events that the primary has not
// taken over yet are counted, so a log that falls behind causes the same refusals here as in the primary.
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareEvent, type PreparedEvent, sealEvent } from '../audit/prepare-event.js';
import { type AuditSettings, makeChecks, type Recorder, type TrailState } from '../audit/trail.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { WORKER_LIMITS } from '../limits/workers.js';
import type { IdSource } from '../lib/ports.js';
import type { ToPrimary, ToWorker } from './messages.js';

export interface RemoteTrail extends Recorder {
  readonly told: (message: Extract<ToWorker, { kind: 'audit' }>) => void;
  /** Call this once no request is answered any more. */
  readonly close: () => Promise<void>;
}

export interface RemoteTrailOptions extends Pick<AuditSettings, 'queries' | 'records' | 'onFailure'> {
  readonly state: TrailState;
  readonly nextId: IdSource;
  readonly send: (message: ToPrimary) => void;
}

export function makeRemoteTrail({
  queries,
  records = 'set',
  onFailure,
  nextId,
  send,
  ...options
}: RemoteTrailOptions): RemoteTrail {
  let { state } = options;
  let waiting: PreparedEvent[] = [];
  /** Events that were handed over and are not known to be taken. */
  let underWay = 0;
  /** Since when the primary has not answered although it should have, on the monotonic clock; null otherwise. */
  let unheardSince: number | null = null;
  let isWoken = false;
  let lost = 0;
  let timer: NodeJS.Timeout | null = null;

  const handOver = (): void => {
    timer = null;
    const events = waiting.map((event) =>
      JSON.stringify(sealEvent(event, underWay < AUDIT_LIMITS.queuedLists ? 'exact' : 'small')),
    );
    waiting = [];
    underWay += events.length;
    unheardSince ??= performance.now();
    send({ kind: 'events', events, isWoken });
    isWoken = false;
  };
  const schedule = (): void => {
    timer ??= setTimeout(handOver, WORKER_LIMITS.eventDelay).unref();
  };
  const current = (): TrailState => {
    const silence = unheardSince === null ? 0 : performance.now() - unheardSince;
    return silence > WORKER_LIMITS.silence ? { ...state, unwritten: 'owner' } : state;
  };
  return {
    queries,
    record: (parts) => {
      if (waiting.length + underWay >= AUDIT_LIMITS.queuedEvents) {
        lost += 1;
        return;
      }
      waiting.push(prepareEvent({ ...parts, id: nextId() }, records));
      schedule();
    },
    noteLost: (events) => {
      lost += events;
      schedule();
    },
    // The primary records what a gateway does on its own.
    recordOwn: () => undefined,
    ...makeChecks({ queries, onFailure }, current),
    // Events are counted where they are written.
    counts: () => ({ written: 0, lost: 0 }),
    lags: () => ({ file: 0, store: 0 }),
    wake: () => {
      isWoken = true;
      schedule();
    },
    told: (message) => {
      ({ state } = message);
      underWay -= message.taken;
      unheardSince = underWay > 0 ? performance.now() : null;
      if (lost === 0) return;
      send({ kind: 'lost', events: lost });
      lost = 0;
    },
    close: async () => {
      if (timer !== null) clearTimeout(timer);
      handOver();
      const until = performance.now() + WORKER_LIMITS.silence;
      while (underWay > 0 && performance.now() < until) await sleep(WORKER_LIMITS.eventDelay);
    },
  };
}
