// The references of a family that a page can include (docs/queries.md "Includes"): which records a record names, and of
// which family they are. A record is included exactly if a GET of it by the same actor would answer.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { USED_RESOURCES } from './fields.js';
import type { Projection } from './projection.js';

export type ReferenceName = 'namespace' | 'parent' | 'template' | 'copiedFrom' | 'slots' | 'resources';

export interface ReferenceField {
  readonly name: ReferenceName;
  /** Of the records that it names. */
  readonly family: Family;
  /** A query of what it names, over a row called `x`: one column `key`, ids or for namespaces stored paths. */
  readonly keys: Fragment;
}

export interface Include extends ReferenceField {
  /** Null gives whole records. */
  readonly select: Projection | null;
}

const NAMESPACE: ReferenceField = { name: 'namespace', family: 'namespace', keys: sql`SELECT x.path AS key` };

/** The path up to the last slash but one; the root has none above it. */
const PARENT: ReferenceField = {
  name: 'parent',
  family: 'namespace',
  keys: sql`SELECT left(x.path, -strpos(reverse(left(x.path, -1)), '/')) AS key WHERE x.path <> '/'`,
};

const template = (family: Family): ReferenceField => ({
  name: 'template',
  family,
  keys: sql`SELECT x.template AS key`,
});

/** Each of a list of ids. Whatever is stored, what is no id is left out. */
const each = (list: Fragment): Fragment =>
  sql`SELECT CASE WHEN e.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN e.id::uuid END AS key
      FROM (SELECT jsonb_array_elements(${list}) #>> '{}' AS id) AS e`;

const REFERENCES: Readonly<Record<Family, readonly ReferenceField[]>> = Object.freeze({
  namespace: [PARENT],
  'resource-template': [NAMESPACE],
  resource: [
    NAMESPACE,
    template('resource-template'),
    { name: 'copiedFrom', family: 'resource', keys: sql`SELECT x.copied_from AS key` },
  ],
  'process-template': [
    NAMESPACE,
    {
      name: 'slots',
      family: 'resource-template',
      keys: each(sql`jsonb_path_query_array(x.slots, 'lax $[*].template')`),
    },
  ],
  'process-run': [
    NAMESPACE,
    template('process-template'),
    { name: 'resources', family: 'resource', keys: each(USED_RESOURCES) },
  ],
});

export function referencesOfFamily(family: Family): readonly ReferenceField[] {
  return REFERENCES[family];
}
