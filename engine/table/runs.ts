// What each principal holds, as step functions over places. Each grant reaches one run of places, and two such runs are
// disjoint or nested. So one pass over the grants in path order, with the open ones on a stack, gives all steps.
import type { RowLists } from '../model/row-lists.js';
import type { PolicyTables } from '../model/tables.js';
import { NO_SCOPES } from '../model/scope-set.js';
import { GRANT, INHERITED, WINDOWED } from './columns.js';
import { indexOwn } from './own-scopes.js';
import { bitsOfSet, makeSetNumbers, PLAIN, type SetNumbers, type SetWords } from './scope-numbers.js';
import { addStep, type HeldSteps, LOW, noSteps, putSet, putSteps, SET_BITS, setAt, type SetColumn } from './steps.js';

/** The columns of the same names. */
export interface Runs {
  readonly runs: Int32Array;
  readonly runUpper: Uint16Array;
  readonly runStart: Int32Array;
  readonly listNode: Int32Array;
  readonly listUpper: Uint16Array;
  readonly list: Int32Array;
  readonly windowGrant: Int32Array;
  readonly sets: SetWords;
}

/**
 * `before` counts the nodes before a row. For a node that is its number. There is also an entry for the end of all
 * rows.
 */
export interface NodeNumbers {
  readonly before: Int32Array;
  readonly subtreeEnd: Int32Array;
}

export function makeRuns(tables: PolicyTables, lists: RowLists, nodes: NodeNumbers): Runs {
  const numbers = tables.vocabulary.own.length === 0 ? PLAIN : makeSetNumbers();
  const grantSets = numberSets(tables, numbers);
  // Whether numbers are too long for steps is known only when all sets have been met.
  const made = fillRuns(tables, { lists, nodes, numbers, grantSets, isWide: false });
  if (numbers.count() <= LOW + 1) return made;
  return fillRuns(tables, { lists, nodes, numbers, grantSets, isWide: true });
}

/** By grant, the number of its set. */
function numberSets({ grants, vocabulary }: PolicyTables, numbers: SetNumbers): Int32Array {
  const index = indexOwn(vocabulary.own);
  const known = new Map<number | string, number>();
  const sets = new Int32Array(grants.id.length);
  for (let grant = 0; grant < sets.length; grant += 1) {
    const set = grants.scopes[grant] ?? NO_SCOPES;
    let number = known.get(set);
    if (number === undefined) known.set(set, (number = numbers.numberOf(...bitsOfSet(set, index))));
    sets[grant] = number;
  }
  return sets;
}

interface Filling {
  readonly lists: RowLists;
  readonly nodes: NodeNumbers;
  readonly numbers: SetNumbers;
  readonly grantSets: Int32Array;
  /** Whether numbers of sets take more than the ten bits of a step. */
  readonly isWide: boolean;
}

function fillRuns(tables: PolicyTables, filling: Filling): Runs {
  const { lists, nodes, numbers, isWide } = filling;
  const { start, rows } = lists;
  const { listSets, list, windowGrant } = makeList(tables, filling);
  const principals = start.length - 1;
  const runStart = new Int32Array(principals);
  // Each grant makes at most three steps of each kind. The empty run at 0 ends where the next one begins, with entry 0.
  const most = 6 * rows.length + 3 * principals + 3;
  const column = { words: new Int32Array(most), upper: new Uint16Array(isWide ? most : 0) };
  const sweep = makeSweep({ list, listSets }, nodes.before.at(-1) ?? 0, numbers);
  let end = 2;
  for (let principal = 0; principal < principals; principal += 1) {
    const from = start[principal] ?? 0;
    const to = start[principal + 1] ?? 0;
    if (from === to) continue;
    runStart[principal] = end;
    let all = 0;
    for (let entry = from; entry < to; entry += 1) all = numbers.union(all, setAt(listSets, entry));
    putSet(column, end, { value: from, set: all });
    end = putSteps(column, end + 1, sweep(from, to));
  }
  column.words[end] = rows.length << SET_BITS;
  return {
    runs: column.words.subarray(0, end + 1),
    runUpper: column.upper.subarray(0, end + 1),
    runStart,
    listNode: listSets.words,
    listUpper: listSets.upper,
    list,
    windowGrant,
    sets: numbers.words(),
  };
}

