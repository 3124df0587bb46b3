// Settings: flag, then `BAILIWICK_<FLAG>`, then `bailiwick.yaml`, then default (design 5). Every fault is reported at once,
// with its place; nothing unknown, empty or of the wrong type is passed over, and no message repeats a value.
import { resolve } from 'node:path';
import { nearest } from '../engine/compiler.js';
import { ConfigError, type ConfigFault } from './config-error.js';
import { type ConfigFileValues, readConfigFile } from './config-file.js';
import { type Address, parseAddress, parseDatabaseUrl, parsePath, type Parsed } from './config-values.js';
import { type SettingName, SETTINGS } from './settings.js';

export type { Address } from './config-values.js';
export type { SettingName } from './settings.js';

/** Requests a second; 0 is no limit. */
export interface RateLimits {
  readonly perActor: number;
  readonly perAddress: number;
  readonly unauthenticated: number;
}

/** Frozen; paths are absolute. */
export interface Config {
  /** The file that was read, or null. */
  readonly file: string | null;
  readonly dataDir: string;
  /** Null: the embedded store in `dataDir`. Holds a password: never print it. */
  readonly databaseUrl: string | null;
  /** A policy folder or a snapshot file. */
  readonly policy: string | null;
  readonly listen: Address;
  readonly authentication: { readonly keys: { readonly enabled: boolean } };
  readonly limits: { readonly rate: RateLimits };
}

export const DEFAULT_CONFIG_FILE = 'bailiwick.yaml';
const DEFAULT_DATA_DIR = '.bailiwick';
const DEFAULT_LISTEN: Address = Object.freeze({ host: '127.0.0.1', port: 8080 });
const DEFAULT_RATE: RateLimits = Object.freeze({ perActor: 0, perAddress: 0, unauthenticated: 50 });
/** Documented, and not there yet: who sets one must not believe that it protects them. */
const LATER_VARIABLES: ReadonlySet<string> = new Set([
  'BAILIWICK_ADMIN_LISTEN',
  'BAILIWICK_KEYRING',
  'BAILIWICK_REQUIRE_SIGNATURE',
  'BAILIWICK_SECRETS_FILE',
  'BAILIWICK_WORKERS',
]);
/** Variables of ours that are no settings. */
const OTHER_VARIABLES = ['BAILIWICK_DEBUG'];

export interface ConfigSources {
  /** By setting name, as commander gives them. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
}

/** Reads all sources; throws `ConfigError` with every fault. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const faults: ConfigFault[] = misspeltVariables(sources.env);
  const pick = makePicker(sources, faults);
  const named = pick('config', parsePath);
  const file = await readConfigFile(
    named ?? resolve(sources.cwd, DEFAULT_CONFIG_FILE),
    named === null ? 'optional' : 'required',
  );
  faults.push(...file.faults);
  const values: ConfigFileValues = file.values;
  const config: Config = {
    file: file.path,
    dataDir: pick('dataDir', parsePath) ?? values.dataDir ?? resolve(sources.cwd, DEFAULT_DATA_DIR),
    databaseUrl: pick('databaseUrl', parseDatabaseUrl) ?? values.databaseUrl ?? null,
    policy: pick('policy', parsePath) ?? values.policy ?? null,
    listen: pick('listen', parseAddress) ?? values.listen ?? DEFAULT_LISTEN,
    authentication: Object.freeze({ keys: Object.freeze({ enabled: values.keysEnabled ?? true }) }),
    limits: Object.freeze({ rate: Object.freeze({ ...DEFAULT_RATE, ...values.rate }) }),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

/** The store that a configuration names. */
export function storeOf(
  config: Config,
): { readonly kind: 'embedded'; readonly dataDir: string } | { readonly kind: 'external'; readonly url: string } {
  return config.databaseUrl === null
    ? { kind: 'embedded', dataDir: config.dataDir }
    : { kind: 'external', url: config.databaseUrl };
}

type Picker = <T>(name: SettingName, parse: (text: string, base: string) => Parsed<T>) => T | null;

/** Reads one setting from flag or environment: null where neither has it or what they say is a fault. */
function makePicker(sources: ConfigSources, faults: ConfigFault[]): Picker {
  return (name, parse) => {
    const given = fromFlag(name, sources) ?? fromEnvironment(name, sources, faults);
    if (given === null) return null;
    const parsed = parse(given.text, sources.cwd);
    if (parsed.ok) return parsed.value;
    faults.push({ place: given.place, message: parsed.message });
    return null;
  };
}

interface Given {
  readonly place: string;
  readonly text: string;
}

function fromFlag(name: SettingName, sources: ConfigSources): Given | null {
  const text = sources.flags[name];
  return text === undefined ? null : { place: SETTINGS[name].flags.split(' ')[0] ?? name, text };
}

function fromEnvironment(name: SettingName, sources: ConfigSources, faults: ConfigFault[]): Given | null {
  const given: Given[] = [];
  for (const variable of SETTINGS[name].env) {
    const text = sources.env[variable];
    if (text !== undefined) given.push({ place: variable, text });
  }
  const [first, second] = given;
  if (first !== undefined && second !== undefined && first.text !== second.text) {
    faults.push({ place: second.place, message: `says something else than ${first.place}: set one of the two` });
  }
  return first ?? null;
}

/** Only near misses: an orchestrator sets variables such as `BAILIWICK_SERVICE_HOST` of its own accord. */
function misspeltVariables(env: ConfigSources['env']): ConfigFault[] {
  const known = [...Object.values(SETTINGS).flatMap((setting) => setting.env), ...OTHER_VARIABLES];
  return Object.keys(env)
    .filter((variable) => variable.startsWith('BAILIWICK_') && !known.includes(variable))
    .flatMap((variable) => {
      if (LATER_VARIABLES.has(variable)) {
        return [
          {
            place: variable,
            message: 'is not available in this version of bailiwick; unset it, it would have no effect',
          },
        ];
      }
      const meant = nearest(variable, known);
      return meant === null
        ? []
        : [{ place: variable, message: `there is no such setting; did you mean \`${meant}\`?` }];
    });
}
