// The console in a narrow window, as a phone has it, or a screen of 1,280 pixels at 400 %: nothing makes the page scroll
// sideways, and nothing is cut off (WCAG 2.2, 1.4.4, 1.4.10, 2.5.8).
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { main } from '../../server/cli/main.js';
import { hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { makeIo } from '../support/cli-io.js';
import { type ConsoleGateway, openConsoleGateway } from '../support/console-gateway.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const SHOTS = process.env['BAILIWICK_SHOTS'];

(hasBrowser ? describe : describe.skip).each([320, 640])('in a window of %i pixels', (width) => {
  let gateway: ConsoleGateway;
  let browser: TestBrowser;
  let page: Page;

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([openConsoleGateway(), openBrowser()]);
    page = await browser.context.newPage();
    await page.setViewportSize({ width, height: 800 });
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    gateway.served.child.kill('SIGKILL');
  });

  it('each tab of the console fits', async () => {
    const { found, look } = lookFor('console');
    await page.goto(`${gateway.url}/console`);
    await look('sign in');
    await page.getByLabel('Admin key').fill(gateway.adminKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What runs' }).waitFor();
    await look('What runs');
    await tab('Snapshots');
    await page.locator('input[type=file]').setInputFiles(gateway.files.changed);
    await page.getByText('24 cells gained').first().waitFor();
    await look('candidate');
    await ask();
    await look('Why');
    await tab('Who and where');
    await page.locator('.matrix .across .head').first().waitFor();
    await look('Who and where');
    await tab('Keys');
    await page.getByRole('heading', { name: 'A new key' }).waitFor();
    await look('Keys');
    await tab('Log');
    await page.getByRole('button', { name: 'Verify the log' }).waitFor();
    await look('Log');
    expect(found).toEqual([]);
  }, 120_000);

  it('the playground and a report fit', async () => {
    const { found, look } = lookFor('playground');
    const folder = await makeFolder();
    await cp(fromRoot('policies'), join(folder, 'policies'), { recursive: true });
    const { io } = makeIo({ cwd: folder });
    expect(await main(['playground', 'policies', '-o', 'playground.html'], io)).toBe(0);
    const compared = makeIo({ cwd: folder });
    await main(['diff', gateway.files.running, gateway.files.changed, '--format', 'html'], compared.io);
    await writeFile(join(folder, 'report.html'), compared.stdout());
    for (const name of ['playground', 'report']) {
      await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
      await page.locator('.matrix .across .head').first().waitFor();
      await look(name);
    }
    await page.goto(pathToFileURL(join(folder, 'playground.html')).href);
    await ask();
    await look('Why');
    expect(found).toEqual([]);
  }, 120_000);

  const tab = (name: string): Promise<void> => page.getByRole('tab', { name, exact: true }).click();

  /** Asks about one person, and why that person is refused. */
  async function ask(): Promise<void> {
    await tab('One person');
    await page.getByLabel('Person or identity').fill('badge:b-11240');
    await page.keyboard.press('Tab');
    await page.locator('.icicle').waitFor();
    expect(await misfits()).toEqual([]);
    await shot('one-person');
    await tab('Why');
    await page.getByLabel('May', { exact: true }).fill('badge:b-10210');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    await page.keyboard.press('Tab');
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
  }

  function lookFor(what: string): { readonly found: string[]; readonly look: (name: string) => Promise<void> } {
    const found: string[] = [];
    const look = async (name: string): Promise<void> => {
      found.push(...(await misfits()).map((fault) => `${name}: ${fault}`));
      await shot(`${what}-${name.replaceAll(' ', '-').toLowerCase()}`);
    };
    return { found, look };
  }

  async function shot(name: string): Promise<void> {
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}-${String(width)}.png`, fullPage: true });
  }

  /** What makes the page scroll sideways, what is cut off, and what is too small to be hit. */
  async function misfits(): Promise<readonly string[]> {
    return page.evaluate(() => {
      const { document, innerWidth, getComputedStyle } = globalThis as unknown as {
        document: { documentElement: Box; querySelectorAll: (selector: string) => Iterable<Box> };
        innerWidth: number;
        getComputedStyle: (box: Box) => Record<string, string>;
      };
      interface Box {
        readonly tagName: string;
        readonly textContent: string;
        readonly scrollWidth: number;
        readonly clientWidth: number;
        closest(selector: string): Box | null;
        matches(selector: string): boolean;
        getBoundingClientRect(): { left: number; right: number; width: number; height: number };
      }
      const nameOf = ({ tagName, textContent }: Box): string =>
        `${tagName.toLowerCase()} ${JSON.stringify(textContent.slice(0, 40))}`;
      const faults: string[] = [];
      const { scrollWidth } = document.documentElement;
      if (scrollWidth > innerWidth) faults.push(`the page is ${String(scrollWidth)} wide`);
      for (const box of document.querySelectorAll('body *')) {
        const { left, right, width, height } = box.getBoundingClientRect();
        // Tables, fields and pictures scroll by themselves. The link that skips the tabs shows when it has the focus.
        if (width === 0 || box.closest('.cells, .icicle, table, input, .skip') !== null) continue;
        if (right > innerWidth + 1 || left < -1) faults.push(`outside: ${nameOf(box)} to ${String(right)}`);
        const target = box.closest('label') === null ? { width, height } : { width: Infinity, height };
        if (box.matches('button, select, input, summary') && (target.width < 24 || target.height < 24))
          faults.push(`small: ${nameOf(box)} of ${String(width)} to ${String(height)}`);
        const hides = /hidden|clip/.test(getComputedStyle(box)['overflowX'] ?? '');
        if (hides && box.scrollWidth > box.clientWidth + 1) faults.push(`cut off: ${nameOf(box)}`);
      }
      return faults.slice(0, 12);
    });
  }
});
