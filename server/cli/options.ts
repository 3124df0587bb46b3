// Options that several verbs share, and how a verb is given its examples: one place, so that every help text reads alike.
import { type Command, Option } from 'commander';
import type { LintCode, LintLevel } from '../../engine/compiler.js';
import type { Instant } from '../../engine/index.js';
import {
  type Config,
  ConfigError,
  type ConfigFault,
  configFaultsText,
  flagOf,
  loadConfig,
  parseDuration,
  type SettingFlags,
  type SettingName,
} from '../config/index.js';
import type { CheckReport, LintRequest } from '../policy/open/check-policy.js';
import { CliFailure, EXIT, meantOr, usage } from './exit.js';
import type { CliIo } from './io.js';
import { escapeText } from './render/escape.js';
import type { Locator } from './render/problems.js';

export type Format = 'text' | 'json';

const FORMATS: readonly Format[] = ['text', 'json'];

/** `--format text|json`, and more that a verb has, with a note on what they are. */
export function formatOption(more: readonly string[] = [], note = ''): Option {
  return new Option('--format <format>', `how results are printed${note}`)
    .choices([...FORMATS, ...more])
    .default('text');
}

interface Reporter {
  readonly renderReport: (report: CheckReport, locator: Locator) => string;
  /** Of a command that failed before there was anything to report. */
  readonly renderFailure: (failure: CliFailure) => string;
}

/** The formats that other programs read as a report: code scanning, GitHub Actions, test reports. */
export const REPORTERS = {
  sarif: () => import('./render/sarif.js'),
  github: () => import('./render/github.js'),
  junit: () => import('./render/junit.js'),
} satisfies Readonly<Record<string, () => Promise<Reporter>>>;

export type ReportFormat = Format | keyof typeof REPORTERS;

export function reportFormatOption(): Option {
  return formatOption(Object.keys(REPORTERS));
}

/** The instant that `--at` or another flag names, or the present one, taken once for the whole run. */
export async function instantOption(text: string | undefined, flag = '--at'): Promise<Instant> {
  const { instantOf, parseInstant } = await import('../../engine/index.js');
  const at = text === undefined ? instantOf(Date.now()) : parseInstant(text);
  if (at !== null) return at;
  const meant = `${text ?? ''}T00:00:00Z`;
  throw usage(
    `\`${flag}\` must be an RFC 3339 instant with offset, such as \`2027-01-01T00:00:00Z\``,
    parseInstant(meant) === null ? undefined : `did you mean \`${meant}\`?`,
  );
}

/**
 * What a verb demands of its options beyond their values. commander reports one mistake at a time; program.ts reports
 * all at once.
 */
export class RuledOption extends Option {
  /** Whether the verb needs the option. Names mean that one of the options with these names can replace it. */
  needed: 'always' | 'never' | { readonly unless: readonly string[] } = 'never';
  /** Options that it excludes, by commander's names. */
  excludes: readonly string[] = [];

  excluding(...names: readonly string[]): this {
    this.excludes = names;
    return this;
  }
}

/** An option that the verb needs, always or unless one of others is given. */
export function requiredOption(flags: string, description: string, ...unless: readonly string[]): RuledOption {
  const option = new RuledOption(flags, description).helpGroup('Required options:');
  option.needed = unless.length === 0 ? 'always' : { unless };
  return option;
}

