// What work costs, as the processor counts it: the same on a busy machine, where the clock on the wall tells of others.

/** Milliseconds of this process since then. */
export function stopCpu(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

/**
 * How many times as much a run of eight times the size costs: 8 if it costs as much as its input, 64 if its square. Each size is run a few
 * times, and the cheapest run counts.
 */
export function growth(size: number, prepare: (size: number) => () => void): number {
  const cheapest = (run: () => void): number =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const cpu = stopCpu();
        run();
        return cpu();
      }),
    );
  const [small, large] = [prepare(size), prepare(8 * size)];
  return cheapest(large) / cheapest(small);
}
