// Turns ajv's errors into a place and a message of ours without any value of the input. Schemas that are compiled with
// `verbose` also show the right form: the first of their `examples`.
import type { ErrorObject } from 'ajv/dist/2020.js';
import { FAMILIES, nearest } from '../../engine/index.js';
import { isObject } from '../json/strict-json.js';

export interface ShapeFault {
  /** The keys from the top of the value to the place. */
  readonly place: readonly string[];
  readonly message: string;
}

/** A fault of a value that is at `place` in something larger. */
export function toShapeFault(error: ErrorObject, place: readonly string[]): ShapeFault {
  const says: Says = error.params;
  const member = says['additionalProperty'] ?? says['missingProperty'];
  const here = [...place, ...error.instancePath.split('/').slice(1).map(unescapeKey)];
  return {
    place: typeof member === 'string' ? [...here, member] : here,
    message: MESSAGES.get(error.keyword)?.(error, says) ?? error.message ?? 'does not have the documented shape',
  };
}

type Says = Readonly<Record<string, unknown>>;

/** By the keyword that the value does not satisfy. */
const MESSAGES = new Map<string, (error: ErrorObject, says: Says) => string>([
  ['additionalProperties', (error) => `is not known here${knownText(error)}`],
  ['required', () => 'is required'],
  ['enum', (_, { allowedValues }) => choiceText(allowedValues)],
  ['type', (error, { type }) => `${kindText(type)}${exampleText(error)}`],
  ['minProperties', (error, { limit }) => `must have at least ${countText(limit, 'key')}${exampleText(error)}`],
  ['maxProperties', (error, { limit }) => `must have at most ${countText(limit, 'key')}${exampleText(error)}`],
  ['minimum', (_, { limit }) => `must be at least ${String(limit)}`],
  ['maximum', (_, { limit }) => `must be at most ${String(limit)}`],
  ['pattern', (_, { pattern }) => PATTERNS.get(String(pattern)) ?? 'does not have the required form'],
  ['minLength', () => 'must not be empty'],
  ['maxLength', (_, { limit }) => `must have at most ${String(limit)} characters`],
  ['minItems', (_, { limit }) => `must have at least ${countText(limit, 'element')}`],
  ['maxItems', (_, { limit }) => `must have at most ${String(limit)} elements`],
]);

/** The message, with what may have been meant. */
export function meantText(message: string, given: string, known: readonly string[]): string {
  const meant = nearest(given, known);
  return meant === null ? message : `${message}; did you mean \`${meant}\`?`;
}

/** A policy may declare other families. There are no records of them. */
function choiceText(allowed: unknown): string {
  const text = `must be one of ${listOf(allowed)}`;
  return allowed === FAMILIES ? `${text}: there are records of these families only` : text;
}

/** Patterns of our schemas in words. */
export const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
export const NAME_PATTERN = '^[a-z0-9][a-z0-9._-]{0,127}$';
const PATTERNS: ReadonlyMap<string, string> = new Map([
  [UUID_PATTERN, 'must be a UUID, like 01900000-0000-7000-8000-000000000000'],
  [NAME_PATTERN, 'must be a name: up to 128 of a to z, 0 to 9, `.`, `_` and `-`, beginning with a letter or digit'],
]);

const KINDS: ReadonlyMap<string, string> = new Map([
  ['object', 'an object'],
  ['array', 'a list'],
  ['string', 'a string'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
  ['null', 'null'],
]);

function kindText(types: unknown): string {
  const kinds = (Array.isArray(types) ? types : [types]).map((type) => KINDS.get(String(type)) ?? String(type));
  return `must be ${kinds.join(' or ')}`;
}

function countText(limit: unknown, one: string): string {
  return limit === 1 ? `1 ${one}` : `${String(limit)} ${one}s`;
}

function exampleText({ parentSchema }: ErrorObject): string {
  const examples: unknown = parentSchema?.['examples'];
  return Array.isArray(examples) && examples.length > 0 ? `, like ${JSON.stringify(examples[0])}` : '';
}

/** For closed objects: the members that are allowed. */
function knownText({ parentSchema }: ErrorObject): string {
  const properties: unknown = parentSchema?.['properties'];
  return isObject(properties) ? `; the known keys are ${Object.keys(properties).join(', ')}` : '';
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : 'the documented values';
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
