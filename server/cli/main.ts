#!/usr/bin/env node
// The command line: argv to a verb to an exit status (design 5). Verbs register here and load what they need when they run;
// every failure of every verb is shown here, in one form.
import { realpathSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { type Command, CommanderError } from 'commander';
import { ConfigError } from '../config/index.js';
import { sqlStateOf } from '../db/failures.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { failedAnswer } from './failed-answer.js';
import { CliFailure, configFailure } from './failure.js';
import { type CliIo, write, writeJson } from './io.js';
import { escapeText } from './render/escape.js';
import { makeProgram, verbOf } from './program.js';
import { usageFailure } from './usage-failure.js';

/** Formats in which a command that fails altogether says so too. */
const REPORT_FORMATS: ReadonlySet<string> = new Set(['sarif', 'github', 'junit']);

/** Runs one command line (without `node` and the script) and says how the process should end. */
export async function main(argv: readonly string[], io: Omit<CliIo, 'setStatus'>): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.ok;
  const full: CliIo = {
    ...io,
    setStatus: (next) => {
      status = next;
    },
  };
  const program = makeProgram(full);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    return await showFailure(error, full, askedOf(program, argv));
  }
}

/** What is known of a command line that failed. */
interface Asked {
  readonly format: string;
  /** Whether anybody asked for it, or the verb prints it anyway. */
  readonly by: 'user' | 'default';
  readonly verb: ReturnType<typeof verbOf>;
}

/** Also where the command line could not be parsed. */
function askedOf(program: Command, argv: readonly string[]): Asked {
  const verb = verbOf(program, argv);
  const option = verb.command.options.find(({ long }) => long === '--format');
  const format = typedFormat(argv);
  if (format !== undefined) return { format, by: 'user', verb };
  const usual: unknown = option?.defaultValue;
  return { format: typeof usual === 'string' ? usual : 'text', by: 'default', verb };
}

function typedFormat(argv: readonly string[]): string | undefined {
  const end = argv.indexOf('--');
  const flags = end < 0 ? argv : argv.slice(0, end);
  const index = flags.findLastIndex((flag) => flag === '--format' || flag.startsWith('--format='));
  const flag = flags[index];
  return flag === '--format' ? flags[index + 1] : flag?.slice('--format='.length);
}

async function showFailure(error: unknown, io: CliIo, { format, by, verb }: Asked): Promise<ExitStatus> {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  const failure = await toFailure(error, verb);
  if (failure === 'shown') return EXIT.usage;
  const { text, help, report } = failure.detail;
  const { code, message } = failure;
  if (format === 'json') await writeJson(io, failedAnswer(verb.path, { code, message, report }));
  // Who did not ask for JSON may be a person.
  if (format !== 'json' || by === 'default') {
    await write(io.stderr, `error: ${escapeText(message)}\n`);
    if (text !== undefined) await write(io.stderr, text.endsWith('\n') ? text : `${text}\n`);
    if (help !== undefined) await write(io.stderr, `  help: ${escapeText(help)}\n`);
  }
  if (REPORT_FORMATS.has(format)) {
    const { renderFailureFor } = await import('./render/failure-formats.js');
    await write(io.stdout, renderFailureFor(format, { status: failure.status, code, message }) ?? '');
  }
  if (io.env['BAILIWICK_DEBUG'] !== undefined && !(error instanceof CommanderError))
    await write(io.stderr, stackOf(error));
  return failure.status;
}

/** `shown` is help that was asked for by saying nothing: it is on stderr already. */
async function toFailure(error: unknown, verb: Asked['verb']): Promise<CliFailure | 'shown'> {
  if (error instanceof CliFailure) return error;
  if (error instanceof CommanderError) return error.code === 'commander.help' ? 'shown' : usageFailure(error, verb);
  if (error instanceof ConfigError) return configFailure(error.faults);
  const { storeFailure } = await import('./open-store.js');
  const told = await storeFailure(error);
  if (told instanceof CliFailure) return told;
  return new CliFailure(
    EXIT.unexpected,
    {
      code: 'cli.unexpected',
      message: `unexpected failure: ${messageOf(error)}`,
    },
    {
      help: 'this is a bug of bailiwick: please report it with the command line and the output of the same command with BAILIWICK_DEBUG=1 set',
      cause: error,
    },
  );
}

/** The database's own words quote SQL and values, so they are said nowhere. */
function messageOf(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== null) return `the database refused a statement (SQLSTATE ${state})`;
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const places = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  const told = [`${error.name}: ${messageOf(error)}`, ...places].join('\n');
  return `${told}\n${error.cause === undefined ? '' : `caused by ${stackOf(error.cause)}`}`;
}

/** Runs as the program `bailiwick`. */
async function run(): Promise<void> {
  const { stdin, stdout, stderr, env } = process;
  // A reader that goes away is no failure: what is written after that goes nowhere, and streaming verbs stop.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    const message = `the output cannot be written (${error.code ?? 'unknown reason'})`;
    throw new CliFailure(EXIT.usage, { code: 'cli.unwritable', message }, { cause: error });
  });
  // Messages that nobody can be given change no result.
  stderr.on('error', () => undefined);
  const isTerminal = { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) };
  const argv = process.argv.slice(2);
  const io = { stdin, stdout, stderr, env, cwd: '/', isTerminal };
  const silent: CliIo = { ...io, setStatus: () => undefined };
  const fail = (error: unknown): Promise<ExitStatus> => showFailure(error, silent, askedOf(makeProgram(silent), argv));
  // What nobody awaited is told like everything else.
  process.on('uncaughtException', (error) => {
    fail(error).then(
      (status) => process.exit(status),
      () => process.exit(EXIT.unexpected),
    );
  });
  try {
    process.exitCode = await main(argv, { ...io, cwd: process.cwd() });
  } catch (error) {
    process.exitCode = await fail(error);
  }
}

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
