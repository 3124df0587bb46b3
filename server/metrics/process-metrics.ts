// What this process takes from its machine, and how long its event loop keeps others waiting, under the names that
// dashboards for Node.js know. There is one registry per process, however many gateways it holds.
import { readdirSync, readFileSync } from 'node:fs';
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { programVersion } from '../lib/version.js';
import { makeRegistry, type MetricValue, type Registry } from './series.js';

let made: Registry | null = null;

export function processMetrics(): Registry {
  return (made ??= makeProcessMetrics());
}

function makeProcessMetrics(): Registry {
  const registry = makeRegistry();
  const { gauge, total } = registry;
  const version = programVersion();
  gauge({ name: 'bailiwick_build_info', help: 'The version of the program; always 1.', labels: ['version'] }, () => [
    [1, version],
  ]);
  gauge({ name: 'nodejs_version_info', help: 'The version of Node.js; always 1.', labels: ['version'] }, () => [
    [1, process.version],
  ]);
  total({ name: 'process_cpu_seconds_total', help: 'CPU time of the process.' }, () => {
    const { user, system } = process.cpuUsage();
    return [[(user + system) / 1e6]];
  });
  const startedAt = Date.now() / 1000 - process.uptime();
  gauge({ name: 'process_start_time_seconds', help: 'When the process was started.' }, () => [[startedAt]]);
  gauge({ name: 'process_resident_memory_bytes', help: 'Memory of the process that is in RAM.' }, () => [
    [process.memoryUsage.rss()],
  ]);
  gauge({ name: 'process_open_fds', help: 'Open file descriptors; on Linux only.' }, openFiles);
  gauge({ name: 'process_max_fds', help: 'The limit of open file descriptors; on Linux only.' }, mostFiles);
  gauge({ name: 'nodejs_heap_size_used_bytes', help: 'Heap of V8 that is in use.' }, () => [
    [process.memoryUsage().heapUsed],
  ]);
  gauge({ name: 'nodejs_heap_size_total_bytes', help: 'Heap of V8.' }, () => [[process.memoryUsage().heapTotal]]);
  gauge(
    { name: 'nodejs_external_memory_bytes', help: 'Memory outside of the heap: buffers and native objects.' },
    () => [[process.memoryUsage().external]],
  );
  publishLoopDelay(registry);
  publishCollections(registry);
  return registry;
}

function openFiles(): readonly MetricValue[] {
  try {
    // One of the entries is the folder itself, opened for this.
    return [[readdirSync('/proc/self/fd').length - 1]];
  } catch {
    return [];
  }
}

function mostFiles(): readonly MetricValue[] {
  try {
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === '' ? [] : [[Number(soft)]];
  } catch {
    return [];
  }
}

const NANOSECONDS = 1e9;
/** Milliseconds between two readings of the clock. */
const RESOLUTION = 10;

/** How late timers have run since the last reading. Everything else had to wait as long. */
function publishLoopDelay({ gauge }: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  const lag = (nanoseconds: number): number => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION / 1000);
  let [p50, p99, max] = [0, 0, 0];
  const about = (what: string): string => `Delay of the event loop since the last scrape: ${what}.`;
  // The first of the three to be read takes the reading for all of them.
  gauge({ name: 'nodejs_eventloop_lag_p50_seconds', help: about('the median') }, () => {
    if (delays.count > 0) {
      [p50, p99, max] = [lag(delays.percentile(50)), lag(delays.percentile(99)), lag(delays.max)];
      delays.reset();
    }
    return [[p50]];
  });
  gauge({ name: 'nodejs_eventloop_lag_p99_seconds', help: about('the 99th percentile') }, () => [[p99]]);
  gauge({ name: 'nodejs_eventloop_lag_max_seconds', help: about('the longest') }, () => [[max]]);
}

const KINDS: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

function publishCollections({ histogram }: Registry): void {
  const collections = histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Time that garbage collections took, by kind.',
    labels: ['kind'],
    bounds: [0.001, 0.01, 0.1, 1],
  });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) collections.observe(entry.duration / 1000, kindOf(entry));
  }).observe({ entryTypes: ['gc'] });
}

function kindOf(entry: PerformanceEntry): string {
  const detail: unknown = 'detail' in entry ? entry.detail : null;
  const kind: unknown = typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : null;
  return KINDS.get(kind) ?? 'other';
}
