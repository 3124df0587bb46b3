// Whether a long piece of work leaves others their turns.

export interface Turns<Done> {
  /** The longest time in which nobody else had a turn, in milliseconds. */
  readonly longest: number;
  /** All of the time. */
  readonly all: number;
  readonly done: Done;
}

export async function longestTurn<Done>(work: () => Promise<Done>): Promise<Turns<Done>> {
  const began = performance.now();
  let [last, longest, isDone] = [began, 0, false];
  const watch = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(watch);
  };
  watch();
  const done = await work();
  isDone = true;
  return { longest, all: performance.now() - began, done };
}
