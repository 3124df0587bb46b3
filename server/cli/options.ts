// Options that several verbs share, and how a verb is given its examples: one place, so that every help text reads alike.
import { type Command, Option } from 'commander';
import type { Instant } from '../../engine/index.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';

export type Format = 'text' | 'json';

const FORMATS: readonly Format[] = ['text', 'json'];

/** `--format text|json`. */
export function formatOption(): Option {
  return new Option('--format <format>', 'how results are printed').choices(FORMATS).default('text');
}

/** What `check` and `compile` can be read by: people, scripts, code scanning, GitHub Actions, test reports. */
export type ReportFormat = Format | 'sarif' | 'github' | 'junit';

export function reportFormatOption(): Option {
  const formats: readonly ReportFormat[] = [...FORMATS, 'sarif', 'github', 'junit'];
  return new Option('--format <format>', 'how results are printed').choices(formats).default('text');
}

/** The instant that `--at` names, or the present one, taken once for the whole run. */
export async function instantOption(text: string | undefined): Promise<Instant> {
  const { instantOf, parseInstant } = await import('../../engine/index.js');
  const at = text === undefined ? instantOf(Date.now()) : parseInstant(text);
  if (at !== null) return at;
  const meant = `${text ?? ''}T00:00:00Z`;
  throw new CliFailure(
    EXIT.usage,
    {
      code: 'cli.usage',
      message: '`--at` must be an RFC 3339 instant with offset, such as `2027-01-01T00:00:00Z`',
    },
    parseInstant(meant) === null ? {} : { help: `did you mean \`${meant}\`?` },
  );
}

/** The heading in help under which required options stand; all that are missing are refused at once. */
export const REQUIRED = 'Required options:';

/** An option without which the verb does nothing. */
export function requiredOption(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup(REQUIRED);
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
