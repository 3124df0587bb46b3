// Why access changes at an instant by itself: the windows of grants and memberships that begin or end then.
import { statedId, statedRow } from '../../model/narrow-members.js';
import { memberText, memberWindows, type PolicyTables, statedTables } from '../../model/tables.js';
import { citeHolder, citeMember, placeOf, reasonOf } from '../cells/held-grants.js';
import type { KeyedCause } from '../cells/rows.js';
import { type Cause, keyOf } from './causes.js';

/** What a window does at an instant. */
export type Turn = 'begins' | 'ends';

export type TurnCause = Cause<Turn>;

export interface TurnCauses {
  /** All causes that were found, each once. */
  readonly causes: readonly KeyedCause<TurnCause>[];
  /** The numbers of the causes for which the grant of a row begins or ends to count at an instant. */
  readonly of: (row: number, turn: Turn, instant: number) => readonly number[];
}

export function makeTurnCauses(tables: PolicyTables): TurnCauses {
  const causes: KeyedCause<TurnCause>[] = [];
  const numbers = new Map<string, number>();
  const stated = statedTables(tables);
  const windows = memberWindows(stated);

  const numberOf = (place: string, make: () => TurnCause): number => {
    const known = numbers.get(place);
    if (known !== undefined) return known;
    const cause = make();
    numbers.set(place, causes.length);
    return causes.push({ cause, key: keyOf(cause) }) - 1;
  };

  const grantCause = (row: number, turn: Turn): TurnCause => {
    const principal = tables.grants.principal[row] ?? 0;
    const { description } = citeHolder(tables, principal);
    return {
      change: turn,
      kind: 'grant',
      id: statedId(tables.grants.id[row] ?? ''),
      principal: memberText(tables, principal),
      ...placeOf(tables, tables.grants, row),
      ...reasonOf(tables, row),
      ...(description === undefined ? {} : { description }),
    };
  };

  const memberCause = (edge: number, turn: Turn): TurnCause => ({
    change: turn,
    kind: 'member',
    ...citeMember(stated, edge),
  });

  return {
    causes,
    of: (row, turn, instant) => {
      const grant = statedRow(tables, row);
      const bound = (turn === 'begins' ? tables.grants.notBefore : tables.grants.expires)[grant];
      const found =
        bound === instant ? [numberOf(`${turn} grant ${String(grant)}`, () => grantCause(grant, turn))] : [];
      for (const edge of tables.narrowed?.edges.get(row) ?? []) {
        const window = windows.get(edge);
        if (window?.[turn === 'begins' ? 'from' : 'until'] === instant)
          found.push(numberOf(`${turn} member ${String(edge)}`, () => memberCause(edge, turn)));
      }
      return found;
    },
  };
}
