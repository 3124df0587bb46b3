// Whether a long piece of work leaves others their turns.

/** In milliseconds: the longest time in which nobody else had a turn, and all of the time. */
export async function longestTurn(
  work: () => Promise<unknown>,
): Promise<{ readonly longest: number; readonly all: number }> {
  const began = performance.now();
  let [last, longest, isDone] = [began, 0, false];
  const watch = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(watch);
  };
  watch();
  await work();
  isDone = true;
  return { longest, all: performance.now() - began };
}
