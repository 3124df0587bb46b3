// Steps 3 and 4 of a decision (docs/meaning.md "Decisions") as the table answers them: is a scope held at a place? This
// allocates nothing.
import { type DecisionTable, GRANT, INHERITED, WINDOWED } from './columns.js';
import { bitsAt, lastUpTo, type MeantColumn, SET_BITS, stepFor, stepsEnd, windowedHead } from './steps.js';

/** A question to the table. */
export interface Wanted {
  readonly place: number;
  /** Any of these, as bits of one word of a set. */
  readonly scopes: number;
  /** Which word that is; 0 in a policy of the ten scopes. */
  readonly word: number;
  readonly at: number;
}

/** Whether a grant of the run's principal that is in force carries one of the scopes at the place. */
export function isHeldBy(table: DecisionTable, run: number, wanted: Wanted): boolean {
  const { runSets } = table;
  if ((bitsAt(runSets, run, wanted.word) & wanted.scopes) === 0) return false;
  if (isHeldAt(runSets, run + 1, wanted)) return true;
  return mayBeHeld(runSets, run + 1, wanted) && nextGrant(table, wanted, lastGrant(table, run, wanted.place)) >= 0;
}

/** Whether one of the scopes is held there by the step function that begins at a head. */
export function isHeldAt(column: MeantColumn, head: number, wanted: Wanted): boolean {
  return (heldAt(column, head, wanted) & wanted.scopes) !== 0;
}

function heldAt(column: MeantColumn, head: number, { place, word }: Wanted): number {
  const step = stepFor(column.words, head, place);
  return step === head ? 0 : bitsAt(column, step, word);
}

/** Whether one of the scopes is held there at some time. Only the grants tell whether that is now. */
export function mayBeHeld(column: MeantColumn, head: number, wanted: Wanted): boolean {
  const windowed = windowedHead(column.words, head);
  return windowed >= 0 && isHeldAt(column, windowed, wanted);
}

/** Those of the wanted scopes that grants of the run's principal carry at the place and that are in force. */
export function heldBy(table: DecisionTable, run: number, wanted: Wanted): number {
  const { list, listSets, runs, runSets } = table;
  const { scopes, word } = wanted;
  let held = heldAt(runSets, run + 1, wanted) & scopes;
  // For scopes that are held at some time, each grant in force accounts for all that it carries.
  const windowed = windowedHead(runs, run + 1);
  let open = windowed < 0 ? 0 : heldAt(runSets, windowed, wanted) & scopes & ~held;
  let from = open === 0 ? -1 : lastGrant(table, run, wanted.place);
  while (open !== 0) {
    const entry = nextGrant(table, { ...wanted, scopes: open }, from);
    if (entry < 0) break;
    held |= bitsAt(listSets, entry, word) & open;
    open &= ~held;
    from = list[GRANT.words * entry + GRANT.outer] ?? -1;
  }
  return held;
}

/** The first of the principal's entries in `list` at a node of at least this number, or the end of its entries. */
export function firstEntry({ listNode, runs }: DecisionTable, run: number, node: number): number {
  return lastUpTo(listNode, node - 1, { first: (runs[run] ?? 0) >> SET_BITS, end: listEnd(runs, run) }) + 1;
}

export function listEnd(runs: Int32Array, run: number): number {
  return (runs[stepsEnd(runs, run + 1)] ?? 0) >> SET_BITS;
}

/** Where the search for the principal's grants at a place begins: its last grant at a node up to that place, or -1. */
export function lastGrant(table: DecisionTable, run: number, place: number): number {
  const end = firstEntry(table, run, (place >> 1) + 1);
  return end === (table.runs[run] ?? 0) >> SET_BITS ? -1 : end - 1;
}

/** The first wanted grant in `list`, going outwards from `from`; -1 if no grant is wanted. */
export function nextGrant(table: DecisionTable, { place, scopes, word, at }: Wanted, from: number): number {
  const { list, listNode, listSets } = table;
  for (let entry = from; entry >= 0; entry = list[GRANT.words * entry + GRANT.outer] ?? -1) {
    const end = list[GRANT.words * entry + GRANT.end] ?? 0;
    if ((bitsAt(listSets, entry, word) & scopes) === 0 || place >> 1 >= end >> 2) continue;
    if ((end & INHERITED) === 0 && place !== 2 * ((listNode[entry] ?? 0) >>> SET_BITS)) continue;
    if (isInForce(table, entry, at)) return entry;
  }
  return -1;
}

/** Whether one of the wanted grants is inherited there, so that it also reaches everything below. */
export function isInheritedAt(table: DecisionTable, run: number, wanted: Wanted): boolean {
  const { list } = table;
  // Below its own namespace only an inherited grant counts, and a place below stands for everything there.
  let entry = nextGrant(table, wanted, lastGrant(table, run, wanted.place));
  while (entry >= 0 && ((list[GRANT.words * entry + GRANT.end] ?? 0) & INHERITED) === 0)
    entry = nextGrant(table, wanted, list[GRANT.words * entry + GRANT.outer] ?? -1);
  return entry >= 0;
}

/** `notBefore <= at < expires` (docs/meaning.md "Time"). */
export function isInForce({ list, windowFrom, windowUntil }: DecisionTable, entry: number, at: number): boolean {
  if (((list[GRANT.words * entry + GRANT.end] ?? 0) & WINDOWED) === 0) return at < Infinity;
  const window = list[GRANT.words * entry + GRANT.row] ?? 0;
  return (windowFrom[window] ?? 0) <= at && at < (windowUntil[window] ?? 0);
}

export function grantOf({ list, windowGrant }: DecisionTable, entry: number): number {
  const row = list[GRANT.words * entry + GRANT.row] ?? 0;
  return ((list[GRANT.words * entry + GRANT.end] ?? 0) & WINDOWED) === 0 ? row : (windowGrant[row] ?? 0);
}
