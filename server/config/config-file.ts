// `bailiwick.yaml`: read as strictly as policy files (duplicates, unknown keys and wrong types are refused), with the
// place of every fault. A documented group that this version does not have is refused too: a setting that silently has
// no effect is a security hole.
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { ErrorObject } from 'ajv';
import { nearest } from '../../engine/index.js';
import type { Range } from '../../engine/yaml.js';
import { CONFIG_LIMITS } from '../limits/command-line.js';
import type { ConfigFault } from './config-error.js';
import { memberOf, type SettingRow, rowsOf } from './setting.js';
import { SETTINGS } from './settings.js';
import { PATH, type ValueType, type WrittenSetting } from './value-types.js';

/** One setting as one source gives it. */
export interface Given {
  readonly row: SettingRow;
  readonly level: 'flag' | 'environment' | 'file';
  /** A flag, a variable or `file:line:column`. */
  readonly place: string;
  readonly written: WrittenSetting;
  /** Where relative paths start. */
  readonly base: string;
}

export interface ConfigFile {
  /** Null if there is none. */
  readonly path: string | null;
  /** The content of the file, which may have the wrong shape. */
  readonly document: unknown;
  /** Every possible setting, including those of the file's own lists and groups. */
  readonly rows: readonly SettingRow[];
  readonly given: readonly Given[];
  readonly faults: readonly ConfigFault[];
}

const { fileBytes: MAX_BYTES } = CONFIG_LIMITS;

/** Reads the file at `path`. An `optional` file may be missing. Relative paths in it start at its folder. */
export async function readConfigFile(path: string, need: 'optional' | 'required'): Promise<ConfigFile> {
  const name = basename(path);
  const bytes = await readBytes(path);
  if (bytes === 'missing' && need === 'optional') return NO_FILE;
  if (typeof bytes === 'string') return { ...NO_FILE, path, faults: [{ place: name, message: `is ${bytes}` }] };

  const [{ readYaml }, { isConfig }] = await Promise.all([import('../../engine/yaml.js'), import('./config-check.js')]);
  const document = readYaml({ path: name, bytes });
  const unreadable = document.diagnostics.map(({ range, message, help }) => ({
    place: placeText(name, range),
    message,
    ...(help === undefined ? {} : { fix: help }),
  }));
  if (unreadable.length > 0) return { ...NO_FILE, path, faults: unreadable };
  const value: unknown = document.value ?? {};
  const placeOf: PlaceOf = (pointer, part) => placeText(name, document.rangeOf(pointer, part));
  const errors = isConfig(value) ? [] : isConfig.errors();
  // A value that the schema refuses is reported once and dropped. The rest of the file is still read.
  const refused = new Set(errors.map(({ instancePath }) => dotted(instancePath)));
  const rows = rowsOf(SETTINGS, value);
  const given = rows.flatMap((row): Given[] => {
    const written = valueAt(value, row.key.split('.'));
    if (written === undefined || [...refused].some((key) => isWithin(key, row.key))) return [];
    const place = placeOf(`/${row.key.replaceAll('.', '/')}`, 'value');
    return [{ row, level: 'file', place, written, base: dirname(path) }];
  });
  return { path, document: value, rows, given, faults: schemaFaults(errors, rows, placeOf) };
}

export const NO_FILE: ConfigFile = { path: null, document: {}, rows: rowsOf(SETTINGS, {}), given: [], faults: [] };

/** The type of the value that a row itself holds. */
export function typeOf(row: SettingRow): ValueType<unknown> {
  return row.holds === 'value' ? row.setting.type : PATH;
}

async function readBytes(path: string): Promise<Uint8Array | 'missing' | 'unreadable' | 'too large'> {
  try {
    const bytes = await readFile(path);
    return bytes.length > MAX_BYTES ? 'too large' : bytes;
  } catch (error) {
    const missing = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
    return missing ? 'missing' : 'unreadable';
  }
}

function placeText(name: string, range: Range): string {
  return `${name}:${String(range.start.line)}:${String(range.start.column)}`;
}

function valueAt(document: unknown, [name, ...inner]: readonly string[]): WrittenSetting | undefined {
  if (name !== undefined) return valueAt(memberOf(document, name), inner);
  return isWritten(document) ? document : undefined;
}

function isWritten(value: unknown): value is WrittenSetting {
  // What is no list has passed the schema of its setting.
  return (
    isScalar(value) || (Array.isArray(value) ? value.every(isScalar) : typeof value === 'object' && value !== null)
  );
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Whether a key is that of a row or of an element of its list. */
function isWithin(key: string, row: string): boolean {
  return key === row || key.startsWith(`${row}.`);
}

type PlaceOf = (pointer: string, part: 'key' | 'value') => string;

function schemaFaults(errors: readonly ErrorObject[], rows: readonly SettingRow[], placeOf: PlaceOf): ConfigFault[] {
  const faults = errors.map((error): ConfigFault => {
    const path = dotted(error.instancePath);
    if (error.keyword === 'additionalProperties') {
      const key = String(error.params['additionalProperty']);
      const pointer = `${error.instancePath}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      return { place: placeOf(pointer, 'key'), ...unknownKey(dotted(pointer), error) };
    }
    if (error.keyword === 'required') {
      const row = rows.find(({ key }) => key === `${path}.${String(error.params['missingProperty'])}`);
      const message = `\`${row?.key ?? path}\` is missing`;
      const fix = row === undefined ? {} : { fix: `add it: ${row.setting.doc}` };
      return { place: placeOf(error.instancePath, 'value'), message, ...fix };
    }
    const row = rows.find(({ key }) => isWithin(path, key));
    const subject = path === '' ? 'the file' : `\`${row?.key ?? path}\``;
    const isList = error.keyword === 'type' && error.params['type'] === 'array';
    const words = row === undefined ? (isList ? 'a list' : 'a mapping of settings') : typeOf(row).words;
    return { place: placeOf(error.instancePath, 'value'), message: `${subject} must be ${words}` };
  });
  // A value may break its schema in two ways. To its author that is one fault.
  return [...new Map(faults.map((fault) => [`${fault.place} ${fault.message}`, fault])).values()];
}

function unknownKey(path: string, error: ErrorObject): Omit<ConfigFault, 'place'> {
  const key = path.slice(path.lastIndexOf('.') + 1);
  const known: unknown = error.parentSchema?.['properties'];
  const meant = nearest(key, typeof known === 'object' && known !== null ? Object.keys(known) : []);
  const message = `there is no setting \`${path}\``;
  return meant === null ? { message } : { message, fix: `did you mean \`${meant}\`?` };
}

function dotted(pointer: string): string {
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}
