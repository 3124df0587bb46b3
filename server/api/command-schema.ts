// The shapes of the bodies of commands. A client may give what a line of a dataset may give, except what the gateway
// itself sets: ids, instants, author and revision. Everything else is refused, so no member of a body is ever silently
// ignored.
import type { Family } from '../../engine/index.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { type BodyShape, bodyShape, type ObjectSchema } from './body-shape.js';
import { FIELD_SCHEMAS, type RecordFields } from './dataset-schema.js';
import { namespacePath, RECORD_SCHEMAS } from './record-schema.js';
import { closed, type JsonSchema, schema, type TypeOf, whole } from './schema.js';

/** The families whose records are made in a namespace and found by id. */
export type MadeFamily = Exclude<Family, 'namespace'>;

export interface CreateBody extends RecordFields {
  readonly namespace: string;
}

export type CopyBody = TypeOf<(typeof COPY_SCHEMAS)['process-run']>;

/** What a change of any family may hold. */
export type PatchBody = TypeOf<(typeof PATCH_SCHEMAS)['process-run']>;

export type BatchBody = TypeOf<typeof BATCH>;

/** A command as it is read: its body is read by its own route, after its condition. */
export interface SentCommand extends Omit<BatchBody['commands'][number], 'body'> {
  readonly body?: unknown;
}

const { name, nameOrNull, description, document, version, slots, template, resources, resourcesPatch, uniqueName } =
  FIELD_SCHEMAS;
const { state } = RECORD_SCHEMAS['process-run'].properties;
const documentOrNull = schema({ ...document, type: ['object', 'null'] });
const namespace = schema({ type: 'string', examples: ['/labs/optics'] });

const made = { namespace, name, description, properties: document } as const;
const versioned = { ...made, version: schema({ ...version, type: 'string' }), schema: document, uniqueName } as const;

/** By the family that is created. */
export const CREATE_SCHEMAS = Object.freeze({
  'resource-template': {
    title: 'NewResourceTemplate',
    ...closed(['namespace', 'name', 'version', 'schema'], versioned),
  },
  resource: { title: 'NewResource', ...closed(['namespace', 'name'], { ...made, template }) },
  'process-template': {
    title: 'NewProcessTemplate',
    ...closed(['namespace', 'name', 'version', 'schema', 'slots'], { ...versioned, slots }),
  },
  'process-run': {
    title: 'NewProcessRun',
    ...closed(['namespace'], { ...made, name: nameOrNull, template, parameters: document, resources, state }),
  },
});

const changed = { description, properties: documentOrNull } as const;
const TEMPLATE_PATCH = { title: 'RecordPatch', ...closed([], { name, ...changed }) };

/** By the family that is changed. */
export const PATCH_SCHEMAS = Object.freeze({
  namespace: { title: 'NamespacePatch', ...closed([], changed) },
  'resource-template': TEMPLATE_PATCH,
  resource: { title: 'ResourcePatch', ...closed([], { name, ...changed, template }) },
  'process-template': TEMPLATE_PATCH,
  'process-run': {
    title: 'ProcessRunPatch',
    ...closed([], {
      ...changed,
      ...{ name: nameOrNull, template, parameters: documentOrNull, resources: resourcesPatch, state },
    }),
  },
});

/** Members of a record that a change cannot name: a client that sends back what it has read names them all. */
const FIXED: ReadonlySet<string> = new Set([
  ...['id', 'family', 'name', 'template', 'schema', 'version', 'slots'],
  ...['copiedFrom', 'createdAt', 'createdBy', 'uniqueName'],
]);
const SET_BY_GATEWAY: ReadonlySet<string> = new Set(['revision', 'updatedAt', 'archivedAt']);

export function patchShape(schema: ObjectSchema): BodyShape<PatchBody> {
  return bodyShape<PatchBody>(schema, {
    unknown: (member) => {
      if (member === 'namespace') return 'is changed by moving the record, not by a change';
      if (FIXED.has(member)) return 'is fixed when the record is made, so a change cannot name it';
      return SET_BY_GATEWAY.has(member) ? 'is set by the gateway, so a change cannot name it' : null;
    },
  });
}

const copied = { destination: namespace, properties: document } as const;

/** By the family that is copied. */
export const COPY_SCHEMAS = Object.freeze({
  resource: { title: 'ResourceCopy', ...closed(['destination'], { ...copied, name }) },
  'process-run': { title: 'ProcessRunCopy', ...closed(['destination'], { ...copied, name: nameOrNull }) },
});

const { version: newVersion } = versioned;
const fresh = { version: newVersion, description, properties: document, schema: document, uniqueName } as const;

/** By the family of the template that gets a new version. */
export const VERSION_SCHEMAS = Object.freeze({
  'resource-template': { title: 'ResourceTemplateVersion', ...closed(['version'], fresh) },
  'process-template': { title: 'ProcessTemplateVersion', ...closed(['version'], { ...fresh, slots }) },
});

/** What a new version does not have from the template. */
export type VersionFields = TypeOf<(typeof VERSION_SCHEMAS)['process-template']>;

export const MOVE_SCHEMA = { title: 'Move', ...closed(['namespace'], { namespace }) };

export const PUT_BODY_SCHEMA = { title: 'NewNamespace', ...closed([], { description, properties: document }) };

/** What a resource that is found by its name holds. */
export const BY_NAME_SCHEMA = {
  title: 'NamedResource',
  ...closed(['template'], { description, properties: document, template: schema({ ...template, type: 'string' }) }),
};

/** For routes that take no body or an empty object. */
export const EMPTY_SCHEMA = { title: 'Nothing', ...closed([], {}) };

const BATCH_COMMAND = closed(['method', 'path'], {
  method: { enum: ['PUT', 'PATCH', 'POST', 'DELETE'] },
  path: { type: 'string' },
  body: document,
  ifMatch: { type: 'string' },
  ifNoneMatch: { enum: ['*'] },
  as: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
});
const commands = { type: 'array', minItems: 1, maxItems: COMMAND_LIMITS.batch } as const;
const BATCH = schema({
  title: 'Batch',
  ...closed(['commands'], { commands: { ...commands, items: { title: 'BatchCommand', ...BATCH_COMMAND } } }),
});
const SENT_COMMAND = { ...BATCH_COMMAND, properties: { ...BATCH_COMMAND.properties, body: {} } };

export const BATCH_SHAPE: BodyShape<{ readonly commands: readonly SentCommand[] }> = {
  ...bodyShape<{ readonly commands: readonly SentCommand[] }>(
    closed(['commands'], { commands: { ...commands, items: SENT_COMMAND } }),
  ),
  document: BATCH,
};

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
        ...closed(['status', 'body'], {
          status: { enum: [200, 201] },
          etag: { type: 'string', pattern: '^"[0-9]+"$' },
          body: { type: 'object' },
        }),
      },
    },
  }),
});
