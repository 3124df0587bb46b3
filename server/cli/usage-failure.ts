// Wrong usage in our own words: what commander found, told as every other failure is.
import type { Command, CommanderError } from 'commander';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';

/** `command` is the verb as far as one was named, `path` its name. */
export async function usageFailure(
  { code, message }: CommanderError,
  { command, path }: { readonly command: Command; readonly path: string },
): Promise<CliFailure> {
  const [first = '', second = ''] = [...message.matchAll(/'((?:[^'\\]|\\.)*)'/gs)].map(([, text = '']) => text);
  const see = `see \`bailiwick help${path === '' ? '' : ` ${path}`}\``;
  const meant = (names: readonly string[]): Promise<string> => suggestion(first, names, see);
  switch (code) {
    case 'commander.unknownCommand':
      return usage(`there is no verb \`${path === '' ? first : `${path} ${first}`}\``, await meant(verbsOf(command)));
    case 'commander.unknownOption':
      return usage(`there is no option \`${first}\``, await meant(optionsOf(command)));
    case 'commander.missingArgument':
      return usage(`\`<${first}>\` is missing`, see);
    case 'commander.optionMissingArgument':
      return usage(`\`${first}\` needs a value`, see);
    case 'commander.conflictingOption':
      return usage(`\`${first}\` cannot be used with \`${second}\``, see);
    case 'commander.excessArguments':
      return usage(`too many arguments: ${countsOf(message)}`, see);
    case 'commander.invalidArgument': {
      const choices = /Allowed choices are (.*)\.$/s.exec(message)?.[1];
      // Of an option the name comes first, of an argument the value.
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

function usage(message: string, help: string): CliFailure {
  return new CliFailure(EXIT.usage, { code: 'cli.usage', message }, { help });
}

const verbsOf = (command: Command): readonly string[] => command.commands.map((verb) => verb.name());

const optionsOf = (command: Command): readonly string[] => [
  '--help',
  ...command.options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long])),
];

/** The dashes are no part of a slip of the hand: with them, short names would all be alike. */
async function suggestion(typed: string, names: readonly string[], otherwise: string): Promise<string> {
  const { nearest } = await import('../../engine/compiler.js');
  const near = nearest(
    typed.replace(/^--/, ''),
    names.map((name) => name.replace(/^--/, '')),
  );
  return near === null ? otherwise : `did you mean \`${typed.startsWith('--') ? '--' : ''}${near}\`?`;
}

function countsOf(message: string): string {
  const [, expected = '', got = ''] = /Expected (\d+) arguments? but got (\d+)/.exec(message) ?? [];
  return `${got} instead of ${expected}`;
}
