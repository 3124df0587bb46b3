// How a failure of any verb is shown: in one style for people, with the verb's own fields in JSON, and as a report if a
// report was asked for. Mistakes that commander found are reported in our words.
import { type Command, CommanderError } from 'commander';
import { AuditError } from '../audit/audit-error.js';
import { sqlStateOf, toldText } from '../db/failures.js';
import { auditFailure, CliFailure, EXIT, type ExitStatus, usage } from './exit.js';
import { type CliIo, write, writeJson } from './io.js';
import { REPORTERS } from './options.js';
import { storeFailure } from './open-store.js';
import { PEER_VERBS } from './peer-verbs.js';
import { didYouMean, makeProgram, verbOf } from './program.js';
import { escapeText } from './render/escape.js';

/** What is known of a command line that failed. */
interface FailedCommand {
  readonly format: string;
  /** Whether the user chose the format, or it is the verb's default. */
  readonly by: 'user' | 'default';
  readonly verb: ReturnType<typeof verbOf>;
}

/** Works even if the command line could not be parsed. */
async function askedOf(io: CliIo, argv: readonly string[]): Promise<FailedCommand> {
  const verb = verbOf(await makeProgram(io, argv), argv);
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

/** Tells the user, in the format of the command line, and returns how the process ends. */
export async function showFailure(error: unknown, io: CliIo, argv: readonly string[]): Promise<ExitStatus> {
  const { format, by, verb } = await askedOf(io, argv);
  const failure = await toFailure(error, verb);
  if (failure === 'shown') return EXIT.usage;
  const { text, help } = failure.detail;
  const { message } = failure;
  if (format === 'json') await writeJson(io, failedAnswer(verb.path, failure));
  // A user who did not ask for JSON may be a person.
  if (format !== 'json' || by === 'default') {
    await write(io.stderr, `error: ${escapeText(message)}\n`);
    if (text !== undefined) await write(io.stderr, text.endsWith('\n') ? text : `${text}\n`);
    if (help !== undefined) await write(io.stderr, `  help: ${escapeText(help)}\n`);
  }
  const report = await reportOf(format, failure);
  if (report !== null) await write(io.stdout, report);
  if (io.env['BAILIWICK_DEBUG'] !== undefined && !(error instanceof CommanderError))
    await write(io.stderr, stackOf(error));
  return failure.status;
}

const NOTHING_CHECKED = {
  ok: false,
  policy: null,
  diagnostics: [],
  tests: { passed: 0, failed: 0, failures: [] },
  guardrails: { held: 0, violated: 0, violations: [], reliesOn: [] },
};

/**
 * Fields that the JSON object of a verb has even if the verb failed before it found anything out, so that a script
 * finds its fields on every path. Only what is true then: that nobody holds a scope would be an answer, so it is not
 * said here.
 */
const FIELDS: ReadonlyMap<string, object> = new Map<string, object>([
  ['check', NOTHING_CHECKED],
  ['compile', NOTHING_CHECKED],
  ['fmt', { ok: false, changed: [], unchanged: 0, diagnostics: [] }],
  ['test', { passed: 0, failed: 0, failures: [], results: [] }],
  ['verify', { ok: false, signatures: [] }],
  ['load', { ok: false }],
  ['import', { ok: false }],
  ['config check', { ok: false, file: null, settings: [], faults: [] }],
]);

function failedAnswer(verb: string, { code, message, detail }: CliFailure): object {
  return { ...FIELDS.get(verb), ...detail.report, error: { code, message } };
}

/** In formats that other programs read as a report, a failure is a report too. Null in other formats. */
async function reportOf(format: string, failure: CliFailure): Promise<string | null> {
  const isReport = (name: string): name is keyof typeof REPORTERS => Object.hasOwn(REPORTERS, name);
  return isReport(format) ? (await REPORTERS[format]()).renderFailure(failure) : null;
}

/** `shown` is help that was printed because nothing was given: it is on stderr already. */
async function toFailure(error: unknown, verb: FailedCommand['verb']): Promise<CliFailure | 'shown'> {
  if (error instanceof CliFailure) return error;
  if (error instanceof CommanderError) return error.code === 'commander.help' ? 'shown' : usageFailure(error, verb);
  if (error instanceof AuditError) return auditFailure(error);
  const told = await storeFailure(error);
  if (told instanceof CliFailure) return told;
  return new CliFailure(EXIT.unexpected, 'cli.unexpected', `unexpected failure: ${messageOf(error)}`, {
    help: 'this is a bug of bailiwick: please report it with the command line and the output of the same command with BAILIWICK_DEBUG=1 set',
    cause: error,
  });
}

/** Messages of the database that quote SQL or values are never shown. */
function messageOf(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== null) return `the database refused a statement (${toldText(state, error)})`;
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const places = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  const told = [`${error.name}: ${messageOf(error)}`, ...places].join('\n');
  return `${told}\n${error.cause === undefined ? '' : `caused by ${stackOf(error.cause)}`}`;
}

/** `command` is the verb as far as one was named, `path` its name. */
function usageFailure(
  { code, message }: CommanderError,
  { command, path }: { readonly command: Command; readonly path: string },
): CliFailure {
  const [first = '', second = ''] = [...message.matchAll(/'((?:[^'\\]|\\.)*)'/gs)].map(([, text = '']) => text);
  const see = `see \`bailiwick help${path === '' ? '' : ` ${path}`}\``;
  const meant = (names: readonly string[]): string => didYouMean(first, names, see);
  switch (code) {
    case 'commander.unknownCommand':
      if (path !== '') return usage(`there is no verb \`${path} ${first}\``, meant(verbsOf(command)));
      return usage(`there is no verb \`${first}\``, ourVerb(first) ?? meant(verbsOf(command)));
    case 'commander.unknownOption':
      return usage(`there is no option \`${first}\``, meant(optionsOf(command)));
    case 'commander.optionMissingArgument':
      return usage(`\`${first}\` needs a value`, see);
    case 'commander.excessArguments':
      return usage(`too many arguments: ${countsOf(message)}`, see);
    case 'commander.invalidArgument': {
      const choices = /Allowed choices are (.*)\.$/s.exec(message)?.[1];
      // For an option the name comes first, for an argument the value.
      const [name, value] = first.startsWith('-') ? [first, second] : [`<${second}>`, first];
      return usage(
        `\`${value}\` is not a value of \`${name}\``,
        choices === undefined ? see : `write one of ${choices}`,
      );
    }
    default:
      return usage(message.replace(/^error: /, ''), see);
  }
}

function ourVerb(typed: string): string | null {
  const verb = PEER_VERBS.get(typed);
  return verb === undefined ? null : `\`bailiwick ${verb}\` does that`;
}

const verbsOf = (command: Command): readonly string[] => command.commands.map((verb) => verb.name());

const optionsOf = (command: Command): readonly string[] => [
  '--help',
  ...command.options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long])),
];

function countsOf(message: string): string {
  const [, expected = '', got = ''] = /Expected (\d+) arguments? but got (\d+)/.exec(message) ?? [];
  return `${got} instead of ${expected}`;
}
