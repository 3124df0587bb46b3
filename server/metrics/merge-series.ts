// The series of the processes of one gateway as one page. Counts are added up; measurements are listed side by side, by
// worker.
import type { Sample, Series } from './series.js';

export interface SeriesOfWorker {
  readonly worker: number;
  readonly series: readonly Series[];
}

export function mergeSeries(own: readonly Series[], workers: readonly SeriesOfWorker[]): readonly Series[] {
  const merged = new Map(own.map((series) => [series.name, { series, samples: byKey(series.samples) }]));
  for (const { worker, series: those } of workers) {
    for (const series of those) {
      const into = merged.get(series.name) ?? { series, samples: byKey([]) };
      merged.set(series.name, into);
      for (const sample of series.samples) {
        const shown = series.type === 'gauge' ? ofWorker(sample, worker) : sample;
        const value = (into.samples.get(keyOf(shown))?.value ?? 0) + shown.value;
        into.samples.set(keyOf(shown), { ...shown, value });
      }
    }
  }
  return [...merged.values()].map(({ series, samples }) => ({ ...series, samples: [...samples.values()] }));
}

function byKey(samples: readonly Sample[]): Map<string, Sample> {
  return new Map(samples.map((sample) => [keyOf(sample), sample]));
}

function keyOf({ suffix, labels }: Sample): string {
  return JSON.stringify([suffix, labels]);
}

function ofWorker(sample: Sample, worker: number): Sample {
  return { ...sample, labels: [...sample.labels, ['worker', String(worker)]] };
}
