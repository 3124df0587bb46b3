// The audit trail of a worker. It hands events to the primary, which owns the log. Events keep their room here until the
// primary has them on the disk, so a log that falls behind causes the same refusals here as in the primary.
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareEvent, type PreparedEvent, sealEvent } from '../audit/prepare-event.js';
import { type AuditSettings, makeChecks, type Recorder, type TrailState } from '../audit/trail.js';
import { makeRoom } from '../audit/room.js';
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
  let waiting: Waiting[] = [];
  /** Events that were handed over and are not known to be on the disk, and their bytes. */
  let underWay: UnderWay[] = [];
  let bytesUnderWay = 0;
  /** How many of them the primary is not known to have got. */
  let unheard = 0;
  /** Since when the primary has not answered although it should have, on the monotonic clock; null otherwise. */
  let unheardSince: number | null = null;
  /** Events that had no room before. */
  let roomless = 0;
  let isWoken = false;
  let lost = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Takes as many as go into one message, and have no more than so many bytes before them. */
  const takeNext = (most: number): readonly string[] => {
    const events: string[] = [];
    for (let bytes = 0; bytes < WORKER_LIMITS.eventBytes;) {
      const next = waiting[events.length];
      if (next === undefined || bytesUnderWay >= most) break;
      const size = underWay.length < AUDIT_LIMITS.queuedLists ? 'exact' : 'small';
      const text = JSON.stringify(sealEvent(next.event, size));
      const length = Buffer.byteLength(text);
      events.push(text);
      underWay.push({ written: next.written, bytes: length });
      bytes += length;
      bytesUnderWay += length;
    }
    waiting = waiting.slice(events.length);
    return events;
  };
  const handOver = (most = WORKER_LIMITS.eventBytesUnderWay): void => {
    timer = null;
    const events = takeNext(most);
    unheard += events.length;
    unheardSince ??= performance.now();
    send({ kind: 'events', events, isWoken });
    isWoken = false;
    goOn();
  };
  const schedule = (): void => {
    timer ??= setTimeout(() => {
      handOver();
    }, WORKER_LIMITS.eventDelay).unref();
  };
  /** Beyond some bytes, events wait here until the disk has others. */
  const goOn = (): void => {
    if (waiting.length > 0 && bytesUnderWay < WORKER_LIMITS.eventBytesUnderWay) schedule();
  };
  const isFull = (): boolean => roomless >= AUDIT_LIMITS.queuedEvents;
  const current = (): TrailState => {
    const silence = unheardSince === null ? 0 : performance.now() - unheardSince;
    if (silence > WORKER_LIMITS.silence) return { ...state, unwritten: 'owner' };
    return state.unwritten === null && isFull() ? { ...state, unwritten: 'full' } : state;
  };
  return {
    queries,
    record: (parts, place) => {
      const written = place?.use() ?? null;
      if (written === null && isFull()) {
        lost += 1;
        return;
      }
      if (written === null) roomless += 1;
      waiting.push({ event: prepareEvent({ ...parts, id: nextId() }, records), written });
      goOn();
    },
    takePlace: makeRoom({ isStrict: onFailure === 'refuse' }),
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
      unheard -= message.got;
      unheardSince = unheard > 0 ? performance.now() : null;
      for (const { written, bytes } of underWay.slice(0, message.written)) {
        bytesUnderWay -= bytes;
        if (written === null) roomless -= 1;
        else written();
      }
      underWay = underWay.slice(message.written);
      goOn();
      if (lost === 0) return;
      send({ kind: 'lost', events: lost });
      lost = 0;
    },
    close: async () => {
      if (timer !== null) clearTimeout(timer);
      do handOver(Infinity);
      while (waiting.length > 0);
      if (timer !== null) clearTimeout(timer);
      const until = performance.now() + WORKER_LIMITS.silence;
      while (unheard > 0 && performance.now() < until) await sleep(WORKER_LIMITS.eventDelay);
    },
  };
}

interface Waiting {
  readonly event: PreparedEvent;
  readonly written: (() => void) | null;
}

interface UnderWay {
  readonly written: (() => void) | null;
  readonly bytes: number;
}
