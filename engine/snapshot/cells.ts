// What every class of holders may do at every namespace, for all time. A walk down the trie keeps what is inherited and visits
// only what differs from it (engine/README.md "What the digests cover").
//
// Each row has rights *at* the namespace and rights *below* it. The rights below are what every namespace strictly below has at
// least. Grants only add, so a path without a row of its own inherits exactly those.
import { classesByPrincipal, type HolderClasses } from '../model/holders.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import { grown, listRows, rowsOf } from '../model/row-lists.js';
import { NO_SCOPES, RECORD_SCOPE_SET } from '../model/scope-set.js';
import { countPrincipals, type PolicyTables } from '../model/tables.js';
import { makeBelowRule } from './below.js';
import { makeMarks, mark, takeMarked } from './marks.js';
import { makeTimelines, NEVER, type TimelineNumber, type Timelines } from './numbered-timelines.js';

/**
 * The classes whose rights at or below a row differ from what they inherit: the first `count` entries of three columns. Classes are
 * in ascending order. The next row overwrites the columns.
 */
export interface RowChanges {
  readonly count: number;
  readonly classes: Int32Array;
  /** Rights at the row. */
  readonly at: Int32Array;
  /** Rights below it. Where no path can be below, these repeat the rights at it. */
  readonly below: Int32Array;
}

export interface CellVisitor {
  /** True passes over the row and the rows below it. Called first; by default no row is passed over. */
  readonly skip?: (row: number) => boolean;
  /** Called before the rows below. False ends the walk. */
  readonly enter: (row: number, changes: RowChanges) => boolean;
  /** Called after the rows below. */
  readonly leave: (row: number) => void;
}

export interface Cells {
  readonly timelines: Timelines;
  /** By class, the rights that the row just entered inherits. */
  readonly inherited: Int32Array;
  /** Call this once. False if the visitor ended the walk, or there were more intervals than the limit. */
  readonly walk: (visitor: CellVisitor) => boolean;
}

