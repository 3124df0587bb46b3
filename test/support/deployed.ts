// What the tests of deploy/ read: its files, their settings as the program reads them, and what the image sets.
import { expect } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declaredAdminRoutes } from './api-description.js';
import { fromRoot } from './root.js';
import { runCli } from './run-cli.js';
import { makeFolder } from './temp-folder.js';

/** A file of deploy/. */
export const readDeployed = (path: string): string => readFileSync(fromRoot(`deploy/${path}`), 'utf8');

/** Seconds for the store, as docs/serving.md has it, behind notice and deadline. */
const STORE_SECONDS = 20;

/** Without a failure, and with the settings that it has. */
export async function checkedSettings(text: string): Promise<ReadonlyMap<string, unknown>> {
  const folder = await makeFolder();
  const path = join(folder, 'bailiwick.yaml');
  writeFileSync(path, text);
  return settingsBy({ BAILIWICK_CONFIG: path });
}

/** The same of these variables. */
export async function settingsBy(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, unknown>> {
  const { status, stdout, stderr } = await runCli(['config', 'check', '--format', 'json'], { env });
  expect([status, stderr]).toEqual([0, '']);
  const { settings } = JSON.parse(stdout) as {
    readonly settings: readonly { readonly key: string; readonly value: unknown }[];
  };
  return new Map(settings.map(({ key, value }) => [key, value]));
}

/** Until a gateway with these settings has ended. */
export function secondsToStop(settings: ReadonlyMap<string, unknown>): number {
  const [notice, deadline] = ['shutdown.notice', 'shutdown.deadline'].map((key) => {
    const value = settings.get(key);
    const [, count = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(typeof value === 'string' ? value : '0s') ?? [];
    return Number(count) * ({ ms: 0.001, s: 1, m: 60 }[unit] ?? NaN);
  });
  return (notice ?? NaN) + (deadline ?? NaN) + STORE_SECONDS;
}

/** Of the admin listener, without a credential. */
export const HEALTH = declaredAdminRoutes()
  .filter(({ access }) => access === 'health')
  .map(({ path }) => path);

/** The steps of the Containerfile, those of the image that it makes, and the variables of that. */
export const STEPS = readDeployed('container/Containerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line));
export const IMAGE = STEPS.slice(STEPS.findLastIndex((line) => line.startsWith('FROM ')));
export const IMAGE_ENV: ReadonlyMap<string, string> = new Map(
  [...(IMAGE.find((line) => line.startsWith('ENV ')) ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);
