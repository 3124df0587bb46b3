// `bailiwick.yaml`: read as strictly as policy files (duplicates, unknown keys, wrong types refused), with the place of every
// fault. A documented group that this version does not have is refused too: a setting that is silently without effect is a hole.
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import { nearest, type Range, readYaml } from '../engine/compiler.js';
import type { ConfigFault } from './config-error.js';
import { CONFIG_SCHEMA, type ConfigDocument, LATER_KEYS } from './config-schema.js';
import { type Address, parseAddress, parseDatabaseUrl, type Parsed, parsePath } from './config-values.js';

export interface ConfigFileValues {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly policy?: string;
  readonly listen?: Address;
  readonly keysEnabled?: boolean;
  readonly rate?: Readonly<Partial<Record<'perActor' | 'perAddress' | 'unauthenticated', number>>>;
}

export interface ConfigFile {
  /** Null where there is none. */
  readonly path: string | null;
  readonly values: ConfigFileValues;
  readonly faults: readonly ConfigFault[];
}

const MAX_BYTES = 1024 * 1024;
const validate = new Ajv({ allErrors: true, strict: true, verbose: true }).compile<ConfigDocument>(CONFIG_SCHEMA);

/** Reads the file at `path`; one that is `optional` may be missing. Relative paths in it start at its folder. */
export async function readConfigFile(path: string, need: 'optional' | 'required'): Promise<ConfigFile> {
  const name = basename(path);
  const bytes = await readBytes(path);
  if (bytes === 'missing' && need === 'optional') return { path: null, values: {}, faults: [] };
  if (typeof bytes === 'string') return { path, values: {}, faults: [{ place: name, message: `is ${bytes}` }] };

  const document = readYaml({ path: name, bytes });
  const faults: ConfigFault[] = document.diagnostics.map((diagnostic) => ({
    place: placeText(name, diagnostic.range),
    message: diagnostic.help === undefined ? diagnostic.message : `${diagnostic.message}: ${diagnostic.help}`,
  }));
  if (faults.length > 0) return { path, values: {}, faults };
  const value: unknown = document.value ?? {};
  if (!validate(value)) {
    const places: PlaceOf = (pointer, part) => placeText(name, document.rangeOf(pointer, part));
    return { path, values: {}, faults: schemaFaults(validate.errors ?? [], places) };
  }
  const values = toValues(value, dirname(path), (key, message) => {
    faults.push({ place: placeText(name, document.rangeOf(`/${key}`, 'value')), message: `\`${key}\` ${message}` });
  });
  return { path, values, faults };
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

type PlaceOf = (pointer: string, part: 'key' | 'value') => string;

function schemaFaults(errors: readonly ErrorObject[], placeOf: PlaceOf): ConfigFault[] {
  return errors.map((error) => {
    if (error.keyword !== 'additionalProperties') {
      const subject = error.instancePath === '' ? 'the file' : `\`${dotted(error.instancePath)}\``;
      return { place: placeOf(error.instancePath, 'value'), message: `${subject} ${error.message ?? 'is wrong'}` };
    }
    const key = String(error.params['additionalProperty']);
    const pointer = `${error.instancePath}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return { place: placeOf(pointer, 'key'), message: unknownKey(dotted(pointer), error) };
  });
}

function unknownKey(path: string, error: ErrorObject): string {
  if (LATER_KEYS.has(path))
    return `\`${path}\` is not available in this version of bailiwick; remove it, it would have no effect`;
  const key = path.slice(path.lastIndexOf('.') + 1);
  const known: unknown = error.parentSchema?.['properties'];
  const meant = nearest(key, typeof known === 'object' && known !== null ? Object.keys(known) : []);
  return `there is no setting \`${path}\`${meant === null ? '' : `; did you mean \`${meant}\`?`}`;
}

function dotted(pointer: string): string {
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

function toValues(
  document: ConfigDocument,
  base: string,
  refuse: (key: string, message: string) => void,
): ConfigFileValues {
  const read = <T>(
    key: 'dataDir' | 'databaseUrl' | 'policy' | 'listen',
    parse: (text: string, base: string) => Parsed<T>,
  ): T | undefined => {
    const text = document[key];
    if (text === undefined) return undefined;
    const parsed = parse(text, base);
    if (parsed.ok) return parsed.value;
    refuse(key, parsed.message);
    return undefined;
  };
  const [dataDir, databaseUrl, policy] = [
    read('dataDir', parsePath),
    read('databaseUrl', parseDatabaseUrl),
    read('policy', parsePath),
  ];
  const listen = read('listen', parseAddress);
  const keysEnabled = document.authentication?.keys?.enabled;
  const rate = document.limits?.rate;
  return {
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    ...(policy === undefined ? {} : { policy }),
    ...(listen === undefined ? {} : { listen }),
    ...(keysEnabled === undefined ? {} : { keysEnabled }),
    ...(rate === undefined ? {} : { rate }),
  };
}
