// A template's JSON Schema (2020-12) as a judge of values: the properties of a resource, the parameters of a run. The
// schema comes from a user, so it is bounded before it is compiled: no other document, no pattern that backtracks, no
// more work than its size and the size of the value allow. `load` and commands both judge with this.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { compareTexts } from '../../engine/index.js';
import { toShapeFault, type ShapeFault } from '../api/shape-fault.js';
import { isObject, pointerTo } from '../json/strict-json.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { makeClock, TooSlow } from './clock.js';
import { boundFaults, compileSchema, type Compiling, type Judge } from './compile-schema.js';
import { compilePattern, type Pattern, PatternError, patternFault } from './pattern.js';
import { isFolded, patternRanges, patternSize } from './pattern-size.js';
import { type PatternAt, type SchemaFault, type SchemaSize, sizeOf } from './schema-graph.js';

export type { SchemaFault } from './schema-graph.js';

interface Template {
  /**
   * The faults of a value, with their places in it; empty if there are none. A step that may take longer than those
   * milliseconds is not taken.
   */
  readonly check: (value: unknown, step?: number) => readonly ShapeFault[];
  /** Like `check`, but null if that could hold up other requests, or takes more than the milliseconds that are left. */
  readonly checkSoon: (value: unknown, left: number) => readonly ShapeFault[] | null;
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

interface Most {
  readonly checks: number;
  /** Milliseconds, also for one step. */
  readonly time: number;
  readonly step: number;
}

function compile(schema: object, sizes: Sizes): Template {
  const { small, patternCache, heldBytes, checks, charactersPerPart, threadTime } = TEMPLATE_LIMITS;
  const clock = makeClock();
  const patterns = new Map<string, Pattern>();
  const pattern = (text: string): Pattern => {
    const cache = patternCache / sizes.patterns;
    const found = patterns.get(text) ?? compilePattern(text, { cache, foresee: clock.foresee });
    patterns.set(text, found);
    return found;
  };
  const formats = sizes.unknown.length === 0 ? 'asserted' : 'notes';
  const judge = makeJudge(schema, sizes.characters, { formats, pattern, clock });
  const checkIn = (value: unknown, most: Most): ReturnType<Judge> | null => {
    clock.start(most.time, most.step);
    try {
      return fits(value, { left: most.checks / sizes.cost, charactersPerPart, tick: clock.tick }) ? judge(value) : null;
    } catch (error) {
      if (error instanceof TooSlow) return null;
      throw error;
    }
  };
  return {
    check: (value, step = Infinity) => checkIn(value, { checks, time: threadTime, step }) ?? TOO_LARGE,
    checkSoon: (value, left) => {
      const time = Math.min(small.time, left);
      return checkIn(value, { checks: small.checks, time, step: time });
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

function makeJudge(schema: object, characters: number, compiling: Omit<Compiling, 'faults'>): Judge {
  const first = compileSchema(schema, { ...compiling, faults: 'first' });
  const { tick } = compiling.clock;
  const most = Math.min(TEMPLATE_LIMITS.partsWithAllFaults, TEMPLATE_LIMITS.workWithAllFaults / characters);
  let all: Judge | null = null;
  return (value) => {
    try {
      const found = first(value);
      if (found.length === 0) return found;
      if (!fits(value, { left: most, charactersPerPart: Infinity, tick })) return found;
      all ??= compileSchema(schema, { ...compiling, faults: 'all' });
      return all(value);
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

interface Room {
  /** Parts: objects, lists and values, the whole value included. */
  left: number;
  /** How many characters of strings and names count as a part. */
  readonly charactersPerPart: number;
  readonly tick: () => void;
}

function fits(value: unknown, room: Room): boolean {
  room.tick();
  room.left -= 1;
  if (typeof value === 'string') room.left -= value.length / room.charactersPerPart;
  else if (Array.isArray(value)) {
    if (room.left < value.length) return false;
    for (const part of value) if (!fits(part, room)) return false;
  } else if (isObject(value)) {
    // Listing the members with their names takes three times as long.
    const names = Object.keys(value);
    if (room.left < names.length) return false;
    for (const name of names) {
      room.left -= name.length / room.charactersPerPart;
      if (!fits(value[name], room)) return false;
    }
  }
  return room.left >= 0;
}

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';
/** Checks schemas against the meta-schema. It compiles no schema of a template. */
const META_SCHEMA = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, logger: false });
// There are several for one place, of which one is told.
boundFaults(META_SCHEMA, 8 * TEMPLATE_LIMITS.faults, makeClock());

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
