#!/usr/bin/env node
// The command line: argv to a verb to an exit status (design 5). Verbs register here and load what they need when they run;
// every failure of every verb is shown here, in one form.
import { realpathSync } from 'node:fs';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/index.js';
import { sqlStateOf } from '../db/failures.js';
import { registerCheck } from './commands/check.js';
import { registerCodes } from './commands/codes.js';
import { registerCompile } from './commands/compile.js';
import { registerDecide } from './commands/decide.js';
import { registerDiff } from './commands/diff.js';
import { registerExplain } from './commands/explain.js';
import { registerFmt } from './commands/fmt.js';
import { registerInit } from './commands/init.js';
import { registerInspect } from './commands/inspect.js';
import { registerKeygen } from './commands/keygen.js';
import { registerKeys } from './commands/keys.js';
import { registerLoad } from './commands/load.js';
import { registerLocal } from './commands/local.js';
import { registerMigrate } from './commands/migrate.js';
import { registerSchema } from './commands/schema.js';
import { registerServe } from './commands/serve.js';
import { registerSign } from './commands/sign.js';
import { registerTest } from './commands/test.js';
import { registerVerify } from './commands/verify.js';
import { registerVisible } from './commands/visible.js';
import { registerWhatCan } from './commands/what-can.js';
import { registerWhoCan } from './commands/who-can.js';
import { EXIT, EXIT_MEANINGS, type ExitStatus } from './exit-codes.js';
import { failedAnswer } from './failed-answer.js';
import { CliFailure } from './failure.js';
import { type CliIo, write, writeJson } from './io.js';
import { escapeText } from './render/escape.js';
import { programVersion } from './version.js';

/** Formats in which a command that fails altogether says so too. */
const REPORT_FORMATS: ReadonlySet<string> = new Set(['sarif', 'github', 'junit']);

const HELP = '`bailiwick help <verb>` shows its arguments, options and examples.';

type Register = (program: Command, io: CliIo) => void;

/** In the order of the help text. */
const VERBS: readonly Register[] = [
  registerInit,
  registerCheck,
  registerCompile,
  registerFmt,
  registerTest,
  registerDecide,
  registerExplain,
  registerWhoCan,
  registerWhatCan,
  registerVisible,
  registerDiff,
  registerInspect,
  registerVerify,
  registerKeygen,
  registerSign,
  registerCodes,
  registerSchema,
  registerServe,
  registerLocal,
  registerMigrate,
  registerLoad,
  registerKeys,
];

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

function makeProgram(io: CliIo): Command {
  const program = new Command('bailiwick')
    .description(
      'Policy as data, compiled into decision tables, and a gateway whose queries return only what the actor may see.',
    )
    .version(programVersion(), '--version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      // Errors are shown by showFailure, with what the user typed escaped.
      outputError: () => undefined,
    })
    // With their arguments in that list there would be no room for what they do, on 80 columns.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .helpCommand(false)
    .addHelpText('after', `\n${HELP}\n${statusTable()}`);
  for (const register of VERBS) register(program, io);
  registerHelp(program);
  return program;
}

function registerHelp(program: Command): void {
  program
    .command('help')
    .description('show the help of a verb')
    .argument('[verb...]')
    .action((verbs: readonly string[]) => {
      let command = program;
      for (const verb of verbs) {
        const found = command.commands.find((candidate) => candidate.name() === verb);
        if (found === undefined)
          throw new CliFailure(EXIT.usage, { code: 'cli.usage', message: `there is no verb \`${verb}\`` });
        command = found;
      }
      command.outputHelp();
    });
}

function statusTable(): string {
  return `\nExit status:\n${[...EXIT_MEANINGS].map(([status, meaning]) => `  ${String(status)}  ${meaning}`).join('\n')}`;
}

/** What is known of a command line that failed. */
interface Asked {
  readonly format: string;
  /** Whether anybody asked for it, or the verb prints it anyway. */
  readonly by: 'user' | 'default';
  /** Such as `keys create`; empty where it names none. */
  readonly verb: string;
}

/** Also where the command line could not be parsed. */
function askedOf(program: Command, argv: readonly string[]): Asked {
  const names: string[] = [];
  let command = program;
  for (const name of argv) {
    const found = command.commands.find((candidate) => candidate.name() === name);
    if (found === undefined) break;
    command = found;
    names.push(name);
  }
  const verb = names.join(' ');
  const option = command.options.find(({ long }) => long === '--format');
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
  if (format === 'json') await writeJson(io, failedAnswer(verb, { code, message, report }));
  // Who did not ask for JSON may be a person.
  if (format !== 'json' || by === 'default') {
    if (text !== undefined) await write(io.stderr, text.endsWith('\n') ? text : `${text}\n`);
    await write(io.stderr, `error: ${escapeText(message)}\n`);
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
async function toFailure(error: unknown, verb: string): Promise<CliFailure | 'shown'> {
  if (error instanceof CliFailure) return error;
  if (error instanceof CommanderError) return error.code === 'commander.help' ? 'shown' : usageFailure(error, verb);
  if (error instanceof ConfigError) {
    const text = error.faults.map((fault) => `${escapeText(fault.place)}: ${escapeText(fault.message)}`).join('\n');
    return new CliFailure(
      EXIT.usage,
      { code: 'config.invalid', message: error.message },
      { text, report: { faults: error.faults } },
    );
  }
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

/** Commander's message is `error: <what>` and perhaps a line `(Did you mean <name>?)`. */
function usageFailure(error: CommanderError, verb: string): CliFailure {
  const [what = '', suggestion] = error.message.replace(/^error: /, '').split(/\n(?=\(Did you mean [^\n]*\?\)$)/);
  const help =
    suggestion?.replace(/^\(Did you mean (.*)\?\)$/, 'did you mean `$1`?') ??
    `see \`bailiwick help${verb === '' ? '' : ` ${verb}`}\``;
  return new CliFailure(EXIT.usage, { code: 'cli.usage', message: what }, { help });
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
