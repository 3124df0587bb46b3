// Loaded into a measured gateway with --import: says, when asked over its channel, how long its event loop was held up since it was last
// asked, and what memory it holds once everything that nobody uses is gone.
import cluster from 'node:cluster';
import { openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION = 1;
const MILLISECOND = 1e6;
const MEBIBYTE = 2 ** 20;
/** Milliseconds to wait, since memory that is returned to the system late does not count as held. */
const SETTLING = 200;

if (isMainThread && cluster.isPrimary && process.send !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  const own = watchOwn();
  process.on('message', async (what) => {
    const pause = (nanoseconds) => Math.max(0, nanoseconds / MILLISECOND - RESOLUTION);
    const pauses = { p999: pause(delays.percentile(99.9)), longest: pause(delays.max), own: own.take() };
    delays.reset();
    process.send(what === 'memory' ? await held() : pauses);
  });
  process.channel?.unref();
  // The measuring process has gone.
  process.on('disconnect', () => process.exit());
}

async function held() {
  for (let round = 0; round < 2; round += 1) {
    globalThis.gc?.();
    await sleep(SETTLING);
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MEBIBYTE;
}

/**
 * The longest time for which this thread itself was at work without a break, by the system's account of its processor time. A pause can
 * also come from other processes on a busy machine. Null if the system has no such account.
 */
function watchOwn() {
  const file = openAccount();
  if (file === null) return { take: () => null };
  const text = Buffer.alloc(64);
  const spent = () =>
    Number(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)).split(' ')[0]) / MILLISECOND;
  let [before, longest] = [spent(), 0];
  const look = () => {
    const now = spent();
    longest = Math.max(longest, now - before);
    before = now;
    setTimeout(look, RESOLUTION).unref();
  };
  look();
  return {
    take: () => {
      const taken = longest;
      longest = 0;
      return taken;
    },
  };
}

function openAccount() {
  try {
    return openSync('/proc/self/schedstat');
  } catch {
    return null;
  }
}
