// JSON Schema (2020-12) as this folder writes it: plain frozen objects, which ajv compiles and the documents show.

export type JsonSchema = Readonly<Record<string, unknown>>;
