// The shapes of the bodies of commands. A client may give what a line of a dataset may give, except what the gateway
// itself sets: ids, instants, author and revision. Everything else is refused, so no member of a body is ever silently
// ignored.
import type { Family } from '../../engine/index.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { type BodyShape, bodyShape, type ObjectSchema } from './body-shape.js';
import { FIELD_SCHEMAS, type Json, type RecordFields } from './dataset-schema.js';
import { namespacePath, RECORD_SCHEMAS } from './record-schema.js';
import { type JsonSchema, schema, type TypeOf, whole } from './schema.js';

/** The families whose records are made in a namespace and found by id. */
export type MadeFamily = Exclude<Family, 'namespace'>;

export interface CreateBody extends RecordFields {
  readonly namespace: string;
}

export type CopyBody = TypeOf<(typeof COPY_SCHEMAS)['process-run']>;

/** What a change of any family may hold. */
export type PatchBody = TypeOf<(typeof PATCH_SCHEMAS)['process-run']>;

export interface BatchCommand {
  readonly method: 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Json;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: '*';
  readonly as?: string;
}

export interface BatchBody {
  readonly commands: readonly BatchCommand[];
}

/** A batch as it is read. The body of a command is read by the command's own route, after its condition. */
export interface SentBatch {
  readonly commands: readonly SentCommand[];
}

export interface SentCommand extends Omit<BatchCommand, 'body'> {
  readonly body?: unknown;
}

const { name, nameOrNull, description, document, version, slots, template, resources, resourcesPatch, uniqueName } =
  FIELD_SCHEMAS;
const { state } = RECORD_SCHEMAS['process-run'].properties;
const documentOrNull = schema({ ...document, type: ['object', 'null'] });
const namespace = schema({ type: 'string', examples: ['/labs/optics'] });

/** An object with these properties and no others. */
type Closed<Properties, Name extends string> = {
  readonly title: string;
  readonly type: 'object';
  readonly required: readonly Name[];
  readonly properties: Properties;
  readonly additionalProperties: false;
};

/** `title` is its name in the description of the API. */
function closed<const Properties extends Readonly<Record<string, JsonSchema>>, const Name extends string = never>(
  title: string,
  properties: Properties,
  required: readonly Name[] = [],
): Closed<Properties, Name> {
  return Object.freeze({ title, type: 'object', required, properties, additionalProperties: false });
}

const made = { namespace, name, description, properties: document } as const;
const versioned = { ...made, version: schema({ ...version, type: 'string' }), schema: document, uniqueName } as const;

/** By the family that is created. */
export const CREATE_SCHEMAS = Object.freeze({
  'resource-template': closed('NewResourceTemplate', versioned, ['namespace', 'name', 'version', 'schema']),
  resource: closed('NewResource', { ...made, template }, ['namespace', 'name']),
  'process-template': closed('NewProcessTemplate', { ...versioned, slots }, [
    ...(['namespace', 'name', 'version', 'schema', 'slots'] as const),
  ]),
  'process-run': closed(
    'NewProcessRun',
    { ...made, name: nameOrNull, template, parameters: document, resources, state },
    ['namespace'],
  ),
});

export const CREATE_SHAPES: Readonly<Record<MadeFamily, BodyShape<CreateBody>>> = Object.freeze({
  'resource-template': bodyShape<CreateBody>(CREATE_SCHEMAS['resource-template']),
  resource: bodyShape<CreateBody>(CREATE_SCHEMAS.resource),
  'process-template': bodyShape<CreateBody>(CREATE_SCHEMAS['process-template']),
  'process-run': bodyShape<CreateBody>(CREATE_SCHEMAS['process-run']),
});

const changed = { description, properties: documentOrNull } as const;
const TEMPLATE_PATCH = closed('RecordPatch', { name, ...changed });

/** By the family that is changed. */
export const PATCH_SCHEMAS = Object.freeze({
  namespace: closed('NamespacePatch', changed),
  'resource-template': TEMPLATE_PATCH,
  resource: closed('ResourcePatch', { name, ...changed, template }),
  'process-template': TEMPLATE_PATCH,
  'process-run': closed('ProcessRunPatch', {
    ...changed,
    name: nameOrNull,
    template,
    parameters: documentOrNull,
    resources: resourcesPatch,
    state,
  }),
});

/** Members of a record that a change cannot name: a client that sends back what it has read names them all. */
const FIXED: ReadonlySet<string> = new Set([
  ...[
    'id',
    'family',
    'name',
    'template',
    'schema',
    'version',
    'slots',
    'copiedFrom',
    'createdAt',
    'createdBy',
    'uniqueName',
  ],
]);
const SET_BY_GATEWAY: ReadonlySet<string> = new Set(['revision', 'updatedAt', 'archivedAt']);

