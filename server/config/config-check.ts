// What the settings file may hold, checked against its JSON Schema. Loaded when there is a file, or a flag or variable of a setting that
// does not take any text: compiling the schema takes longer than reading all settings.
import { Ajv } from 'ajv';
import { compileOnce, OURS } from '../json/compile-once.js';
import { CONFIG_SCHEMA } from './config-schema.js';
import type { ValueType, WrittenSetting } from './value-types.js';

// Optimizing the code takes longer than it saves: a file is checked once.
const ajv = new Ajv({ ...OURS, allErrors: true, verbose: true, code: { optimize: false } });

export const isConfig = compileOnce(ajv, CONFIG_SCHEMA);

/** Whether the file could hold this as a value of the type. */
export function isOfType({ schema }: ValueType<unknown>, written: WrittenSetting): boolean {
  return ajv.validate(schema, written);
}
