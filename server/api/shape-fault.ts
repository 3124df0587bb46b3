// Turns ajv's errors into a place and a message of ours without any value of the input. Schemas that are compiled with
// `verbose` also show the right form: the first of their `examples`.
import type { ErrorObject } from 'ajv/dist/2020.js';
import { FAMILIES } from '../../engine/index.js';

export interface ShapeFault {
  /** The keys from the top of the value to the place. */
  readonly place: readonly string[];
  readonly message: string;
}

/** A fault of a value that is at `place` in something larger. */
export function toShapeFault(error: ErrorObject, place: readonly string[]): ShapeFault {
  const here = [...place, ...error.instancePath.split('/').slice(1).map(unescapeKey)];
  const parameters: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'additionalProperties':
      return {
        place: [...here, String(parameters['additionalProperty'])],
        message: `is not known here${knownText(error)}`,
      };
    case 'required':
      return { place: [...here, String(parameters['missingProperty'])], message: 'is required' };
    case 'enum':
      return { place: here, message: choiceText(parameters['allowedValues']) };
    case 'type':
      return { place: here, message: `${kindText(parameters['type'])}${exampleText(error)}` };
    case 'minProperties':
      return { place: here, message: `must have at least ${keysText(parameters['limit'])}${exampleText(error)}` };
    case 'maxProperties':
      return { place: here, message: `must have at most ${keysText(parameters['limit'])}${exampleText(error)}` };
    case 'minimum':
      return { place: here, message: `must be at least ${String(parameters['limit'])}` };
    case 'maximum':
      return { place: here, message: `must be at most ${String(parameters['limit'])}` };
    case 'pattern':
      return { place: here, message: PATTERNS.get(String(parameters['pattern'])) ?? 'does not have the required form' };
    case 'minLength':
      return { place: here, message: 'must not be empty' };
    case 'maxLength':
      return { place: here, message: `must have at most ${String(parameters['limit'])} characters` };
    case 'minItems':
      return { place: here, message: `must have at least ${elementsText(parameters['limit'])}` };
    case 'maxItems':
      return { place: here, message: `must have at most ${String(parameters['limit'])} elements` };
    default:
      return { place: here, message: error.message ?? 'does not have the documented shape' };
  }
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

function elementsText(limit: unknown): string {
  return limit === 1 ? '1 element' : `${String(limit)} elements`;
}

function keysText(limit: unknown): string {
  return limit === 1 ? '1 key' : `${String(limit)} keys`;
}

function exampleText({ parentSchema }: ErrorObject): string {
  const examples: unknown = parentSchema?.['examples'];
  return Array.isArray(examples) && examples.length > 0 ? `, like ${JSON.stringify(examples[0])}` : '';
}

/** For closed objects: the members that are allowed. */
function knownText({ parentSchema }: ErrorObject): string {
  const properties: unknown = parentSchema?.['properties'];
  if (typeof properties !== 'object' || properties === null) return '';
  return `; the known keys are ${Object.keys(properties).join(', ')}`;
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : 'the documented values';
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
