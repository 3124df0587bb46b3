// The engine in a thread of its own: it answers what the page asks, in order, and says how far it has come.
import { makeDesk } from './desk.js';
import type { NumberedAsk, WorkerReply } from './protocol.js';

/** A thread as it sees itself. */
export interface Thread {
  onmessage: ((event: MessageEvent<NumberedAsk>) => void) | null;
  readonly postMessage: (reply: WorkerReply) => void;
}

const LOUD_AFTER = 200;
const EVERY = 60;
/** Milliseconds of work between two answers. */
const SLICE = 40;

export function serveDesk(thread: Thread): void {
  let began = 0;
  let said = 0;
  const desk = makeDesk((doing, done) => {
    const time = performance.now();
    if (time - began < LOUD_AFTER || time - said < EVERY) return;
    said = time;
    thread.postMessage({ progress: { doing, done } });
  });
  thread.onmessage = ({ data: { number, ask } }) => {
    began = performance.now();
    said = 0;
    const answer = answered(() => desk.answer(ask));
    if (said !== 0) thread.postMessage({ progress: null });
    thread.postMessage({ number, answer });
    work();
  };
  // Between two slices of work the thread answers what was asked meanwhile.
  let isWaiting = false;
  const work = (): void => {
    if (isWaiting || desk.working() === null) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      const until = performance.now() + SLICE;
      const finished = desk.work(() => performance.now() > until);
      const part = desk.working();
      thread.postMessage({ progress: part === null ? null : { doing: 'counting', done: part } });
      if (finished !== null) thread.postMessage({ counted: finished });
      work();
    }, 0);
  };
}

/** What the engine never does is shown to whoever asks, since nobody else would hear of it. */
function answered(answer: () => ReturnType<ReturnType<typeof makeDesk>['answer']>): ReturnType<typeof answer> {
  try {
    return answer();
  } catch (error) {
    return { kind: 'refused', message: `the engine failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}
