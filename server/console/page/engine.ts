// The engine as the page asks it: in a worker of its own in the playground, in the page itself in a report.
import type { Ask, NumberedAsk, Subject, WorkerAnswer, WorkerReply } from '../worker/protocol.js';

export interface Working {
  readonly doing: string;
  readonly done: number;
}

export interface Engine {
  readonly ask: (ask: Ask) => Promise<WorkerAnswer>;
  /** Calls back when a pending column can be shown; returns how to stop that. */
  readonly onCounted: (subject: Subject, call: () => void) => () => void;
  /** What was asked is never answered then. */
  readonly stop: () => void;
}

/** The worker runs this page's own script, so nothing else is loaded, from wherever the page came. */
export function startEngine(script: string, onWork: (working: Working | null) => void): Engine {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  const waiting = new Map<number, (answer: WorkerAnswer) => void>();
  const followers = new Set<{ readonly subject: Subject; readonly call: () => void }>();
  let last = 0;
  worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
    if ('progress' in data) {
      onWork(data.progress);
      return;
    }
    if ('counted' in data) {
      for (const one of followers) if (one.subject === data.counted) one.call();
      return;
    }
    waiting.get(data.number)?.(data.answer);
    waiting.delete(data.number);
  };
  worker.onerror = (event) => {
    for (const answer of waiting.values()) answer({ kind: 'refused', message: `the engine failed: ${event.message}` });
    waiting.clear();
  };
  return {
    stop: () => {
      worker.terminate();
      onWork(null);
    },
    onCounted: (subject, call) => {
      const one = { subject, call };
      followers.add(one);
      return () => followers.delete(one);
    },
    ask: (ask) =>
      new Promise((resolve) => {
        last += 1;
        waiting.set(last, resolve);
        const sent: NumberedAsk = { number: last, ask };
        worker.postMessage(sent);
      }),
  };
}
