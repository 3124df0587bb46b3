// A template's JSON Schema as a graph of its parts: what applies where, what refers to what. From it follows how much work a
// value can make, before any value is seen: a schema of a few hundred bytes can ask for 2^32 checks of one number.
import { pointerTo } from '../json.js';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { patternSize } from './pattern-size.js';

export interface SchemaFault {
  /** RFC 6901, into the schema. */
  readonly pointer: string;
  readonly message: string;
}

type Holds = 'schema' | 'list' | 'map';

interface Applied {
  readonly to: 'value' | 'member' | 'element' | 'nothing';
  readonly holds: Holds;
}

/** Keywords by how their schemas are applied: to the value itself or to its parts, and what they hold. */
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

/** Words of which only one schema of the map or list applies to one part. */
const EXCLUSIVE: ReadonlySet<string> = new Set(['properties', 'prefixItems']);

/** Words that check a value themselves. Each takes its own piece of what a schema is compiled to. */
const CHECKS: ReadonlySet<string> = new Set([
  ...['type', 'const', 'enum', '$ref', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'required', 'dependentRequired'],
]);

/** What cannot be bounded, would leave this document, or means something to ajv and nothing to the standard. */
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
  /** Schemas that apply to the value itself; `$ref` among them. */
  readonly here: Node[];
  /** Of each word that applies to members or elements, its schemas. */
  readonly members: Word[];
  readonly elements: Word[];
  /** By the levels of the value that can still follow. */
  readonly costs: (number | undefined)[];
  /** The levels for which its cost is being computed. */
  readonly open: Set<number>;
}

interface Word {
  readonly schemas: readonly Node[];
  readonly isExclusive: boolean;
}

type Json = Readonly<Record<string, unknown>>;

interface Reading {
  readonly nodes: Map<string, Node>;
  readonly anchors: Map<string, Node>;
  readonly references: { readonly from: Node; readonly target: string }[];
  /** Schemas and the words in them. */
  parts: number;
  /** Parts of all patterns. */
  patternParts: number;
}

class Refused extends Error {
  readonly fault: SchemaFault;

  constructor(fault: SchemaFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** How many checks one value may cost on the way to its deepest part, or why the schema is not accepted. */
export function costOf(
  schema: object,
): { readonly ok: true; readonly cost: number } | { readonly ok: false; readonly fault: SchemaFault } {
  try {
    const reading: Reading = { nodes: new Map(), anchors: new Map(), references: [], parts: 0, patternParts: 0 };
    const root = read(schema, '', reading);
    for (const { from, target } of reading.references) from.here.push(resolve(from, target, reading));
    const checks = measure(root, { depth: TEMPLATE_LIMITS.valueDepth, steps: 0 });
    return { ok: true, cost: reading.patternParts === 0 ? checks : checks * TEMPLATE_LIMITS.patternCost };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, fault: error.fault };
    throw error;
  }
}

function read(schema: unknown, pointer: string, reading: Reading): Node {
  const node: Node = { pointer, here: [], members: [], elements: [], costs: [], open: new Set() };
  reading.nodes.set(pointer, node);
  countParts(reading, 1, pointer);
  // What is neither an object nor a boolean is for the meta-schema to refuse.
  if (!isObject(schema)) return node;
  for (const [name, value] of Object.entries(schema)) readKeyword({ node, name, value }, reading);
  return node;
}

interface Keyword {
  readonly node: Node;
  readonly name: string;
  readonly value: unknown;
}

function readKeyword({ node, name, value }: Keyword, reading: Reading): void {
  const at = below(node.pointer, name);
  if (CHECKS.has(name) || APPLIED.has(name)) countParts(reading, partsOf(name, value), at);
  const why = REFUSED.get(name);
  if (why !== undefined) throw refused(at, why);
  if (name === '$schema' && (typeof value !== 'string' || !DRAFT.test(value))) {
    throw refused(at, 'must be https://json-schema.org/draft/2020-12/schema, or be left out');
  }
  if (name === '$id' && node.pointer !== '') throw refused(at, 'may appear at the top only');
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

/** Compiling takes longer than in proportion to them. */
function countParts(reading: Reading, more: number, at: string): void {
  reading.parts += more;
  const { schemaParts } = TEMPLATE_LIMITS;
  if (reading.parts > schemaParts)
    throw refused(at, `has more than ${String(schemaParts)} parts: schemas and words in them`);
}

/** Names of required members are written out, up to where a loop is. */
function partsOf(name: string, value: unknown): number {
  if (name === 'required' && Array.isArray(value)) return Math.min(value.length, TEMPLATE_LIMITS.loopRequired);
  if (name !== 'dependentRequired' || !isObject(value)) return 1;
  return Object.values(value).reduce<number>((sum, list) => sum + 1 + (Array.isArray(list) ? list.length : 0), 0);
}

function readPattern(pattern: string, at: string, reading: Reading): void {
  reading.patternParts += patternSize(pattern);
  if (reading.patternParts <= TEMPLATE_LIMITS.patternParts) return;
  if (reading.patternParts === Infinity)
    throw refused(at, 'has a pattern that is not supported: no `\\Q`, no `[:` in a class');
  const most = String(TEMPLATE_LIMITS.patternParts);
  throw refused(
    at,
    `is too large: the patterns of a schema may have ${most} parts, with their repetitions written out`,
  );
}

function readReference(node: Node, target: unknown, reading: Reading): void {
  if (typeof target !== 'string') return;
  if (!target.startsWith('#')) {
    throw refused(below(node.pointer, '$ref'), 'must begin with `#`: other documents are never read');
  }
  reading.references.push({ from: node, target: target.slice(1) });
}

function readSchemas(
  value: unknown,
  { holds, at }: { readonly holds: Holds; readonly at: string },
  reading: Reading,
): readonly Node[] {
  if (holds === 'schema') return [read(value, at, reading)];
  if (holds === 'list') return Array.isArray(value) ? value.map((part, i) => read(part, below(at, i), reading)) : [];
  return isObject(value) ? Object.entries(value).map(([key, part]) => read(part, below(at, key), reading)) : [];
}

function resolve(from: Node, target: string, { nodes, anchors }: Reading): Node {
  let decoded = target;
  try {
    decoded = decodeURIComponent(target);
  } catch {
    // Not an encoded text: it is looked for as it stands.
  }
  const found = decoded === '' || decoded.startsWith('/') ? nodes.get(decoded) : anchors.get(decoded);
  if (found === undefined) throw refused(below(from.pointer, '$ref'), 'refers to no schema of this document');
  return found;
}

interface Left {
  /** Levels of the value that can still follow. */
  readonly depth: number;
  /** Schemas on the way from the top: each costs one, so a long way is a high cost. */
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

/** Keys in pointers that are shown are cut; those that name a part are whole. */
function refused(pointer: string, message: string): Refused {
  const shown = pointer
    .split('/')
    .slice(1)
    .reduce((parent, key) => pointerTo(parent, key.replaceAll('~1', '/').replaceAll('~0', '~')), '');
  return new Refused({ pointer: shown, message });
}

function below(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
