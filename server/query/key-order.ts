// The orders that indexes give (migrations 0003 and 0004): by id, by createdAt and by name. What stands after a given row in one
// of them is a few runs one after another, each a range of the index in the order of the index, where a condition such as
// `key < $1 OR (key = $1 AND id > $2)` would read every row that ties.
//
// Ids are ordered and compared as bytes, which is the same order. Only our indexes have that expression: in the order of the
// column itself the planner might walk the primary key, past all that is invisible.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { decidingKeys, type Position } from './order.js';
import type { Direction, SortKey } from './plan.js';

export interface KeyOrder {
  readonly key: KeyName;
  readonly direction: Direction;
  /** Of the ids of records with one key. */
  readonly ties: Direction;
  /** Whether a record can be without it. */
  readonly optional: boolean;
}

type KeyName = 'id' | 'createdAt' | 'name';

/** A column that an index is ordered by, with values at or beyond all that are stored. */
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
  // No name is as long as the last one, and none has a character beyond its.
  name: { name: sql`name`, type: sql`text`, first: sql`''`, last: sql`repeat(chr(1114111), 1025)` },
});

/** The id of a row called `r`, as our indexes have it. */
export const ID_BYTES = sql`uuid_send(r.id)`;

/** A row under a name, and what it calls the bytes of its id. */
export interface Row {
  readonly name: Fragment;
  readonly idBytes: Fragment;
}

/** The order of these keys over a family if there is an index for it, else null. */
export function keyOrder(keys: readonly SortKey[], family: Family): KeyOrder | null {
  const [first, second, ...others] = decidingKeys(keys);
  if (first === undefined) return { key: 'id', direction: 'asc', ties: 'asc', optional: false };
  const key = nameOf(first);
  if (key === null || (second !== undefined && nameOf(second) !== 'id') || others.length > 0) return null;
  const { direction } = first;
  // The store refuses any other record without a name (migration 0004).
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
  /** Where all have one key, or none, the order is by id. */
  readonly holds: 'keys' | 'one key' | 'none';
}

const LATER: Readonly<Record<Direction, Fragment>> = Object.freeze({ asc: sql`>`, desc: sql`<` });

/** The runs that follow `position`, all of them where it is null; each comes after the one before it. */
export function runsAfter({ key, direction, ties, optional }: KeyOrder, position: Position | null): readonly Run[] {
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
 * The order of a run over a row, in the words by which the planner finds it in the index: a key that is equal to a value needs no
 * mention, one that is NULL does.
 */
export function runOrder({ key, ties }: KeyOrder, { direction, holds }: Run, { name, idBytes }: Row): Fragment {
  if (key === 'id') return towards(direction, idBytes);
  const ids = towards(ties, idBytes);
  return holds === 'one key' ? ids : sql`${towards(direction, sql`${name}.${COLUMNS[key].name}`)}, ${ids}`;
}

function towards(direction: Direction, column: Fragment): Fragment {
  return direction === 'asc' ? column : sql`${column} DESC`;
}

/** The key that rises along a run, by which places in it are named. */
export interface RunKey {
  /** Its name among `keyColumns`. */
  readonly output: Fragment;
  /** Of a value, or of a record called `r`: whether it stands no later than a place. */
  readonly isUpTo: (value: Fragment, place: Fragment) => Fragment;
  readonly reaches: (place: Fragment) => Fragment;
  /** No row of the run stands later. */
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
