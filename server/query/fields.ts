// The fields of each family and their SQL. Every name in a request is looked up in this closed table. A name that is
// not in it must be a path below `properties` or `parameters`, or it is refused. The name of a property only ever
// becomes a binding.
import { FAMILIES, type Family, nearest } from '../../engine/index.js';
import { RECORD_SCHEMAS } from '../api/record-schema.js';
import { NAME_PATTERN } from '../api/shape-fault.js';
import { sql, type Fragment } from '../db/sql.js';
import { QUERY_LIMITS } from '../limits/queries.js';

/** What a field compares with; a `boolean` has no order; `structure` (an object or a list) has no order and compares with nothing. */
export type FieldType = 'text' | 'number' | 'instant' | 'boolean' | 'structure';

export interface CoreField {
  readonly kind: 'core';
  readonly name: string;
  readonly type: FieldType;
  /** The only values that a record can have, if they are a closed list. */
  readonly values?: readonly string[];
  /** Whether its values are ids of records. */
  readonly holdsIds: boolean;
  /** Whether a record may lack it. */
  readonly optional: boolean;
  /** Its value, over a row called `x`: what is compared and sorted. */
  readonly value: Fragment;
  /** Its name as the key of a JSON object: `"id":`. */
  readonly key: Fragment;
  /** Its JSON text, over a row called `x`; NULL where a record lacks it. */
  readonly json: Fragment;
  /** Whether the value can take more than a few kilobytes. Any document can, and one text: the description. */
  readonly size: 'bounded' | 'text' | 'document';
}

export interface PropertyField {
  readonly kind: 'property';
  /** Below `resources` is one name, that of a slot, and the value is the id of the resource. */
  readonly root: 'properties' | 'parameters' | 'resources';
  /** One to four names. */
  readonly path: readonly string[];
}

export type Field = CoreField | PropertyField;

export type FieldResult =
  | { readonly ok: true; readonly field: Field }
  | { readonly ok: false; readonly fault: 'query.unknown_field' | 'query.too_complex' };

const IDS: ReadonlySet<string> = new Set(['id', 'template', 'copiedFrom']);

// PostgreSQL prints instants in UTC with milliseconds. The columns hold nothing finer.
const CORE: readonly CoreField[] = [
  required('id', 'text', { value: sql`x.id::text COLLATE "C"`, key: sql`'"id":'`, json: quoted(sql`x.id`) }),
  required('family', 'text', { value: familyName(), key: sql`'"family":'`, json: quoted(familyName()) }),
  required('namespace', 'text', { value: namespacePath(), key: sql`'"namespace":'`, json: quoted(namespacePath()) }),
  optional('name', 'text', { value: sql`x.name`, key: sql`'"name":'`, json: escaped(sql`x.name`) }),
  optional('description', 'text', {
    value: sql`x.description`,
    key: sql`'"description":'`,
    json: escaped(sql`x.description`),
  }),
  required('properties', 'structure', {
    value: sql`x.properties`,
    key: sql`'"properties":'`,
    json: sql`x.properties::text`,
  }),
  optional('version', 'text', { value: sql`x.version`, key: sql`'"version":'`, json: escaped(sql`x.version`) }),
  optional('schema', 'structure', { value: sql`x.schema`, key: sql`'"schema":'`, json: sql`x.schema::text` }),
  required('uniqueName', 'boolean', {
    value: sql`x.unique_name`,
    key: sql`'"uniqueName":'`,
    json: sql`x.unique_name::text`,
  }),
  optional('slots', 'structure', { value: sql`x.slots`, key: sql`'"slots":'`, json: sql`x.slots::text` }),
  optional('template', 'text', {
    value: sql`x.template::text COLLATE "C"`,
    key: sql`'"template":'`,
    json: quoted(sql`x.template`),
  }),
  optional('copiedFrom', 'text', {
    value: sql`x.copied_from::text COLLATE "C"`,
    key: sql`'"copiedFrom":'`,
    json: quoted(sql`x.copied_from`),
  }),
  optional('parameters', 'structure', {
    value: sql`x.parameters`,
    key: sql`'"parameters":'`,
    json: sql`x.parameters::text`,
  }),
  optional('resources', 'structure', {
    value: sql`x.resources`,
    key: sql`'"resources":'`,
    json: sql`x.resources::text`,
  }),
  {
    ...optional('state', 'text', { value: sql`x.state`, key: sql`'"state":'`, json: escaped(sql`x.state`) }),
    values: RECORD_SCHEMAS['process-run'].properties.state.enum,
  },
  required('revision', 'number', {
    value: sql`x.revision::numeric`,
    key: sql`'"revision":'`,
    json: sql`x.revision::text`,
  }),
  required('createdAt', 'instant', {
    value: sql`x.created_at`,
    key: sql`'"createdAt":'`,
    json: quoted(instantText(sql`x.created_at`)),
  }),
  required('updatedAt', 'instant', {
    value: sql`x.updated_at`,
    key: sql`'"updatedAt":'`,
    json: quoted(instantText(sql`x.updated_at`)),
  }),
  required('createdBy', 'text', {
    value: sql`x.created_by`,
    key: sql`'"createdBy":'`,
    json: escaped(sql`x.created_by`),
  }),
  optional('archivedAt', 'instant', {
    value: sql`x.archived_at`,
    key: sql`'"archivedAt":'`,
    json: quoted(instantText(sql`x.archived_at`)),
  }),
];

const COMMON: readonly string[] = [
  ...['id', 'family', 'namespace', 'name', 'description', 'properties'],
  ...['revision', 'createdAt', 'updatedAt', 'createdBy', 'archivedAt'],
];

