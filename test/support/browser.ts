// A real browser, if this machine has one: Debian's chromium, with a profile of its own that is deleted afterwards.
import { existsSync } from 'node:fs';
import { type BrowserContext, chromium } from 'playwright-core';
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
