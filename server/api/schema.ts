// JSON Schema (2020-12) as this folder writes it: plain frozen objects. ajv compiles them, the documents show them, and
// TypeScript types are derived from them. A schema with a `title` has that name in the API's description, which shows
// it once.

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The type of the values that a schema describes, as far as a type can express it. */
export type TypeOf<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer One)[] }
      ? EachOf<One>
      : S extends { readonly type: readonly (infer Name)[] }
        ? OfType<S, Name>
        : S extends { readonly type: infer Name }
          ? OfType<S, Name>
          : unknown;

type EachOf<One> = One extends unknown ? TypeOf<One> : never;

type OfType<S, Name> = Name extends 'string'
  ? string
  : Name extends 'integer' | 'number'
    ? number
    : Name extends 'boolean'
      ? boolean
      : Name extends 'null'
        ? null
        : Name extends 'array'
          ? readonly (S extends { readonly items: infer Items } ? TypeOf<Items> : unknown)[]
          : ObjectOf<S>;

type ObjectOf<S> = S extends { readonly properties: infer Properties }
  ? S extends { readonly required: readonly (infer Name)[] }
    ? Members<Properties, Name>
    : Partial<Members<Properties, keyof Properties>>
  : S extends { readonly additionalProperties: infer Others extends object }
    ? Readonly<Record<string, TypeOf<Others>>>
    : Readonly<Record<string, unknown>>;

type Members<Properties, Name> = {
  readonly [Key in keyof Properties & Name]: TypeOf<Properties[Key]>;
} & { readonly [Key in Exclude<keyof Properties, Name>]?: TypeOf<Properties[Key]> };

/** Infers literal types for the whole schema, including its strings. */
export function schema<const S extends JsonSchema>(written: S): S {
  return Object.freeze(written);
}

/** An object with these properties and no others. */
export type Closed<Properties, Name> = {
  readonly type: 'object';
  readonly required: readonly Name[];
  readonly properties: Properties;
  readonly additionalProperties: false;
};

export function closed<const Name extends string, const Properties extends Readonly<Record<string, JsonSchema>>>(
  required: readonly Name[],
  properties: Properties,
): Closed<Properties, Name> {
  return Object.freeze({ type: 'object', required, properties, additionalProperties: false });
}

/** An object with exactly these properties. For `TypeOf` any string means that all are required. */
export function whole<const Properties extends Readonly<Record<string, JsonSchema>>>(
  properties: Properties,
): Closed<Properties, string> {
  return closed(Object.keys(properties), properties);
}

export type Nullable<S> = {
  readonly anyOf: readonly [S, { readonly type: 'null' }];
};

export function nullable<const S extends JsonSchema>(one: S): Nullable<S> {
  return Object.freeze({ anyOf: [one, NULL] as const });
}

const NULL = Object.freeze({ type: 'null' } as const);

export const text = schema({ type: 'string' });
export const texts = schema({ type: 'array', items: text });
export const textOrNull = schema({ type: ['string', 'null'] });
export const flag = schema({ type: 'boolean' });
export const count = schema({ type: 'integer', minimum: 0 });
