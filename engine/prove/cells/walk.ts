// What a class of identities may do at and below every node of some places, for all time. Only nodes where something is granted are
// visited: every other path has the rights below its nearest node above (engine/README.md "Why exact answers are exact").
import { during, either, NOTHING, type Timeline } from '../../model/timeline.js';
import type { Holding, RowRange } from './holdings.js';
import { endOf, type Nodes } from './nodes.js';

/** Called with the rights of each side at a node, and at every path with this node as its nearest one above. */
export type Visit = (row: number, at: readonly Timeline[], below: readonly Timeline[]) => void;

export interface Walk {
  readonly nodes: Nodes;
  /** The rows to walk: disjoint, in path order, each a node with or without its subtree. These nodes are always visited. */
  readonly places: readonly RowRange[];
  /** What each side holds in and above these places, sorted by node (`holdingsIn`). All sides are walked together. */
  readonly sides: readonly (readonly Holding[])[];
}

/** Walks all places in one pass over the holdings, so that many places cost no more than the holdings in and above them. */
export function walkRights({ nodes, places, sides }: Walk, visit: Visit): void {
  const outside = sides.map(() => NOTHING);
  const open: { readonly end: number; readonly below: readonly Timeline[] }[] = [];
  let here: readonly Run[] = sides.map((side) => ({ side, from: 0, until: 0 }));
  let begun = 0;
  let end = 0;
  for (;;) {
    const start = places[begun]?.from ?? Infinity;
    let row = start;
    for (const { side, until } of here) row = Math.min(row, side[until]?.row ?? Infinity);
    if (start === Infinity && row >= end) return;
    if (row === start) {
      end = places[begun]?.until ?? 0;
      begun += 1;
    }
    for (let top = open.at(-1); top !== undefined && top.end <= row; top = open.at(-1)) open.pop();
    const inherited = open.at(-1)?.below ?? outside;
    here = here.map(({ side, until }) => runAt(side, until, row));
    const below = here.map((run, i) => either(inherited[i] ?? NOTHING, given(run, true)));
    const at = here.map((run, i) => either(below[i] ?? NOTHING, given(run, false)));
    if (row < end) visit(row, at, below);
    open.push({ end: endOf(nodes, row), below });
  }
}

/** A namespace class at which rights can change: a node, what is below it, or the first one after its subtree. */
export type ClassTurn = 'at' | 'below' | 'after';

/** Visits the classes of all nodes in path order, with what one side holds from there on. */
export function walkClasses(
  nodes: Nodes,
  side: readonly Holding[],
  visit: (row: number, turn: ClassTurn, held: Timeline) => void,
): void {
  const around: { readonly row: number; readonly below: Timeline }[] = [];
  const leaveTo = (row: number): void => {
    for (let top = around.at(-1); top !== undefined && endOf(nodes, top.row) <= row; top = around.at(-1)) {
      around.pop();
      visit(top.row, 'after', around.at(-1)?.below ?? NOTHING);
    }
  };
  const places = [{ from: 0, until: nodes.paths.length }];
  walkRights({ nodes, places, sides: [side] }, (row, [at = NOTHING], [below = NOTHING]) => {
    leaveTo(row);
    visit(row, 'at', at);
    visit(row, 'below', below);
    around.push({ row, below });
  });
  leaveTo(nodes.paths.length);
}

/** What a side holds at one node: a range of its list, with an exclusive end. */
interface Run extends RowRange {
  readonly side: readonly Holding[];
}

function runAt(side: readonly Holding[], from: number, row: number): Run {
  let until = from;
  while (side[until]?.row === row) until += 1;
  return { side, from, until };
}

/** What the inherited holdings of a range give, or the others. Unites by halves, so that n windows cost n log n. */
function given({ side, from, until }: Run, inherit: boolean): Timeline {
  const middle = (from + until) >>> 1;
  if (middle > from)
    return either(given({ side, from, until: middle }, inherit), given({ side, from: middle, until }, inherit));
  const only = from < until ? side[from] : undefined;
  return only?.inherit === inherit ? scopesOf(only) : NOTHING;
}

/** The scopes that a grant gives, and when. */
export function scopesOf({ from, until, scopes }: Holding): Timeline {
  return during({ from, until, value: scopes });
}
