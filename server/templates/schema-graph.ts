// A template's JSON Schema as a graph of its parts: what applies where, and what refers to what. The graph tells how
// much work a value can cause, before any value is seen. A schema of a few hundred bytes can demand 2^32 checks of one
// number.
import { isObject, pointerTo } from '../json/strict-json.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { patternRanges, patternSize } from './pattern-size.js';
import { wordFault } from './schema-words.js';

export interface SchemaFault {
  /** A JSON pointer (RFC 6901) into the schema. */
  readonly pointer: string;
  readonly message: string;
}

type Holds = 'schema' | 'list' | 'map';

interface Applied {
  readonly to: 'value' | 'member' | 'element' | 'nothing';
  readonly holds: Holds;
}

/**
 * Keywords that hold schemas: whether these apply to the value itself or to its parts, and in what form the keyword
 * holds them.
 */
const APPLIED: ReadonlyMap<string, Applied> = new Map([
  ...applied('value', 'schema', ['not', 'if', 'then', 'else']),
  ...applied('value', 'list', ['allOf', 'anyOf', 'oneOf']),
  ...applied('value', 'map', ['dependentSchemas']),
  ...applied('member', 'map', ['properties', 'patternProperties']),
  ...applied('member', 'schema', ['additionalProperties', 'propertyNames', 'unevaluatedProperties']),
  ...applied('element', 'list', ['prefixItems']),
  ...applied('element', 'schema', ['items', 'contains', 'unevaluatedItems']),
  ...applied('nothing', 'map', ['$defs', 'definitions']),
]);

function applied(to: Applied['to'], holds: Holds, names: readonly string[]): (readonly [string, Applied])[] {
  return names.map((name) => [name, { to, holds }]);
}

/** Keywords for which only one schema of the map or list applies to each part. */
const EXCLUSIVE: ReadonlySet<string> = new Set(['properties', 'prefixItems']);

/** Keywords that check a value themselves. Each becomes a piece of the compiled schema. */
const CHECKS: ReadonlySet<string> = new Set([
  ...['type', 'const', 'enum', '$ref', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'required', 'dependentRequired'],
]);

/** Keywords that cannot be bounded, would leave this document, or mean something to ajv but not to the standard. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['$dynamicRef', 'is not supported: use `$ref`'],
  ['$dynamicAnchor', 'is not supported: use `$anchor`'],
  ['$recursiveRef', 'is not supported: use `$ref`'],
  ['$recursiveAnchor', 'is not supported: use `$anchor`'],
  ['$vocabulary', 'is not supported'],
  ['$async', 'is not supported'],
  ['dependencies', 'is not a keyword of this draft: use `dependentRequired` or `dependentSchemas`'],
  ['nullable', 'is not a keyword of JSON Schema: add `null` to `type`'],
]);

const DRAFT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

interface Node {
  readonly pointer: string;
  /** Schemas that apply to the value itself, including the target of `$ref`. */
  readonly here: Node[];
  /** For each keyword that applies to members or elements, its schemas. */
  readonly members: Word[];
  readonly elements: Word[];
  /** The computed costs, by the number of levels of the value that can still follow. */
  readonly costs: (number | undefined)[];
  /** The numbers of levels for which the cost is being computed. */
  readonly open: Set<number>;
}

interface Word {
  readonly schemas: readonly Node[];
  readonly isExclusive: boolean;
}

interface GraphReading {
  readonly nodes: Map<string, Node>;
  readonly anchors: Map<string, Node>;
  readonly references: { readonly from: Node; readonly target: string }[];
  /** Mistakes of single words. Whoever is past a limit is refused at once. */
  readonly faults: SchemaFault[];
  /** Unknown words and formats. */
  readonly unknown: SchemaFault[];
  readonly patternsAt: PatternAt[];
  /** The number of schemas and of the keywords in them. */
  parts: number;
  /** The number of patterns, and of the parts of all of them and the ranges of those. */
  patterns: number;
  patternParts: number;
  patternRanges: number;
}

export interface PatternAt {
  readonly pointer: string;
  readonly pattern: string;
}

export interface SchemaSize {
  /** How many checks one value may cost on the way to its deepest part, not counting the texts that patterns look at. */
  readonly cost: number;
  readonly parts: number;
  readonly patterns: number;
  readonly patternParts: number;
  readonly patternRanges: number;
  readonly patternsAt: readonly PatternAt[];
  /** Words and formats that only a template of an older release may have. */
  readonly unknown: readonly SchemaFault[];
}

