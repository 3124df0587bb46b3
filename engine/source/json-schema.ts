// JSON Schemas of policy files for editors, in draft 7, which editors support best. They are generated from the same shapes that the
// decoders use.
import { assertNever } from '../model/invariant.js';
import type { MappingShape, ValueShape } from './shape.js';
import { HEADER, SECTIONS } from './shapes.js';
import { type JsonSchema, TEXTS } from './texts.js';

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

/** The schema of a value. Named shapes are defined once and referred to. */
function valueSchema(value: ValueShape, definitions: Definitions): JsonSchema {
  switch (value.kind) {
    case 'text':
      return define(definitions, value.syntax, () => TEXTS[value.syntax].schema);
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
    // Draft 7 ignores everything next to a reference, so the description goes around it.
    return [key, '$ref' in schema ? { description: about, allOf: [schema] } : { description: about, ...schema }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(shape.required.length === 0 ? {} : { required: shape.required }),
    ...(shape.notEmpty ? { minProperties: 1 } : {}),
    ...exactlyOne(shape),
    ...(shape.anyFilled.length === 0 ? {} : { anyOf: shape.anyFilled.map((key) => filled(shape, key)) }),
  };
}

function exactlyOne(shape: MappingShape): JsonSchema {
  const [first, ...more] = shape.exactlyOne.map((keys) => ({ oneOf: keys.map((key) => ({ required: [key] })) }));
  if (first === undefined) return {};
  return more.length === 0 ? first : { allOf: [first, ...more] };
}

/** Requires the key, with something in it. */
function filled(shape: MappingShape, key: string): JsonSchema {
  const isList = shape.fields.get(key)?.value.kind === 'list';
  return {
    required: [key],
    properties: { [key]: isList ? { type: 'array', minItems: 1 } : { type: 'object', minProperties: 1 } },
  };
}
