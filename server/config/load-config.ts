// Flag, then variable, then `bailiwick.yaml`, then default: one value for each setting, with the place it comes from.
// Every fault is reported at once. Nothing unknown, empty or of the wrong type is ignored, and no message repeats a
// value.
import { resolve } from 'node:path';
import { nearest } from '../../engine/index.js';
import { ConfigError, type ConfigFault } from './config-error.js';
import { type ConfigFile, type Given, NO_FILE, readConfigFile, typeOf } from './config-file.js';
import { type Contradiction, contradictionsOf } from './relations.js';
import { CONFIG_LIMITS } from '../limits/command-line.js';
import { readSmallFile, SmallFileError } from '../lib/small-file.js';
import { type FileKind, nest, type SettingRow } from './setting.js';
import { type Config, CONFIG_FILE_ROWS, ROWS, type SettingFlags, SETTINGS } from './settings.js';
import { ANY_TEXT, type Parsed, type ValueType, type WrittenSetting, writtenText } from './value-types.js';

export const DEFAULT_CONFIG_FILE = 'bailiwick.yaml';
const PREFIX = 'BAILIWICK_';
/** Variables that are not settings: of the command line, and of the examples of a client. */
const OTHER_VARIABLES = ['BAILIWICK_DEBUG', 'BAILIWICK_URL', 'BAILIWICK_KEY'];

export interface ConfigSources {
  /** By the name of the setting, as commander gives them: `true` for a flag without a value. */
  readonly flags: SettingFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
}

/** One setting and where it comes from. */
export interface ChosenSetting {
  readonly key: string;
  /** As it was written; null if it is not set or is a secret. */
  readonly written: WrittenSetting | null;
  readonly isSecret: boolean;
  readonly level: Given['level'] | 'default';
  /** The flag, the variable or the place in the file; null for a default. */
  readonly place: string | null;
}

/** A file that a setting names. */
export interface SettingFile {
  readonly key: string;
  readonly kind: FileKind;
  /** Absolute. */
  readonly path: string;
}

export interface ConfigReading {
  /** Null exactly if there are faults. */
  readonly config: Config | null;
  readonly file: string | null;
  readonly faults: readonly ConfigFault[];
  readonly settings: readonly ChosenSetting[];
  /** Files that settings name. They are not read here, except for those that hold the value of a setting. */
  readonly files: readonly SettingFile[];
}

/** Reads all sources; throws `ConfigError` with every fault. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const { config, faults } = await readConfig(sources);
  if (config === null) throw new ConfigError(faults);
  return config;
}

/** Like `loadConfig`, but returns the source of each value and all faults. */
export async function readConfig(sources: ConfigSources): Promise<ConfigReading> {
  const faults: ConfigFault[] = unknownVariables(sources.env);
  const file = await openFile(sources, faults);
  faults.push(...file.faults);
  const given = [...givenByFlags(ROWS, sources), ...givenByVariables(ROWS, sources), ...file.given];
  const chosen = withoutOrphans(choose(given, faults), given);
  faults.push(...halfSettings(chosen, given));
  const values = new Map<string, unknown>();
  for (const row of file.rows.filter(({ holds }) => holds === 'value')) {
    values.set(row.key, await valueOf(row, chosen, { cwd: sources.cwd, faults }));
  }
  const settings = file.rows.map((row) => tellChosen(row, chosen.get(row.key) ?? null));
  // Everything is checked, even values that a nearer source overrides: what is wrong is wrong. The exception is
  // `DATABASE_URL`, which other programs may use for something else.
  for (const one of given.filter(isOurs)) if (chosen.get(one.row.key) !== one) await parseGiven(one, faults);
  const assembled = faults.length > 0 ? null : assemble(values, file, chosen);
  const contradictions = assembled === null ? [] : contradictionsOf(assembled);
  faults.push(...contradictions.map((one) => contradictionFault(one, chosen)));
  const config = faults.length > 0 ? null : assembled;
  return { config, file: file.path, faults, settings, files: filesOf(file.rows, values, chosen) };
}

async function openFile(sources: ConfigSources, faults: ConfigFault[]): Promise<ConfigFile> {
  const given = [...givenByFlags(CONFIG_FILE_ROWS, sources), ...givenByVariables(CONFIG_FILE_ROWS, sources)];
  const [named] = choose(given, faults).values();
  if (named === undefined) return readConfigFile(resolve(sources.cwd, DEFAULT_CONFIG_FILE), 'optional');
  const path = await parseGiven(named, faults);
  return typeof path === 'string' ? readConfigFile(path, 'required') : NO_FILE;
}

