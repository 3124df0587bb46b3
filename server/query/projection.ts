// Rows as the JSON of the API: the family's fields in one fixed order, or those that `select` names, property paths nested.
import type { Family } from '../../engine/index.js';
import { coreFields, type CoreField, type Field } from './fields.js';
import type { Fragment } from '../db/sql.js';

export type RecordJson = Readonly<Record<string, unknown>>;

/** The selected part below a value: all of it, or some of its members. */
type Selection = 'all' | Map<string, Selection>;

export interface Projection {
  /** By core field. */
  readonly fields: ReadonlyMap<string, Selection>;
}

/** `select` as a tree; a field that is named whole and in parts is given whole. */
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

/** The core fields that an answer needs, in the order in which a record shows them. */
function shownFields(family: Family, projection: Projection | null): readonly CoreField[] {
  const all = [...coreFields(family).values()];
  return projection === null ? all : all.filter(({ name }) => projection.fields.has(name));
}

/** The output columns, over a row called `x`; none for an empty `select`. */
export function outputColumns(family: Family, projection: Projection | null): readonly Fragment[] {
  return shownFields(family, projection).map(({ output }) => output);
}

/** The record that a row of `outputColumns` stands for. */
export function toRecord(
  row: Readonly<Record<string, unknown>>,
  family: Family,
  projection: Projection | null,
): RecordJson {
  const record: Record<string, unknown> = {};
  for (const { name } of shownFields(family, projection)) {
    const selection = projection?.fields.get(name) ?? 'all';
    // An object of which parts were asked for is there also where it has none of them.
    record[name] = selection === 'all' ? (row[name] ?? null) : (pick(row[name], selection) ?? {});
  }
  return record;
}

/** The selected part of a value; undefined where no path ends in something. */
function pick(value: unknown, selection: Selection): unknown {
  if (selection === 'all') return value;
  if (!isObject(value)) return undefined;
  const part: Record<string, unknown> = {};
  for (const [key, below] of selection) {
    const member = Object.hasOwn(value, key) ? pick(value[key], below) : undefined;
    // Defined, not assigned: `__proto__` is a name like any other here.
    if (member !== undefined) {
      Object.defineProperty(part, key, { value: member, enumerable: true, writable: true, configurable: true });
    }
  }
  return Object.keys(part).length === 0 ? undefined : part;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
