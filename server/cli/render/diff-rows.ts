// Rows of a diff as people read them. Rows are disjoint, so one grant to everybody is a row for each set of subtrees that
// somebody had before; where many rows differ in nothing else they are shown as one, which says so. JSON has them all.
import type { Cause, DiffRow } from '../../../engine/compiler.js';
import { groupDigits } from '../../../engine/index.js';

/** Up to so many rows that differ in whom they name and what they leave out alone are shown one by one. */
const SHOWN_ALIKE = 8;

export interface ShownRow extends DiffRow {
  /** Of rows shown as one: how many they are, and the most subtrees that one of them leaves out. */
  readonly rows?: number;
  readonly most?: number;
}

/** In the order of the first of each. */
export function shownRows(rows: readonly DiffRow[]): readonly ShownRow[] {
  const causeText = makeCauseText();
  const groups = new Map<string, DiffRow[]>();
  for (const row of rows) {
    const { namespace, extent, scopes, from, until } = row;
    const key = JSON.stringify([namespace, extent, scopes, from, until, row.causes.map(causeText)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()].flatMap((alike) => (alike.length > SHOWN_ALIKE ? [asOne(alike)] : alike));
}

function asOne(alike: readonly DiffRow[]): ShownRow {
  const [first] = alike;
  if (first === undefined) throw new Error('rows that are shown as one are some');
  const { except: _, ...common } = first;
  const most = alike.reduce((widest, { except }) => Math.max(widest, except?.length ?? 0), 0);
  return { ...common, identities: alike.flatMap(({ identities }) => identities), rows: alike.length, most };
}

/** Texts of causes, which many rows share, each made once. */
function makeCauseText(): (cause: Cause) => string {
  const texts = new Map<Cause, string>();
  return (cause) => {
    const text = texts.get(cause) ?? JSON.stringify(cause);
    texts.set(cause, text);
    return text;
  };
}

/** `without up to 9 subtrees that differ by identity (31,023 rows in JSON)`; null for a row that is shown as it is. */
export function leftOutText({ rows, most }: ShownRow): string | null {
  if (rows === undefined || most === undefined) return null;
  const subtrees = `${most === 1 ? 'a subtree' : `up to ${groupDigits(most)} subtrees`} that differ${most === 1 ? 's' : ''}`;
  return `without ${subtrees} by identity (${groupDigits(rows)} rows in JSON)`;
}
