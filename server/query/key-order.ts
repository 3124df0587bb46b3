// The orders that indexes give (migration 0003): by id, by createdAt and by name. What stands after a given row in one of
// them is a few runs one after another, each a range of the index in the order of the index, where a condition such as
// `key < $1 OR (key = $1 AND id > $2)` would read every row that ties.
import { sql, type Fragment } from '../db/sql.js';
import type { Position } from './order.js';
import type { Direction, SortKey } from './plan.js';

export interface KeyOrder {
  readonly key: KeyName;
  readonly direction: Direction;
}

type KeyName = 'id' | 'createdAt' | 'name';

interface Key {
  readonly column: Fragment;
  readonly type: Fragment;
  readonly optional: boolean;
}

const KEYS: Readonly<Record<KeyName, Key>> = Object.freeze({
  id: { column: sql`r.id`, type: sql`uuid`, optional: false },
  createdAt: { column: sql`r.created_at`, type: sql`timestamptz`, optional: false },
  name: { column: sql`r.name`, type: sql`text`, optional: true },
});

/** The order of these keys if there is an index for it, else null. */
export function keyOrder(keys: readonly SortKey[]): KeyOrder | null {
  const [first, second, third] = keys;
  if (first === undefined) return { key: 'id', direction: 'asc' };
  const key = nameOf(first);
  if (key === 'id') return { key, direction: first.direction };
  const endsInId =
    second === undefined || (third === undefined && nameOf(second) === 'id' && second.direction === 'asc');
  return key !== null && endsInId ? { key, direction: first.direction } : null;
}

function nameOf({ field }: SortKey): KeyName | null {
  if (field.kind !== 'core') return null;
  return field.name === 'id' || field.name === 'createdAt' || field.name === 'name' ? field.name : null;
}

/** The sort columns over a row called `r`, under the names that `sortOutputs` gives them. */
export function keyColumns({ key }: KeyOrder): Fragment {
  return key === 'id' ? sql`r.id AS k0` : sql`${KEYS[key].column} AS k0, r.id AS k1`;
}

/** The same columns of `row`, the name of one that has them. */
export function keyNames({ key }: KeyOrder, row: Fragment): Fragment {
  return key === 'id' ? sql`${row}.k0` : sql`${row}.k0, ${row}.k1`;
}

/** The id among them. */
export function keyId({ key }: KeyOrder, row: Fragment): Fragment {
  return key === 'id' ? sql`${row}.k0` : sql`${row}.k1`;
}

/** One range of an index: its condition on a row called `r`, and its order. */
export interface Run {
  readonly where: Fragment;
  readonly direction: Direction;
}

/** The runs that follow `position`, all of them where it is null; each comes after the one before it. */
export function runsAfter({ key, direction }: KeyOrder, position: Position | null): readonly Run[] {
  const { column, type, optional } = KEYS[key];
  const later = direction === 'asc' ? sql`>` : sql`<`;
  if (key === 'id') {
    return [{ where: position === null ? sql`TRUE` : sql`r.id ${later} ${position[0] ?? null}::uuid`, direction }];
  }
  // NULL is last in either direction, so that only an ascending index has it where it belongs.
  const absent: Run = { where: sql`${column} IS NULL`, direction: 'asc' };
  if (position === null) {
    if (!optional || direction === 'asc') return [{ where: sql`TRUE`, direction }];
    return [{ where: sql`${column} IS NOT NULL`, direction }, absent];
  }
  const [at = null, id = null] = position;
  const afterId = sql`r.id > ${id}::uuid`;
  if (at === null) return [{ ...absent, where: sql`${absent.where} AND ${afterId}` }];
  const tied: Run = { where: sql`${column} = ${at}::${type} AND ${afterId}`, direction };
  const rest: Run = { where: sql`${column} ${later} ${at}::${type}`, direction };
  return optional ? [tied, rest, absent] : [tied, rest];
}

/** The order of a run over rows called `r`, in the words of the index. */
export function runOrder({ key }: KeyOrder, { direction }: Run): Fragment {
  const first = direction === 'asc' ? KEYS[key].column : sql`${KEYS[key].column} DESC`;
  return key === 'id' ? first : sql`${first}, r.id`;
}