function givenByFlags(rows: readonly SettingRow[], { flags, cwd }: ConfigSources): readonly Given[] {
  const typed = new Map<string, string | true | undefined>(Object.entries(flags));
  return rows.flatMap((row): Given[] => {
    const given = row.flag === null ? undefined : typed.get(row.flag.name);
    if (row.flag === null || given === undefined) return [];
    const written = given === true ? given : typeOf(row).fromText(given);
    return [{ row, level: 'flag', place: row.flag.long, written, base: cwd }];
  });
}

function givenByVariables(rows: readonly SettingRow[], { env, cwd }: ConfigSources): readonly Given[] {
  return rows.flatMap((row) =>
    row.env.flatMap((place): Given[] => {
      const text = env[place];
      return text === undefined
        ? []
        : [{ row, level: 'environment', place, written: typeOf(row).fromText(text), base: cwd }];
    }),
  );
}

function isOurs({ level, place }: Given): boolean {
  return level !== 'environment' || place.startsWith(PREFIX);
}

/** By key of the row. */
type Chosen = ReadonlyMap<string, Given>;

/**
 * Chooses the source for each row. For settings that exclude one another the nearest source decides, so a store named
 * on the command line does not lose to another one in a file. `given` has the nearest first.
 */
function choose(given: readonly Given[], faults: ConfigFault[]): Chosen {
  const chosen = new Map<string, Given>();
  for (const next of given) {
    const first = chosen.get(next.row.choice);
    if (first === undefined) chosen.set(next.row.choice, next);
    else if (first.level === next.level && (first.row.key !== next.row.key || first.written !== next.written)) {
      const message = `disagrees with ${subjectOf(first)}`;
      faults.push({ place: next.place, message, fix: 'set one of the two' });
    }
  }
  return new Map([...chosen.values()].map((one) => [one.row.key, one]));
}

/**
 * Without settings of one that a nearer source has displaced: the `ref` of a git source in the file says nothing about a
 * policy that the command line names. One that is as near as the displacing setting stays, and is reported.
 */
function withoutOrphans(chosen: Chosen, given: readonly Given[]): Chosen {
  const isOrphan = ({ row, level }: Given): boolean => {
    const { needs } = row.setting;
    const lost = needs === undefined || isMet(needs, chosen) ? undefined : given.find((one) => one.row.key === needs);
    const nearer = [...chosen.values()].find((one) => one.row.choice === lost?.row.choice);
    return nearer !== undefined && LEVELS.indexOf(nearer.level) < LEVELS.indexOf(level);
  };
  return new Map([...chosen].filter(([, one]) => !isOrphan(one)));
}

/** A file with the value of the other setting will do. */
function isMet(needs: string, chosen: Chosen): boolean {
  return chosen.has(needs) || chosen.has(`${needs}File`);
}

/** The nearest first. */
const LEVELS: readonly Given['level'][] = ['flag', 'environment', 'file'];

/** Settings without the other setting that gives them a meaning. */
function halfSettings(chosen: Chosen, given: readonly Given[]): readonly ConfigFault[] {
  return [...chosen.values()].flatMap((one): ConfigFault[] => {
    const { needs } = one.row.setting;
    if (needs === undefined || isMet(needs, chosen) || one.written === false) return [];
    // It lost to a setting that it disagrees with, and that is reported.
    if (given.some(({ row }) => row.key === needs)) return [];
    const subject = one.level === 'file' ? `\`${one.row.key}\` ` : '';
    const message = `${subject}needs \`${needs}\`, which is not set`;
    return [{ place: one.place, message, fix: 'set both or none' }];
  });
}

/** How messages about other settings name this one. */
function subjectOf({ level, place, row }: Given): string {
  return level === 'file' ? `\`${row.key}\`` : place;
}

interface Reading {
  readonly cwd: string;
  readonly faults: ConfigFault[];
}

/** The value of a row: given, or read from the file that another row names, or the default. */
async function valueOf(row: SettingRow, chosen: Chosen, { cwd, faults }: Reading): Promise<unknown> {
  const own = chosen.get(row.key);
  if (own !== undefined) return parseGiven(own, faults);
  const named = [...chosen.values()].find((one) => one.row.setting === row.setting && one.row.choice === row.choice);
  if (named !== undefined) return readSecret(named, faults);
  const { type, default: usual } = row.setting;
  if (usual === undefined) return null;
  const parsed = type.parse(usual, cwd);
  return parsed.ok ? parsed.value : null;
}

