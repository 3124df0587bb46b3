// The workers of a gateway, as its primary sees them: started, replaced when they die, told things, and ended in order. A worker that
// dies is replaced after a pause that grows. One that cannot be replaced is tried again for as long as another serves.
import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { Ending } from '../compose.js';
import { WORKER_LIMITS } from '../limits/workers.js';
import type { Logger } from '../ports.js';
import { closeUntaken } from './handed-over.js';
import type { ToPrimary, ToWorker, WorkerFault, WorkerStart } from './messages.js';

export interface TeamOptions {
  readonly size: number;
  /** What a worker begins with. */
  readonly start: () => Omit<WorkerStart, 'number'>;
  /** What a worker says that is not about its own life. */
  readonly onMessage: (message: OtherMessage, said: Said) => void;
  readonly log: Logger;
}

type OtherMessage = Exclude<ToPrimary, { kind: 'here' | 'serving' | 'failed' | 'activated' }>;

export interface Said {
  readonly member: Pick<Member, 'number' | 'replaced'>;
  readonly answer: (message: ToWorker) => void;
}

export interface Team {
  /** Resolves when all of them serve. Rejects with `WorkerError`. */
  readonly ready: Promise<void>;
  /** Rejects with `WorkerError` when nobody serves and none can be replaced; never resolves. */
  readonly failed: Promise<never>;
  readonly members: () => readonly Member[];
  /** Tells all of them, but for the one of a number. */
  readonly tell: (message: ToWorker, except?: number) => void;
  /** Starts now those whose next start waits. */
  readonly hurry: () => void;
  /** Safe to call twice. */
  readonly close: (ending: Ending) => Promise<void>;
}

export interface Member {
  readonly number: number;
  readonly pid: number | null;
  /** By which activation it decides; null where it does not serve. */
  readonly generation: number | null;
  /** How many before it have died. */
  readonly replaced: number;
}

/** A worker that cannot start: what it said, or how it ended. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError';
  readonly code: string;

  constructor({ code, message }: WorkerFault) {
    super(message);
    this.code = code;
  }
}

interface Slot {
  readonly number: number;
  worker: Worker | null;
  generation: number | null;
  fault: WorkerFault | null;
  replaced: number;
  /** Starts in a row that failed, and deaths in a row that came soon. */
  failures: number;
  /** Whether its next start would fail as those before did. */
  isHopeless: boolean;
  startedAt: number;
  /** Of its next start, or of the one that is under way. */
  timer: NodeJS.Timeout | null;
}

export function startTeam({ size, start, onMessage, log }: TeamOptions): Team {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // An address of its own for what a worker listens on is what cluster is for; all else is plain.
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('./worker.js', import.meta.url)),
    args: [],
    serialization: 'advanced',
  });
  const ready = settled<null>();
  const failed = settled<never>();
  let closing: Promise<void> | null = null;
  let isStarting = true;

  const slots = Array.from({ length: size }, (_, index): Slot => ({
    ...{ number: index + 1, worker: null, generation: null, fault: null },
    ...{ replaced: 0, failures: 0, isHopeless: false, startedAt: 0, timer: null },
  }));

  const fail = (fault: WorkerFault): void => {
    const error = new WorkerError(fault);
    ready.reject(error);
    failed.reject(error);
  };

  const onExit = (slot: Slot, how: string): void => {
    clearTimeout(slot.timer ?? undefined);
    const served = slot.generation !== null;
    const fault = slot.fault ?? { code: 'serve.worker', message: `a worker ended before it served (${how})` };
    slot.worker = null;
    slot.generation = null;
    slot.fault = null;
    if (closing !== null) return;
    if (isStarting) {
      fail(fault);
      return;
    }
    if (performance.now() - slot.startedAt > WORKER_LIMITS.stable) slot.failures = 0;
    slot.failures += 1;
    slot.replaced += 1;
    const pause = Math.min(WORKER_LIMITS.pause * 2 ** (slot.failures - 1), WORKER_LIMITS.longestPause);
    const facts = { worker: slot.number, how, pause };
    if (served) log.error(facts, 'a worker has died and will be replaced');
    else log.error({ ...facts, ...fault }, 'a worker could not be started and will be tried again');
    // A store that is away comes back; what else keeps a worker from starting, somebody has to mend.
    slot.isHopeless = !served && !fault.code.startsWith('store.') && slot.failures > WORKER_LIMITS.starts;
    if (slots.every(({ isHopeless }) => isHopeless)) fail(fault);
    else slot.timer = setTimeout(fork, pause, slot);
  };

  const onSaid = (slot: Slot, message: ToPrimary): void => {
    switch (message.kind) {
      case 'here':
        say(slot.worker, { kind: 'start', number: slot.number, ...start() });
        return;
      case 'serving':
        clearTimeout(slot.timer ?? undefined);
        slot.generation = message.generation;
        slot.isHopeless = false;
        log.info(
          { worker: slot.number, pid: slot.worker?.process.pid, generation: message.generation },
          'a worker serves',
        );
        if (slots.some(({ generation }) => generation === null)) return;
        isStarting = false;
        ready.resolve(null);
        return;
      case 'activated':
        slot.generation = message.generation;
        return;
      case 'failed':
        slot.fault = { code: message.code, message: message.message };
        return;
      default:
        onMessage(message, {
          member: { number: slot.number, replaced: slot.replaced },
          answer: (answer) => {
            say(slot.worker, answer);
          },
        });
    }
  };

  const fork = (slot: Slot): void => {
    const worker = cluster.fork();
    closeUntaken(worker);
    slot.worker = worker;
    slot.startedAt = performance.now();
    slot.timer = setTimeout(() => worker.process.kill('SIGKILL'), WORKER_LIMITS.startTimeout);
    worker.on('message', (message: ToPrimary) => {
      if (slot.worker === worker) onSaid(slot, message);
    });
    // Each of them: one that nobody hears would end the primary.
    worker.on('error', (error) => {
      log.error({ worker: slot.number, error }, 'a worker cannot be reached');
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      onExit(slot, signal === null || signal === '' ? `exit status ${String(code)}` : signal);
    });
  };

  const close = async (ending: Ending): Promise<void> => {
    for (const { timer } of slots) clearTimeout(timer ?? undefined);
    const workers = slots.flatMap(({ worker }) => (worker === null ? [] : [worker]));
    const gone = Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))));
    for (const worker of workers) say(worker, { kind: 'end', ending });
    const cut = setTimeout(
      () => {
        for (const worker of workers) worker.process.kill('SIGKILL');
      },
      (ending.notice ?? 0) + ending.deadline + WORKER_LIMITS.closeTimeout,
    );
    await gone;
    clearTimeout(cut);
  };

  for (const slot of slots) fork(slot);
  return {
    ready: ready.promise.then(() => undefined),
    failed: failed.promise,
    members: () =>
      slots.map(({ number, worker, generation, replaced }) => ({
        number,
        pid: worker?.process.pid ?? null,
        generation,
        replaced,
      })),
    tell: (message, except) => {
      for (const { number, worker } of slots) if (number !== except) say(worker, message);
    },
    hurry: () => {
      for (const slot of slots) {
        if (slot.worker !== null || closing !== null) continue;
        clearTimeout(slot.timer ?? undefined);
        fork(slot);
      }
    },
    close: (ending) => (closing ??= close(ending)),
  };
}

/** To one that is gone, nothing is said. */
function say(worker: Worker | null, message: ToWorker): void {
  if (worker?.isConnected() === true) worker.send(message, () => undefined);
}

interface Settled<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** Nobody may be waiting yet when it is rejected. */
function settled<T>(): Settled<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
