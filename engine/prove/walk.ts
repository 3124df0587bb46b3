// What a class of identities may do at and below every node of a subtree, for all time. Only nodes where something is
// granted are visited: every other path is as its nearest node above, from below (README, "Why exact answers are exact").
import type { Holding, Rows } from './holdings.js';
import { endOf, type Nodes } from './nodes.js';
import { either, NOTHING, type Timeline, unionOf } from './timeline.js';

/** Rights of each side at a node, and at every path whose nearest node above it is this one. */
export type Visit = (row: number, at: readonly Timeline[], below: readonly Timeline[]) => void;

export interface Walk {
  readonly nodes: Nodes;
  /** The rows to walk: a node and its subtree, or the node alone. The node is always visited, and first. */
  readonly rows: Rows;
  /** What each side holds near these rows, sorted by node (`holdingsNear`); several sides are walked in step. */
  readonly sides: readonly (readonly Holding[])[];
}

export function walkRights({ nodes, rows: { from: start, until: end }, sides }: Walk, visit: Visit): void {
  const open: { end: number; below: readonly Timeline[] }[] = [
    { end, below: sides.map((side) => windowsOf(side.filter((holding) => holding.row < start && holding.inherit))) },
  ];
  const cursors = sides
    .map((side) => side.findIndex((holding) => holding.row >= start))
    .map((at) => (at < 0 ? Infinity : at));
  for (let row = start; row < end; row = nextRow(sides, cursors, end)) {
    for (let top = open.at(-1); open.length > 1 && top !== undefined && top.end <= row; top = open.at(-1)) open.pop();
    const inherited = open.at(-1)?.below ?? [];
    const at: Timeline[] = [];
    const below: Timeline[] = [];
    sides.forEach((side, i) => {
      const here = takeRow(side, cursors, { side: i, row });
      const down = either(inherited[i] ?? NOTHING, windowsOf(here.filter((holding) => holding.inherit)));
      below.push(down);
      at.push(either(down, windowsOf(here.filter((holding) => !holding.inherit))));
    });
    visit(row, at, below);
    open.push({ end: endOf(nodes, row), below });
  }
}

function nextRow(sides: Walk['sides'], cursors: readonly number[], end: number): number {
  return Math.min(end, ...sides.map((side, i) => side[cursors[i] ?? Infinity]?.row ?? Infinity));
}

/** The holdings of a side at a row; moves its cursor past them. */
function takeRow(
  side: readonly Holding[],
  cursors: number[],
  place: { readonly side: number; readonly row: number },
): readonly Holding[] {
  const first = cursors[place.side] ?? Infinity;
  let last = first;
  while (side[last]?.row === place.row) last += 1;
  cursors[place.side] = last;
  return side.slice(first, last);
}

export function windowsOf(holdings: readonly Holding[]): Timeline {
  return unionOf(holdings.map(({ from, until, scopes }) => ({ from, until, value: scopes })));
}
