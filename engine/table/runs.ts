// What each principal holds, as step functions over places. Each grant reaches one run of places, and two such runs are
// disjoint or nested. So one pass over the grants in path order, with the open ones on a stack, gives all steps.
import type { RowLists } from '../model/row-lists.js';
import type { PolicyTables } from '../model/tables.js';
import { GRANT, INHERITED, WINDOWED } from './columns.js';
import { addStep, ALL, putSteps, SCOPE_BITS } from './steps.js';

/** The columns of the same names. */
export interface Runs {
  readonly runs: Int32Array;
  readonly runStart: Int32Array;
  readonly listNode: Int32Array;
  readonly list: Int32Array;
  readonly windowGrant: Int32Array;
}

/**
 * `before` counts the nodes before a row. For a node that is its number. There is also an entry for the end of all
 * rows.
 */
export interface Nodes {
  readonly before: Int32Array;
  readonly subtreeEnd: Int32Array;
}

export function makeRuns(tables: PolicyTables, { start, rows }: RowLists, nodes: Nodes): Runs {
  const entries = makeList(tables, rows, nodes);
  const principals = start.length - 1;
  const runStart = new Int32Array(principals);
  // Each grant makes at most three steps of each kind. The empty run at 0 ends where the next one begins, with entry 0.
  const runs = new Int32Array(6 * rows.length + 3 * principals + 3);
  const sweep = makeSweep(entries, nodes.before.at(-1) ?? 0);
  let end = 2;
  for (let principal = 0; principal < principals; principal += 1) {
    const from = start[principal] ?? 0;
    const to = start[principal + 1] ?? 0;
    if (from === to) continue;
    runStart[principal] = end;
    runs[end] = (from << SCOPE_BITS) | scopesOf(entries.listNode, from, to);
    end = putSteps(runs, end + 1, sweep(from, to));
  }
  runs[end] = rows.length << SCOPE_BITS;
  return { runs: runs.subarray(0, end + 1), runStart, ...entries };
}

type Entries = Pick<Runs, 'listNode' | 'list' | 'windowGrant'>;

/** Makes the entries without `outer`. */
function makeList({ grants }: PolicyTables, rows: Int32Array, { before, subtreeEnd }: Nodes): Entries {
  const listNode = new Int32Array(rows.length);
  const list = new Int32Array(GRANT.words * rows.length);
  const windowed: number[] = [];
  rows.forEach((grant, entry) => {
    const row = grants.namespace[grant] ?? 0;
    const end = before[subtreeEnd[row] ?? 0] ?? 0;
    const always = grants.notBefore[grant] === -Infinity && grants.expires[grant] === Infinity;
    listNode[entry] = ((before[row] ?? 0) << SCOPE_BITS) | (grants.scopes[grant] ?? 0);
    list[GRANT.words * entry + GRANT.end] =
      (end << 2) | (grants.inherit[grant] === 1 ? INHERITED : 0) | (always ? 0 : WINDOWED);
    list[GRANT.words * entry + GRANT.row] = always ? grant : windowed.push(grant) - 1;
  });
  return { listNode, list, windowGrant: Int32Array.from(windowed) };
}

function scopesOf(listNode: Int32Array, from: number, to: number): number {
  let scopes = 0;
  for (let entry = from; entry < to; entry += 1) scopes |= (listNode[entry] ?? 0) & ALL;
  return scopes;
}

interface Steps {
  readonly always: readonly number[];
  readonly windowed: readonly number[];
}

/** Returns the steps of one principal's entries, in arrays that are reused, and sets `outer` of the entries. */
function makeSweep({ list, listNode }: Entries, nodes: number): (from: number, to: number) => Steps {
  const always: number[] = [];
  const windowed: number[] = [];
  /**
   * The entries with a subtree that holds the present node; and what is inherited from each on, with the windowed
   * scopes in the upper bits.
   */
  const open: number[] = [];
  const inherited: number[] = [];
  const bitsOf = (entry: number): number => list[GRANT.words * entry + GRANT.end] ?? 0;
  const endOf = (entry: number): number => bitsOf(entry) >> 2;
  const nodeOf = (entry: number): number => (listNode[entry] ?? 0) >> SCOPE_BITS;
  const put = (place: number, rights: number): void => {
    addStep(always, place, rights & ALL);
    addStep(windowed, place, rights >> SCOPE_BITS);
  };
  const closeUpTo = (node: number): void => {
    for (let top = open.at(-1); top !== undefined && endOf(top) <= node; top = open.at(-1)) {
      open.pop();
      inherited.pop();
      if (endOf(top) < nodes) put(2 * endOf(top), inherited.at(-1) ?? 0);
    }
  };
  return (from, to) => {
    always.length = 0;
    windowed.length = 0;
    for (let entry = from; entry < to;) {
      const node = nodeOf(entry);
      closeUpTo(node);
      let below = inherited.at(-1) ?? 0;
      let here = below;
      for (; entry < to && nodeOf(entry) === node; entry += 1) {
        const scopes = (listNode[entry] ?? 0) & ALL;
        const bits = bitsOf(entry);
        const rights = (bits & WINDOWED) === 0 ? scopes : scopes << SCOPE_BITS;
        here |= rights;
        if ((bits & INHERITED) !== 0) below |= rights;
        list[GRANT.words * entry + GRANT.outer] = open.at(-1) ?? -1;
        open.push(entry);
        inherited.push(below);
      }
      put(2 * node, here);
      put(2 * node + 1, below);
    }
    closeUpTo(nodes);
    return { always, windowed };
  };
}
