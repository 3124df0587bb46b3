// Records as the JSON of the API: the family's fields in one fixed order, or those that `select` names, with property
// paths nested. PostgreSQL writes the text, and it goes into the answer unchanged. Reading rows into objects and
// writing them again would cost more than everything else.
import { FAMILIES, type Family } from '../../engine/index.js';
import { coreFields, type CoreField, type Field } from './fields.js';
import { join, literal, sql, type Fragment } from '../db/sql.js';

/** The selected part below a value: all of it, or some of its members. */
type Selection = 'all' | Map<string, Selection>;

export interface Projection {
  /** By the name of the core field. */
  readonly fields: ReadonlyMap<string, Selection>;
}

/** `select` as a tree. A field that is named both whole and in parts is given whole. */
export function projectionOf(fields: readonly Field[]): Projection {
  const tree = new Map<string, Selection>();
  for (const field of fields) {
    insert(tree, field.kind === 'core' ? [field.name] : [field.root, ...field.path]);
  }
  return { fields: tree };
}

function insert(tree: Map<string, Selection>, path: readonly string[]): void {
  const [head, ...rest] = path;
  if (head === undefined) return;
  const there = tree.get(head);
  if (there === 'all') return;
  if (rest.length === 0) {
    tree.set(head, 'all');
    return;
  }
  const below = there ?? new Map<string, Selection>();
  tree.set(head, below);
  insert(below, rest);
}

/**
 * The JSON text of a row called `x`: the family's fields in their order, with `null` for what it lacks, or those that
 * were selected. Numbers keep the text in which they are stored, even if a double could not hold them.
 */
export function recordJson(family: Family, projection: Projection | null): Fragment {
  return projection === null ? wholeJson(family) : selectedJson(family, projection, inPlace);
}

/** The same, for records that may be large: each document is read from the store once, however many parts are selected. */
export function largeRecordJson(family: Family, projection: Projection | null): Fragment {
  return projection === null ? wholeJson(family) : selectedJson(family, projection, once);
}

function selectedJson(family: Family, { fields }: Projection, read: ReadPart): Fragment {
  const members = [...coreFields(family).values()].flatMap((field) => {
    const selection = fields.get(field.name);
    return selection === undefined ? [] : [member(field, selection, read)];
  });
  return members.length === 0 ? sql`'{}'` : objectJson(members);
}

/** The text of parts of a document, made of what is read of it. */
type ReadPart = (value: Fragment, partsOf: (document: Fragment) => Fragment) => Fragment;

const inPlace: ReadPart = (value, partsOf) => partsOf(value);

/**
 * The path of no steps leads to the value itself, as it is once it has been read. The fence keeps it from being read for
 * each part.
 */
const once: ReadPart = (value, partsOf) =>
  sql`(SELECT ${partsOf(sql`d.document`)} FROM (SELECT ${value} #> '{}' AS document OFFSET 0) AS d)`;

/**
 * Whether the shown part of a row called `x` may take more than a few kilobytes. It is judged by its size in the store,
 * without reading it. A value that is stored compressed may be of any size.
 */
export function mayBeLarge(family: Family, projection: Projection | null): Fragment {
  const tests = [...coreFields(family).values()]
    .filter(({ name, size }) => size !== 'bounded' && (projection === null || projection.fields.has(name)))
    .map(({ size, value }) =>
      size === 'text'
        ? sql`octet_length(${value}) > ${literal(SMALL_BYTES)}`
        : sql`pg_column_compression(${value}) IS NOT NULL OR pg_column_size(${value}) > ${literal(SMALL_BYTES)}`,
    );
  return tests.length === 0 ? sql`FALSE` : sql`((${join(tests, ' OR ')}) IS TRUE)`;
}

/** PostgreSQL shrinks rows longer than this, by compressing values or by moving them out of the row. */
const SMALL_BYTES = 2_048;

/** What most queries show. */
function wholeJson(family: Family): Fragment {
  const known = WHOLE.get(family);
  if (known === undefined) throw new RangeError('a family without fields');
  return known;
}

const WHOLE: ReadonlyMap<Family, Fragment> = new Map(
  FAMILIES.map((family) => [
    family,
    objectJson([...coreFields(family).values()].map((field) => member(field, 'all', inPlace))),
  ]),
);

function member(field: CoreField, selection: Selection, read: ReadPart): Fragment {
  return sql`${field.key} || ${valueJson(field, selection, read)}`;
}

function valueJson({ value, json, optional }: CoreField, selection: Selection, read: ReadPart): Fragment {
  if (selection === 'all') return optional ? sql`COALESCE(${json}, 'null')` : json;
  // If parts of an object were selected, the object appears even if it has none of them.
  return sql`COALESCE(${read(value, (document) => partJson(document, selection))}, '{}')`;
}

/**
 * The selected part of a JSON value as a text; NULL if it has none of the selected members. A missing member is NULL,
 * which array_to_string leaves out. Names are bound as JSON texts, so none of them ever becomes part of the statement.
 */
function partJson(value: Fragment, selection: Selection): Fragment {
  if (selection === 'all') return sql`(${value})::text`;
  const members = [...selection].map(
    ([name, below]) => sql`${JSON.stringify(name)}::text || ':' || ${partJson(sql`${value} -> ${name}::text`, below)}`,
  );
  return objectJson(members);
}

/** NULL if all members are. */
function objectJson(members: readonly Fragment[]): Fragment {
  return sql`('{' || NULLIF(array_to_string(ARRAY[${join(members, ', ')}], ','), '') || '}')`;
}