/** `intervals` bounds the timelines that are kept. */
export function makeCells(tables: PolicyTables, holders: HolderClasses, intervals: number): Cells {
  const timelines = makeTimelines(intervals);
  const { grants, namespaces } = tables;
  const ends = subtreeEnds(namespaces.parent);
  const grantLists = listRows(grants.namespace, namespaces.parent.length);
  const grantsAt = (row: number): Int32Array => rowsOf(grantLists, row);
  const classLists = classesByPrincipal(holders, countPrincipals(tables));
  const holdersOf = (principal: number): Int32Array => rowsOf(classLists, principal);
  const timelineOf = (grant: number): TimelineNumber =>
    timelines.during(grants.scopes[grant] ?? NO_SCOPES, grants.notBefore[grant] ?? 0, grants.expires[grant] ?? 0);
  const rule = makeBelowRule({ tables, timelines, grantsAt, holdersOf, timelineOf });

  const inherited = new Int32Array(holders.count);
  /** The classes to which the row gives rights. `heldAt` and `heldBelow` have what each then holds at the row and below it. */
  const given = makeMarks(holders.count);
  const heldAt = new Int32Array(holders.count);
  const heldBelow = new Int32Array(holders.count);
  // The columns that `changesAt` returns. Until then `applyTimed` uses `classes` as a list of the classes that it has met.
  const classes = new Int32Array(holders.count);
  const at = new Int32Array(holders.count);
  const below = new Int32Array(holders.count);

  /** Gives rights to each of the classes. Only this loop runs for every row of the expanded policy. */
  const giveAll = (to: Int32Array, more: RowRights): void => {
    const { at: moreAt, below: moreBelow } = more;
    const isStatic = moreAt <= RECORD_SCOPE_SET && moreBelow <= RECORD_SCOPE_SET;
    for (let i = 0; i < to.length; i += 1) {
      const holder = to[i] ?? 0;
      if (mark(given, holder)) heldAt[holder] = heldBelow[holder] = inherited[holder] ?? NEVER;
      const oldAt = heldAt[holder] ?? NEVER;
      const oldBelow = heldBelow[holder] ?? NEVER;
      if (isStatic && oldAt <= RECORD_SCOPE_SET && oldBelow <= RECORD_SCOPE_SET) {
        heldAt[holder] = oldAt | moreAt;
        heldBelow[holder] = oldBelow | moreBelow;
      } else {
        if (moreAt !== NEVER) heldAt[holder] = timelines.union(oldAt, moreAt);
        if (moreBelow !== NEVER) heldBelow[holder] = timelines.union(oldBelow, moreBelow);
      }
    }
  };
  const oneClass = new Int32Array(1);
  const giveOne = (holder: number, more: RowRights): void => {
    oneClass[0] = holder;
    giveAll(oneClass, more);
  };

  /** Applies the row's grants. */
  const applyGrants = (row: number): void => {
    let timed: Map<number, Windows> | null = null;
    for (const grant of grantsAt(row)) {
      const timeline = timelineOf(grant);
      const principal = grants.principal[grant] ?? 0;
      const more = { at: timeline, below: grants.inherit[grant] === 1 ? timeline : NEVER };
      if (timeline > RECORD_SCOPE_SET) gather((timed ??= new Map<number, Windows>()), principal, more);
      else giveAll(holdersOf(principal), more);
    }
    if (timed !== null) applyTimed(timed);
  };

  /** By class, one more than the index of the first entry of `sums` that applies to it; 0 if none does. */
  const sumOf = new Int32Array(holders.count);

  /** Unites windows once per principal, however many classes hold it, and then across the principals of each class. */
  const applyTimed = (timed: ReadonlyMap<number, Windows>): void => {
    const sums = [...timed].map(([principal, windows]) => ({ principal, rights: uniteWindows(windows) }));
    const [first, second] = sums;
    if (first !== undefined && second === undefined) {
      giveAll(holdersOf(first.principal), first.rights);
      return;
    }
    const several = new Map<number, Windows>();
    let count = 0;
    for (const [i, { principal, rights }] of sums.entries()) {
      const to = holdersOf(principal);
      for (let k = 0; k < to.length; k += 1) {
        const holder = to[k] ?? 0;
        const before = sums[(sumOf[holder] ?? 0) - 1];
        if (before === undefined) {
          sumOf[holder] = i + 1;
          classes[count] = holder;
          count += 1;
        } else {
          if (!several.has(holder)) gather(several, holder, before.rights);
          gather(several, holder, rights);
        }
      }
    }
    for (let k = 0; k < count; k += 1) {
      const holder = classes[k] ?? 0;
      const windows = several.get(holder);
      const rights = windows === undefined ? sums[(sumOf[holder] ?? 0) - 1]?.rights : uniteWindows(windows);
      if (rights !== undefined) giveOne(holder, rights);
      sumOf[holder] = 0;
    }
  };

  const uniteWindows = ({ at: atRow, below: belowRow }: Windows): RowRights => ({
    at: timelines.unionOf(atRow),
    below: timelines.unionOf(belowRow),
  });

  const changesAt = (row: number): RowChanges => {
    applyGrants(row);
    const kind = rule.kindOf(row);
    if (kind === 'full')
      for (const [holder, timeline] of rule.leastOf(row)) giveOne(holder, { at: NEVER, below: timeline });
    const count = takeMarked(given, classes);
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const holder = classes[i] ?? 0;
      const before = inherited[holder];
      const ownAt = heldAt[holder] ?? NEVER;
      const ownBelow = kind === 'nothing' ? ownAt : (heldBelow[holder] ?? NEVER);
      if (ownAt === before && ownBelow === before) continue;
      classes[kept] = holder;
      at[kept] = ownAt;
      below[kept] = ownBelow;
      kept += 1;
    }
    return { count: kept, classes, at, below };
  };

  const open: OpenRow[] = [];
  const undo = makeUndoLog(inherited);

  const leaveTo = (parent: number, visitor: CellVisitor): void => {
    for (let last = open.at(-1); last !== undefined && last.row !== parent; last = open.at(-1)) {
      visitor.leave(last.row);
      undo.backTo(last.undoFrom);
      open.pop();
    }
  };

  return {
    timelines,
    inherited,
    walk: (visitor) => {
      let row = 0;
      while (row < ends.length) {
        leaveTo(namespaces.parent[row] ?? -1, visitor);
        if (visitor.skip?.(row) === true) {
          row = ends[row] ?? ends.length;
          continue;
        }
        const changes = changesAt(row);
        if (timelines.isFull() || !visitor.enter(row, changes)) return false;
        open.push({ row, undoFrom: undo.end() });
        // Rows below inherit this row's rights below.
        if ((ends[row] ?? 0) > row + 1) undo.put(changes);
        row += 1;
      }
      leaveTo(-1, visitor);
      return true;
    },
  };
}

/** A row whose subtree is being walked, and the index in the undo log where its changes begin. */
interface OpenRow {
  readonly row: number;
  readonly undoFrom: number;
}

interface UndoLog {
  readonly end: () => number;
  /** Makes the classes inherit what they hold below the row. */
  readonly put: (changes: RowChanges) => void;
  /** Restores what the classes inherited when the log ended there. */
  readonly backTo: (end: number) => void;
}

function makeUndoLog(inherited: Int32Array): UndoLog {
  let classes = new Int32Array(inherited.length);
  let before = new Int32Array(inherited.length);
  let end = 0;
  return {
    end: () => end,
    put: (changes) => {
      [classes, before] = [grown(classes, end + changes.count), grown(before, end + changes.count)];
      for (let i = 0; i < changes.count; i += 1) {
        const holder = changes.classes[i] ?? 0;
        classes[end] = holder;
        before[end] = inherited[holder] ?? NEVER;
        inherited[holder] = changes.below[i] ?? NEVER;
        end += 1;
      }
    },
    backTo: (wanted) => {
      while (end > wanted) {
        end -= 1;
        inherited[classes[end] ?? 0] = before[end] ?? NEVER;
      }
    },
  };
}

/** What a class holds at a row, and below it. */
export interface RowRights {
  readonly at: TimelineNumber;
  readonly below: TimelineNumber;
}

/** The timelines that grants with a beginning or an end give, at a row and below it. */
interface Windows {
  readonly at: TimelineNumber[];
  readonly below: TimelineNumber[];
}

function gather(lists: Map<number, Windows>, key: number, more: RowRights): void {
  let windows = lists.get(key);
  if (windows === undefined) {
    windows = { at: [], below: [] };
    lists.set(key, windows);
  }
  windows.at.push(more.at);
  if (more.below !== NEVER) windows.below.push(more.below);
}
