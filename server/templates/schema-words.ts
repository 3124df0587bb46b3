// The words that the schema of a template may use. JSON Schema takes unknown words and formats for notes, so a misspelt
// one checks nothing and nobody notices. That is why a new template may not have any. Notes of its author begin with `x-`.
import { nearest } from '../../engine/index.js';
import { FORMAT_NAMES, formatOf } from './formats.js';

/** Of 2020-12, as far as a schema may use them. */
const KEYWORDS: readonly string[] = [
  ...['$schema', '$id', '$ref', '$anchor', '$defs', '$comment'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'],
  ...['prefixItems', 'items', 'contains', 'properties', 'patternProperties', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
  ...['type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'maxContains', 'minContains'],
  ...['maxProperties', 'minProperties', 'required', 'dependentRequired'],
  ...['title', 'description', 'default', 'deprecated', 'readOnly', 'writeOnly', 'examples'],
  ...['format', 'contentEncoding', 'contentMediaType', 'contentSchema'],
];

/** Beside those, the words that an older draft has for the same, and those that are refused with a reason of their own. */
const KNOWN: ReadonlySet<string> = new Set([
  ...KEYWORDS,
  ...['definitions', 'dependencies', 'nullable', '$async', '$vocabulary'],
  ...['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor'],
]);

/** Words of older drafts and of OpenAPI whose present form is not one of a few letters. */
const FORMER: ReadonlyMap<string, string> = new Map([
  ['additionalItems', '`items` beside `prefixItems`'],
  ['divisibleBy', '`multipleOf`'],
  ['disallow', '`not`'],
  ['extends', '`allOf`'],
  ['id', '`$id`'],
  ['example', '`examples`'],
  ['formatMinimum', '`pattern`'],
  ['formatMaximum', '`pattern`'],
]);

/** What a new template is refused for; null if the word, and the format that it names, are known. */
export function wordFault(word: string, value: unknown): string | null {
  if (word === 'format') return typeof value === 'string' ? formatFault(value) : null;
  if (KNOWN.has(word) || word.startsWith('x-')) return null;
  const former = FORMER.get(word);
  if (former !== undefined) return `is not a keyword of JSON Schema (2020-12): use ${former}`;
  const meant = nearest(word, KEYWORDS);
  const help = meant === null ? ': notes of your own begin with `x-`' : `; did you mean \`${meant}\`?`;
  return `is not a keyword of JSON Schema (2020-12)${help}`;
}

function formatFault(name: string): string | null {
  if (formatOf(name) !== null) return null;
  const meant = nearest(name, FORMAT_NAMES);
  const help = meant === null ? `the known formats are ${FORMAT_NAMES.join(', ')}` : `did you mean \`${meant}\`?`;
  return `is not a format that templates know; ${help}`;
}