interface Entries {
  readonly listSets: SetColumn;
  readonly list: Int32Array;
  readonly windowGrant: Int32Array;
}

/** Makes the entries without `outer`. */
function makeList({ grants }: PolicyTables, { lists: { rows }, nodes, grantSets, isWide }: Filling): Entries {
  const { before, subtreeEnd } = nodes;
  const listSets = { words: new Int32Array(rows.length), upper: new Uint16Array(isWide ? rows.length : 0) };
  const list = new Int32Array(GRANT.words * rows.length);
  const windowed: number[] = [];
  rows.forEach((grant, entry) => {
    const row = grants.namespace[grant] ?? 0;
    const end = before[subtreeEnd[row] ?? 0] ?? 0;
    const always = grants.notBefore[grant] === -Infinity && grants.expires[grant] === Infinity;
    putSet(listSets, entry, { value: before[row] ?? 0, set: grantSets[grant] ?? 0 });
    list[GRANT.words * entry + GRANT.end] =
      (end << 2) | (grants.inherit[grant] === 1 ? INHERITED : 0) | (always ? 0 : WINDOWED);
    list[GRANT.words * entry + GRANT.row] = always ? grant : windowed.push(grant) - 1;
  });
  return { listSets, list, windowGrant: Int32Array.from(windowed) };
}

/** Returns the steps of one principal's entries, in arrays that are reused, and sets `outer` of the entries. */
function makeSweep(
  { list, listSets }: Pick<Entries, 'list' | 'listSets'>,
  nodes: number,
  { union }: SetNumbers,
): (from: number, to: number) => HeldSteps {
  const always = noSteps();
  const windowed = noSteps();
  /** The entries with a subtree that holds the present node; and what is inherited from each on, always and at some time. */
  const open: number[] = [];
  const inherited: number[] = [];
  const inheritedThen: number[] = [];
  const bitsOf = (entry: number): number => list[GRANT.words * entry + GRANT.end] ?? 0;
  const endOf = (entry: number): number => bitsOf(entry) >> 2;
  const nodeOf = (entry: number): number => (listSets.words[entry] ?? 0) >>> SET_BITS;
  const put = (place: number, set: number, then: number): void => {
    addStep(always, place, set);
    addStep(windowed, place, then);
  };
  const closeUpTo = (node: number): void => {
    for (let top = open.at(-1); top !== undefined && endOf(top) <= node; top = open.at(-1)) {
      open.pop();
      inherited.pop();
      inheritedThen.pop();
      if (endOf(top) < nodes) put(2 * endOf(top), inherited.at(-1) ?? 0, inheritedThen.at(-1) ?? 0);
    }
  };
  return (from, to) => {
    for (const column of [always.places, always.sets, windowed.places, windowed.sets]) column.length = 0;
    for (let entry = from; entry < to;) {
      const node = nodeOf(entry);
      closeUpTo(node);
      let below = inherited.at(-1) ?? 0;
      let belowThen = inheritedThen.at(-1) ?? 0;
      let here = below;
      let hereThen = belowThen;
      for (; entry < to && nodeOf(entry) === node; entry += 1) {
        const set = setAt(listSets, entry);
        const bits = bitsOf(entry);
        const passes = (bits & INHERITED) !== 0;
        if ((bits & WINDOWED) === 0) {
          here = union(here, set);
          if (passes) below = union(below, set);
        } else {
          hereThen = union(hereThen, set);
          if (passes) belowThen = union(belowThen, set);
        }
        list[GRANT.words * entry + GRANT.outer] = open.at(-1) ?? -1;
        open.push(entry);
        inherited.push(below);
        inheritedThen.push(belowThen);
      }
      put(2 * node, here, hereThen);
      put(2 * node + 1, below, belowThen);
    }
    closeUpTo(nodes);
    return { always, windowed };
  };
}
