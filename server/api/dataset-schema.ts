// The shape of a dataset's line for each family (docs/datasets.md "A line"). null means the same as leaving out a text,
// reference or instant. Members that a family does not have are refused.
import { COMMAND_LIMITS } from '../limits/records.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { FAMILIES, isFamily, nearest, type Family } from '../../engine/index.js';
import { type Check, compileOnce, OURS } from '../json/compile-once.js';
import { isObject } from '../json/strict-json.js';
import { type Closed, closed, type JsonSchema, schema } from './schema.js';
import { meantText, NAME_PATTERN, toShapeFault, UUID_PATTERN, type ShapeFault } from './shape-fault.js';

export type Json = Readonly<Record<string, unknown>>;

export interface DatasetSlot {
  readonly name: string;
  readonly template?: string | null;
  readonly required?: boolean;
}

/** What a record holds, as given by a line or the body of a request. null means the same as leaving a member out. */
export interface RecordFields {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly properties?: Json;
  readonly version?: string | null;
  readonly schema?: Json | null;
  readonly slots?: readonly DatasetSlot[];
  readonly template?: string | null;
  readonly parameters?: Json;
  readonly resources?: Readonly<Record<string, string>>;
  readonly state?: string;
  readonly uniqueName?: boolean;
}

/** A line after its shape has been checked. */
export interface DatasetLine extends RecordFields {
  readonly family: Family;
  readonly namespace: string;
  readonly id?: string;
  readonly createdAt?: string | null;
  readonly archivedAt?: string | null;
  /** Only of a line that says nothing of its record but that it was deleted. */
  readonly deletedAt?: string | null;
}

