// The grants that an answer cites: their rows from the table, and one frozen reference for each.
import type { GrantRef } from '../model/decision.js';
import { type DecisionTable, GRANT } from './columns.js';
import { grantOf, isHeldAt, lastGrant, mayBeHeld, nextGrant, type Wanted } from './judge.js';
import { keep, keptOf } from './kept.js';

/** Adds the rows of those grants of the principal that are wanted. */
export function addGrants(table: DecisionTable, run: number, { wanted, rows }: Search): void {
  const { list, runSets } = table;
  if (!isHeldAt(runSets, run + 1, wanted) && !mayBeHeld(runSets, run + 1, wanted)) return;
  let entry = nextGrant(table, wanted, lastGrant(table, run, wanted.place));
  while (entry >= 0) {
    rows.push(grantOf(table, entry));
    entry = nextGrant(table, wanted, list[GRANT.words * entry + GRANT.outer] ?? -1);
  }
}

interface Search {
  readonly wanted: Wanted;
  readonly rows: number[];
}

/**
 * References for rows in any order, perhaps repeated. The rows are sorted in place; references are in the order of ids,
 * each once.
 */
export function grantRefs(table: DecisionTable, rows: number[]): readonly GrantRef[] {
  sortRows(rows);
  const cited: GrantRef[] = [];
  let last = -1;
  // An iterator would allocate at each step where the code is not optimized.
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    // Equal rows stand together: the second needs no reference made for it.
    if (row === last) continue;
    last = row;
    const ref = refOf(table, row);
    // So do rows that were narrowed from one grant.
    if (ref.id !== cited.at(-1)?.id) cited.push(ref);
  }
  return cited;
}

/** Most answers cite only a few grants. */
const FEW = 16;

function sortRows(rows: number[]): void {
  if (rows.length > FEW) rows.sort((a, b) => a - b);
  else
    for (let i = 1; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      let at = i;
      for (; at > 0 && (rows[at - 1] ?? 0) > row; at -= 1) rows[at] = rows[at - 1] ?? 0;
      rows[at] = row;
    }
}

function refOf(table: DecisionTable, row: number): GrantRef {
  return keptOf(table.refs, row) ?? keep(table.refs, row, makeRef(table, row));
}

function makeRef({ grantFile, grantLine, idBytes, idStart, texts }: DecisionTable, row: number): GrantRef {
  // Spreading the bytes themselves would take four times as long.
  const units: number[] = [];
  for (let at = idStart[row] ?? 0; at < (idStart[row + 1] ?? 0); at += 1) units.push(idBytes[at] ?? 0);
  const id = String.fromCharCode(...units);
  const file = texts.files[(grantFile[row] ?? 0) - 1];
  return Object.freeze(file === undefined ? { id } : { id, file, line: grantLine[row] ?? 0 });
}
