// What work costs, as the processor counts it: the same on a busy machine, where the clock on the wall tells of others.

/** Milliseconds of this process since then. */
export function stopCpu(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}
