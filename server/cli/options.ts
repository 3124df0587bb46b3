// Options that several verbs share, and what their values mean: one place, so that every verb reads them alike.
import type { LintCode, LintLevel } from '../../engine/compiler.js';
import { type Instant, instantOf, nearest, parseInstant } from '../../engine/index.js';
import {
  type Config,
  ConfigError,
  type ConfigFault,
  configFaultsText,
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
import { type Given, repeated, type Rule, takes } from './verb.js';

export type Format = 'text' | 'json';

const FORMATS: readonly Format[] = ['text', 'json'];

/** `--format text|json`, and more that a verb has, with a note on what they are. */
export function formats<const M extends string = never>(
  more: readonly M[] = [],
  note = '',
): Readonly<Record<'--format <format>', Rule & { readonly choices: readonly (Format | M)[]; readonly usual: string }>> {
  const about = `how results are printed${note}`;
  return { '--format <format>': { about, choices: [...FORMATS, ...more], usual: 'text' } };
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

export const REPORT_FORMATS = formats(['sarif', 'github', 'junit']);

/** The instant that `--at` or another flag names, or the present one, taken once for the whole run. */
export function instantOption(text: string | undefined, flag = '--at'): Instant {
  const at = text === undefined ? instantOf(Date.now()) : parseInstant(text);
  if (at !== null) return at;
  const meant = `${text ?? ''}T00:00:00Z`;
  throw usage(
    `\`${flag}\` must be an RFC 3339 instant with offset, such as \`2027-01-01T00:00:00Z\``,
    parseInstant(meant) === null ? undefined : `did you mean \`${meant}\`?`,
  );
}

/** The settings that say where the store is. */
export const STORE_SETTINGS = ['config', 'dataDir', 'databaseUrl'] as const satisfies readonly SettingName[];

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

const LEVELS: readonly LintLevel[] = ['off', 'info', 'warning', 'error'];
export const SOON = '30d';

/** Which time applies without `--at`: `check` takes the present, `compile` never looks at the clock. */
export type LintClock = 'now' | 'none';

/** What `check` and `compile` take for lint, beside `--at` and `--soon`. */
export const LINT = takes({
  '--strict': 'treat warnings as errors, except those that depend on the clock',
  '--level <code=level>': repeated('severity of a lint rule: off, info, warning or error; may be repeated'),
});

type LintFlags = Given<typeof LINT> & { readonly at?: string; readonly soon?: string };

export async function lintRequest(flags: LintFlags, clock: LintClock): Promise<LintRequest> {
  const { at, soon } = flags;
  if (clock === 'none' && at === undefined && soon !== undefined)
    throw usage('`--soon` needs `--at` here, because compiling never depends on the clock');
  const levels = new Map<LintCode, LintLevel>();
  for (const text of flags.level ?? []) levels.set(...(await parseLevel(text)));
  return {
    at: at === undefined && clock === 'none' ? null : instantOption(at),
    soonMilliseconds: parseSoon(soon ?? SOON),
    levels,
    failOn: flags.strict === true ? 'warnings' : 'errors',
  };
}

async function parseLevel(text: string): Promise<readonly [LintCode, LintLevel]> {
  const { CLOCK_RULES, isLintCode, LINT_CODES } = await import('../../engine/compiler.js');
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
