// The playground with a policy of 100,000 grants, 100,000 namespaces and 100,000 identities. Other programs may keep the machine busy, so
// what a frame costs is measured as the time that the page's main thread was running, beside a work of known size in the same browser, and
// waiting has wide bounds.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { main } from '../../server/cli/main.js';
import { systemCodeOf } from '../../server/lib/small-file.js';
import { CHROMIUM, CHROMIUM_FLAGS, hasBrowser } from '../support/browser.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const run = promisify(execFile);
const FRAMES = 120;
/** Of another page. The same core takes twice the time for it on a bad day, and for a frame, too. */
const PLAIN_LINES = 500;
/** A frame has 16 ms where the plain lines take 9. */
const MOST_FOR_PLAIN = 16 / 9;
const PATIENCE = 120_000;

(hasBrowser ? describe : describe.skip)('a policy of 100,000 grants in a browser', () => {
  let browser: Browser;
  let page: Page;
  let plain: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    const folder = await makeFolder();
    await run(process.execPath, [fromRoot('bench/policies/generate.mjs'), join(folder, 'large')]);
    const wrote = makeIo({ cwd: folder });
    expect(await main(['playground', 'large', '-o', 'large.html'], wrote.io)).toBe(0);
    browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: CHROMIUM_FLAGS });
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.setDefaultTimeout(PATIENCE);
    plain = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.on('pageerror', (error) => faults.push(String(error)));
    await page.goto(pathToFileURL(join(folder, 'large.html')).href);
  }, PATIENCE);

  afterAll(async () => {
    await browser.close();
  });

  /** Threads of pages: the main one has the number of its process. */
  const pages = async (): Promise<readonly number[]> => {
    const session = await browser.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    await session.detach();
    return processInfo.flatMap(({ type, id }) => (type === 'renderer' ? [id] : []));
  };
  /**
   * Milliseconds for which a main thread has been running so far, without those for which it waited for its turn. A spare process, which
   * the browser ends when it likes, has 0 then; a page whose process ends fails by itself.
   */
  const ran = async (id: number): Promise<number> => {
    const stat = await readFile(`/proc/${String(id)}/task/${String(id)}/schedstat`, 'utf8').catch((error: unknown) => {
      if (systemCodeOf(error) === 'ENOENT') return '0';
      throw error;
    });
    return Number(stat.split(' ')[0]) / 1e6;
  };
  /** What a frame costs in which `change` happens. The second one begins when the first was drawn, so it is counted as a whole. */
  const costOf = async (of: Page, ids: readonly number[], change: string): Promise<number> => {
    const before = await Promise.all(ids.map(ran));
    await of.evaluate(`new Promise((resolve) => {
      ${change}
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    })`);
    const after = await Promise.all(ids.map(ran));
    return Math.max(...after.map((time, j) => time - (before[j] ?? 0)));
  };

  /** What 95 of 100 frames of scrolling do not exceed, for one millisecond of the plain lines. */
  const scroll = async (ids: readonly number[]): Promise<number> => {
    const frames: number[] = [];
    const plains: number[] = [];
    for (let i = 0; i < FRAMES; i += 1) {
      const scrolls = `const box = document.querySelector('.cells');
        box.scrollTop += 180;
        box.scrollLeft += ${i % 10 === 0 ? '100' : '0'};`;
      frames.push(await costOf(page, ids, scrolls));
      plains.push(await costOf(plain, ids, plainLines(i)));
    }
    return (partOf(frames, 0.95) ?? Infinity) / (partOf(plains, 0.5) ?? 0);
  };

  it('is painted within a second, before the policy is read', async () => {
    const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    // Reading the policy takes several seconds of an idle core.
    expect(painted).toBeLessThan(isBusy() ? 4_000 : 1_000);
  });

  it(
    'shows the first cells while the rest is counted and checked',
    async () => {
      await page.locator('.across .head', { hasText: 'badge:p000000' }).waitFor();
      expect(await page.locator('.seal').textContent()).toContain('computing the digest');
      await page.getByRole('button', { name: 'Open rows' }).click();
      await page.locator('.corner', { hasText: /^189,\d+ lines, 99,\d+ columns$/ }).waitFor();
    },
    PATIENCE,
  );

  it(
    'scrolls for less than 16 milliseconds of its main thread a frame, where plain lines take 9, in 95 of 100 frames',
    async () => {
      await page.locator('.seal', { hasText: /sha256:/ }).waitFor();
      const ids = await pages();
      // Other programs only add to what frames cost: of some series the best is nearest to what they cost by themselves.
      let best = Infinity;
      for (let series = 0; series < 3 && best >= MOST_FOR_PLAIN; series += 1) best = Math.min(best, await scroll(ids));
      expect(await plain.evaluate('document.visibilityState')).toBe('visible');
      expect(await page.evaluate('document.visibilityState')).toBe('visible');
      expect(best).toBeLessThan(MOST_FOR_PLAIN);
    },
    PATIENCE,
  );

  it(
    'says who may, why, and takes it away',
    async () => {
      await page.getByRole('tab', { name: 'Why' }).click();
      await page.getByRole('tabpanel').locator('select').selectOption('namespace:write');
      await page.getByLabel('at', { exact: true }).fill('/site-0000');
      await page.keyboard.press('Tab');
      await page
        .getByRole('button', { name: /^Why\? / })
        .first()
        .click();
      await page.getByRole('heading', { name: 'Allowed' }).waitFor();
      // While edits are looked for and proved, which takes long, other questions are answered.
      await page.getByText('Looking for edits…').waitFor();
      await page.getByRole('tab', { name: 'One person' }).click();
      await page.getByLabel('Person or identity').fill('badge:s0001');
      await page.keyboard.press('Tab');
      await page.locator('.icicle').waitFor();
      await page.getByRole('tab', { name: 'Why' }).click();
      await page.getByText(/^Proving what each would do/).waitFor();
      await page
        .getByRole('button', { name: /^Apply: / })
        .first()
        .click();
      await page.getByRole('heading', { name: 'Denied' }).waitFor();
      await page
        .getByRole('region', { name: 'Your edits' })
        .getByText(/^0 cells gained, [\d,]+ cells lost$/)
        .waitFor();
      expect(faults).toEqual([]);
    },
    2 * PATIENCE,
  );
});

function plainLines(seed: number): string {
  return `document.body.innerHTML = Array.from(
    { length: ${String(PLAIN_LINES)} },
    (_, n) => '<div>' + (n * 7919 + ${String(seed)} * 104729) + ' a line of text</div>',
  ).join('');`;
}

function partOf(times: readonly number[], part: number): number | undefined {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * part)];
}

/** Whether more runs than there are cores. */
function isBusy(): boolean {
  const [load = 0] = loadavg();
  return load > cpus().length;
}
