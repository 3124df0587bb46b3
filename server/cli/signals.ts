// The signals that end a running verb: the first asks it to finish, the second does not ask.
import { EXIT } from './exit-codes.js';

export interface Termination {
  /** Resolves with the first signal's name. */
  readonly requested: Promise<NodeJS.Signals>;
  readonly stop: () => void;
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/** Listens until `stop`; the second signal ends the process at once. */
export function onTermination(): Termination {
  let seen = false;
  let resolve: (signal: NodeJS.Signals) => void = () => undefined;
  const requested = new Promise<NodeJS.Signals>((settle) => {
    resolve = settle;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (seen) process.exit(EXIT.unexpected);
    seen = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    requested,
    stop: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
