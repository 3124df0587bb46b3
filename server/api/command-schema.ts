// The shapes of the bodies of commands. A client may give what a line of a dataset may give, except what the gateway
// itself sets: ids, instants, author and revision. Everything else is refused, so no member of a body is ever silently
// ignored.
import type { Family } from '../../engine/index.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { type BodyShape, bodyShape, type ObjectSchema } from './body-shape.js';
import { FIELD_SCHEMAS, type Json, type RecordFields } from './dataset-schema.js';
import { namespacePath, RECORD_SCHEMAS } from './record-schema.js';
import { type JsonSchema, schema, whole } from './schema.js';

/** The families whose records are made in a namespace and found by id. */
export type MadeFamily = Exclude<Family, 'namespace'>;

export interface CreateBody extends RecordFields {
  readonly namespace: string;
}

export interface CopyBody {
  readonly destination: string;
  readonly name?: string | null;
  readonly properties?: Json;
}

export interface PatchBody {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly properties?: Json | null;
  readonly parameters?: Json | null;
  readonly resources?: Readonly<Record<string, string | null>> | null;
  readonly state?: string;
}

export interface BatchCommand {
  readonly method: 'PUT' | 'PATCH' | 'POST';
  readonly path: string;
  readonly body?: Json;
  readonly ifMatch?: string;
  readonly as?: string;
}

export interface BatchBody {
  readonly commands: readonly BatchCommand[];
}

const { name, nameOrNull, description, document, version, slots, template, resources, resourcesPatch } = FIELD_SCHEMAS;
const { state } = RECORD_SCHEMAS['process-run'].properties;
const documentOrNull = Object.freeze({ ...document, type: ['object', 'null'] });
const namespace = Object.freeze({ type: 'string', examples: ['/labs/optics'] });

/** `title` is its name in the description of the API. */
function shapeOf<Value>(
  title: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): BodyShape<Value> {
  const shape: ObjectSchema = { title, type: 'object', required, properties, additionalProperties: false };
  return bodyShape<Value>(shape);
}

function creation(
  title: string,
  own: Readonly<Record<string, object>>,
  required: readonly string[],
): BodyShape<CreateBody> {
  const properties = { namespace, name, description, properties: document, ...own };
  return shapeOf(title, properties, ['namespace', ...required]);
}

const versioned = { version: { ...version, type: 'string' }, schema: document };

export const CREATE_SHAPES: Readonly<Record<MadeFamily, BodyShape<CreateBody>>> = Object.freeze({
  'resource-template': creation('NewResourceTemplate', versioned, ['name', 'version', 'schema']),
  resource: creation('NewResource', { template }, ['name']),
  'process-template': creation('NewProcessTemplate', { ...versioned, slots }, ['name', 'version', 'schema', 'slots']),
  'process-run': creation('NewProcessRun', { name: nameOrNull, template, parameters: document, resources, state }, []),
});

const changed = { description, properties: documentOrNull };
const RECORD_PATCH = shapeOf<PatchBody>('RecordPatch', { name, ...changed });

export const PATCH_SHAPES: Readonly<Record<Family, BodyShape<PatchBody>>> = Object.freeze({
  namespace: shapeOf<PatchBody>('NamespacePatch', changed),
  'resource-template': RECORD_PATCH,
  resource: RECORD_PATCH,
  'process-template': RECORD_PATCH,
  'process-run': shapeOf<PatchBody>('ProcessRunPatch', {
    ...changed,
    name: nameOrNull,
    parameters: documentOrNull,
    resources: resourcesPatch,
    state,
  }),
});

const copied = { destination: namespace, properties: document };

/** By the family that is copied. */
export const COPY_SHAPES = Object.freeze({
  resource: shapeOf<CopyBody>('ResourceCopy', { ...copied, name }, ['destination']),
  'process-run': shapeOf<CopyBody>('ProcessRunCopy', { ...copied, name: nameOrNull }, ['destination']),
});

export const PUT_SHAPE = shapeOf<RecordFields>('NewNamespace', { description, properties: document });

/** For routes that take no body or an empty object. */
export const EMPTY_SHAPE = shapeOf<object>('Nothing', {});

const commands = Object.freeze({
  type: 'array',
  minItems: 1,
  maxItems: COMMAND_LIMITS.batch,
  items: {
    title: 'BatchCommand',
    type: 'object',
    required: ['method', 'path'],
    properties: {
      method: { enum: ['PUT', 'PATCH', 'POST'] },
      path: { type: 'string' },
      body: document,
      ifMatch: { type: 'string' },
      as: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
    },
    additionalProperties: false,
  },
});

export const BATCH_SHAPE = shapeOf<BatchBody>('Batch', { commands }, ['commands']);

/** The answer about a record, to an actor who may not read it. */
const WRITTEN = schema({
  title: 'Written',
  description: 'The answer for an actor who may write the record but not read it.',
  ...whole({ id: { type: 'string' }, revision: { type: 'integer', minimum: 1 } }),
});

/** The answer about a written record. An actor who may not read it gets the second form. */
export interface WrittenSchema<F extends Family> extends JsonSchema {
  readonly anyOf: readonly [(typeof RECORD_SCHEMAS)[F], typeof WRITTEN];
}

export function writtenSchema<F extends Family>(family: F): WrittenSchema<F> {
  return Object.freeze({ anyOf: [RECORD_SCHEMAS[family], WRITTEN] as const });
}

/** The answer about a namespace. An actor who may not read it gets only its path. */
export const PUT_SCHEMA = schema({
  anyOf: [
    RECORD_SCHEMAS.namespace,
    {
      title: 'NamespaceThere',
      description: 'The answer for an actor who may create the namespace but not read it: it exists now.',
      ...whole({ namespace: namespacePath }),
    },
  ],
});

export const BATCH_SCHEMA = schema({
  title: 'BatchAnswer',
  ...whole({
    results: {
      type: 'array',
      minItems: 1,
      maxItems: COMMAND_LIMITS.batch,
      items: {
        title: 'BatchResult',
        description: 'The answer that the command would get on its own.',
        type: 'object',
        required: ['status', 'body'],
        properties: {
          status: { enum: [200, 201] },
          etag: { type: 'string', pattern: '^"[0-9]+"$' },
          body: { type: 'object' },
        },
        additionalProperties: false,
      },
    },
  }),
});
