// A real browser, if this machine has one: Debian's chromium, with a profile of its own that is deleted afterwards.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { makeFolder } from './temp-folder.js';

export const CHROMIUM = '/usr/bin/chromium';
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) process.stderr.write(`there is no ${CHROMIUM}: what a browser shows is not tested\n`);

export interface TestBrowser {
  readonly context: BrowserContext;
  readonly close: () => Promise<void>;
}

export async function openBrowser(): Promise<TestBrowser> {
  const profile = await makeFolder();
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: CHROMIUM_FLAGS,
  });
  return { context, close: () => context.close() };
}

/** Warnings, errors, and requests that are not the page's own, from now on. */
export function faultsOf(page: Page, isOwn: (url: string) => boolean): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    if (!/^(?:blob|data):/.test(request.url()) && !isOwn(request.url())) faults.push(`asked for ${request.url()}`);
  });
  return faults;
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe finds against WCAG 2.2 AA. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const found = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
  });
}