const OWN: Readonly<Record<Family, readonly string[]>> = Object.freeze({
  namespace: [],
  'resource-template': ['version', 'schema', 'uniqueName'],
  resource: ['template', 'copiedFrom'],
  'process-template': ['version', 'schema', 'uniqueName', 'slots'],
  'process-run': ['template', 'parameters', 'resources', 'state'],
});

const BY_FAMILY: ReadonlyMap<Family, ReadonlyMap<string, CoreField>> = new Map(
  FAMILIES.map((family) => {
    const names = new Set([...COMMON, ...OWN[family]]);
    return [family, new Map(CORE.filter(({ name }) => names.has(name)).map((field) => [field.name, field]))];
  }),
);

/** The core fields of a family by name, in the order in which a record shows them. */
export function coreFields(family: Family): ReadonlyMap<string, CoreField> {
  const fields = BY_FAMILY.get(family);
  if (fields === undefined) throw new RangeError('a family without fields');
  return fields;
}

/**
 * Finds the field that a family has under this name: `createdAt`, `properties.rank`, `parameters.beam.energy`,
 * `resources.sample`.
 */
export function parseField(family: Family, text: string): FieldResult {
  const fields = coreFields(family);
  const core = fields.get(text);
  if (core !== undefined) return { ok: true, field: core };
  if (text.startsWith(SLOTS) && fields.has('resources')) {
    const slot = text.slice(SLOTS.length);
    if (!SLOT.test(slot)) return { ok: false, fault: 'query.unknown_field' };
    return { ok: true, field: { kind: 'property', root: 'resources', path: [slot] } };
  }
  const [root, ...path] = text.split('.');
  if (root !== 'properties' && root !== 'parameters') return { ok: false, fault: 'query.unknown_field' };
  if (!fields.has(root) || path.length === 0 || !path.every(isStorableName)) {
    return { ok: false, fault: 'query.unknown_field' };
  }
  if (path.length > QUERY_LIMITS.propertyLevels) return { ok: false, fault: 'query.too_complex' };
  return { ok: true, field: { kind: 'property', root, path } };
}

const SLOTS = 'resources.';
/** A slot's name may have dots in it. */
const SLOT = new RegExp(NAME_PATTERN);

/** Why a family has no field of this name, and which fields it has. */
export function fieldFaultText(
  family: Family,
  name: string,
  fault: Extract<FieldResult, { ok: false }>['fault'],
): string {
  if (fault === 'query.too_complex') return `goes deeper than ${String(QUERY_LIMITS.propertyLevels)} levels`;
  const known = [...coreFields(family).keys()];
  const meant = nearest(name, known);
  const hint = meant === null ? '' : `did you mean \`${meant}\`? `;
  const own = known.includes('parameters')
    ? 'fields of your own are below `properties` and `parameters`, as in `parameters.rank`, and what a slot holds is `resources.<slot>`'
    : 'fields of your own are below `properties`, as in `properties.rank`';
  return `is not a field of this family; ${hint}${own}; the others are ${known.join(', ')}`;
}

/**
 * The JSON value at the end of a property's path, or NULL if there is none. `->` with a text key steps into objects
 * only, so a name that looks like an index never reaches into a list.
 */
export function propertyValue(field: PropertyField): Fragment {
  return sql`(${field.path.reduce((value, name) => sql`${value} -> ${name}::text`, ROOTS[field.root])})`;
}

const ROOTS = Object.freeze({
  properties: sql`x.properties`,
  parameters: sql`x.parameters`,
  resources: sql`x.resources`,
} satisfies Readonly<Record<PropertyField['root'], Fragment>>);

/** The ids of all resources that a run uses, as a JSON list; NULL if it has no slots. In lax mode nothing is an error. */
export const USED_RESOURCES = sql`jsonb_path_query_array(x.resources, 'lax $.*')`;

/** Whether the store can hold a text at all: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** RFC 3339 in UTC with milliseconds; NULL stays NULL. */
export function instantText(value: Fragment): Fragment {
  return sql`to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

function isStorableName(name: string): boolean {
  return name !== '' && isStorableText(name);
}

function familyName(): Fragment {
  // In the order of FAMILIES; a test compares the two.
  return sql`((ARRAY['namespace','resource-template','resource','process-template','process-run'])[x.family + 1] COLLATE "C")`;
}

function namespacePath(): Fragment {
  return sql`(CASE WHEN x.path = '/' THEN x.path ELSE left(x.path, -1) END COLLATE "C")`;
}

/** The JSON text of a value in which nothing needs escaping. */
function quoted(value: Fragment): Fragment {
  return sql`'"' || ${value} || '"'`;
}

function escaped(value: Fragment): Fragment {
  return sql`to_json(${value})::text`;
}

type Expressions = Pick<CoreField, 'value' | 'key' | 'json'>;

function sizeOf(name: string, type: FieldType): CoreField['size'] {
  if (type === 'structure') return 'document';
  return name === 'description' ? 'text' : 'bounded';
}

function coreField(name: string, type: FieldType, expressions: Expressions): Omit<CoreField, 'optional'> {
  return { kind: 'core', name, type, holdsIds: IDS.has(name), size: sizeOf(name, type), ...expressions };
}

function required(name: string, type: FieldType, expressions: Expressions): CoreField {
  return Object.freeze({ ...coreField(name, type, expressions), optional: false });
}

function optional(name: string, type: FieldType, expressions: Expressions): CoreField {
  return Object.freeze({ ...coreField(name, type, expressions), optional: true });
}