/** For flags that may be repeated. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** `[what it does, the command line]` pairs under the help of a verb. */
export function withExamples(command: Command, examples: readonly (readonly [string, string])[]): Command {
  const lines = examples.map(([what, line]) => `  # ${what}\n  $ ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** The object that `--format json` prints, in lines under the help of a verb. */
export function withJson(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nWith --format json:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Adds the flags of settings; `configOf` reads them together with environment and file. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flags, description } = flagOf(name);
    command.addOption(new Option(flags, description));
  }
  return command;
}

/** The settings that say where the store is. */
export const STORE_SETTINGS = ['config', 'dataDir', 'databaseUrl'] as const satisfies readonly SettingName[];

export function withStore(command: Command): Command {
  return withSettings(command, STORE_SETTINGS);
}

/** The configuration that a command runs with. Throws `CliFailure` with every fault. */
export async function configOf(io: CliIo, flags: SettingFlags): Promise<Config> {
  try {
    return await loadConfig({ flags, env: io.env, cwd: io.cwd });
  } catch (error) {
    throw error instanceof ConfigError ? configFailure(error.faults) : error;
  }
}

/** All settings that cannot be used, each with its place. */
export function configFailure(faults: readonly ConfigFault[]): CliFailure {
  const text = faults.map((one) => `  ${escapeText(lineOfFault(one))}`).join('\n');
  return new CliFailure(EXIT.usage, 'config.invalid', configFaultsText(faults), { text, report: { faults } });
}

export function lineOfFault({ place, message, fix }: ConfigFault): string {
  return `${place}: ${message}${fix === undefined ? '' : `; ${fix}`}`;
}

/** The flags for lint of `check` and `compile`. */
export interface LintFlags {
  readonly strict?: true;
  readonly level?: readonly string[];
  readonly at?: string;
  readonly soon?: string;
}

const LEVELS: readonly LintLevel[] = ['off', 'info', 'warning', 'error'];
const SOON = '30d';

/** Which time applies without `--at`: `check` takes the present, `compile` never looks at the clock. */
export type LintClock = 'now' | 'none';

export function withLint(command: Command, clock: LintClock): Command {
  const [at, from, more] =
    clock === 'now'
      ? ['--at or now', ' (default: now)', '; if given, text and JSON also show the calendar of that time']
      : ['--at', ' (default: no such warnings)', ''];
  return command
    .option('--strict', 'treat warnings as errors, except those that depend on the clock')
    .option('--level <code=level>', 'severity of a lint rule: off, info, warning or error; may be repeated', collect)
    .option('--at <instant>', `warn about grants that have expired by then, as RFC 3339${from}`)
    .option(
      '--soon <duration>',
      `also warn about grants that expire within this time from ${at} (default: ${SOON})${more}`,
    );
}

export async function lintRequest(flags: LintFlags, clock: LintClock): Promise<LintRequest> {
  const { at, soon } = flags;
  if (clock === 'none' && at === undefined && soon !== undefined)
    throw usage('`--soon` needs `--at` here, because compiling never depends on the clock');
  const levels = new Map<LintCode, LintLevel>();
  for (const text of flags.level ?? []) levels.set(...(await parseLevel(text)));
  return {
    at: at === undefined && clock === 'none' ? null : await instantOption(at),
    soonMilliseconds: parseSoon(soon ?? SOON),
    levels,
    failOn: flags.strict === true ? 'warnings' : 'errors',
  };
}

async function parseLevel(text: string): Promise<readonly [LintCode, LintLevel]> {
  const [{ CLOCK_RULES, isLintCode, LINT_CODES }, { nearest }] = await Promise.all([
    import('../../engine/compiler.js'),
    import('../../engine/index.js'),
  ]);
  const cut = text.lastIndexOf('=');
  const [code, word] = [text.slice(0, Math.max(cut, 0)), text.slice(cut + 1)];
  const level = LEVELS.find((known) => known === word);
  if (cut < 0 || level === undefined)
    throw usage(`\`--level ${text}\` must be a rule, \`=\`, and one of ${LEVELS.join(', ')}`);
  if (!isLintCode(code)) {
    throw usage(`\`${code}\` is not a lint rule`, meantOr(nearest(code, LINT_CODES), 'see `bailiwick codes`'));
  }
  if (level === 'error' && CLOCK_RULES.has(code))
    throw usage(`\`${code}\` depends on the clock, so it never makes a policy invalid`);
  return [code, level];
}

function parseSoon(text: string): number {
  const duration = parseDuration(text);
  if (!duration.ok) throw usage(`\`--soon\` ${duration.message}`);
  return duration.value;
}
