// The playground with a policy of 100,000 grants, 100,000 namespaces and 100,000 identities. Other programs may keep the machine busy, so
// what a frame costs is measured as the time that the page's main thread was running, and waiting has wide bounds.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { main } from '../../server/cli/main.js';
import { CHROMIUM, CHROMIUM_FLAGS, hasBrowser } from '../support/browser.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const run = promisify(execFile);
const FRAMES = 120;
const PATIENCE = 120_000;

(hasBrowser ? describe : describe.skip)('a policy of 100,000 grants in a browser', () => {
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    const folder = await makeFolder();
    await run(process.execPath, [fromRoot('bench/policies/generate.mjs'), join(folder, 'large')]);
    const wrote = makeIo({ cwd: folder });
    expect(await main(['playground', 'large', '-o', 'large.html'], wrote.io)).toBe(0);
    browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: CHROMIUM_FLAGS });
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.setDefaultTimeout(PATIENCE);
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
  /** Milliseconds for which a main thread has been running so far, without those for which it waited for its turn. */
  const ran = async (id: number): Promise<number> => {
    const stat = await readFile(`/proc/${String(id)}/task/${String(id)}/schedstat`, 'utf8');
    return Number(stat.split(' ')[0]) / 1e6;
  };

  /** Scrolls, and gives what 95 of 100 frames do not exceed. */
  const scroll = async (ids: readonly number[]): Promise<number> => {
    const frames: number[] = [];
    for (let i = 0; i < FRAMES; i += 1) {
      const before = await Promise.all(ids.map(ran));
      // The second frame begins when the first was drawn, so what one costs is counted as a whole.
      await page.evaluate(`new Promise((resolve) => {
        const box = document.querySelector('.cells');
        box.scrollTop += 180;
        box.scrollLeft += ${i % 10 === 0 ? '100' : '0'};
        requestAnimationFrame(() => requestAnimationFrame(resolve));
      })`);
      const after = await Promise.all(ids.map(ran));
      frames.push(Math.max(...after.map((time, j) => time - (before[j] ?? 0))));
    }
    frames.sort((a, b) => a - b);
    return frames[Math.floor(FRAMES * 0.95)] ?? Infinity;
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
    'scrolls for less than 16 milliseconds of its main thread a frame, in 95 of 100 frames',
    async () => {
      await page.locator('.seal', { hasText: /sha256:/ }).waitFor();
      const ids = await pages();
      // Other programs only add to what frames cost: of some series the best is nearest to what they cost by themselves.
      // Where more runs than there are cores, they share caches too, and the same work takes more time of a core.
      const most = isBusy() ? 24 : 16;
      let best = Infinity;
      for (let series = 0; series < 3 && best >= most; series += 1) best = Math.min(best, await scroll(ids));
      expect(best).toBeLessThan(most);
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

/** Whether more runs than there are cores. */
function isBusy(): boolean {
  const [load = 0] = loadavg();
  return load > cpus().length;
}
