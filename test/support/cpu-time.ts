// What work costs, as the processor counts it: the same on a busy machine, where the clock on the wall tells of others.

/** Milliseconds of this process since then. */
export function stopCpu(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

/** As much CPU as a measurement takes at least, in milliseconds: a garbage collection or a compilation in between is a small part of it. */
const ENOUGH = 40;

/**
 * How many times as much a run of eight times the size costs: 8 if it costs as much as its input, 64 if its square. Each size is measured
 * a few times over as many runs as fill the time, and the cheapest measurement counts.
 */
export function growth(size: number, prepare: (size: number) => () => void): number {
  const costOf = (run: () => void): number => {
    const cpu = stopCpu();
    let runs = 0;
    do {
      run();
      runs++;
    } while (cpu() < ENOUGH);
    return cpu() / runs;
  };
  const [small, large] = [prepare(size), prepare(8 * size)];
  // In turn, so that both meet the same other programs.
  const costs = Array.from({ length: 3 }, () => [costOf(small), costOf(large)] as const);
  return Math.min(...costs.map(([, one]) => one)) / Math.min(...costs.map(([one]) => one));
}
