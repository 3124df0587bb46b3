// The orders that indexes give (migrations 0003 and 0004): by id, by createdAt and by name. The rows after a given row
// form a few runs, one after another, and each run is one range of the index in the order of the index. A single
// condition such as `key < $1 OR (key = $1 AND id > $2)` would read every row that ties.
//
// Ids are ordered and compared as bytes, which is the same order. Only our indexes have that expression. In the order
// of the column itself the planner might walk the primary key, past everything that is invisible.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { decidingKeys, type SortPosition } from './order.js';
import type { Direction, SortKey } from './plan.js';

export interface KeyOrder {
  readonly key: KeyName;
  readonly direction: Direction;
  /** The direction of the ids among records with the same key. */
  readonly ties: Direction;
  /** Whether a record can lack the key. */
  readonly optional: boolean;
}

type KeyName = 'id' | 'createdAt' | 'name';

/** A column that an index is ordered by. All stored values lie between `first` and `last`, or equal one of them. */
interface Column {
  readonly name: Fragment;
  readonly type: Fragment;
  readonly first: Fragment;
  readonly last: Fragment;
}

const COLUMNS: Readonly<Record<KeyName, Column>> = Object.freeze({
  id: {
    name: sql`id`,
    type: sql`uuid`,
    first: sql`'00000000-0000-0000-0000-000000000000'::uuid`,
    last: sql`'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`,
  },
  createdAt: {
    name: sql`created_at`,
    type: sql`timestamptz`,
    first: sql`timestamptz '-infinity'`,
    last: sql`timestamptz 'infinity'`,
  },
  // Sorts after every name: it is longer than any name, and its character is the highest one that exists.
  name: { name: sql`name`, type: sql`text`, first: sql`''`, last: sql`repeat(chr(1114111), 1025)` },
});

/** The id of a row called `r`, as our indexes have it. */
export const ID_BYTES = sql`uuid_send(r.id)`;

/** How a row is called in SQL, and how the bytes of its id are. */
export interface Row {
  readonly name: Fragment;
  readonly idBytes: Fragment;
}

/** The order of these keys over a family if an index gives it, otherwise null. */
export function keyOrder(keys: readonly SortKey[], family: Family): KeyOrder | null {
  const [first, second, ...others] = decidingKeys(keys);
  if (first === undefined) return { key: 'id', direction: 'asc', ties: 'asc', optional: false };
  const key = nameOf(first);
  if (key === null || (second !== undefined && nameOf(second) !== 'id') || others.length > 0) return null;
  const { direction } = first;
  // Only process runs may lack a name. The store refuses any other record without one (migration 0004).
  return { key, direction, ties: second?.direction ?? 'asc', optional: key === 'name' && family === 'process-run' };
}

function nameOf({ field }: SortKey): KeyName | null {
  if (field.kind !== 'core') return null;
  return field.name === 'id' || field.name === 'createdAt' || field.name === 'name' ? field.name : null;
}

/** The sort columns of a row, under the names that `sortOutputs` gives them. */
export function keyColumns({ key }: KeyOrder, row: Fragment): Fragment {
  return key === 'id' ? sql`${row}.id AS k0` : sql`${row}.${COLUMNS[key].name} AS k0, ${row}.id AS k1`;
}

/** One range of an index: its condition on a row called `r`, and its order. */
export interface Run {
  readonly where: Fragment;
  readonly direction: Direction;
  /**
   * Whether the rows have different keys, all have the same key, or all lack it. In the last two cases the order is by
   * id.
   */
  readonly holds: 'keys' | 'one key' | 'none';
}

const LATER: Readonly<Record<Direction, Fragment>> = Object.freeze({ asc: sql`>`, desc: sql`<` });

/** The runs that follow `position`, or all runs if it is null. Each run comes after the one before it. */
export function runsAfter({ key, direction, ties, optional }: KeyOrder, position: SortPosition | null): readonly Run[] {
  const { name, type } = COLUMNS[key];
  const column = sql`r.${name}`;
  const later = LATER[direction];
  if (key === 'id') {
    const where = position === null ? sql`TRUE` : sql`${ID_BYTES} ${later} uuid_send(${position[0] ?? null}::uuid)`;
    return [{ where, direction, holds: 'keys' }];
  }
  // NULL is last in either direction.
  const absent: Run = { where: sql`${column} IS NULL`, direction: ties, holds: 'none' };
  if (position === null) {
    const present: Run = { where: optional ? sql`${column} IS NOT NULL` : sql`TRUE`, direction, holds: 'keys' };
    return optional ? [present, absent] : [present];
  }
  const [at = null, id = null] = position;
  const afterId = sql`${ID_BYTES} ${LATER[ties]} uuid_send(${id}::uuid)`;
  if (at === null) return [{ ...absent, where: sql`${absent.where} AND ${afterId}` }];
  const tied: Run = { where: sql`${column} = ${at}::${type} AND ${afterId}`, direction: ties, holds: 'one key' };
  const rest: Run = { where: sql`${column} ${later} ${at}::${type}`, direction, holds: 'keys' };
  return optional ? [tied, rest, absent] : [tied, rest];
}

/**
 * The order of a run over a row, worded so that the planner recognizes it in the index. A key that is equal to a value
 * must be left out; a key that is NULL must be named.
 */
export function runOrder({ key, ties }: KeyOrder, { direction, holds }: Run, { name, idBytes }: Row): Fragment {
  if (key === 'id') return towards(direction, idBytes);
  const ids = towards(ties, idBytes);
  return holds === 'one key' ? ids : sql`${towards(direction, sql`${name}.${COLUMNS[key].name}`)}, ${ids}`;
}

function towards(direction: Direction, column: Fragment): Fragment {
  return direction === 'asc' ? column : sql`${column} DESC`;
}

/** The sort key that changes along a run. Its values name the places in the run. */
export interface RunKey {
  /** Its name among `keyColumns`. */
  readonly output: Fragment;
  /** Whether a value stands at or before a place. */
  readonly isUpTo: (value: Fragment, place: Fragment) => Fragment;
  readonly reaches: (place: Fragment) => Fragment;
  /** A place that no row of the run comes after. */
  readonly end: Fragment;
}

export function runKey({ key }: KeyOrder, { direction, holds }: Run): RunKey {
  const by = holds === 'keys' ? key : 'id';
  const { name, first, last } = COLUMNS[by];
  const ascends = direction === 'asc';
  const isUpTo = (value: Fragment, place: Fragment): Fragment =>
    ascends ? sql`${value} <= ${place}` : sql`${value} >= ${place}`;
  return {
    output: holds === 'keys' ? sql`k0` : sql`k1`,
    isUpTo,
    reaches: (place) => (by === 'id' ? isUpTo(ID_BYTES, sql`uuid_send(${place})`) : isUpTo(sql`r.${name}`, place)),
    end: ascends ? last : first,
  };
}
