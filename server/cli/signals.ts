// The signals of a running gateway. The first SIGTERM or SIGINT asks it to finish, and SIGHUP to read its files again.
// SIGUSR1, which would make Node.js open a debugger to everybody on the machine, does nothing.
import { isAtDisk } from '../lib/stuck-disk.js';
import type { Logger } from '../lib/ports.js';
import type { Poller } from '../lib/poller.js';
import { EXIT } from './exit.js';

export interface Termination {
  /** Resolves with the first signal's name. */
  readonly requested: Promise<NodeJS.Signals>;
  /** Aborted by it, after `requested` has resolved. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/** Milliseconds in which a disk that works has answered. */
const DISK_PATIENCE = 500;

function endNow(): void {
  if (isAtDisk()) process.kill(process.pid, 'SIGKILL');
  else process.exit(EXIT.unexpected);
}

/** The first signal is told, the second ends the process at once. Returns what ends that. */
function onFirstSignal(tell: (signal: NodeJS.Signals) => void): () => void {
  let seen = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (!seen) tell(signal);
    else if (!isAtDisk()) process.exit(EXIT.unexpected);
    else setTimeout(endNow, DISK_PATIENCE);
    seen = true;
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** Listens until `stop`: the first signal asks the gateway to finish, the second ends the process at once. */
export function onTermination(): Termination {
  let resolve: (signal: NodeJS.Signals) => void = () => undefined;
  const requested = new Promise<NodeJS.Signals>((settle) => {
    resolve = settle;
  });
  const controller = new AbortController();
  const off = onFirstSignal((signal) => {
    resolve(signal);
    controller.abort();
  });
  // Connections to the store do not keep the process alive, and while the last of them end there may be nothing else
  // that does.
  const alive = setInterval(() => undefined, 2 ** 30);
  return {
    requested,
    signal: controller.signal,
    stop: () => {
      clearInterval(alive);
      off();
    },
  };
}

const IGNORED: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1'];
const ignore = (): void => undefined;

/**
 * For the whole life of a gateway. Before it has begun there is nothing to read again, and SIGHUP would end it; so it
 * would while the gateway closes its log and its store.
 */
export function ignoreReloads(): void {
  for (const signal of IGNORED) if (!process.listeners(signal).includes(ignore)) process.on(signal, ignore);
}

export interface Reload {
  readonly add: (watch: Poller) => void;
  /** Resolves when no file is being read any more. Safe to call twice. */
  readonly stop: () => Promise<void>;
}

/** SIGHUP does not end the gateway: everything that is read while it runs is read now. */
export function onReload(log: Logger): Reload {
  const watches: Poller[] = [];
  const onSignal = (): void => {
    log.info({ signal: 'SIGHUP' }, watches.length === 0 ? 'there are no files to read again' : 'reading files again');
    for (const { pollNow } of watches) void pollNow();
  };
  const onDebugger = (): void => {
    log.warn({ signal: 'SIGUSR1' }, 'no debugger is opened');
  };
  process.on('SIGHUP', onSignal).on('SIGUSR1', onDebugger);
  return {
    add: (watch) => {
      watches.push(watch);
    },
    stop: async () => {
      process.off('SIGHUP', onSignal).off('SIGUSR1', onDebugger);
      await Promise.all(watches.map(({ stop }) => stop()));
    },
  };
}

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Listens no more. If there was a signal, the process now ends by it. */
  readonly end: () => void;
}

/** For long work that leaves something to tidy: the first SIGINT or SIGTERM asks for its end, the second ends the process. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  const off = onFirstSignal((signal) => {
    received = signal;
    controller.abort();
  });
  return {
    signal: controller.signal,
    end: () => {
      off();
      if (received !== null) process.kill(process.pid, received);
    },
  };
}
