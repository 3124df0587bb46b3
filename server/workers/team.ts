// The workers of a gateway, as its primary sees them: started, replaced when they die, sent messages, and stopped in
// order. A dead worker is replaced after a pause that grows each time, and so is one that hangs. A start that fails is
// repeated for as long as another worker serves.
import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { Ending } from '../compose.js';
import type { TcpAt } from '../http/listen-at.js';
import { WORKER_LIMITS } from '../limits/workers.js';
import type { Logger } from '../lib/ports.js';
import { assertSameVersion } from '../lib/version.js';
import type { WorkerPlace } from './gathered-series.js';
import { closeUntaken } from './handed-over.js';
import type { ToPrimary, ToWorker, WorkerFault, WorkerStart } from './messages.js';

export interface TeamOptions {
  readonly size: number;
  /** What a new worker is started with. */
  readonly start: () => Omit<WorkerStart, 'number'>;
  /** Handles messages of a worker that are not about its own life. */
  readonly onMessage: (message: OtherMessage, said: Said) => void;
  readonly log: Logger;
}

type OtherMessage = Exclude<ToPrimary, { kind: 'here' | 'alive' | 'serving' | 'failed' | 'activated' }>;

export interface Said {
  readonly member: WorkerPlace;
  readonly answer: (message: ToWorker) => void;
}

export interface WorkerTeam {
  /** Resolves when all of them serve. Rejects with `WorkerError`. */
  readonly ready: Promise<void>;
  /** Rejects with `WorkerError` when no worker serves and none can be replaced. Never resolves. */
  readonly failed: Promise<never>;
  /** Those that serve and do not hang. */
  readonly answering: () => readonly WorkerPlace[];
  /** Where they listen; null before any does. */
  readonly address: () => TcpAt | null;
  /** Sends a message to all workers except the one with number `except`. */
  readonly tell: (message: ToWorker, except?: number) => void;
  /** Starts the workers that wait for their next start at once. */
  readonly hurry: () => void;
  /** Safe to call twice. */
  readonly close: (ending: Ending) => Promise<void>;
}

/** A worker that cannot start. The message is its own, or describes how it ended. */
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
  /** The activation by which it decides; null if it does not serve. */
  generation: number | null;
  /** How often the primary has looked since it last said something. */
  looks: number;
  fault: WorkerFault | null;
  replaced: number;
  /** The number of consecutive starts that failed or workers that died soon. */
  failures: number;
  /** Whether the next start is expected to fail like those before. */
  isHopeless: boolean;
  startedAt: number;
  /** The timer of its next start, or of the start that is under way. */
  timer: NodeJS.Timeout | null;
}

const { quiet: QUIET, killed: KILLED } = WORKER_LIMITS.looks;

