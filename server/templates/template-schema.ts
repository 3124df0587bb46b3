// A template's JSON Schema (2020-12) as a judge of values: the properties of a resource, the parameters of a run. The
// schema comes from a user, so it is bounded before it is compiled: no other document, no pattern that backtracks, no
// more work than its size and the size of the value allow. `load` and commands both judge with this.
import { _, Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { compareTexts } from '../../engine/index.js';
import { toShapeFault, type ShapeFault } from '../api/shape-fault.js';
import { pointerTo } from '../json/strict-json.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { formatOf } from './formats.js';
import { compilePattern, type Pattern, PatternError, patternFault, TooSlow } from './pattern.js';
import { isFolded, patternRanges, patternSize } from './pattern-size.js';
import { type PatternAt, type SchemaFault, type SchemaSize, sizeOf } from './schema-graph.js';

export type { SchemaFault } from './schema-graph.js';

interface Template {
  /** The faults of a value, with their places in it; empty if there are none. */
  readonly check: (value: unknown) => readonly ShapeFault[];
  /** Like `check`, but null if that could hold up other requests. */
  readonly checkSoon: (value: unknown) => readonly ShapeFault[] | null;
  /** The bytes that it holds, at most. */
  readonly bytes: number;
  /**
   * Words and formats for which a new template is refused. One that is stored with them judges as it did before there
   * was that rule: unknown words and all formats check nothing.
   */
  readonly unknown: readonly SchemaFault[];
}

export type TemplateResult =
  | { readonly ok: true; readonly template: Template }
  /** At least one fault, sorted by place. */
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

/** Whether the schema is compiled so soon that other requests may wait for it. True of some that are refused. */
export function isSmall(schema: object): boolean {
  const { small } = TEMPLATE_LIMITS;
  if (JSON.stringify(schema).length > small.schemaCharacters) return false;
  const size = sizeOf(schema);
  // Those of a schema that is refused are compiled as well, so that all of its faults are told.
  const patterns = size.patternsAt.map(({ pattern }) => pattern);
  const sum = (of: (pattern: string) => number): number => patterns.reduce((all, one) => all + of(one), 0);
  if (patterns.some(isFolded) || sum(patternRanges) > small.patternRanges || sum(patternSize) > small.patternParts)
    return false;
  return !size.ok || size.parts <= small.schemaParts;
}

/** Reads a schema, or says what is wrong with it. Total: every object gets an answer. */
export function readTemplate(schema: object): TemplateResult {
  const characters = JSON.stringify(schema).length;
  if (characters > TEMPLATE_LIMITS.schemaCharacters) {
    return refuse('', `has more than ${String(TEMPLATE_LIMITS.schemaCharacters)} characters`);
  }
  const size = sizeOf(schema);
  if (!size.ok && size.isTooLarge) return { ok: false, faults: size.faults };
  const faults = [...(size.ok ? [] : size.faults), ...shapeFaults(schema)];
  if (!size.ok || faults.length > 0) return refuseAll([...faults, ...patternFaults(size.patternsAt), ...size.unknown]);
  try {
    return { ok: true, template: compile(schema, { ...size, characters }) };
  } catch (error) {
    if (error instanceof PatternError) return refuseAll([...patternFaults(size.patternsAt), ...size.unknown]);
    if (!(error instanceof Error)) throw error;
    // A keyword that ajv knows but does not accept in this form. The message may quote the schema, which belongs to its
    // author anyway.
    return refuse('', `cannot be used: ${error.message}`);
  }
}

/** Why a new template is refused: its faults as a stored one, and its unknown words. Empty if it is not. */
export function newTemplateFaults(result: TemplateResult): readonly SchemaFault[] {
  return result.ok ? sorted(result.template.unknown) : result.faults;
}

interface Sizes extends SchemaSize {
  /** The number of characters of the schema. */
  readonly characters: number;
}

function compile(schema: object, sizes: Sizes): Template {
  const { small, patternCache, heldBytes } = TEMPLATE_LIMITS;
  /** On the monotonic clock. */
  let until = Infinity;
  const patterns = new Map<string, Pattern>();
  const pattern = (text: string): Pattern => {
    const cache = patternCache / sizes.patterns;
    const found = patterns.get(text) ?? compilePattern(text, { cache, time: () => until - performance.now() });
    patterns.set(text, found);
    return found;
  };
  const check = makeCheck(schema, sizes, pattern);
  const checkIn = (most: number, value: unknown, work: number): readonly ShapeFault[] | null => {
    // For all texts of the value together.
    until = performance.now() + most;
    try {
      return check(value, work);
    } catch (error) {
      if (error instanceof TooSlow) return null;
      throw error;
    }
  };
  return {
    check: (value) => checkIn(Infinity, value, workOf(value) * sizes.cost) ?? TOO_LARGE,
    checkSoon: (value) => {
      const work = workOf(value) * sizes.cost;
      return work > small.checks ? null : checkIn(small.time, value, work);
    },
    bytes:
      heldBytes.schema +
      heldBytes.character * sizes.characters +
      heldBytes.patternPart * sizes.patternParts +
      heldBytes.patternRange * sizes.patternRanges +
      (sizes.patterns === 0 ? 0 : patternCache),
    unknown: sizes.unknown,
  };
}

function workOf(value: unknown): number {
  return countParts(value) + countCharacters(value) / TEMPLATE_LIMITS.charactersPerPart;
}

type Check = (value: unknown, work: number) => readonly ShapeFault[];

function makeCheck(schema: object, { characters, unknown }: Sizes, pattern: MakePattern): Check {
  const formats = unknown.length === 0 ? 'asserted' : 'notes';
  const first = makeAjv({ faults: 'first', formats, pattern }).compile(schema);
  let all: ValidateFunction | null = null;
  return (value, work) => {
    if (work > TEMPLATE_LIMITS.checks) return TOO_LARGE;
    try {
      if (first(value)) return [];
      const parts = countParts(value);
      const isLarge = parts * characters > TEMPLATE_LIMITS.workWithAllFaults;
      if (isLarge || parts > TEMPLATE_LIMITS.partsWithAllFaults) return faultsOf(first);
      all ??= makeAjv({ faults: 'all', formats, pattern }).compile(schema);
      all(value);
      return faultsOf(all);
    } catch (error) {
      // A schema with many keywords takes much of the stack for each level of a value.
      if (error instanceof RangeError) return TOO_LARGE;
      throw error;
    }
  };
}

/** Also the answer for a value that the thread does not finish in time. */
export const TOO_LARGE: readonly ShapeFault[] = Object.freeze([
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

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';
/** Checks schemas against the meta-schema. It compiles no schema of a template. */
const META_SCHEMA = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, logger: false });

type MakePattern = (pattern: string) => Pattern;

interface AjvKind {
  readonly faults: 'first' | 'all';
  readonly formats: 'asserted' | 'notes';
  readonly pattern: MakePattern;
}

/** Makes an instance for one schema, because an instance keeps everything that it has compiled. */
function makeAjv({ faults, formats, pattern }: AjvKind): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: faults === 'all',
    // Unknown keywords check nothing: they are notes, or older than the rule against them.
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
    // The code is needed for stand-alone modules, which are never made here.
    code: { regExp: Object.assign(pattern, { code: 'null' }), optimize: false },
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
  // The library's own table has patterns that backtrack.
  if (formats === 'notes') return ajv;
  ajv.removeKeyword('format');
  ajv.addKeyword({
    keyword: 'format',
    type: 'string',
    schemaType: 'string',
    error: { message: ({ schema }) => `must be ${formatOf(String(schema))?.meaning ?? 'of a known format'}` },
    compile: (name: string) => {
      const format = formatOf(name);
      if (format === null) throw new TypeError('a format that is not known');
      return format.test;
    },
  });
  return ajv;
}

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
  return { ok: false, faults: [{ pointer, message }] };
}

