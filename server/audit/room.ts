// The room for events of requests until they are on the disk. A request takes room before it does anything, so the event
// of an answer is never without any. An actor has a share of the room, and beyond that waits for its own events alone.
import { inTime } from '../lib/until-aborted.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { ApiProblem, inputProblem } from '../problem.js';

export interface Need {
  readonly events: number;
  /** How large each of them may be. */
  readonly eventBytes: number;
}

/** The room that a request has. */
export interface Place {
  /** Gives room to one event. Call the result once that is on the disk. Null if no room is left. */
  readonly use: () => (() => void) | null;
  /** Frees what the request has not used. */
  readonly leave: () => void;
}

/**
 * Waits until there is room for the events of a request of this name. Rejects with `audit.unavailable` after some time,
 * and with the reason of `gone` once that is aborted. Throws `request.too_large` for more than an actor may have. Where
 * requests are answered anyway, it is null instead of any of that.
 */
export type TakePlace = (name: string, need: Need, gone: AbortSignal) => Place | null | Promise<Place>;

interface Used {
  events: number;
  bytes: number;
}

interface Waiter {
  readonly name: string;
  readonly need: Need;
  readonly admit: (place: Place) => void;
}

interface RoomOptions {
  /** Whether requests are refused that have no room. */
  readonly isStrict: boolean;
  readonly patience?: number;
}

export function makeRoom({ isStrict, patience = AUDIT_LIMITS.roomPatience }: RoomOptions): TakePlace {
  const all: Used = { events: 0, bytes: 0 };
  const shares = new Map<string, Used>();
  const waiting = new Set<Waiter>();
  let isDue = false;

  const fits = (name: string, need: Need): boolean =>
    hasRoom(AUDIT_LIMITS.room, all, need) && hasRoom(AUDIT_LIMITS.roomOfActor, shares.get(name) ?? NOTHING, need);

  const goOn = (): void => {
    isDue = false;
    for (const waiter of waiting) {
      if (!fits(waiter.name, waiter.need)) continue;
      waiting.delete(waiter);
      waiter.admit(take(waiter.name, waiter.need));
    }
  };

  const take = (name: string, { events, eventBytes }: Need): Place => {
    const share = shares.get(name) ?? { events: 0, bytes: 0 };
    shares.set(name, share);
    const change = (by: number): void => {
      for (const used of [share, all]) {
        used.events += by;
        used.bytes += by * eventBytes;
      }
      if (share.events === 0) shares.delete(name);
      // Events come to the disk by the hundred, and those who wait are looked at once for all of them.
      if (by > 0 || waiting.size === 0 || isDue) return;
      isDue = true;
      setImmediate(goOn);
    };
    change(events);
    let left = events;
    return {
      use: () => {
        if (left === 0) return null;
        left -= 1;
        return () => {
          change(-1);
        };
      },
      leave: () => {
        const unused = left;
        left = 0;
        if (unused > 0) change(-unused);
      },
    };
  };

  const wait = (name: string, need: Need, gone: AbortSignal): Promise<Place> => {
    const late = (): ApiProblem => new ApiProblem('audit.unavailable', { retryAfter: 1, title: FULL });
    const untilAdmitted = (signal: AbortSignal): Promise<Place> =>
      new Promise((resolve, reject) => {
        const waiter = { name, need, admit: resolve };
        const leave = (): void => {
          waiting.delete(waiter);
          reject(new Error('waits no longer'));
        };
        waiting.add(waiter);
        signal.addEventListener('abort', leave);
        if (signal.aborted) leave();
      });
    return inTime(untilAdmitted, { gone, time: patience, late });
  };

  return (name, need, gone) => {
    if (fits(name, need)) return take(name, need);
    if (!isStrict) return null;
    if (!hasRoom(AUDIT_LIMITS.roomOfActor, NOTHING, need)) throw inputProblem('request.too_large', '', TOO_MUCH);
    return wait(name, need, gone);
  };
}

const NOTHING: Readonly<Used> = Object.freeze({ events: 0, bytes: 0 });

function hasRoom(most: Readonly<Used>, used: Readonly<Used>, { events, eventBytes }: Need): boolean {
  return used.events + events <= most.events && used.bytes + events * eventBytes <= most.bytes;
}

export const FULL = 'The request cannot be recorded now: too many events wait to be written';

const TOO_MUCH =
  'the credential is so large that the answers would have more than 40 MiB in the audit log: ask fewer questions at once';
