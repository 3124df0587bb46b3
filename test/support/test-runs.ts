// How often properties are tried, and from which seed: the same in every run unless the environment says otherwise, so
// that a failure can be had again and a night can go further (`BAILIWICK_TEST_RUNS`, `BAILIWICK_TEST_SEED`).
import type { Parameters } from 'fast-check';

const SEED = 20261121;

export interface TestRuns {
  readonly seed: number;
  readonly numRuns: number;
}

/** `usual` runs, or as many as the environment asks for. */
export function testRuns(usual: number): TestRuns {
  return {
    seed: wholeNumber('BAILIWICK_TEST_SEED') ?? SEED,
    numRuns: wholeNumber('BAILIWICK_TEST_RUNS') ?? usual,
  };
}

/** Shrinking goes on for so long at most: what is smallest by then is told. */
export function shrinkingFor<T>(milliseconds: number, runs: TestRuns): Parameters<T> {
  return { ...runs, interruptAfterTimeLimit: milliseconds, markInterruptAsFailure: true };
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function wholeNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} is not a whole number`);
  return number;
}