function patchShape(schema: ObjectSchema): BodyShape<PatchBody> {
  return bodyShape<PatchBody>(schema, {
    unknown: (member) => {
      if (member === 'namespace') return 'is changed by moving the record, not by a change';
      if (FIXED.has(member)) return 'is fixed when the record is made, so a change cannot name it';
      return SET_BY_GATEWAY.has(member) ? 'is set by the gateway, so a change cannot name it' : null;
    },
  });
}

const TEMPLATE_PATCH_SHAPE = patchShape(TEMPLATE_PATCH);

export const PATCH_SHAPES: Readonly<Record<Family, BodyShape<PatchBody>>> = Object.freeze({
  namespace: patchShape(PATCH_SCHEMAS.namespace),
  'resource-template': TEMPLATE_PATCH_SHAPE,
  resource: patchShape(PATCH_SCHEMAS.resource),
  'process-template': TEMPLATE_PATCH_SHAPE,
  'process-run': patchShape(PATCH_SCHEMAS['process-run']),
});

const copied = { destination: namespace, properties: document } as const;

/** By the family that is copied. */
export const COPY_SCHEMAS = Object.freeze({
  resource: closed('ResourceCopy', { ...copied, name }, ['destination']),
  'process-run': closed('ProcessRunCopy', { ...copied, name: nameOrNull }, ['destination']),
});

export const COPY_SHAPES = Object.freeze({
  resource: bodyShape<CopyBody>(COPY_SCHEMAS.resource),
  'process-run': bodyShape<CopyBody>(COPY_SCHEMAS['process-run']),
});

const fresh = {
  version: schema({ ...version, type: 'string' }),
  description,
  properties: document,
  schema: document,
  uniqueName,
} as const;

/** By the family of the template that gets a new version. */
export const VERSION_SCHEMAS = Object.freeze({
  'resource-template': closed('ResourceTemplateVersion', fresh, ['version']),
  'process-template': closed('ProcessTemplateVersion', { ...fresh, slots }, ['version']),
});

/** What a new version does not have from the template. */
export type VersionFields = TypeOf<(typeof VERSION_SCHEMAS)['process-template']>;

export const VERSION_SHAPES = Object.freeze({
  'resource-template': bodyShape<VersionFields>(VERSION_SCHEMAS['resource-template']),
  'process-template': bodyShape<VersionFields>(VERSION_SCHEMAS['process-template']),
});

export const MOVE_SCHEMA = closed('Move', { namespace }, ['namespace']);
export const MOVE_SHAPE = bodyShape<TypeOf<typeof MOVE_SCHEMA>>(MOVE_SCHEMA);

export const PUT_BODY_SCHEMA = closed('NewNamespace', { description, properties: document });
export const PUT_SHAPE = bodyShape<RecordFields>(PUT_BODY_SCHEMA);

/** What a resource that is found by its name holds. */
export const BY_NAME_SCHEMA = closed(
  'NamedResource',
  { description, properties: document, template: schema({ ...template, type: 'string' }) },
  ['template'],
);
export const BY_NAME_SHAPE = bodyShape<TypeOf<typeof BY_NAME_SCHEMA>>(BY_NAME_SCHEMA);

/** For routes that take no body or an empty object. */
export const EMPTY_SHAPE = bodyShape<object>(closed('Nothing', {}));

const batchOf = (body: object): ObjectSchema =>
  closed(
    'Batch',
    {
      commands: {
        type: 'array',
        minItems: 1,
        maxItems: COMMAND_LIMITS.batch,
        items: {
          title: 'BatchCommand',
          type: 'object',
          required: ['method', 'path'],
          properties: {
            method: { enum: ['PUT', 'PATCH', 'POST', 'DELETE'] },
            path: { type: 'string' },
            body,
            ifMatch: { type: 'string' },
            ifNoneMatch: { enum: ['*'] },
            as: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
          },
          additionalProperties: false,
        },
      },
    },
    ['commands'],
  );

export const BATCH_SHAPE: BodyShape<SentBatch> = { ...bodyShape<SentBatch>(batchOf({})), document: batchOf(document) };

/** The answer about a record, to an actor who may not read it. */
const WRITTEN = schema({
  title: 'Written',
  description: 'The answer for an actor who may write the record but not read it.',
  ...whole({ id: { type: 'string' }, revision: { type: 'integer', minimum: 1 } }),
});

export const DELETED_SCHEMA = schema({
  title: 'Deleted',
  description: 'The record is gone. Its id is never given again.',
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
