// The grants that an answer cites: their rows from the table, and one frozen reference for each.
import type { GrantRef } from '../model/decision.js';
import { type DecisionTable, GRANT, INHERITED } from './columns.js';
import { grantOf, isHeldAt, isInForce, lastGrant, mayBeHeld, nextGrant, type Wanted } from './judge.js';
import { keep, keptOf } from './kept.js';
import { bitsAt, SET_BITS } from './steps.js';

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

interface SearchBeyond extends Search {
  /** Another place, whose grants `rows` has, or -1. */
  readonly before: number;
  /** Of all rows. */
  readonly most: number;
}

/** Like `addGrants`, without what also counts at the place `before`. From a grant that reaches both places on outwards, all of them do. */
export function addGrantsBeyond(table: DecisionTable, run: number, { wanted, rows, before, most }: SearchBeyond): void {
  const { list, listNode, listSets, runSets } = table;
  if (!isHeldAt(runSets, run + 1, wanted) && !mayBeHeld(runSets, run + 1, wanted)) return;
  const { place, scopes, word, at } = wanted;
  let entry = lastGrant(table, run, place);
  for (; entry >= 0 && rows.length < most; entry = list[GRANT.words * entry + GRANT.outer] ?? -1) {
    const node = (listNode[entry] ?? 0) >>> SET_BITS;
    const end = list[GRANT.words * entry + GRANT.end] ?? 0;
    // A grant that is not inherited counts at its own namespace alone.
    const isHere = place === 2 * node;
    if (!isHere && node <= before >> 1 && before >> 1 < end >> 2) return;
    if (place >> 1 >= end >> 2 || (!isHere && (end & INHERITED) === 0)) continue;
    if ((bitsAt(listSets, entry, word) & scopes) !== 0 && isInForce(table, entry, at)) rows.push(grantOf(table, entry));
  }
}

/** The first grants of an answer, and how many more it has. */
export interface FirstGrants {
  readonly grants: readonly GrantRef[];
  readonly omitted: number;
}

/** Like `grantRefs`, with references for the first `most` grants alone. */
export function firstRefs(table: DecisionTable, rows: readonly number[], most: number): FirstGrants {
  const grants: GrantRef[] = [];
  let omitted = 0;
  let last = -1;
  for (const row of Int32Array.from(rows).sort()) {
    if (last >= 0 && isOneGrant(table, last, row)) continue;
    last = row;
    if (grants.length < most) grants.push(refOf(table, row));
    else omitted += 1;
  }
  return { grants, omitted };
}

/** Rows that were narrowed from one grant have one id. Ids mostly differ at their ends. */
function isOneGrant({ idBytes, idStart }: DecisionTable, a: number, b: number): boolean {
  if (a === b) return true;
  const [start, other] = [idStart[a] ?? 0, idStart[b] ?? 0];
  const length = (idStart[a + 1] ?? 0) - start;
  if ((idStart[b + 1] ?? 0) - other !== length) return false;
  for (let i = length - 1; i >= 0; i -= 1) if (idBytes[start + i] !== idBytes[other + i]) return false;
  return true;
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
