// Gateways as processes of their own, as operators start them. Those that still run at the end of a test file are
// killed.
import { afterAll } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { BRIEF, CLI } from './run-cli.js';

/** Of a gateway that serves for hours the last lines are kept. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;

const running: ChildProcess[] = [];

afterAll(() => {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
});

export interface Served {
  readonly child: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  readonly port: number;
  readonly ended: Promise<number | null>;
  readonly stderr: () => string;
}

/** Starts a gateway as its own process and waits until it says that it listens. Without a folder its arguments name the store. */
export function startServing(dataDir: string | null, ...args: ServeArgs): Promise<Served> {
  return start([], dataDir, args);
}

export type ServeArgs = readonly [verb: string, ...rest: string[]];

/** As `startServing`, with flags of Node.js, and a channel for what they load. */
export function startServingWith(flags: readonly string[], dataDir: string, ...args: ServeArgs): Promise<Served> {
  return start(flags, dataDir, args);
}

/** The whole command line: on a free port, and in JSON. */
export function argumentsOf(dataDir: string | null, [verb, ...rest]: ServeArgs): readonly string[] {
  return [
    verb,
    ...(dataDir === null ? [] : ['--data-dir', dataDir]),
    ...['--listen', '127.0.0.1:0'],
    ...(verb === 'serve' ? ['--admin-listen', 'none'] : []),
    ...['--format', 'json'],
    ...rest,
  ];
}

async function start(flags: readonly string[], dataDir: string | null, args: ServeArgs): Promise<Served> {
  const child = spawn(process.execPath, [...BRIEF, ...flags, CLI, ...argumentsOf(dataDir, args)], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe', ...(flags.length > 0 ? (['ipc'] as const) : [])],
  });
  running.push(child);
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new TypeError('a child without pipes');
  const ended = once(child, 'exit').then(([status]: (number | null)[]) => status ?? null);
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
    if (errors.length > 2 * KEPT_CHARACTERS) errors = errors.slice(-KEPT_CHARACTERS);
  });
  const line = await Promise.race([
    once(stdout, 'data').then(([chunk]: Buffer[]) => String(chunk)),
    ended.then((status) => Promise.reject(new Error(`ended with ${String(status)}: ${errors}`))),
  ]);
  const ready = JSON.parse(line) as Readonly<Record<string, unknown>>;
  if (typeof ready['url'] !== 'string') throw new Error(`it says ${line} and ${errors}`);
  return { child, ready, port: Number(new URL(ready['url']).port), ended, stderr: () => errors };
}
