#!/usr/bin/env node
// The command line: argv to a verb to an exit status. A verb is loaded when it is named, and loads what it needs when it runs.
import { realpathSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { CommanderError } from 'commander';
import { isDiskStuck } from '../lib/stuck-disk.js';
import { EXIT, type ExitStatus } from './exit.js';
import type { CliIo } from './io.js';
import { makeProgram } from './program.js';

type GivenIo = Omit<CliIo, 'setStatus' | 'loadFailures'>;

/** Runs one command line (without `node` and the script) and says how the process should end. */
export async function main(argv: readonly string[], io: GivenIo): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.ok;
  const full: CliIo = {
    ...io,
    setStatus: (next) => {
      status = next;
    },
    loadFailures,
  };
  try {
    const program = await makeProgram(full, argv);
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    // Help and version end in this way too.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    return await fail(error, full, argv);
  }
}

/** Node finds what this module has loaded before, though its file is gone. */
async function loadFailures(): Promise<void> {
  await import('./show-failure.js');
}

async function fail(error: unknown, io: CliIo, argv: readonly string[]): Promise<ExitStatus> {
  const shown = await import('./show-failure.js').catch(() => null);
  if (shown !== null) return await shown.showFailure(error, io, argv);
  // Another version was installed in place of the one that runs.
  io.stderr.write(`error: ${String(error)}\n`);
  return EXIT.unexpected;
}

/** Runs as the program `bailiwick`. */
async function run(): Promise<void> {
  const { stdin, stdout, stderr, env } = process;
  // `DEBUG` makes libraries log to stderr, including statements and their values. It is removed before any of them is
  // loaded.
  Reflect.deleteProperty(env, 'DEBUG');
  // The embedded store's engine is WebAssembly. Each thread that helps to compile it takes memory of its own, 30 MB in
  // total, and saves no time on few cores.
  setFlagsFromString('--wasm-num-compilation-tasks=1');
  // Most of the engine's functions are never called: each is validated when it is compiled, at its first call.
  setFlagsFromString('--wasm-lazy-validation');
  // A reader that goes away is not a failure: later output goes nowhere, and streaming verbs stop.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // Reported on stderr in every format: a report on stdout would fail as well, forever.
    stderr.write(`error: the output cannot be written (${error.code ?? 'unknown reason'})\n`);
    process.exit(EXIT.usage);
  });
  // A message that cannot be written does not change the result.
  stderr.on('error', () => undefined);
  const isTerminal = { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) };
  const argv = process.argv.slice(2);
  const io = { stdin, stdout, stderr, env, cwd: '/', isTerminal };
  const silent: CliIo = { ...io, setStatus: () => undefined, loadFailures };
  // Errors that nobody awaited are reported like all others.
  process.on('uncaughtException', (error) => {
    fail(error, silent, argv).then(
      (status) => process.exit(status),
      () => process.exit(EXIT.unexpected),
    );
  });
  try {
    process.exitCode = await main(argv, { ...io, cwd: process.cwd() });
  } catch (error) {
    process.exitCode = await fail(error, silent, argv);
  }
  if (!isDiskStuck()) return;
  stderr.write('warning: a disk does not answer, so this process ends itself with SIGKILL\n');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_WORDS);
}

/** Milliseconds in which what was said last is still printed. */
const LAST_WORDS = 500;

function isEntry(): boolean {
  const script = process.argv[1];
  if (script === undefined) return false;
  try {
    return realpathSync(script) === fileURLToPath(import.meta.url);
  } catch {
    return false;
  }
}

if (isEntry()) await run();
