// Every smallest set of points that cuts all ways, and then every larger one of which no point can be spared: by size, as far as the
// bounds allow. A search for each size branches at the points of one way that is still open. It gives up a branch once more ways that
// share no point are open than points are left. A point that an earlier branch has tried is not tried again, so each set is met once.
import type { Ways } from './ways.js';

export interface CutBounds {
  /** How many sets. */
  readonly sets: number;
  /** How often a way may be looked for. */
  readonly steps: number;
}

export interface Cuts {
  /** Sets of numbers of points, the smallest first. There is at least one. */
  readonly sets: readonly (readonly number[])[];
  /** Whether these are all. */
  readonly isComplete: boolean;
}

export function minimalCuts(ways: Ways, bounds: CutBounds): Cuts {
  const sets: (readonly number[])[] = [];
  let steps = 0;
  const bound = { isMet: false };
  const find = (cut: ReadonlySet<number>): readonly number[] | null => {
    steps += 1;
    return ways.find(cut);
  };
  const isMinimal = (cut: ReadonlySet<number>): boolean =>
    [...cut].every((point) => find(new Set([...cut].filter((other) => other !== point))) !== null);
  /** Adds the sets of exactly `size` points that go on from here. Returns whether larger ones may. */
  const search = (cut: ReadonlySet<number>, tried: ReadonlySet<number>, size: number): boolean => {
    if (steps >= bounds.steps || sets.length > bounds.sets) {
      bound.isMet = true;
      return false;
    }
    const way = find(cut);
    if (way === null) {
      if (cut.size === size && isMinimal(cut)) sets.push([...cut].sort((a, b) => a - b));
      return false;
    }
    if (openAfter(way, cut, size - cut.size)) return true;
    let goesOn = false;
    const passed = new Set(tried);
    for (const point of way) {
      if (passed.has(point)) continue;
      goesOn = search(new Set([...cut, point]), passed, size) || goesOn;
      passed.add(point);
    }
    return goesOn;
  };
  /** Whether more ways are open that share no point than points may still be cut. */
  const openAfter = (first: readonly number[], cut: ReadonlySet<number>, left: number): boolean => {
    const used = new Set(cut);
    let open = 0;
    for (let way: readonly number[] | null = first; way !== null; way = find(used)) {
      open += 1;
      if (open > left) return true;
      for (const point of way) used.add(point);
    }
    return false;
  };
  for (let size = 1; search(new Set(), new Set(), size); size += 1);
  if (sets.length === 0) return { sets: [anyCut(ways)], isComplete: false };
  return { sets: sets.slice(0, bounds.sets), isComplete: !bound.isMet && sets.length <= bounds.sets };
}

/** All grants, without those that can be spared. */
function anyCut({ points, find }: Ways): readonly number[] {
  const cut = new Set(points.flatMap(({ kind }, i) => (kind === 'grant' ? [i] : [])));
  for (const point of [...cut]) {
    cut.delete(point);
    if (find(cut) !== null) cut.add(point);
  }
  return [...cut].sort((a, b) => a - b);
}
