// The door of the configuration: its type, its flags, and reading it. The code that reads YAML is loaded only when
// something is read, so that help does not pay for it.
import { join } from 'node:path';
import type { Config, SettingName } from './settings.js';
import { CONFIG_FILE_ROWS, ROWS } from './settings.js';
import { writtenText } from './value-types.js';
import type { ConfigReading, ConfigSources } from './load-config.js';

export type { ConfigFault } from './config-error.js';
export type { ChosenSetting, ConfigSources, SettingFile } from './load-config.js';
export type { FileKind } from './setting.js';

export { ConfigError, configFaultsText } from './config-error.js';
export type { Config, ConcurrencyLimits, RateLimits, SettingFlags, SettingName } from './settings.js';
export { type Address, parseDuration, writtenText } from './value-types.js';

/** Reads all sources; throws `ConfigError` with every fault. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  return (await import('./load-config.js')).loadConfig(sources);
}

/** Like `loadConfig`, but returns all faults as values, and where each setting comes from. */
export async function readConfig(sources: ConfigSources): Promise<ConfigReading> {
  return (await import('./load-config.js')).readConfig(sources);
}

/** The store that a configuration names. */
export function storeOf(
  config: Config,
):
  | { readonly kind: 'embedded'; readonly dataDir: string }
  | { readonly kind: 'external'; readonly url: string; readonly readUrls: readonly string[] } {
  return config.databaseUrl === null
    ? { kind: 'embedded', dataDir: config.dataDir }
    : { kind: 'external', url: config.databaseUrl, readUrls: config.databaseReadUrl ?? [] };
}

/** The Unix socket for admins; null if there is none. */
export function adminSocketOf({ adminSocket, dataDir }: Config): string | null {
  if (adminSocket === 'none') return null;
  return adminSocket ?? join(dataDir, 'admin.sock');
}

/** The folder of the audit log. */
export function auditFolderOf({ audit, dataDir }: Config): string {
  return audit.folder ?? join(dataDir, 'audit');
}

/**
 * The folder of the tables that are kept; null if none are. Who can write both a table and its hash decides what it
 * says. An embedded store has the hashes in the data folder, so where signatures must be required of whoever can write
 * that folder, no table is kept there.
 */
export function tableFolderOf({ snapshot, databaseUrl, dataDir }: Config): string | null {
  const { tableFolder, requireSignature } = snapshot;
  if (tableFolder !== null) return tableFolder === 'none' ? null : tableFolder;
  return databaseUrl === null && !requireSignature ? join(dataDir, 'tables') : null;
}

export interface SettingFlag {
  /** In the form that commander takes. */
  readonly flags: string;
  readonly description: string;
}

/** The flag of a setting. The description includes its default and its variable. */
export function flagOf(name: SettingName): SettingFlag {
  const row = [...CONFIG_FILE_ROWS, ...ROWS].find(({ flag }) => flag?.name === name);
  const { flag = '', doc = '', default: usual } = row?.setting ?? {};
  const usually = usual === undefined ? '' : ` (default: ${writtenText(usual)})`;
  return { flags: flag, description: `${doc}${usually} [${row?.env.at(-1) ?? ''}]` };
}
