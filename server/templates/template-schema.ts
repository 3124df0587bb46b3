// A template's JSON Schema (2020-12) as a judge of values: the properties of a resource, the parameters of a run. The
// schema comes from a user, so it is bounded before it is compiled: no other document, no pattern that backtracks, no
// more work than its size and the size of the value allow. `load` and commands both judge with this.
import { _, Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { toShapeFault, type ShapeFault } from '../api/shape-fault.js';
import { pointerTo } from '../json.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { costOf, type SchemaFault } from './schema-graph.js';

export type { SchemaFault } from './schema-graph.js';

export interface Template {
  /** The faults of a value, with their places in it; empty if there are none. */
  readonly check: (value: unknown) => readonly ShapeFault[];
}

export type TemplateResult =
  { readonly ok: true; readonly template: Template } | { readonly ok: false; readonly fault: SchemaFault };

/** Reads a schema, or says the first thing that is wrong with it. Total: every object gets an answer. */
export function readTemplate(schema: object): TemplateResult {
  const characters = JSON.stringify(schema).length;
  if (characters > TEMPLATE_LIMITS.schemaCharacters) {
    return refuse('', `has more than ${String(TEMPLATE_LIMITS.schemaCharacters)} characters`);
  }
  const measured = costOf(schema);
  if (!measured.ok) return measured;
  if (META_SCHEMA.validateSchema(schema) !== true) return refuseShape(META_SCHEMA.errors?.[0]);
  try {
    const first = makeAjv('first').compile(schema);
    return { ok: true, template: { check: makeCheck(schema, { cost: measured.cost, characters, first }) } };
  } catch (error) {
    if (error instanceof PatternError) return refuse('', error.message);
    if (!(error instanceof Error)) throw error;
    // A keyword that ajv knows but does not accept in this form. The message may quote the schema, which belongs to its
    // author anyway.
    return refuse('', `cannot be used: ${error.message}`);
  }
}

interface Judge {
  readonly cost: number;
  /** The number of characters of the schema. */
  readonly characters: number;
  readonly first: ValidateFunction;
}

function makeCheck(schema: object, { cost, characters, first }: Judge): Template['check'] {
  let all: ValidateFunction | null = null;
  return (value) => {
    const parts = countParts(value);
    const work = parts + countCharacters(value) / TEMPLATE_LIMITS.charactersPerPart;
    if (work * cost > TEMPLATE_LIMITS.checks) return TOO_LARGE;
    try {
      if (first(value)) return [];
      const isLarge = parts * characters > TEMPLATE_LIMITS.workWithAllFaults;
      if (isLarge || parts > TEMPLATE_LIMITS.partsWithAllFaults) return faultsOf(first);
      all ??= makeAjv('all').compile(schema);
      all(value);
      return faultsOf(all);
    } catch (error) {
      // A schema with many keywords takes much of the stack for each level of a value.
      if (error instanceof RangeError) return TOO_LARGE;
      throw error;
    }
  };
}

const TOO_LARGE: readonly ShapeFault[] = Object.freeze([
  { place: [], message: 'is too large to be checked against the schema of its template' },
]);

function faultsOf({ errors }: ValidateFunction): readonly ShapeFault[] {
  return (errors ?? []).slice(0, TEMPLATE_LIMITS.faults).map((error) => toShapeFault(error, []));
}

/** The number of objects, lists and values in the value, itself included. */
function countParts(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + countParts(part), 1);
}

/** The number of characters of all strings and names in the value. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [name, part]) => sum + name.length + countCharacters(part), 0);
}

/** Checks schemas against the meta-schema. It compiles no schema of a template. */
const META_SCHEMA = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** Makes an instance for one schema, because an instance keeps everything that it has compiled. */
function makeAjv(faults: 'first' | 'all'): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: faults === 'all',
    // Unknown keywords are the author's annotations, as the standard says.
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    inlineRefs: false,
    // Names such as `toString` count as members only if the value itself has them.
    ownProperties: true,
    loopRequired: TEMPLATE_LIMITS.loopRequired,
    multipleOfPrecision: 9,
    logger: false,
    // Optimizing takes longer than it saves: seconds for a thousand keywords.
    code: { regExp: makePattern, optimize: false },
  });
  // Looks the value up by its text. The library's own keyword compares it with one value after another.
  ajv.removeKeyword('enum');
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    error: {
      message: 'must be equal to one of the allowed values',
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
    compile: (values: readonly unknown[]) => {
      const known = new Set(values.map(textOf));
      return (value: unknown) => known.has(textOf(value));
    },
  });
  // Compares texts. The library's own keyword compares every pair.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have the same element twice' },
    validate: (wanted: boolean, list: readonly unknown[]) => !wanted || isUnique(list),
  });
  return ajv;
}

class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Patterns run in RE2, which takes time linear in the text. */
const makePattern = Object.assign(
  (pattern: string): RE2JS => {
    try {
      return RE2JS.compile(RE2JS.translateRegExp(pattern));
    } catch (error) {
      throw new PatternError('has a pattern that is not supported: no look-around, no back-reference', {
        cause: error,
      });
    }
  },
  // Needed by ajv for stand-alone code, which is never made here.
  { code: 'null' },
);

function isUnique(list: readonly unknown[]): boolean {
  return new Set(list.map(textOf)).size === list.length;
}

/** Two texts are equal exactly if the JSON values are. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)}`);
  return `{${members.sort().join()}}`;
}

function refuse(pointer: string, message: string): TemplateResult {
  return { ok: false, fault: { pointer, message } };
}

function refuseShape(error: ErrorObject | null | undefined): TemplateResult {
  if (error === undefined || error === null) return refuse('', 'is not a JSON Schema (2020-12)');
  const { place, message } = toShapeFault(error, []);
  return refuse(place.reduce<string>(pointerTo, ''), `${message}, as JSON Schema (2020-12) requires`);
}
