// Runs the command line: usually inside the test, which is fast, or as a child process, as a user would, if the process
// itself is tested.
import { spawn } from 'node:child_process';
import { main } from '../../server/cli/main.js';
import { makeIo } from './cli-io.js';
import { fromRoot } from './root.js';

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

export const CLI = fromRoot('dist/server/bin/bailiwick.js');

/**
 * Flags of Node.js for a process that ends soon: optimizing the embedded store's engine would take it longer than what is
 * gained, and so would optimizing what is not run often.
 */
export const BRIEF = ['--wasm-lazy-validation', '--wasm-tiering-budget=100000000', '--interrupt-budget=1000000'];

/** Settings of the test's own environment do not reach it. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const made = makeIo({ env: { ...inherited(), ...options.env }, cwd: options.cwd, stdin: options.stdin });
  const status = await main(args, made.io);
  return { status, stdout: made.stdout(), stderr: made.stderr() };
}

/** The same as a process of its own; ends when that does. */
export function spawnCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const env = { ...inherited(), ...options.env };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...BRIEF, CLI, ...args], { cwd: options.cwd, env });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', reject);
    child.on('close', (status) => {
      resolve({ status, stdout: Buffer.concat(out).toString('utf8'), stderr: Buffer.concat(err).toString('utf8') });
    });
    // A child that ends without reading is no failure of the test.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
  });
}

function inherited(): Readonly<Record<string, string>> {
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}
