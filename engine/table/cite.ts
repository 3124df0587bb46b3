// The grants that an answer cites: their rows from the table, and one frozen reference for each.
import type { GrantRef } from '../model/decision.js';
import type { DecisionTable } from './columns.js';
import { lastGrant, nextGrant, type Wanted } from './judge.js';
import { asciiText } from './locate.js';

/** Adds the rows of the principal's grants that are among the wanted. */
export function addGrants(table: DecisionTable, principal: number, { wanted, rows }: Search): void {
  let i = nextGrant(table, wanted, lastGrant(table, principal, wanted.place));
  while (i >= 0) {
    rows.push(table.listGrant[i] ?? 0);
    i = nextGrant(table, wanted, table.listOuter[i] ?? -1);
  }
}

export interface Search {
  readonly wanted: Wanted;
  readonly rows: number[];
}

/** Of rows in any order and perhaps repeated: sorted by id, each once. */
export function grantRefs(table: DecisionTable, rows: number[]): readonly GrantRef[] {
  const { refs } = table;
  if (rows.length > 1) rows.sort((a, b) => a - b);
  const cited: GrantRef[] = [];
  let last = -1;
  for (const row of rows) {
    if (row === last) continue;
    last = row;
    let one = refs[row % refs.length];
    if (one?.row !== row) {
      one = { row, ref: makeRef(table, row) };
      refs[row % refs.length] = one;
    }
    cited.push(one.ref);
  }
  return cited;
}

function makeRef({ grantFile, grantLine, idBytes, idStart, texts }: DecisionTable, row: number): GrantRef {
  const id = asciiText(idBytes, idStart[row] ?? 0, idStart[row + 1] ?? 0);
  const file = texts.files[(grantFile[row] ?? 0) - 1];
  return Object.freeze(file === undefined ? { id } : { id, file, line: grantLine[row] ?? 0 });
}
