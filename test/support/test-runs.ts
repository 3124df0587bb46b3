// How often properties are tried, and from which seed. Both are the same in every run unless the environment says
// otherwise, so that a failure can be reproduced. `make test` tries each property often enough to find most mistakes;
// `make test-deep` tries them in full (`BAILIWICK_TEST_DEPTH=deep`) from a seed of the day. `BAILIWICK_TEST_SEED` and
// `BAILIWICK_TEST_RUNS` set any other.
import fc, { type Parameters } from 'fast-check';

const SEED = 20261121;

export interface TestRuns {
  readonly seed: number;
  readonly numRuns: number;
}

/** How often, in `make test` and in `make test-deep`; one number is for both. */
export type Often = number | { readonly usual: number; readonly deep: number };

export function testRuns(often: Often): TestRuns {
  return {
    seed: wholeNumber('BAILIWICK_TEST_SEED') ?? SEED,
    numRuns: wholeNumber('BAILIWICK_TEST_RUNS') ?? times(often),
  };
}

/** For what is repeated without a generator. */
export function times(often: Often): number {
  if (typeof often === 'number') return often;
  return process.env['BAILIWICK_TEST_DEPTH'] === 'deep' ? often.deep : often.usual;
}

/** Shrinking goes on for so long at most: what is smallest by then is told. */
export function shrinkingFor(milliseconds: number, runs: TestRuns): Parameters<unknown> {
  // Unbiased: worlds are made so that small ones come by themselves, and what matters here is that records meet.
  const plugins = [fc.unbiased(), fc.interruptAfterTimeLimit(milliseconds, { failOnInterrupt: true })];
  return { ...runs, plugins };
}

/** Starts a measurement; the function ends it and prints one line: seed, figures, rates. */
export function stopwatch(
  what: string,
  { seed }: TestRuns,
): (cases: number, requests: number, figures: object) => void {
  const since = performance.now();
  return (cases, requests, figures) => {
    const seconds = (performance.now() - since) / 1000;
    const rate = (n: number): string => `${String(n)} (${(n / seconds).toFixed(0)}/s)`;
    process.stderr.write(
      `${what}: seed ${String(seed)}, ${rate(cases)} cases, ${rate(requests)} requests, ${seconds.toFixed(1)} s ` +
        `${JSON.stringify(figures)}\n`,
    );
  };
}

function wholeNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} is not a whole number`);
  return number;
}
