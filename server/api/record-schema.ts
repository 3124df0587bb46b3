// Records as the API shows them: the fields of each family, whole or as selected by a query. Also what an id of a
// record is.
import { FAMILIES, type Family } from '../../engine/index.js';
import { RUN_STATES } from './dataset-schema.js';
import { type JsonSchema, nullable, schema, text, textOrNull, whole } from './schema.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Whether a text can be the id of a record at all. Any version of UUID is accepted, because datasets bring their own
 * ids.
 */
export function isRecordId(text: string): boolean {
  return UUID.test(text);
}

/** Open, and explicitly so: client generators treat an object without the last member as empty. */
const object = schema({ type: 'object', additionalProperties: true });
export const recordId = schema({
  title: 'RecordId',
  description: 'The id of a record: a UUID.',
  type: 'string',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
});
export const instant = schema({
  title: 'Instant',
  description: 'An instant in UTC with milliseconds.',
  type: 'string',
  pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`,
});
export const namespacePath = schema({
  title: 'NamespacePath',
  description: 'The canonical path of a namespace; `/` is the root.',
  type: 'string',
  pattern: '^/',
});

export const familyName = schema({ title: 'Family', enum: FAMILIES });
export const reachName = schema({ title: 'Reach', enum: ['lineage', 'exact', 'subtree'] });

const COMMON = Object.freeze({
  id: recordId,
  namespace: namespacePath,
  name: textOrNull,
  description: textOrNull,
  properties: object,
  revision: schema({ type: 'integer', minimum: 1 }),
  createdAt: instant,
  updatedAt: instant,
  createdBy: text,
  archivedAt: nullable(instant),
});

const template = Object.freeze({
  version: textOrNull,
  schema: schema({ type: ['object', 'null'], additionalProperties: true }),
  uniqueName: schema({
    description: 'Whether names of what is made from it are unique in a namespace.',
    type: 'boolean',
  }),
});
const slot = { title: 'Slot', ...whole({ name: text, template: nullable(recordId), required: { type: 'boolean' } }) };

const PROPERTIES = Object.freeze({
  namespace: { family: schema({ const: 'namespace' }), ...COMMON },
  'resource-template': { family: schema({ const: 'resource-template' }), ...COMMON, ...template },
  resource: {
    family: schema({ const: 'resource' }),
    ...COMMON,
    template: nullable(recordId),
    copiedFrom: nullable(recordId),
  },
  'process-template': {
    family: schema({ const: 'process-template' }),
    ...COMMON,
    ...template,
    slots: schema({ type: ['array', 'null'], items: slot }),
  },
  'process-run': {
    family: schema({ const: 'process-run' }),
    ...COMMON,
    template: nullable(recordId),
    parameters: object,
    resources: schema({ type: 'object', additionalProperties: recordId }),
    state: schema({ title: 'RunState', enum: RUN_STATES }),
  },
} satisfies Readonly<Record<Family, Readonly<Record<string, JsonSchema>>>>);

/** Records with all their fields, by family. */
export const RECORD_SCHEMAS = Object.freeze({
  namespace: { title: 'Namespace', ...whole(PROPERTIES.namespace) },
  'resource-template': { title: 'ResourceTemplate', ...whole(PROPERTIES['resource-template']) },
  resource: { title: 'Resource', ...whole(PROPERTIES.resource) },
  'process-template': { title: 'ProcessTemplate', ...whole(PROPERTIES['process-template']) },
  'process-run': { title: 'ProcessRun', ...whole(PROPERTIES['process-run']) },
} satisfies Readonly<Record<Family, JsonSchema>>);

/** A record of any family, or the fields of it that a query selected. */
export const SELECTED_RECORD = schema({
  title: 'SelectedRecord',
  description: 'A record of the family, or the fields of it that `select` names.',
  anyOf: FAMILIES.map((family) => ({
    title: `Selected${RECORD_SCHEMAS[family].title}`,
    type: 'object',
    properties: PROPERTIES[family],
    additionalProperties: false,
  })),
});
