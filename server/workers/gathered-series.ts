// What the workers of a gateway have counted and measured, gathered when somebody asks the primary. A worker that does
// not answer in time is shown with its last values. Counts of a worker that is gone still count, so no sum ever goes
// down.
import { WORKER_LIMITS } from '../limits/workers.js';
import { mergeSeries, type SeriesOfWorker } from '../metrics/merge-series.js';
import type { Series } from '../metrics/series.js';

export interface Gathering {
  /** Resolves when all have answered or run out of time. */
  readonly ask: () => Promise<readonly SeriesOfWorker[]>;
  readonly told: (from: WorkerPlace, series: readonly Series[]) => void;
}

/** A serving worker. A replacement keeps the number of its predecessor; `replaced` is how many it had. */
export interface WorkerPlace {
  readonly number: number;
  readonly replaced: number;
}

/** `askAll` asks all workers and returns those that it asked. */
export function gatherSeries(askAll: () => readonly WorkerPlace[]): Gathering {
  const known = new Map<number, { readonly replaced: number; readonly series: readonly Series[] }>();
  /** The last series of workers that are gone, by number. */
  const gone = new Map<number, readonly Series[]>();
  const waiting = new Set<(number: number) => void>();
  let asking: Promise<void> | null = null;

  const gather = (): Promise<void> =>
    new Promise((resolve) => {
      const onTold = (number: number): void => {
        awaited.delete(number);
        if (awaited.size === 0) settle();
      };
      const settle = (): void => {
        clearTimeout(timer);
        waiting.delete(onTold);
        resolve();
      };
      const timer = setTimeout(settle, WORKER_LIMITS.silence);
      waiting.add(onTold);
      const awaited = new Set(askAll().map(({ number }) => number));
      if (awaited.size === 0) settle();
    });

  return {
    ask: async () => {
      await (asking ??= gather().finally(() => {
        asking = null;
      }));
      return [...known].map(([worker, { series }]) => ({
        worker,
        series: mergeSeries(series, [{ worker, series: gone.get(worker) ?? [] }]),
      }));
    },
    told: ({ number, replaced }, series) => {
      const before = known.get(number);
      if (before !== undefined && before.replaced !== replaced) {
        const counted = before.series.filter(({ type }) => type !== 'gauge');
        gone.set(number, mergeSeries(gone.get(number) ?? [], [{ worker: number, series: counted }]));
      }
      known.set(number, { replaced, series });
      for (const onTold of [...waiting]) onTold(number);
    },
  };
}