export interface RefusedSchema {
  readonly ok: false;
  /** At least one. */
  readonly faults: readonly SchemaFault[];
  readonly unknown: readonly SchemaFault[];
  /** Those whose size is known to be small enough to compile them. */
  readonly patternsAt: readonly PatternAt[];
  /** Whether a limit is exceeded: then nothing else is looked for. */
  readonly isTooLarge: boolean;
}

class Refused extends Error {
  readonly fault: SchemaFault;

  constructor(fault: SchemaFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** How large the schema is, or why it is refused. */
export function sizeOf(schema: object): ({ readonly ok: true } & SchemaSize) | RefusedSchema {
  try {
    const counts = { parts: 0, patterns: 0, patternParts: 0, patternRanges: 0 };
    const lists = { references: [], faults: [], unknown: [], patternsAt: [] };
    const reading: GraphReading = { nodes: new Map(), anchors: new Map(), ...lists, ...counts };
    const root = read(schema, '', reading);
    for (const { from, target } of reading.references) {
      const found = resolve(from, target, reading);
      if (found !== null) from.here.push(found);
    }
    const { faults, unknown, parts, patterns, patternParts, patternRanges: ranges, patternsAt } = reading;
    if (faults.length > 0) return { ok: false, faults, unknown, patternsAt, isTooLarge: false };
    const cost = measure(root, { depth: TEMPLATE_LIMITS.valueDepth, steps: 0 });
    return { ok: true, cost, parts, patterns, patternParts, patternRanges: ranges, patternsAt, unknown };
  } catch (error) {
    if (error instanceof Refused)
      return { ok: false, faults: [error.fault], unknown: [], patternsAt: [], isTooLarge: true };
    throw error;
  }
}

function read(schema: unknown, pointer: string, reading: GraphReading): Node {
  const node: Node = { pointer, here: [], members: [], elements: [], costs: [], open: new Set() };
  reading.nodes.set(pointer, node);
  addParts(reading, 1, pointer);
  // The meta-schema refuses whatever is neither an object nor a boolean.
  if (!isObject(schema)) return node;
  for (const [name, value] of Object.entries(schema)) readKeyword({ node, name, value }, reading);
  return node;
}

function readKeyword(
  { node, name, value }: { readonly node: Node; readonly name: string; readonly value: unknown },
  reading: GraphReading,
): void {
  const at = below(node.pointer, name);
  if (CHECKS.has(name) || APPLIED.has(name)) addParts(reading, partsOf(name, value), at);
  const why = REFUSED.get(name);
  if (why !== undefined) note(reading, at, why);
  // A `format` is no part of its own: a schema, which is one, has one at most.
  const unknown = reading.unknown.length < TEMPLATE_LIMITS.faults ? wordFault(name, value) : null;
  if (unknown !== null) reading.unknown.push({ pointer: shownPointer(at), message: unknown });
  if (name === '$schema' && (typeof value !== 'string' || !DRAFT.test(value))) {
    note(reading, at, 'must be https://json-schema.org/draft/2020-12/schema, or be left out');
  }
  if (name === '$id' && node.pointer !== '') note(reading, at, 'may appear at the top only');
  if (name === '$ref') readReference(node, value, reading);
  if (name === 'pattern' && typeof value === 'string') readPattern(value, at, reading);
  if (name === 'patternProperties' && isObject(value)) {
    for (const pattern of Object.keys(value)) readPattern(pattern, below(at, pattern), reading);
  }
  if (name === '$anchor' && typeof value === 'string') reading.anchors.set(value, node);
  const keyword = APPLIED.get(name);
  if (keyword === undefined) return;
  const schemas = readSchemas(value, { holds: keyword.holds, at }, reading);
  const word: Word = { schemas, isExclusive: EXCLUSIVE.has(name) };
  if (keyword.to === 'value') node.here.push(...schemas);
  else if (keyword.to === 'member') node.members.push(word);
  else if (keyword.to === 'element') node.elements.push(word);
}

/** Limited, because the time to compile grows faster than the number of parts. */
function addParts(reading: GraphReading, more: number, at: string): void {
  reading.parts += more;
  const { schemaParts } = TEMPLATE_LIMITS;
  if (reading.parts > schemaParts)
    throw refused(at, `has more than ${String(schemaParts)} parts: schemas and words in them`);
}

/** The names of required members are written out in the compiled code, up to the number from which ajv makes a loop. */
function partsOf(name: string, value: unknown): number {
  if (name === 'required' && Array.isArray(value)) return Math.min(value.length, TEMPLATE_LIMITS.loopRequired);
  if (name !== 'dependentRequired' || !isObject(value)) return 1;
  return Object.values(value).reduce<number>((sum, list) => sum + 1 + (Array.isArray(list) ? list.length : 0), 0);
}

function readPattern(pattern: string, at: string, reading: GraphReading): void {
  reading.patterns += 1;
  reading.patternParts += patternSize(pattern);
  reading.patternRanges += patternRanges(pattern);
  reading.patternsAt.push({ pointer: shownPointer(at), pattern });
  const isSmallEnough = reading.patternParts <= TEMPLATE_LIMITS.patternParts;
  if (isSmallEnough && reading.patternRanges <= TEMPLATE_LIMITS.patternRanges) return;
  if (reading.patternParts === Infinity)
    throw refused(at, 'has a pattern that is not supported: no `\\Q`, no `[:` in a class');
  const most = isSmallEnough
    ? `${String(TEMPLATE_LIMITS.patternRanges)} ranges of characters in their classes`
    : `${String(TEMPLATE_LIMITS.patternParts)} parts`;
  throw refused(at, `is too large: the patterns of a schema may have ${most}, with their repetitions written out`);
}

function readReference(node: Node, target: unknown, reading: GraphReading): void {
  if (typeof target !== 'string') return;
  if (!target.startsWith('#')) {
    note(reading, below(node.pointer, '$ref'), 'must begin with `#`: other documents are never read');
    return;
  }
  // Readers of pointers do not agree on what it means, so what is measured here would not be what ajv judges by.
  if (/%2f/i.test(target)) {
    note(reading, below(node.pointer, '$ref'), 'must not contain `%2F`: write `~1` for a `/` in a key');
    return;
  }
  reading.references.push({ from: node, target: target.slice(1) });
}

function readSchemas(
  value: unknown,
  { holds, at }: { readonly holds: Holds; readonly at: string },
  reading: GraphReading,
): readonly Node[] {
  if (holds === 'schema') return [read(value, at, reading)];
  if (holds === 'list') return Array.isArray(value) ? value.map((part, i) => read(part, below(at, i), reading)) : [];
  return isObject(value) ? Object.entries(value).map(([key, part]) => read(part, below(at, key), reading)) : [];
}

function resolve(from: Node, target: string, reading: GraphReading): Node | null {
  const { nodes, anchors } = reading;
  let decoded = target;
  try {
    decoded = decodeURIComponent(target);
  } catch {
    // The text is not percent-encoded, so it is looked up as it is.
  }
  const found = decoded === '' || decoded.startsWith('/') ? nodes.get(decoded) : anchors.get(decoded);
  if (found === undefined) note(reading, below(from.pointer, '$ref'), 'refers to no schema of this document');
  return found ?? null;
}

interface Left {
  /** How many levels of the value can still follow. */
  readonly depth: number;
  /** The number of schemas on the way from the top. Each costs one check, so a long way is costly. */
  readonly steps: number;
}

function measure(node: Node, { depth, steps }: Left): number {
  const known = node.costs[depth];
  if (known !== undefined) return known;
  if (node.open.has(depth)) throw refused(node.pointer, 'refers to itself without end');
  if (steps > TEMPLATE_LIMITS.checksPerPart) throw tooCostly(node);
  node.open.add(depth);
  const here = node.here.reduce((sum, part) => sum + measure(part, { depth, steps: steps + 1 }), 1);
  const next = { depth: depth - 1, steps: steps + 1 };
  const deeper = depth === 0 ? 0 : Math.max(measureWords(node.members, next), measureWords(node.elements, next));
  node.open.delete(depth);
  const cost = here + deeper;
  if (cost > TEMPLATE_LIMITS.checksPerPart) throw tooCostly(node);
  node.costs[depth] = cost;
  return cost;
}

function measureWords(words: readonly Word[], left: Left): number {
  return words.reduce((sum, { schemas, isExclusive }) => {
    const costs = schemas.map((schema) => measure(schema, left));
    return sum + (isExclusive ? Math.max(0, ...costs) : costs.reduce((all, cost) => all + cost, 0));
  }, 0);
}

function tooCostly({ pointer }: Node): Refused {
  return refused(pointer, `may ask for more than ${String(TEMPLATE_LIMITS.checksPerPart)} checks of one value`);
}

function refused(pointer: string, message: string): Refused {
  return new Refused({ pointer: shownPointer(pointer), message });
}

function note({ faults }: GraphReading, pointer: string, message: string): void {
  faults.push({ pointer: shownPointer(pointer), message });
}

/** Shortens the keys. Pointers that identify a part keep whole keys. */
function shownPointer(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .reduce((parent, key) => pointerTo(parent, key.replaceAll('~1', '/').replaceAll('~0', '~')), '');
}

function below(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
