// The pages in windows of a phone, of half a screen, and of a whole one. 320 pixels are also what a screen of 1,280 has at 400 %, and
// 640 what it has at 200 %. Nothing makes a page scroll sideways, nothing is cut off, and nothing is too small to be hit (WCAG 2.2,
// 1.4.4, 1.4.10, 2.5.8).
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

/** A folder for pictures of every view, if somebody wants to look at them. */
const SHOTS = process.env['BAILIWICK_SHOTS'];
const [NARROW, ...WIDER] = [320, 640, 1280] as const;
const HEIGHT = 800;

(hasBrowser ? describe : describe.skip)('in a window of 320, 640 and 1,280 pixels', () => {
  let gateway: ConsoleGateway;
  let browser: TestBrowser;
  let page: Page;
  let found: string[];

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([openConsoleGateway(), openBrowser()]);
    page = await browser.context.newPage();
    page.setDefaultTimeout(30_000);
    await page.setViewportSize({ width: NARROW, height: HEIGHT });
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    gateway.served.child.kill('SIGKILL');
  });

  it('each tab of the console fits', async () => {
    found = [];
    await page.goto(`${gateway.url}/console`);
    await look('console, signing in');
    await page.getByLabel('Admin key').fill(gateway.adminKey);
    await page.keyboard.press('Enter');
    await heading('What runs');
    await page.locator('.facts dt').first().waitFor();
    await look('console, What runs');
    await tab('Snapshots');
    await page.locator('td', { hasText: gateway.digests.running }).waitFor();
    await look('console, Snapshots');
    await page.locator('input[type=file]').setInputFiles(gateway.files.changed);
    await page.getByText('24 cells gained').first().waitFor();
    await look('console, What changed');
    await ask('console');
    await page.getByLabel('Open the folder of the policy').setInputFiles(fromRoot('policies'));
    await page.getByRole('button', { name: 'Apply: add badge:b-10210 to role `amx-leads`' }).click();
    await page.getByRole('region', { name: 'Your edits' }).getByText('cells gained').waitFor();
    await look('console, Why with a folder');
    await tab('Who and where');
    await page.locator('.matrix .across .head').first().waitFor();
    await look('console, Who and where');
    await tab('Keys');
    await page.getByLabel('Name in the log').fill('ci');
    await page.getByLabel('Identities').fill('badge:b-11240');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await heading('The new key');
    await look('console, Keys');
    await tab('Log');
    await page
      .getByRole('button', { name: /^Show event/ })
      .first()
      .click();
    await page.locator('.detail summary').click();
    await look('console, Log');
    expect(found).toEqual([]);
  }, 120_000);

  it('the playground and a report fit', async () => {
    found = [];
    const folder = await makeFolder();
    await cp(fromRoot('policies'), join(folder, 'policies'), { recursive: true });
    const { io } = makeIo({ cwd: folder });
    expect(await main(['playground', 'policies', '-o', 'playground.html'], io)).toBe(0);
    const compared = makeIo({ cwd: folder });
    await main(['diff', gateway.files.running, gateway.files.changed, '--format', 'html'], compared.io);
    await writeFile(join(folder, 'report.html'), compared.stdout());
    for (const name of ['report', 'playground']) {
      await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
      await page.locator('.matrix .across .head').first().waitFor();
      await look(name);
    }
    await ask('playground');
    await tab('Requests');
    await page.getByRole('row', { name: /^r1 / }).waitFor();
    await look('playground, Requests');
    await tab('Tests and guardrails');
    await heading('Guardrails: 7 hold');
    await look('playground, Tests and guardrails');
    expect(found).toEqual([]);
  }, 120_000);

  it('the pages of the API fit, and begin with what they are', async () => {
    found = [];
    for (const path of ['/docs', '/docs/problems']) {
      await page.goto(`${String(gateway.served.ready['url'])}${path}`);
      expect((await page.locator('h1').boundingBox())?.y).toBeLessThan(100);
      await look(path.slice(1).replace('/', ', '));
    }
    expect(found).toEqual([]);
  }, 60_000);

  const tab = (name: string): Promise<void> => page.getByRole('tab', { name, exact: true }).click();
  const heading = (name: string): Promise<void> => page.getByRole('heading', { name }).first().waitFor();

  /** Asks about one person, and why another is refused. */
  async function ask(what: string): Promise<void> {
    await tab('One person');
    await page.getByLabel('Person or identity').waitFor();
    await look(`${what}, nobody`);
    await page.getByLabel('Person or identity').fill('badge:b-11240');
    await page.keyboard.press('Tab');
    await page.locator('.icicle').waitFor();
    await look(`${what}, One person`);
    await tab('Why');
    await page.getByLabel('May', { exact: true }).fill('badge:b-10210');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    await page.keyboard.press('Tab');
    await heading('Edits that would allow it');
    await look(`${what}, Why`);
  }

  async function look(name: string): Promise<void> {
    for (const width of [...WIDER, NARROW]) {
      await page.setViewportSize({ width, height: HEIGHT });
      found.push(...(await misfits()).map((fault) => `${name}, ${String(width)}: ${fault}`));
      if (SHOTS === undefined) continue;
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        const file = `${name.replaceAll(/\W+/g, '-').toLowerCase()}-${String(width)}-${colorScheme}.png`;
        await page.screenshot({ path: join(SHOTS, file), fullPage: !name.startsWith('docs') });
      }
    }
  }

  /** What makes the page scroll sideways, what is cut off, and what is too small to be hit. */
  async function misfits(): Promise<readonly string[]> {
    return page.evaluate(() => {
      const { document, innerWidth, getComputedStyle, OffscreenCanvas } = globalThis as unknown as Window;
      interface Window {
        readonly document: { documentElement: Box; querySelectorAll: (selector: string) => Iterable<Box> };
        readonly innerWidth: number;
        readonly getComputedStyle: (box: Box) => Record<string, string>;
        readonly OffscreenCanvas: new (width: number, height: number) => { getContext: (kind: '2d') => Pen };
      }
      interface Pen {
        font: string;
        measureText(text: string): { readonly width: number };
      }
      interface Box {
        readonly tagName: string;
        readonly textContent: string;
        readonly placeholder?: string;
        readonly scrollWidth: number;
        readonly clientWidth: number;
        closest(selector: string): Box | null;
        matches(selector: string): boolean;
        getBoundingClientRect(): { left: number; right: number; width: number; height: number };
      }
      const pen = new OffscreenCanvas(1, 1).getContext('2d');
      const nameOf = ({ tagName, textContent, placeholder = '' }: Box): string =>
        `${tagName.toLowerCase()} ${JSON.stringify((textContent + placeholder).slice(0, 40))}`;
      const faults: string[] = [];
      const { scrollWidth } = document.documentElement;
      if (scrollWidth > innerWidth) faults.push(`the page is ${String(scrollWidth)} wide`);
      for (const box of document.querySelectorAll('body *')) {
        const { left, right, width, height } = box.getBoundingClientRect();
        // Tables, pictures, patches and the editor scroll by themselves. What chooses a file is seen as its label, and the link that
        // skips the tabs when it has the focus.
        const apart = '.cells, .icicle, .scrolled-table, .editor, .patch, .open input, .skip, .unseen';
        if (width === 0 || box.closest(apart) !== null) continue;
        if (right > innerWidth + 1 || left < -1) faults.push(`outside: ${nameOf(box)} to ${String(right)}`);
        const target = box.closest('label') === null ? { width, height } : { width: Infinity, height };
        if (box.matches('button, select, input, summary, nav li a') && (target.width < 24 || target.height < 24))
          faults.push(`small: ${nameOf(box)} of ${String(width)} to ${String(height)}`);
        const style = getComputedStyle(box);
        if (style['overflowX'] !== 'visible' && box.scrollWidth > box.clientWidth + 1)
          faults.push(`cut off: ${nameOf(box)}`);
        if (box.placeholder === undefined) continue;
        pen.font = style['font'] ?? '';
        const room = box.clientWidth - parseFloat(style['paddingLeft'] ?? '') - parseFloat(style['paddingRight'] ?? '');
        if (pen.measureText(box.placeholder).width > room) faults.push(`hint: ${nameOf(box)}`);
      }
      return faults.slice(0, 12);
    });
  }
});
