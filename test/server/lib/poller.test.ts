// Whoever asks for a look often gets one look, and news that anybody can send costs a bounded number of them.
import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NewsWatch, watchEvery } from '../../../server/lib/poller.js';

const NEVER = 3_600_000;
const watches: NewsWatch[] = [];
afterEach(() => Promise.all(watches.splice(0).map(({ stop }) => stop())));

interface Watched {
  readonly watch: NewsWatch;
  readonly looks: readonly string[];
  /** Ends the present look. */
  readonly end: () => void;
}

function watched(isSlow = true): Watched {
  const looks: string[] = [];
  let end: () => void = () => undefined;
  const watch = watchEvery(NEVER, async (why) => {
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
  const first = watch.hurry();
  await sleep(0);
  const asked = new Set(Array.from({ length: 100_000 }, () => watch.hurry()));
  expect(asked.size).toBe(1);
  end();
  await first;
  await sleep(0);
  expect(looks).toEqual(['hurry', 'hurry']);
  end();
  await Promise.all(asked);
  await sleep(0);
  expect(looks).toHaveLength(2);
});

it('hurries if anybody who waits does, and begins anew for who asks after it has begun', async () => {
  const { watch, looks, end } = watched();
  const first = watch.hurry();
  await sleep(0);
  watch.hear();
  const second = watch.hurry();
  watch.hear();
  end();
  await first;
  await sleep(0);
  const third = watch.hurry();
  end();
  await second;
  await sleep(0);
  end();
  await third;
  expect(looks).toEqual(['hurry', 'hurry', 'hurry']);
});

it('looks for news at once, and no more than twenty times a second', async () => {
  const { watch, looks } = watched(false);
  const start = performance.now();
  watch.hear();
  await sleep(0);
  expect(looks).toEqual(['news']);
  while (performance.now() - start < 500) {
    watch.hear();
    await sleep(1);
  }
  expect(looks.length).toBeLessThanOrEqual((performance.now() - start) / 50 + 1);
  expect(looks.length).toBeGreaterThan(2);
  expect(new Set(looks)).toEqual(new Set(['news']));
});

it('looks no more once it is stopped', async () => {
  const { watch, looks } = watched(false);
  await watch.hurry();
  watch.hear();
  await watch.stop();
  await watch.hurry();
  expect(looks).toEqual(['hurry']);
});
