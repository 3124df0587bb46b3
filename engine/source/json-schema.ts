// JSON Schemas of policy files for editors (draft 7, which editors understand best), made of the same description that
// the decoders read by. What a pattern cannot say (calendars, bytes, whether a name is declared) is left to `check`.
import { ENGINE_LIMITS } from '../limits.js';
import { assertNever } from '../model/invariant.js';
import { NAMESPACE_LIMITS } from '../model/namespace.js';
import { FAMILIES, SCOPES } from '../model/scope.js';
import { EVERY_TOP_LEVEL } from './decode-guardrails.js';
import { FORBIDDEN_KEYS } from './mapping.js';
import { SCOPE_PATTERNS } from './scope-values.js';
import type { MappingShape, TextSyntax, ValueShape } from './shape.js';
import { HEADER, SECTIONS } from './shapes.js';

export type JsonSchema = { readonly [key: string]: JsonSchemaValue };
export type JsonSchemaValue = string | number | boolean | readonly JsonSchemaValue[] | JsonSchema;

/** `policy` is `policy.yaml`, `sections` every other file of the folder. */
export type PolicyFileKind = 'policy' | 'sections';

const KINDS: Readonly<Record<PolicyFileKind, { readonly title: string; readonly shape: MappingShape }>> = {
  policy: { title: 'Bailiwick: policy.yaml, which names the policy', shape: HEADER },
  sections: { title: 'Bailiwick: a file of a policy folder', shape: SECTIONS },
};

export function policySchema(kind: PolicyFileKind): JsonSchema {
  const { title, shape } = KINDS[kind];
  const definitions = new Map<string, JsonSchema>();
  const root = mappingSchema(shape, definitions);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    ...root,
    definitions: Object.fromEntries([...definitions].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

type Definitions = Map<string, JsonSchema>;

/** The schema of a value; what has a name of its own is defined once and referred to. */
function valueSchema(value: ValueShape, definitions: Definitions): JsonSchema {
  switch (value.kind) {
    case 'text':
      return define(definitions, value.syntax, () => textSchema(value.syntax));
    case 'boolean':
      return { type: 'boolean' };
    case 'version':
      return { const: 1 };
    case 'count':
      return { type: 'integer', minimum: value.least, maximum: 999_999_999 };
    case 'list':
      return {
        type: 'array',
        items: valueSchema(value.of, definitions),
        uniqueItems: true,
        ...(value.least === 0 ? {} : { minItems: value.least }),
      };
    case 'named':
      return {
        type: 'object',
        propertyNames: valueSchema({ kind: 'text', syntax: value.key }, definitions),
        additionalProperties: valueSchema(value.of, definitions),
      };
    case 'mapping': {
      const name = `${value.shape.what.replaceAll(/^an? |`/g, '')} mapping`.replaceAll(' ', '-');
      return define(definitions, name, () => mappingSchema(value.shape, definitions));
    }
    case 'either':
      return { anyOf: value.of.map((alternative) => valueSchema(alternative, definitions)) };
    default:
      return assertNever(value);
  }
}

function define(definitions: Definitions, name: string, make: () => JsonSchema): JsonSchema {
  if (!definitions.has(name)) definitions.set(name, make());
  return { $ref: `#/definitions/${name}` };
}

function mappingSchema(shape: MappingShape, definitions: Definitions): JsonSchema {
  const properties = [...shape.fields].map(([key, { value, about }]): [string, JsonSchema] => {
    const schema = valueSchema(value, definitions);
    // Beside a reference draft 7 ignores everything else, so the description goes around it.
    return [key, '$ref' in schema ? { description: about, allOf: [schema] } : { description: about, ...schema }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(shape.required.length === 0 ? {} : { required: shape.required }),
    ...(shape.notEmpty ? { minProperties: 1 } : {}),
    ...(shape.exactlyOne.length === 0 ? {} : { oneOf: shape.exactlyOne.map((key) => ({ required: [key] })) }),
    ...(shape.anyFilled.length === 0 ? {} : { anyOf: shape.anyFilled.map((key) => filled(shape, key)) }),
  };
}

/** The key is there, with something in it. */
function filled(shape: MappingShape, key: string): JsonSchema {
  const isList = shape.fields.get(key)?.value.kind === 'list';
  return {
    required: [key],
    properties: { [key]: isList ? { type: 'array', minItems: 1 } : { type: 'object', minProperties: 1 } },
  };
}

const NAME = '[a-z0-9][a-z0-9._-]{0,127}';
const SEGMENT = `(?!\\.{1,2}(?:/|$))[a-z0-9._~-]{1,${String(NAMESPACE_LIMITS.segmentLength)}}`;
const NAMESPACE = `/(?:$|(?=.{1,${String(NAMESPACE_LIMITS.bytes - 1)}}$)${SEGMENT}(?:/${SEGMENT}){0,${String(NAMESPACE_LIMITS.segments - 1)}}$)`;
/** Of at most 255 bytes, which a pattern cannot count. */
const SUBJECT = '(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]{1,255}(?<!\\s)';
const INSTANT =
  '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const FORBIDDEN = `(?!(?:${[...FORBIDDEN_KEYS].join('|')})$)`;

/** Texts as an editor can check and complete them. */
function textSchema(syntax: TextSyntax): JsonSchema {
  switch (syntax) {
    case 'name':
      return pattern(`^${NAME}$`, 'a name: `a-z`, `0-9`, `.`, `_`, `-`');
    case 'role-name':
    case 'person-name':
      return pattern(`^${FORBIDDEN}${NAME}$`, 'a name: `a-z`, `0-9`, `.`, `_`, `-`');
    case 'provider':
      return pattern(`^${FORBIDDEN}(?!.*-group$)${NAME}$`, 'a name that does not end in `-group`');
    case 'reference':
      return { type: 'string', description: 'a name that is declared elsewhere' };
    case 'identity':
      return pattern(`^${NAME}:${SUBJECT}$`, '`provider:subject`');
    case 'subject':
      return pattern(`^${SUBJECT}$`, 'as the provider calls it');
    case 'namespace':
      return pattern(`^${NAMESPACE}`, 'a namespace: `/` or `/labs/optics`');
    case 'counted-place':
      return { anyOf: [{ const: EVERY_TOP_LEVEL }, pattern(`^${NAMESPACE}`, 'a namespace')] };
    case 'scope-pattern':
    case 'guardrail-pattern':
      return { enum: SCOPE_PATTERNS[syntax] };
    case 'access':
      return pattern(`^(?:${SCOPES.join('|')}) ${NAMESPACE}`, 'a scope, a space and a namespace');
    case 'family-place':
      return pattern(`^(?:${FAMILIES.join('|')}) ${NAMESPACE}`, 'a family, a space and a namespace');
    case 'instant':
      return pattern(`^${INSTANT}$`, 'RFC 3339 with an offset: `2026-12-01T00:00:00Z`');
    case 'duration':
      return pattern('^[1-9][0-9]{0,8}[smhd]$', '`30s`, `15m`, `24h` or `90d`');
    case 'free-text':
      return { type: 'string', maxLength: ENGINE_LIMITS.freeTextBytes };
    case 'test-name':
      return { ...pattern('\\S', 'what the test is about'), maxLength: ENGINE_LIMITS.freeTextBytes };
    default:
      return assertNever(syntax);
  }
}

function pattern(source: string, description: string): JsonSchema {
  return { type: 'string', pattern: source, description };
}
