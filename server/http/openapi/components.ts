// The schemas of an API's description. A schema with a title is shown once, under that title, and everything else
// refers to it.
import type { JsonSchema } from '../../api/schema.js';
import { isObject } from '../../json/strict-json.js';

const PLACE = '#/components/schemas/';

export interface SchemaComponents {
  /** The schema as it appears where it is used: a reference, if it has a name. */
  readonly refer: (schema: JsonSchema) => JsonSchema;
  /** All schemas that were referred to, by name. */
  readonly named: () => Readonly<Record<string, JsonSchema>>;
}

export function makeComponents(): SchemaComponents {
  const named = new Map<string, JsonSchema>();

  const refer = (schema: JsonSchema, names: ReadonlyMap<string, string> = NONE): JsonSchema => {
    const { title } = schema;
    if (typeof title !== 'string') return within(schema, names);
    const shown = within(schema, names);
    const known = named.get(title);
    if (known === undefined) named.set(title, shown);
    else if (JSON.stringify(known) !== JSON.stringify(shown)) throw new Error(`two schemas have the title ${title}`);
    return { $ref: PLACE + title };
  };

  /** The schema with references in place of named schemas. Its `$defs` become components as well. */
  const within = ({ $defs, ...schema }: JsonSchema, outer: ReadonlyMap<string, string>): JsonSchema => {
    const definitions = Object.entries(isObject($defs) ? $defs : {});
    const names = new Map([...outer, ...definitions.map(([name, one]) => [`#/$defs/${name}`, titleOf(one)] as const)]);
    for (const [, one] of definitions) if (isObject(one)) refer(one, names);
    const entries = Object.entries(schema).map(([key, value]): readonly [string, unknown] => {
      if (key === '$ref' && typeof value === 'string') return [key, PLACE + (names.get(value) ?? value)];
      if (MAPS.has(key) && isObject(value)) return [key, eachOf(value, names)];
      if (KEYWORDS.has(key)) return [key, inKeyword(value, names)];
      return [key, value];
    });
    return Object.fromEntries(entries);
  };

  const eachOf = (schemas: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema =>
    Object.fromEntries(
      Object.entries(schemas).map(([name, one]) => [name, isObject(one) ? refer(one, names) : one] as const),
    );

  const inKeyword = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
    if (Array.isArray(value)) return value.map((one: unknown) => (isObject(one) ? refer(one, names) : one));
    return isObject(value) ? refer(value, names) : value;
  };

  return {
    refer: (schema) => refer(schema),
    named: () => Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

const NONE: ReadonlyMap<string, string> = new Map();

/** The keywords that contain schemas by name or pattern. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);

/** The keywords that contain schemas. */
const KEYWORDS: ReadonlySet<string> = new Set(['items', 'anyOf', 'allOf', 'oneOf', 'not', 'additionalProperties']);

function titleOf(schema: unknown): string {
  if (isObject(schema) && typeof schema['title'] === 'string') return schema['title'];
  throw new Error('a definition without a title');
}