async function readSecret(given: Given, faults: ConfigFault[]): Promise<unknown> {
  const path = await parseGiven(given, faults);
  if (typeof path !== 'string') return null;
  try {
    const text = (await readSmallFile(path, CONFIG_LIMITS.fileBytes)).bytes.toString('utf8').replace(/\r?\n$/, '');
    return accept(given, given.row.setting.type.parse(text, given.base), faults);
  } catch (error) {
    if (!(error instanceof SmallFileError)) throw error;
    // The message does not quote the file's name, which may be the secret itself by mistake.
    const subject = given.level === 'file' ? `\`${given.row.key}\` ` : '';
    const fix = 'name a file with the value and nothing else';
    faults.push({ place: given.place, message: `${subject}names a file that ${error.message}`, fix });
    return null;
  }
}

function filesOf(
  rows: readonly SettingRow[],
  values: ReadonlyMap<string, unknown>,
  chosen: Chosen,
): readonly SettingFile[] {
  return rows.flatMap((row): readonly SettingFile[] => {
    const { key, holds, setting } = row;
    const given = chosen.get(key);
    const kind = holds === 'value' ? setting.file : 'value of a setting';
    if (given === undefined || kind === undefined) return [];
    const path = holds === 'value' ? values.get(key) : resolve(given.base, writtenText(given.written));
    return typeof path === 'string' ? [{ key, kind, path }] : [];
  });
}

/** The value, or null and a fault. */
async function parseGiven(given: Given, faults: ConfigFault[]): Promise<unknown> {
  const { row, level, written, base } = given;
  const type = typeOf(row);
  // Values in the settings file were already checked against the schema.
  if (level !== 'file' && !(await isOfType(type, written)))
    return accept(given, { ok: false, message: `must be ${type.words}` }, faults);
  return accept(given, type.parse(written, base), faults);
}

async function isOfType(type: ValueType<unknown>, written: WrittenSetting): Promise<boolean> {
  if (type.schema === ANY_TEXT) return typeof written === 'string';
  return (await import('./config-check.js')).isOfType(type, written);
}

function accept(given: Given, parsed: Parsed<unknown>, faults: ConfigFault[]): unknown {
  if (parsed.ok) return parsed.value;
  const subject = given.level === 'file' ? `\`${given.row.key}\` ` : '';
  faults.push({ place: given.place, message: `${subject}${parsed.message}` });
  return null;
}

function contradictionFault({ key, message, fix }: Contradiction, chosen: Chosen): ConfigFault {
  return { place: chosen.get(key)?.place ?? key, message: `\`${key}\` ${message}`, fix };
}

function tellChosen(row: SettingRow, given: Given | null): ChosenSetting {
  const isSecret = row.setting.secret === true && row.holds === 'value';
  const written = given?.written ?? (row.holds === 'value' ? (row.setting.default ?? null) : null);
  return {
    key: row.key,
    written: isSecret ? null : written,
    isSecret: isSecret && given !== null,
    level: given?.level ?? 'default',
    place: given?.place ?? null,
  };
}

/** Turns the values by key into the nested, frozen configuration. */
function assemble(values: ReadonlyMap<string, unknown>, { path, document }: ConfigFile, chosen: Chosen): Config {
  const nested = nest(SETTINGS, document, (key) => values.get(key));
  const given = [...chosen.values()];
  const other = given.find(({ level, row }) => level !== 'flag' && row.choice !== 'store');
  const origin = {
    storeNamedBy: given.find(({ row }) => row.choice === 'store')?.place ?? null,
    otherSetting: other === undefined ? null : { key: other.row.key, place: other.place },
  };
  // The table gives the type, and only keys of its rows were set.
  return Object.freeze({ file: path, ...origin, ...nested }) as Config;
}

function unknownVariables(env: ConfigSources['env']): ConfigFault[] {
  const known = [...[...CONFIG_FILE_ROWS, ...ROWS].flatMap((row) => row.env), ...OTHER_VARIABLES];
  const names = known.flatMap((name) => (name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : []));
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith(PREFIX) && !known.includes(name) && !isOfService(name, value))
    .map(([place]) => {
      // The common beginning would make any two variables near.
      const meant = nearest(place.slice(PREFIX.length), names);
      const message = 'there is no such setting';
      if (meant !== null) return { place, message, fix: `did you mean \`${PREFIX}${meant}\`?` };
      return { place, message, fix: 'unset it; `bailiwick config example` lists the settings and their variables' };
    });
}

/**
 * Whether Kubernetes or container links set the variable, for a service whose name begins with `bailiwick`. The address
 * tells `BAILIWICK_PORT` from a mistake.
 */
function isOfService(name: string, value = ''): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  if (/_PORT_\d+_(?:TCP|UDP|SCTP)_(?:ADDR|PORT|PROTO)$/.test(name)) return true;
  return /_PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value);
}
