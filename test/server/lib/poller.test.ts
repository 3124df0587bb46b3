// Whoever asks for a look often gets one look, and news that anybody can send costs a bounded number of them.
import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NotifiedPoller, makePoller } from '../../../server/lib/poller.js';

const NEVER = 3_600_000;
const watches: NotifiedPoller[] = [];
afterEach(() => Promise.all(watches.splice(0).map(({ stop }) => stop())));

interface Watched {
  readonly watch: NotifiedPoller;
  readonly looks: readonly string[];
  /** Ends the present look. */
  readonly end: () => void;
}

function watched(isSlow = true): Watched {
  const looks: string[] = [];
  let end: () => void = () => undefined;
  const watch = makePoller(NEVER, async (why) => {
    looks.push(why);
    if (isSlow) await new Promise<void>((resolve) => (end = resolve));
  });
  watches.push(watch);
  return {
    watch,
    looks,
    end: () => {
      end();
    },
  };
}

it('shares the look that has not begun, however many ask for it while another one lasts', async () => {
  const { watch, looks, end } = watched();
  const first = watch.pollNow();
  await sleep(0);
  const asked = new Set(Array.from({ length: 100_000 }, () => watch.pollNow()));
  expect(asked.size).toBe(1);
  end();
  await first;
  await sleep(0);
  expect(looks).toEqual(['now', 'now']);
  end();
  await Promise.all(asked);
  await sleep(0);
  expect(looks).toHaveLength(2);
});

it('hurries if anybody who waits does, and begins anew for who asks after it has begun', async () => {
  const { watch, looks, end } = watched();
  const first = watch.pollNow();
  await sleep(0);
  watch.notify();
  const second = watch.pollNow();
  watch.notify();
  end();
  await first;
  await sleep(0);
  const third = watch.pollNow();
  end();
  await second;
  await sleep(0);
  end();
  await third;
  expect(looks).toEqual(['now', 'now', 'now']);
});

it('looks for news at once, and no more than twenty times a second', async () => {
  const { watch, looks } = watched(false);
  const start = performance.now();
  watch.notify();
  await sleep(0);
  expect(looks).toEqual(['news']);
  while (performance.now() - start < 500) {
    watch.notify();
    await sleep(1);
  }
  expect(looks.length).toBeLessThanOrEqual((performance.now() - start) / 50 + 1);
  expect(looks.length).toBeGreaterThan(2);
  expect(new Set(looks)).toEqual(new Set(['news']));
});

it('looks no more once it is stopped', async () => {
  const { watch, looks } = watched(false);
  await watch.pollNow();
  watch.notify();
  await watch.stop();
  await watch.pollNow();
  expect(looks).toEqual(['now']);
});
