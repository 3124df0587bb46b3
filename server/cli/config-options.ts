// Settings as verbs take them: their flags, and the configuration that flags, environment and file make together.
import { type Command, Option } from 'commander';
import {
  type Config,
  ConfigError,
  type ConfigFault,
  configFaultsText,
  flagOf,
  loadConfig,
  type SettingName,
} from '../config/index.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import type { CliIo } from './io.js';
import { escapeText } from './render/escape.js';

/** What commander makes of the flags of settings. */
export type SettingFlags = Readonly<Partial<Record<SettingName, string>>>;

/** Adds the flags of settings; `configOf` reads them together with environment and file. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flags, description } = flagOf(name);
    command.addOption(new Option(flags, description));
  }
  return command;
}

/** The configuration that a command runs with. Throws `CliFailure` with every fault. */
export async function configOf(io: CliIo, flags: SettingFlags): Promise<Config> {
  try {
    return await loadConfig({ flags, env: io.env, cwd: io.cwd });
  } catch (error) {
    throw error instanceof ConfigError ? configFailure(error.faults) : error;
  }
}

/** Settings that cannot be used: every one with its place. */
export function configFailure(faults: readonly ConfigFault[]): CliFailure {
  const lines = faults.map(({ place, message, fix }) => `${place}: ${message}${fix === undefined ? '' : `; ${fix}`}`);
  const text = lines.map((line) => `  ${escapeText(line)}`).join('\n');
  const failure = { code: 'config.invalid', message: configFaultsText(faults) };
  return new CliFailure(EXIT.usage, failure, { text, report: { faults } });
}
