// Judges values by schemas in a thread, where that may take long. The thread is started when it is needed and ended
// when its time is up; then the next request gets a new one. Each asker has one place in the line.
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { startThread } from '../lib/start-thread.js';
import { makeTurns } from '../lib/turns.js';
import { type JudgedValue, NOT_IN_TIME, type RecordVerdict } from './judge-record.js';

export interface JudgeTask {
  /** JSON text. */
  readonly schema: string;
  /** Null if only the schema is judged. */
  readonly value: JudgedValue | null;
}

export interface TimeLeft {
  /** Milliseconds. */
  thread: number;
}

export interface JudgeThread {
  /** Judges all in the time that is left, and takes the time from that; says of the rest that it is too large. */
  readonly judge: (asker: string, tasks: readonly JudgeTask[], left: TimeLeft) => Promise<readonly RecordVerdict[]>;
}

export function makeJudgeThread(): JudgeThread {
  const [askers, line] = [makeTurns(1), makeTurns(1)];
  let idle: Worker | null = null;
  const ready = async (): Promise<Worker> => {
    if (idle !== null) return idle;
    const resourceLimits = { maxOldGenerationSizeMb: TEMPLATE_LIMITS.threadHeap };
    const worker = startThread(new URL('./judge-worker.js', import.meta.url), { resourceLimits }, () => {
      if (idle === worker) idle = null;
    });
    await once(worker, 'message');
    return worker;
  };
  /** Judges until all is judged or the time is up. */
  const run = async (tasks: readonly JudgeTask[], left: TimeLeft): Promise<readonly RecordVerdict[]> => {
    const verdicts: RecordVerdict[] = [];
    while (verdicts.length < tasks.length && left.thread > 0) {
      await runOn(await ready(), { tasks, verdicts }, left);
    }
    return tasks.map((_, index) => verdicts[index] ?? NOT_IN_TIME);
  };
  /** Judges what has no verdict yet. If the memory is too small for one, that one is too large, and this ends. */
  const runOn = async (
    worker: Worker,
    { tasks, verdicts }: { readonly tasks: readonly JudgeTask[]; readonly verdicts: RecordVerdict[] },
    left: TimeLeft,
  ): Promise<void> => {
    idle = null;
    worker.ref();
    const began = performance.now();
    const ending = new AbortController();
    const timer = setTimeout(() => {
      ending.abort();
    }, left.thread);
    try {
      for (const task of tasks.slice(verdicts.length)) {
        const answered = once(worker, 'message', { signal: ending.signal });
        worker.once('message', (verdict: RecordVerdict) => {
          verdicts.push(verdict);
        });
        worker.postMessage(task);
        await answered;
      }
      worker.unref();
      idle = worker;
    } catch (error) {
      void worker.terminate();
      if (isOutOfMemory(error)) verdicts.push(NOT_IN_TIME);
      else if (!ending.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      left.thread -= performance.now() - began;
    }
  };
  return {
    judge: async (asker, tasks, left) => {
      const leaveAsker = await askers.enter(asker);
      const leaveLine = await line.enter('');
      try {
        return await run(tasks, left);
      } finally {
        leaveLine();
        leaveAsker();
      }
    },
  };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
