// The engine as the page asks it: in a worker of its own in the playground, in the page itself in a report.
import type { Answer, Ask, Reply, Sent } from '../worker/protocol.js';

export interface Working {
  readonly doing: string;
  readonly done: number;
}

export interface Engine {
  readonly ask: (ask: Ask) => Promise<Answer>;
}

/** The worker runs this page's own script, so nothing else is loaded, from wherever the page came. */
export function startEngine(script: string, onWork: (working: Working | null) => void): Engine {
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if ('progress' in data) {
      onWork(data.progress);
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
    ask: (ask) =>
      new Promise((resolve) => {
        last += 1;
        waiting.set(last, resolve);
        const sent: Sent = { number: last, ask };
        worker.postMessage(sent);
      }),
  };
}