export function startTeam({ size, start, onMessage, log }: TeamOptions): WorkerTeam {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // cluster is needed to share the workers' address. Everything else is ordinary child processes.
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('./worker.js', import.meta.url)),
    args: [],
    serialization: 'advanced',
  });
  const ready = settled<null>();
  const failed = settled<never>();
  let closing: Promise<void> | null = null;
  let isStarting = true;
  let address: TcpAt | null = null;

  const slots = Array.from({ length: size }, (_, index): Slot => ({
    number: index + 1,
    worker: null,
    generation: null,
    looks: 0,
    fault: null,
    replaced: 0,
    failures: 0,
    isHopeless: false,
    startedAt: 0,
    timer: null,
  }));

  const fail = (fault: WorkerFault): void => {
    const error = new WorkerError(fault);
    ready.reject(error);
    failed.reject(error);
  };

  /** Without an exit status, a signal ended the worker, or there was no process for it: what is short then may come back. */
  const onExit = (slot: Slot, how: string, code = 'serve.worker_lost'): void => {
    clearTimeout(slot.timer ?? undefined);
    const served = slot.generation !== null;
    const fault = slot.fault ?? { code, message: `a worker ended before it served (${how})` };
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
    // A store that is unavailable comes back. Any other reason that keeps a worker from starting needs somebody to fix
    // it.
    slot.isHopeless = !served && !fault.code.startsWith('store.') && slot.failures > WORKER_LIMITS.starts;
    if (slots.every(({ isHopeless }) => isHopeless)) fail(fault);
    else slot.timer = setTimeout(fork, pause, slot);
  };

  /** Seconds since it last said something, as the primary has seen them. */
  const silenceOf = ({ number, worker, looks }: Slot): Readonly<Record<string, unknown>> => ({
    worker: number,
    pid: worker?.process.pid,
    seconds: (looks * WORKER_LIMITS.sign) / 1000,
  });
  const look = (): void => {
    for (const slot of slots) {
      if (slot.generation === null) continue;
      slot.looks += 1;
      if (slot.looks === QUIET) log.error(silenceOf(slot), 'a worker does not answer');
      if (slot.looks !== KILLED) continue;
      log.error(silenceOf(slot), 'a worker does not answer and is killed');
      slot.worker?.process.kill('SIGKILL');
    }
  };

  const onSaid = (slot: Slot, message: ToPrimary): void => {
    if (slot.looks >= QUIET) log.info(silenceOf(slot), 'a worker answers again');
    slot.looks = 0;
    switch (message.kind) {
      case 'alive':
        return;
      case 'here':
        // It has been told to end before it could listen, and has nothing to end in order.
        if (closing !== null) slot.worker?.process.kill('SIGKILL');
        else say(slot.worker, { kind: 'start', number: slot.number, ...start() });
        return;
      case 'serving':
        clearTimeout(slot.timer ?? undefined);
        slot.generation = message.generation;
        address = message.at;
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
    slot.startedAt = performance.now();
    let worker: Worker;
    try {
      assertSameVersion();
      worker = cluster.fork();
    } catch (error) {
      onExit(slot, error instanceof Error ? error.message : String(error));
      return;
    }
    slot.worker = worker;
    slot.looks = 0;
    const isSpawned = worker.process.pid !== undefined;
    // Needed for every worker, because an unhandled error event would end the primary.
    worker.on('error', (error) => {
      log.error({ worker: slot.number, error }, 'a worker cannot be reached');
      // No exit follows where there was no process.
      if (!isSpawned && slot.worker === worker) onExit(slot, error.message);
    });
    if (!isSpawned) return;
    closeUntaken(worker);
    slot.timer = setTimeout(() => {
      const seconds = WORKER_LIMITS.startTimeout / 1000;
      slot.fault ??= {
        code: 'serve.worker_lost',
        message: `a worker did not serve within ${String(seconds)} s of its start`,
      };
      worker.process.kill('SIGKILL');
    }, WORKER_LIMITS.startTimeout);
    worker.on('message', (message: ToPrimary) => {
      if (slot.worker === worker) onSaid(slot, message);
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      if (signal === null || signal === '') onExit(slot, `exit status ${String(code)}`, 'serve.worker');
      else onExit(slot, signal);
    });
  };

  const close = async (ending: Ending): Promise<void> => {
    clearInterval(looking);
    for (const { timer } of slots) clearTimeout(timer ?? undefined);
    const workers = slots.flatMap(({ worker }) => (worker?.process.pid === undefined ? [] : [worker]));
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

  const looking = setInterval(look, WORKER_LIMITS.sign);
  for (const slot of slots) fork(slot);
  return {
    ready: ready.promise.then(() => undefined),
    failed: failed.promise,
    address: () => address,
    answering: () => slots.filter(({ generation, looks }) => generation !== null && looks < QUIET),
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

/** Sends nothing to a worker that is gone. */
function say(worker: Worker | null, message: ToWorker): void {
  if (worker?.isConnected() === true) worker.send(message, () => undefined);
}

interface Settled<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** It may be rejected before anybody waits for it. */
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
