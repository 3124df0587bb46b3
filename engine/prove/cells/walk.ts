// What a class of identities may do at and below every node of some places, for all time. Only nodes where something is
// granted are visited: every other path is as its nearest node above, from below (engine/README.md "Why exact answers are
// exact").
import { during, either, NOTHING, type Timeline, unite } from '../../model/timeline.js';
import type { Holding, Rows } from './holdings.js';
import { endOf, type Nodes } from './nodes.js';

/** Rights of each side at a node, and at every path whose nearest node above it is this one. */
export type Visit = (row: number, at: readonly Timeline[], below: readonly Timeline[]) => void;

export interface Walk {
  readonly nodes: Nodes;
  /** The rows to walk, each a node with or without its subtree: disjoint, in path order. Their nodes are always visited. */
  readonly places: readonly Rows[];
  /** What each side holds in and above these places, sorted by node (`holdingsIn`); several sides are walked in step. */
  readonly sides: readonly (readonly Holding[])[];
}

/** All places in one pass over what is held, so that many places cost no more than what is held in and above them. */
export function walkRights({ nodes, places, sides }: Walk, visit: Visit): void {
  const outside = sides.map(() => NOTHING);
  const open: { readonly end: number; readonly below: readonly Timeline[] }[] = [];
  const cursors = sides.map(() => 0);
  let begun = 0;
  let end = 0;
  for (;;) {
    const start = places[begun]?.from ?? Infinity;
    const row = sides.reduce((least, side, i) => Math.min(least, side[cursors[i] ?? 0]?.row ?? Infinity), start);
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
      const passedOn: Timeline[] = [];
      const kept: Timeline[] = [];
      let next = cursors[i] ?? 0;
      for (let here = side[next]; here?.row === row; here = side[next]) {
        (here.inherit ? passedOn : kept).push(scopesOf(here));
        next += 1;
      }
      cursors[i] = next;
      const down = either(inherited[i] ?? NOTHING, unite(passedOn));
      below.push(down);
      at.push(either(down, unite(kept)));
    });
    if (row < end) visit(row, at, below);
    open.push({ end: endOf(nodes, row), below });
  }
}

/** The scopes that a grant gives, and when. */
export function scopesOf({ from, until, scopes }: Holding): Timeline {
  return during({ from, until, value: scopes });
}
