// Loaded into a measured process with --import: leaves what it used in the file that BENCH_USAGE names.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  writeFileSync(process.env.BENCH_USAGE, JSON.stringify({ peakMiB: maxRSS / 1024, cpu: (userCPUTime + systemCPUTime) / 1e6 }));
});
