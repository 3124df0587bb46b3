// Flags by the environment: `BAILIWICK_<FLAG>` where the command line says nothing (design 5), for every flag of every verb in
// this one place. Settings are not read here: they may stand in a file, too, and config.ts reads all three.
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { SETTINGS } from '../settings.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import type { Environment } from './io.js';

/**
 * By verb and flag, the flags without which it says nothing, and those beside which it may not stand. Typed, that is wrong
 * usage; but a variable is meant for all verbs, so there it is passed over.
 */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ['compile soon', 'at'],
  ['verify statement', 'keyring'],
  ['verify environment', 'keyring'],
  ['verify minimum-generation', 'keyring'],
  ['verify at', 'keyring'],
]);
const EXCLUDED: ReadonlyMap<string, string> = new Map([
  ['sign at', 'issued'],
  ['sign issued', 'at'],
  ['create scope', 'scopeNone'],
  ['create scope-none', 'scope'],
  ['create restrict', 'restrictNone'],
  ['create restrict-none', 'restrict'],
]);

/** The variable of a flag, such as `BAILIWICK_FORMAT` for `format`. */
export function variableOf(flag: string): string {
  return `BAILIWICK_${flag.replaceAll('-', '_').toUpperCase()}`;
}

/** Lets each command below `program` take from the environment what its command line leaves open. */
export function readEnvironment(program: Command, env: Environment): void {
  for (const command of program.commands) {
    const parseTyped = command.parseOptions.bind(command);
    command.parseOptions = (args) => {
      const parsed = parseTyped(args);
      // Who asks for help gets it, whatever the environment holds.
      if (!parsed.unknown.some((arg) => arg === '-h' || arg === '--help')) takeVariables(command, env);
      return parsed;
    };
    readEnvironment(command, env);
  }
}

function takeVariables(command: Command, env: Environment): void {
  for (const option of command.options) {
    const flag = option.name();
    const text = env[variableOf(flag)];
    if (text === undefined || Object.hasOwn(SETTINGS, option.attributeName())) continue;
    if (command.getOptionValueSource(option.attributeName()) === 'cli') continue;
    const isGiven = (name: string | undefined): boolean => command.getOptionValueSource(name ?? '') !== undefined;
    const key = `${command.name()} ${flag}`;
    if ((NEEDED.has(key) && !isGiven(NEEDED.get(key))) || isGiven(EXCLUDED.get(key))) continue;
    takeVariable(command, option, text);
  }
}

/** As if it had been typed; a flag without a value is given by `true` and `1`, and not given by `false` and `0`. */
function takeVariable(command: Command, option: Option, text: string): void {
  const name = option.attributeName();
  if (option.required || option.optional) {
    command.setOptionValueWithSource(name, readValue(option, text), 'env');
    return;
  }
  if (!/^(?:true|false|1|0)$/.test(text)) throw wrong(option, 'it must be `true` or `false`');
  if (text === 'true' || text === '1') command.setOptionValueWithSource(name, !option.negate, 'env');
}

function readValue(option: Option, text: string): unknown {
  try {
    return option.parseArg === undefined ? text : option.parseArg<unknown>(text, undefined);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw wrong(option, error.message.replace(/^A/, 'a').replace(/\.$/, ''));
  }
}

function wrong(option: Option, why: string): CliFailure {
  const message = `the variable \`${variableOf(option.name())}\` stands for \`--${option.name()}\`, and is wrong: ${why}`;
  return new CliFailure(EXIT.usage, { code: 'cli.usage', message });
}
