// The flags by which `check` and `compile` are told how to lint.
import type { Command } from 'commander';
import type { LintCode, LintLevel } from '../../engine/compiler.js';
import { parseDuration } from '../config/index.js';
import type { LintRequest } from '../policy/check-policy.js';
import { usage } from './failure.js';
import { collect, instantOption } from './options.js';

export interface LintFlags {
  readonly strict?: true;
  readonly level?: readonly string[];
  readonly at?: string;
  readonly soon?: string;
}

const LEVELS: readonly LintLevel[] = ['off', 'info', 'warning', 'error'];
const SOON = '30d';

/** Where a time comes from that no `--at` gives: `check` speaks of today, `compile` never looks at the clock. */
export type LintClock = 'now' | 'none';

export function withLint(command: Command, clock: LintClock): Command {
  const [at, from] = clock === 'now' ? ['--at or now', ' (now)'] : ['--at', ''];
  return command
    .option('--strict', 'warnings make the policy invalid too, except those that depend on the clock')
    .option('--level <code=level>', 'severity of a lint rule: off, info, warning or error; may be repeated', collect)
    .option('--at <instant>', `warn about grants that have expired by then, as RFC 3339${from}`)
    .option('--soon <duration>', `also warn about grants that expire within this time from ${at} (default: ${SOON})`);
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
  const { CLOCK_RULES, isLintCode, LINT_CODES, nearest } = await import('../../engine/compiler.js');
  const cut = text.lastIndexOf('=');
  const [code, word] = [text.slice(0, Math.max(cut, 0)), text.slice(cut + 1)];
  const level = LEVELS.find((known) => known === word);
  if (cut < 0 || level === undefined)
    throw usage(`\`--level ${text}\` must be a rule, \`=\`, and one of ${LEVELS.join(', ')}`);
  if (!isLintCode(code)) {
    const near = nearest(code, LINT_CODES);
    throw usage(
      `\`${code}\` is not a lint rule`,
      near === null ? 'see `bailiwick codes`' : `did you mean \`${near}\`?`,
    );
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
