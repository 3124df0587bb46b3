// The fields of each family and what SQL they are: the closed table through which every name of a request goes. A name that
// is not in it is a path below `properties` or `parameters`, or it is refused; a property's name only ever becomes a binding.
import { FAMILIES, type Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { QUERY_LIMITS } from './limits.js';

/** What a field compares with; `structure` (an object or a list) has no order and compares with nothing. */
export type FieldType = 'text' | 'number' | 'instant' | 'structure';

export interface CoreField {
  readonly kind: 'core';
  readonly name: string;
  readonly type: FieldType;
  /** Whether a record may lack it. */
  readonly optional: boolean;
  /** Its value, over a row called `x`: what is compared and sorted. */
  readonly value: Fragment;
  /** Its JSON form as an output column that bears the field's name. */
  readonly output: Fragment;
}

export interface PropertyField {
  readonly kind: 'property';
  readonly root: 'properties' | 'parameters';
  /** One to four names. */
  readonly path: readonly string[];
}

export type Field = CoreField | PropertyField;

export type FieldResult =
  | { readonly ok: true; readonly field: Field }
  | { readonly ok: false; readonly fault: 'query.unknown_field' | 'query.too_complex' };

// Instants are printed by the server in UTC with milliseconds, which is all that the columns hold.
const CORE: readonly CoreField[] = [
  required('id', 'text', sql`x.id::text COLLATE "C"`, sql`x.id AS "id"`),
  required('family', 'text', familyName(), sql`${familyName()} AS "family"`),
  required('namespace', 'text', namespacePath(), sql`${namespacePath()} AS "namespace"`),
  optional('name', 'text', sql`x.name`, sql`x.name AS "name"`),
  optional('description', 'text', sql`x.description`, sql`x.description AS "description"`),
  required('properties', 'structure', sql`x.properties`, sql`x.properties AS "properties"`),
  optional('version', 'text', sql`x.version`, sql`x.version AS "version"`),
  optional('schema', 'structure', sql`x.schema`, sql`x.schema AS "schema"`),
  optional('slots', 'structure', sql`x.slots`, sql`x.slots AS "slots"`),
  optional('template', 'text', sql`x.template::text COLLATE "C"`, sql`x.template AS "template"`),
  optional('copiedFrom', 'text', sql`x.copied_from::text COLLATE "C"`, sql`x.copied_from AS "copiedFrom"`),
  optional('parameters', 'structure', sql`x.parameters`, sql`x.parameters AS "parameters"`),
  optional('resources', 'structure', sql`x.resources`, sql`x.resources AS "resources"`),
  optional('state', 'text', sql`x.state`, sql`x.state AS "state"`),
  required('revision', 'number', sql`x.revision::numeric`, sql`x.revision AS "revision"`),
  required('createdAt', 'instant', sql`x.created_at`, sql`${instantText(sql`x.created_at`)} AS "createdAt"`),
  required('updatedAt', 'instant', sql`x.updated_at`, sql`${instantText(sql`x.updated_at`)} AS "updatedAt"`),
  required('createdBy', 'text', sql`x.created_by`, sql`x.created_by AS "createdBy"`),
  optional('archivedAt', 'instant', sql`x.archived_at`, sql`${instantText(sql`x.archived_at`)} AS "archivedAt"`),
];

const COMMON: readonly string[] = [
  ...['id', 'family', 'namespace', 'name', 'description', 'properties'],
  ...['revision', 'createdAt', 'updatedAt', 'createdBy', 'archivedAt'],
];

const OWN: Readonly<Record<Family, readonly string[]>> = Object.freeze({
  namespace: [],
  'resource-template': ['version', 'schema'],
  resource: ['template', 'copiedFrom'],
  'process-template': ['version', 'schema', 'slots'],
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

/** `createdAt`, `properties.rank`, `parameters.beam.energy`: the field that a family has under this name. */
export function parseField(family: Family, text: string): FieldResult {
  const fields = coreFields(family);
  const core = fields.get(text);
  if (core !== undefined) return { ok: true, field: core };
  const [root, ...path] = text.split('.');
  if (root !== 'properties' && root !== 'parameters') return { ok: false, fault: 'query.unknown_field' };
  if (!fields.has(root) || path.length === 0 || !path.every(isStorableName)) {
    return { ok: false, fault: 'query.unknown_field' };
  }
  if (path.length > QUERY_LIMITS.propertyLevels) return { ok: false, fault: 'query.too_complex' };
  return { ok: true, field: { kind: 'property', root, path } };
}

/**
 * The JSON value at the end of a property's path, NULL where there is none. `->` with a text steps into objects only, so
 * a name that looks like an index never reaches into a list.
 */
export function propertyValue(field: PropertyField): Fragment {
  const root = field.root === 'properties' ? sql`x.properties` : sql`x.parameters`;
  return sql`(${field.path.reduce((value, name) => sql`${value} -> ${name}::text`, root)})`;
}

/** Whether a text can be in the store at all: PostgreSQL holds neither U+0000 nor half a surrogate pair. */
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
  // The order of FAMILIES; a test holds the two together.
  return sql`((ARRAY['namespace','resource-template','resource','process-template','process-run'])[x.family + 1] COLLATE "C")`;
}

function namespacePath(): Fragment {
  return sql`(CASE WHEN x.path = '/' THEN x.path ELSE left(x.path, -1) END COLLATE "C")`;
}

function required(name: string, type: FieldType, value: Fragment, output: Fragment): CoreField {
  return Object.freeze({ kind: 'core', name, type, optional: false, value, output });
}

function optional(name: string, type: FieldType, value: Fragment, output: Fragment): CoreField {
  return Object.freeze({ kind: 'core', name, type, optional: true, value, output });
}
