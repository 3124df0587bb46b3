// What each principal holds as a step function over places. Grants reach one run of places each, and two of these are apart or one
// inside the other, so one pass over the grants in path order, with those that are open on a stack, gives all steps.
import type { PolicyTables } from '../model/tables.js';
import type { RowLists } from '../model/row-lists.js';
import { SCOPE_BITS } from './judge.js';

export interface Steps {
  readonly start: Int32Array;
  readonly place: Int32Array;
  readonly rights: Int32Array;
  /** By index of the list, the index of the nearest grant before it whose subtree holds this one, or -1. */
  readonly outer: Int32Array;
}

export function makeSteps(tables: PolicyTables, byPrincipal: RowLists, subtreeEnd: Int32Array): Steps {
  const { grants } = tables;
  const principals = byPrincipal.start.length - 1;
  const outer = new Int32Array(byPrincipal.rows.length).fill(-1);
  const start = new Int32Array(principals + 1);
  const steps = makeStepList(3 * byPrincipal.rows.length);
  const lastPlace = 2 * subtreeEnd.length;
  /** Indices of the grants whose subtree holds the present row, and what is inherited from each on. */
  const open: number[] = [];
  const inherited: number[] = [];
  const endOf = (index: number): number => subtreeEnd[grants.namespace[byPrincipal.rows[index] ?? 0] ?? 0] ?? 0;
  const closeUpTo = (row: number): void => {
    for (let top = open.at(-1); top !== undefined && endOf(top) <= row; top = open.at(-1)) {
      open.pop();
      inherited.pop();
      if (2 * endOf(top) < lastPlace) steps.put(2 * endOf(top), inherited.at(-1) ?? 0);
    }
  };
  for (let principal = 0; principal < principals; principal += 1) {
    steps.begin();
    start[principal] = steps.count();
    const end = byPrincipal.start[principal + 1] ?? 0;
    for (let i = byPrincipal.start[principal] ?? 0; i < end;) {
      const row = grants.namespace[byPrincipal.rows[i] ?? 0] ?? 0;
      closeUpTo(row);
      let below = inherited.at(-1) ?? 0;
      let here = below;
      for (; i < end && grants.namespace[byPrincipal.rows[i] ?? 0] === row; i += 1) {
        const rights = rightsOf(tables, byPrincipal.rows[i] ?? 0);
        here |= rights;
        if (grants.inherit[byPrincipal.rows[i] ?? 0] === 1) below |= rights;
        outer[i] = open.at(-1) ?? -1;
        open.push(i);
        inherited.push(below);
      }
      steps.put(2 * row, here);
      steps.put(2 * row + 1, below);
    }
    closeUpTo(subtreeEnd.length);
  }
  start[principals] = steps.count();
  return { start, outer, ...steps.columns() };
}

/** Scopes of a grant without a window are held always, those of one with a window at some time. */
function rightsOf({ grants }: PolicyTables, grant: number): number {
  const scopes = grants.scopes[grant] ?? 0;
  const always = grants.notBefore[grant] === -Infinity && grants.expires[grant] === Infinity;
  return always ? scopes : scopes << SCOPE_BITS;
}

interface StepList {
  readonly begin: () => void;
  readonly count: () => number;
  readonly put: (place: number, rights: number) => void;
  readonly columns: () => { readonly place: Int32Array; readonly rights: Int32Array };
}

/** A step that changes nothing is not kept; one at the place of the last takes its place. */
function makeStepList(most: number): StepList {
  const places = new Int32Array(most);
  const rightsFrom = new Int32Array(most);
  let first = 0;
  let count = 0;
  return {
    begin: () => {
      first = count;
    },
    count: () => count,
    put: (place, rights) => {
      if (count > first && places[count - 1] === place) count -= 1;
      if ((count > first ? rightsFrom[count - 1] : 0) === rights) return;
      places[count] = place;
      rightsFrom[count] = rights;
      count += 1;
    },
    columns: () => ({ place: places.subarray(0, count), rights: rightsFrom.subarray(0, count) }),
  };
}
