// `bailiwick.yaml`: read as strictly as policy files (duplicates, unknown keys, wrong types refused), with the place of every
// fault. A documented group that this version does not have is refused too: a setting that is silently without effect is a hole.
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import { type Range, readYaml } from '../../engine/compiler.js';
import { nearest } from '../../engine/index.js';
import { CONFIG_LIMITS } from '../limits.js';
import type { ConfigFault } from './config-error.js';
import { CONFIG_SCHEMA } from './config-schema.js';
import { laterNames, type Row } from './setting.js';
import { ROWS, SETTINGS } from './settings.js';
import { PATH, type ValueType, type Written } from './value-types.js';

/** One setting as a source has it. */
export interface Given {
  readonly row: Row;
  readonly level: 'flag' | 'environment' | 'file';
  /** A flag, a variable or `file:line:column`. */
  readonly place: string;
  readonly written: Written;
  /** Where relative paths start. */
  readonly base: string;
}

export interface ConfigFile {
  /** Null where there is none. */
  readonly path: string | null;
  readonly given: readonly Given[];
  readonly faults: readonly ConfigFault[];
}

const { fileBytes: MAX_BYTES } = CONFIG_LIMITS;
const validate = new Ajv({ allErrors: true, strict: true, verbose: true }).compile(CONFIG_SCHEMA);
const LATER: ReadonlySet<string> = new Set(laterNames(SETTINGS));

/** Reads the file at `path`; one that is `optional` may be missing. Relative paths in it start at its folder. */
export async function readConfigFile(path: string, need: 'optional' | 'required'): Promise<ConfigFile> {
  const name = basename(path);
  const bytes = await readBytes(path);
  if (bytes === 'missing' && need === 'optional') return { path: null, given: [], faults: [] };
  if (typeof bytes === 'string') return { path, given: [], faults: [{ place: name, message: `is ${bytes}` }] };

  const document = readYaml({ path: name, bytes });
  const unreadable = document.diagnostics.map(({ range, message, help }) => ({
    place: placeText(name, range),
    message,
    ...(help === undefined ? {} : { fix: help }),
  }));
  if (unreadable.length > 0) return { path, given: [], faults: unreadable };
  const value: unknown = document.value ?? {};
  const placeOf: PlaceOf = (pointer, part) => placeText(name, document.rangeOf(pointer, part));
  const errors = validate(value) ? [] : (validate.errors ?? []);
  // What the schema refuses is told once, and has no value; the rest of the file is read all the same.
  const refused = new Set(errors.map(({ instancePath }) => dotted(instancePath)));
  const given = ROWS.flatMap((row): Given[] => {
    const written = valueAt(value, row.key.split('.'));
    if (written === undefined || refused.has(row.key)) return [];
    const place = placeOf(`/${row.key.replaceAll('.', '/')}`, 'value');
    return [{ row, level: 'file', place, written, base: dirname(path) }];
  });
  return { path, given, faults: schemaFaults(errors, placeOf) };
}

/** The type of what a row holds itself. */
export function typeOf(row: Row): ValueType<unknown> {
  return row.holds === 'value' ? row.setting.type : PATH;
}

/** Whether the file could hold this as the value of the row. */
export function isAccepted(row: Row, written: Written): boolean {
  const value = row.key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), written);
  return validate(value);
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

function valueAt(document: unknown, [name, ...inner]: readonly string[]): Written | undefined {
  if (name === undefined) return isWritten(document) ? document : undefined;
  if (typeof document !== 'object' || document === null) return undefined;
  return valueAt(new Map<string, unknown>(Object.entries(document)).get(name), inner);
}

function isWritten(value: unknown): value is Written {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

type PlaceOf = (pointer: string, part: 'key' | 'value') => string;

function schemaFaults(errors: readonly ErrorObject[], placeOf: PlaceOf): ConfigFault[] {
  const faults = errors.map((error): ConfigFault => {
    if (error.keyword !== 'additionalProperties') {
      const key = dotted(error.instancePath);
      const row = ROWS.find((candidate) => candidate.key === key);
      const subject = key === '' ? 'the file' : `\`${key}\``;
      const words = row === undefined ? 'a mapping of settings' : typeOf(row).words;
      return { place: placeOf(error.instancePath, 'value'), message: `${subject} must be ${words}` };
    }
    const key = String(error.params['additionalProperty']);
    const pointer = `${error.instancePath}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return { place: placeOf(pointer, 'key'), ...unknownKey(dotted(pointer), error) };
  });
  // One value may break its schema in two ways, which is one fault to its author.
  return [...new Map(faults.map((fault) => [`${fault.place} ${fault.message}`, fault])).values()];
}

function unknownKey(path: string, error: ErrorObject): Omit<ConfigFault, 'place'> {
  if (LATER.has(path)) {
    const message = `\`${path}\` is not available in this version of bailiwick and would have no effect`;
    return { message, fix: 'remove it' };
  }
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
