// What a class of identities may do at and below every node of some places, for all time. Only nodes where something is
// granted are visited: every other path is as its nearest node above, from below (engine/README.md "Why exact answers are
// exact").
import type { Holding, Rows } from './holdings.js';
import { endOf, type Nodes } from './nodes.js';
import { during, either, NOTHING, type Piece, type Timeline, unionOf } from '../../model/timeline.js';

/** Rights of each side at a node, and at every path whose nearest node above it is this one. */
export type Visit = (row: number, at: readonly Timeline[], below: readonly Timeline[]) => void;

export interface Walk {
  readonly nodes: Nodes;
  /** The rows to walk: a node and its subtree, or the node alone. The node is always visited, and first. */
  readonly rows: Rows;
  /** What each side holds near these rows, sorted by node (`holdingsNear`); several sides are walked in step. */
  readonly sides: readonly (readonly Holding[])[];
}

export function walkRights({ nodes, rows, sides }: Walk, visit: Visit): void {
  walkPlaces({ nodes, places: [rows], sides }, visit);
}

interface PlacesWalk {
  readonly nodes: Nodes;
  /** Disjoint, in path order; each as in a walk of one. */
  readonly places: readonly Rows[];
  /** What each side holds near these places, sorted by node. */
  readonly sides: readonly (readonly Holding[])[];
}

/** All places in one pass over what is held, so that many places cost no more than what is held in and above them. */
export function walkPlaces({ nodes, places, sides }: PlacesWalk, visit: Visit): void {
  const outside = sides.map(() => NOTHING);
  const open: { readonly end: number; readonly below: readonly Timeline[] }[] = [];
  const cursors = sides.map(() => 0);
  let begun = 0;
  let end = 0;
  for (;;) {
    const start = places[begun]?.from ?? Infinity;
    const row = Math.min(start, nextRow(sides, cursors));
    if (start === Infinity && row >= end) return;
    if (row === start) {
      end = places[begun]?.until ?? 0;
      begun += 1;
    }
    for (let top = open.at(-1); top !== undefined && top.end <= row; top = open.at(-1)) open.pop();
    const inherited = open.at(-1)?.below ?? outside;
    const at: Timeline[] = [];
    const below: Timeline[] = [];
    sides.forEach((side, i) => {
      const first = cursors[i] ?? 0;
      const last = endOfRow(side, first, row);
      cursors[i] = last;
      const here = { side, first, last };
      const down = either(inherited[i] ?? NOTHING, heldThere(here, 'inherited'));
      below.push(down);
      at.push(either(down, heldThere(here, 'there alone')));
    });
    if (row < end) visit(row, at, below);
    open.push({ end: endOf(nodes, row), below });
  }
}

/** The first row where a side holds something that is not yet walked. */
function nextRow(sides: PlacesWalk['sides'], cursors: readonly number[]): number {
  let row = Infinity;
  for (let i = 0; i < sides.length; i += 1) row = Math.min(row, sides[i]?.[cursors[i] ?? 0]?.row ?? Infinity);
  return row;
}

function endOfRow(side: readonly Holding[], first: number, row: number): number {
  let last = first;
  while (side[last]?.row === row) last += 1;
  return last;
}

interface Run {
  readonly side: readonly Holding[];
  readonly first: number;
  readonly last: number;
}

/** The rights that a run of holdings gives: by its inherited grants, or by those that are not inherited. */
function heldThere({ side, first, last }: Run, which: 'inherited' | 'there alone'): Timeline {
  let always = 0;
  const windows: Piece[] = [];
  for (let i = first; i < last; i += 1) {
    const holding = side[i];
    if (holding === undefined || holding.inherit !== (which === 'inherited')) continue;
    const { from, until, scopes } = holding;
    if (from === -Infinity && until === Infinity) always |= scopes;
    else windows.push({ from, until, value: scopes });
  }
  const held = during({ from: -Infinity, until: Infinity, value: always });
  return windows.length === 0 ? held : either(held, unionOf(windows));
}

export function windowsOf(holdings: readonly Holding[]): Timeline {
  return unionOf(holdings.map(({ from, until, scopes }) => ({ from, until, value: scopes })));
}
