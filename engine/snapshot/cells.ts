// What every class of holders may do at every namespace, for all time: a walk down the trie that keeps the rights at the
// present row and visits only what differs from what is inherited (engine/README.md "What the digests cover").
//
// Two things are known of each row: rights *at* the namespace, and rights *below* it, which are what all namespaces
// strictly below have at least. Grants only add, so that is what a path without a row of its own inherits.
import { classesByPrincipal, type HolderClasses } from '../model/holders.js';
import { listRows, rowsOf } from '../model/row-lists.js';
import { ALL_SCOPES } from '../model/scope.js';
import type { PolicyTables } from '../model/tables.js';
import { makeBelowRule } from './below.js';
import { makeTimelines, NEVER, type TimelineNumber, type Timelines } from './numbered-timelines.js';

export interface CellVisitor {
  /** Before the rows below: `changed` are the classes whose rights differ from what the row inherits. False ends the walk. */
  readonly enter: (row: number, changed: readonly number[]) => boolean;
  /** After the rows below. */
  readonly leave: (row: number) => void;
}

export interface Cells {
  readonly timelines: Timelines;
  /** By class, rights at the row just entered. */
  readonly at: ArrayLike<TimelineNumber>;
  /** By class, rights below the row just entered; those at it where nothing can be below. */
  readonly below: ArrayLike<TimelineNumber>;
  /** By class, what the row just entered inherits. */
  readonly inherited: ArrayLike<TimelineNumber>;
  /** Once. False if the visitor has ended it, or there were more intervals than the limit. */
  readonly walk: (visitor: CellVisitor) => boolean;
}

/** `intervals` bounds the timelines that are kept. */
export function makeCells(tables: PolicyTables, holders: HolderClasses, intervals: number): Cells {
  const timelines = makeTimelines(intervals);
  const { grants } = tables;
  const grantLists = listRows(grants.namespace, tables.namespaces.parent.length);
  const grantsAt = (row: number): Int32Array => rowsOf(grantLists, row);
  const classLists = classesByPrincipal(holders, tables.roles.name.length + tables.identities.subject.length);
  const holdersOf = (principal: number): Int32Array => rowsOf(classLists, principal);
  const timelineOf = (grant: number): TimelineNumber =>
    timelines.during(grants.scopes[grant] ?? 0, grants.notBefore[grant] ?? 0, grants.expires[grant] ?? 0);
  const rule = makeBelowRule({ tables, timelines, grantsAt, holdersOf, timelineOf });

  // INVARIANT: between rows `at` and `below` are both what the next row inherits.
  const at = new Int32Array(holders.count);
  const below = new Int32Array(holders.count);
  const inherited = new Int32Array(holders.count);
  const touchedBy = new Int32Array(holders.count).fill(-1);

  const touch = (touched: number[], row: number, holder: number): void => {
    if (touchedBy[holder] === row) return;
    touchedBy[holder] = row;
    touched.push(holder);
  };

  /** The classes that the row's grants reach. The one loop that runs for every row of the decision table. */
  const applyGrants = (row: number): number[] => {
    const touched: number[] = [];
    const timed = new Map<number, Windows>();
    for (const grant of grantsAt(row)) {
      const timeline = timelineOf(grant);
      const principal = grants.principal[grant] ?? 0;
      const inherits = grants.inherit[grant] === 1;
      if (timeline > ALL_SCOPES) {
        gather(timed, principal, { at: timeline, below: inherits ? timeline : NEVER });
        continue;
      }
      const list = holdersOf(principal);
      for (let i = 0; i < list.length; i += 1) {
        const holder = list[i] ?? 0;
        touch(touched, row, holder);
        at[holder] = timelines.union(at[holder] ?? NEVER, timeline);
        if (inherits) below[holder] = timelines.union(below[holder] ?? NEVER, timeline);
      }
    }
    for (const [holder, windows] of windowsByHolder(timed)) {
      touch(touched, row, holder);
      at[holder] = timelines.union(at[holder] ?? NEVER, timelines.unionOf(windows.at));
      below[holder] = timelines.union(below[holder] ?? NEVER, timelines.unionOf(windows.below));
    }
    return touched;
  };

  /** Those of each principal are united once, however many classes hold them. */
  const windowsByHolder = (timed: ReadonlyMap<number, Windows>): ReadonlyMap<number, Windows> => {
    const byHolder = new Map<number, Windows>();
    for (const [principal, windows] of timed) {
      const sum = { at: timelines.unionOf(windows.at), below: timelines.unionOf(windows.below) };
      for (const holder of holdersOf(principal)) gather(byHolder, holder, sum);
    }
    return byHolder;
  };

  /** The classes whose rights at or below the row are not what it inherits. */
  const enterRow = (row: number): readonly number[] => {
    const touched = applyGrants(row);
    const kind = rule.kindOf(row);
    if (kind === 'nothing') for (const holder of touched) below[holder] = at[holder] ?? NEVER;
    if (kind === 'full') {
      for (const [holder, timeline] of rule.leastOf(row)) {
        if (touchedBy[holder] !== row) touched.push(holder);
        below[holder] = timelines.union(below[holder] ?? NEVER, timeline);
      }
    }
    return touched.filter((holder) => at[holder] !== inherited[holder] || below[holder] !== inherited[holder]);
  };

  const open: { readonly row: number; readonly changed: readonly number[]; readonly before: Int32Array }[] = [];

  const inherit = (holder: number, timeline: TimelineNumber): void => {
    inherited[holder] = timeline;
    at[holder] = timeline;
    below[holder] = timeline;
  };

  const leaveTo = (parent: number, visitor: CellVisitor): void => {
    for (let last = open.at(-1); last !== undefined && last.row !== parent; last = open.at(-1)) {
      visitor.leave(last.row);
      for (let i = 0; i < last.changed.length; i += 1) inherit(last.changed[i] ?? 0, last.before[i] ?? NEVER);
      open.pop();
    }
  };

  return {
    timelines,
    at,
    below,
    inherited,
    walk: (visitor) => {
      const { parent } = tables.namespaces;
      for (let row = 0; row < parent.length; row += 1) {
        leaveTo(parent[row] ?? -1, visitor);
        const changed = enterRow(row);
        if (timelines.isFull()) return false;
        if (!visitor.enter(row, changed)) return false;
        const before = new Int32Array(changed.length);
        for (let i = 0; i < changed.length; i += 1) {
          const holder = changed[i] ?? 0;
          before[i] = inherited[holder] ?? NEVER;
          inherit(holder, below[holder] ?? NEVER);
        }
        open.push({ row, changed, before });
      }
      leaveTo(-1, visitor);
      return true;
    },
  };
}

/** What grants that begin or end give, at a row and below it. */
interface Windows {
  readonly at: TimelineNumber[];
  readonly below: TimelineNumber[];
}

function gather(
  lists: Map<number, Windows>,
  key: number,
  more: { readonly at: TimelineNumber; readonly below: TimelineNumber },
): void {
  let windows = lists.get(key);
  if (windows === undefined) {
    windows = { at: [], below: [] };
    lists.set(key, windows);
  }
  windows.at.push(more.at);
  if (more.below !== NEVER) windows.below.push(more.below);
}