export const RUN_STATES = Object.freeze(['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const);

/** In characters. For a name also in bytes, because an index entry, which also has a path, cannot hold more. */
export const TEXT_LIMITS = Object.freeze({ name: 1_024, description: 16_384, version: 255 });

const uuid = schema({ type: 'string', pattern: UUID_PATTERN });
const uuidOrNull = schema({ type: ['string', 'null'], pattern: UUID_PATTERN });
/** Open, and explicitly so: client generators treat an object without the last member as empty. */
const object = schema({ type: 'object', additionalProperties: true });
const text = schema({ type: 'string', minLength: 1, maxLength: TEXT_LIMITS.name });
const slotted = { maxProperties: COMMAND_LIMITS.slots, propertyNames: { pattern: NAME_PATTERN } } as const;

/** The schemas of what a record holds, by field; bodies of requests use them as well. */
export const FIELD_SCHEMAS = Object.freeze({
  name: text,
  nameOrNull: schema({ ...text, type: ['string', 'null'] }),
  description: schema({ type: ['string', 'null'], maxLength: TEXT_LIMITS.description }),
  document: object,
  version: schema({ type: ['string', 'null'], minLength: 1, maxLength: TEXT_LIMITS.version }),
  slots: schema({
    type: 'array',
    maxItems: COMMAND_LIMITS.slots,
    items: {
      title: 'NewSlot',
      ...closed(['name'], {
        name: { type: 'string', pattern: NAME_PATTERN },
        template: uuidOrNull,
        required: { type: 'boolean' },
      }),
    },
  }),
  template: uuidOrNull,
  resources: schema({ type: 'object', ...slotted, additionalProperties: uuid }),
  /** For a merge patch: null removes a slot. */
  resourcesPatch: schema({ type: ['object', 'null'], ...slotted, additionalProperties: uuidOrNull }),
  state: schema({ enum: RUN_STATES }),
  uniqueName: schema({ type: 'boolean' }),
});

const COMMON = Object.freeze({
  family: { enum: FAMILIES },
  namespace: { type: 'string' },
  id: uuid,
  name: FIELD_SCHEMAS.name,
  description: FIELD_SCHEMAS.description,
  properties: object,
  createdAt: { type: ['string', 'null'] },
  archivedAt: { type: ['string', 'null'] },
});

const template = Object.freeze({
  version: FIELD_SCHEMAS.version,
  schema: { ...object, type: ['object', 'null'] },
  uniqueName: FIELD_SCHEMAS.uniqueName,
});

const OWN: Readonly<Record<Family, JsonSchema>> = Object.freeze({
  namespace: { name: FIELD_SCHEMAS.nameOrNull },
  'resource-template': template,
  resource: { template: uuidOrNull },
  'process-template': { ...template, slots: FIELD_SCHEMAS.slots },
  'process-run': {
    name: FIELD_SCHEMAS.nameOrNull,
    template: uuidOrNull,
    parameters: object,
    resources: FIELD_SCHEMAS.resources,
    state: FIELD_SCHEMAS.state,
  },
});
const MAY_BE_NAMELESS: ReadonlySet<Family> = new Set(['namespace', 'process-run']);

function lineSchema(family: Family): Closed<JsonSchema, string> {
  return closed(['namespace', ...(MAY_BE_NAMELESS.has(family) ? [] : ['name'])], { ...COMMON, ...OWN[family] });
}

/** A line about a record that was deleted. Namespaces cannot be deleted. */
const DELETED_SCHEMA = closed(['family', 'namespace', 'id', 'deletedAt'], {
  family: { enum: FAMILIES.filter((family) => family !== 'namespace') },
  namespace: COMMON.namespace,
  id: uuid,
  deletedAt: { type: 'string' },
});

const ajv = new Ajv2020({ ...OURS, allowUnionTypes: true, allErrors: false });
const VALIDATORS: ReadonlyMap<Family, Check<DatasetLine>> = new Map(
  FAMILIES.map((family) => [family, compileOnce<DatasetLine>(ajv, lineSchema(family))]),
);

const isDeletedLine = compileOnce<DatasetLine>(ajv, DELETED_SCHEMA);

/** The schema of a line for editors. */
export const DATASET_LINE_SCHEMA = Object.freeze({
  type: 'object',
  required: ['family', 'namespace'],
  oneOf: [
    ...FAMILIES.map((family) => {
      const { required, properties, ...rest } = lineSchema(family);
      return { ...rest, required, properties: { ...properties, family: { const: family } } };
    }),
    DELETED_SCHEMA,
  ],
});

/** The line, or the first thing that is wrong with its shape. */
export function checkDatasetLine(
  value: unknown,
): { readonly ok: true; readonly line: DatasetLine } | { readonly ok: false; readonly fault: ShapeFault } {
  if (!isObject(value)) return { ok: false, fault: { place: [], message: 'must be an object' } };
  const { family } = value;
  const isOfDeleted = 'deletedAt' in value && family !== 'namespace';
  const isLine = !isFamily(family) ? undefined : isOfDeleted ? isDeletedLine : VALIDATORS.get(family);
  if (isLine === undefined || !isFamily(family)) return { ok: false, fault: familyFault(value, family) };
  if (isLine(value)) return { ok: true, line: value };
  const error = isLine.errors()[0];
  if (error === undefined) return { ok: false, fault: { place: [], message: 'is not a record' } };
  const fault = toShapeFault(error, []);
  const isOwnField = error.keyword === 'additionalProperties' && fault.place.length === 1;
  if (isOwnField && isOfDeleted) return { ok: false, fault: { ...fault, message: NOTHING_ELSE } };
  return { ok: false, fault: isOwnField ? { ...fault, message: unknownField(family, String(fault.place[0])) } : fault };
}

const NOTHING_ELSE = 'cannot be given with `deletedAt`: of a deleted record there is nothing else';

/** Without a family nothing else in a line can be checked. */
function familyFault(line: object, family: unknown): ShapeFault {
  const known = FAMILIES.join(', ');
  if (family === undefined) {
    const slip = Object.keys(line).find((key) => nearest(key, ['family']) !== null);
    if (slip !== undefined) return { place: [slip], message: 'is not a field; did you mean `family`?' };
    return { place: ['family'], message: `is required: one of ${known}` };
  }
  const message = `must be one of ${known}`;
  return { place: ['family'], message: typeof family === 'string' ? meantText(message, family, FAMILIES) : message };
}

function unknownField(family: Family, name: string): string {
  const meant = nearest(name, Object.keys(lineSchema(family).properties));
  const hint = meant === null ? '' : `did you mean \`${meant}\`? `;
  return `is not a field of a ${family}; ${hint}your own fields go into \`properties\``;
}
