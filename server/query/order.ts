// The total order of a query (docs/queries.md "Order") as a list of sort columns, and the condition for the rows after
// a given place. A property gives three columns: its class (number, text, false, true), its value as a number and its
// value as a text. So values of different types are never compared. Absent values are NULL and come last in either
// direction. The id ends every order.
import type { Direction, SortKey } from './plan.js';
import { typed } from './compile-condition.js';
import { instantText, propertyValue, type CoreField, type PropertyField } from './fields.js';
import { join, numbered, sql, type Fragment } from '../db/sql.js';

export interface SortColumn {
  /** Over a row called `x`. */
  readonly value: Fragment;
  readonly type: SortType;
  readonly direction: Direction;
  /** Whether it can be NULL. */
  readonly optional: boolean;
}

type SortType = 'text' | 'numeric' | 'smallint' | 'timestamptz' | 'uuid';

/**
 * The keys of an order that decide something. A key after the id decides nothing, nor does a key that came before, nor
 * the family, which all records share.
 */
export function decidingKeys(keys: readonly SortKey[]): readonly SortKey[] {
  const deciding: SortKey[] = [];
  const seen = new Set<string>(['family']);
  for (const key of keys) {
    const name = key.field.kind === 'core' ? key.field.name : [key.field.root, ...key.field.path].join('.');
    if (seen.has(name)) continue;
    seen.add(name);
    deciding.push(key);
    if (name === 'id') break;
  }
  return deciding;
}

/** The columns of an order, the id last. */
export function sortColumns(keys: readonly SortKey[]): readonly SortColumn[] {
  const deciding = decidingKeys(keys);
  const columns = deciding.flatMap(({ field, direction }) => {
    if (field.kind !== 'core') return propertyColumns(field, direction);
    return [field.name === 'id' ? idColumn(direction) : coreColumn(field, direction)];
  });
  return columns.at(-1)?.type === 'uuid' ? columns : [...columns, idColumn('asc')];
}

function idColumn(direction: Direction): SortColumn {
  return { value: sql`x.id`, type: 'uuid', direction, optional: false };
}

const CORE_TYPES = Object.freeze({ text: 'text', number: 'numeric', instant: 'timestamptz' } as const);

function coreColumn({ type, value, optional }: CoreField, direction: Direction): SortColumn {
  if (type === 'structure' || type === 'boolean') throw new TypeError('a field without an order');
  return { value, type: CORE_TYPES[type], direction, optional };
}

function propertyColumns(field: PropertyField, direction: Direction): readonly SortColumn[] {
  const value = propertyValue(field);
  const kind = sql`jsonb_typeof(${value})`;
  return [
    {
      value: sql`(CASE ${kind} WHEN 'number' THEN 1 WHEN 'string' THEN 2
        WHEN 'boolean' THEN CASE WHEN ${typed(value, 'boolean')} THEN 4 ELSE 3 END END)::smallint`,
      type: 'smallint',
      direction,
      optional: true,
    },
    {
      value: sql`(CASE WHEN ${kind} = 'number' THEN ${typed(value, 'number')} END)`,
      type: 'numeric',
      direction,
      optional: true,
    },
    {
      value: sql`(CASE WHEN ${kind} = 'string' THEN ${typed(value, 'text')} END)`,
      type: 'text',
      direction,
      optional: true,
    },
  ];
}

/** `x.created_at AS k0, …`: the columns under the names that the rest of this file uses. */
export function sortOutputs(columns: readonly SortColumn[]): Fragment {
  return join(
    columns.map(({ value }, index) => sql`${value} AS ${numbered(index)}`),
    ', ',
  );
}

/** The values of the sort columns as exact texts, for a cursor: the JSON text of a `SortPosition`. Over a row called `x`. */
export function positionJson(columns: readonly SortColumn[]): Fragment {
  const texts = columns.map(({ type }, index) =>
    type === 'timestamptz' ? instantText(sql`x.${numbered(index)}`) : sql`x.${numbered(index)}::text`,
  );
  return sql`array_to_json(ARRAY[${join(texts, ', ')}])::text`;
}

export function orderBy(columns: readonly SortColumn[]): Fragment {
  return join(
    columns.map(({ direction }, index) =>
      direction === 'asc' ? sql`x.${numbered(index)} ASC NULLS LAST` : sql`x.${numbered(index)} DESC NULLS LAST`,
    ),
    ', ',
  );
}

/** The exact texts of a row's sort columns; null where the row has no value. */
export type SortPosition = readonly (string | null)[];

/** Whether a text array that comes out of a cursor can be a position in this order. */
export function isPosition(value: unknown, columns: readonly SortColumn[]): value is SortPosition {
  return (
    Array.isArray(value) &&
    value.length === columns.length &&
    columns.every(({ optional }, index) => typeof value[index] === 'string' || (optional && value[index] === null))
  );
}

/** True for exactly the rows that come after `position`. */
export function isAfter(columns: readonly SortColumn[], position: SortPosition): Fragment {
  return columns.reduceRight(
    (rest, column, index) => {
      const key = sql`x.${numbered(index)}`;
      const at = position[index] ?? null;
      // Absent values are last: nothing in this column comes after them.
      if (at === null) return sql`(${key} IS NULL AND ${rest})`;
      const value = sql`${at}::${TYPE_NAMES[column.type]}`;
      const later = column.direction === 'asc' ? sql`${key} > ${value}` : sql`${key} < ${value}`;
      const laterOrAbsent = column.optional ? sql`${later} OR ${key} IS NULL` : later;
      return sql`(${laterOrAbsent} OR (${key} = ${value} AND ${rest}))`;
    },
    sql`FALSE`,
  );
}

const TYPE_NAMES: Readonly<Record<SortType, Fragment>> = Object.freeze({
  text: sql`text`,
  numeric: sql`numeric`,
  smallint: sql`smallint`,
  timestamptz: sql`timestamptz`,
  uuid: sql`uuid`,
});