function refuseAll(found: readonly SchemaFault[]): TemplateResult {
  return { ok: false, faults: sorted(found) };
}

function sorted(found: readonly SchemaFault[]): readonly SchemaFault[] {
  const byPlace = new Map(found.toReversed().map((fault) => [fault.pointer, fault]));
  const faults = [...byPlace.values()].sort((a, b) => compareTexts(a.pointer, b.pointer));
  return faults.slice(0, TEMPLATE_LIMITS.faults);
}

function patternFaults(patterns: readonly PatternAt[]): readonly SchemaFault[] {
  return patterns.flatMap(({ pointer, pattern }) => {
    const message = patternFault(pattern);
    return message === null ? [] : [{ pointer, message }];
  });
}

/** What the meta-schema says, one fault for each place. Of alternatives it also says that none fits, at the same place. */
function shapeFaults(schema: object): readonly SchemaFault[] {
  if (META_SCHEMA.validate(DRAFT, schema)) return [];
  return (META_SCHEMA.errors ?? [])
    .filter(({ keyword }) => keyword !== 'anyOf')
    .map((error) => {
      const { place, message } = toShapeFault(error, []);
      return { pointer: place.reduce<string>(pointerTo, ''), message: `${message}, as JSON Schema (2020-12) requires` };
    });
}
