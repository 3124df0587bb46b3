// Reading from a disk that may not answer. Only one read runs at a time, because each holds one of few threads, and
// nobody waits for it for good.
import { endsWithin } from './ends-within.js';
import { oneAtATime } from './one-at-a-time.js';
import { inTime, untilAborted } from './until-aborted.js';

/** Rejects like `read`, with what `late` returns once the time is over, and once `gone` is aborted. */
export type PatientRead = <Done>(read: () => Promise<Done>, late: () => Error, gone: AbortSignal) => Promise<Done>;

export interface PatientReads {
  readonly read: PatientRead;
  /** Whether what was begun ends within so many milliseconds. */
  readonly end: (patience: number) => Promise<boolean>;
}

/** `time` is in milliseconds, and includes those before it. */
export function patientReads(time: number): PatientReads {
  const inTurn = oneAtATime(Infinity, unreachable);
  const read: PatientRead = (work, late, gone) =>
    inTime((signal) => untilAborted(inTurn(work, signal), signal), { gone, time, late });
  const nothing = (): Promise<void> => Promise.resolve();
  return { read, end: (patience) => endsWithin(inTurn(nothing), patience) };
}

function unreachable(): Error {
  return new TypeError('unreachable: any number of reads may wait');
}
