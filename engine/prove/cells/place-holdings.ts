// The grants of some principals that count at several places at once (`holdingsNear` for many places): each principal's
// grants are read once, or searched where there are many more of them than of places.
import { grantsOf, type Holding, holdingOf, type Rights, type Rows } from './holdings.js';

/** Sorted by node, then grant. */
type PlaceHoldings = (principals: Iterable<number>, places: readonly Rows[]) => readonly Holding[];

/** A search reads about so many grants. */
const SEARCH = 16;

/** Places are disjoint and in path order. What is read of a grant is remembered. */
export function makePlaceHoldings(rights: Rights): PlaceHoldings {
  const known: Holding[] = [];
  const holding = (grant: number): Holding => (known[grant] ??= holdingOf(rights, grant));
  const rowAt = (grants: Int32Array, i: number): number => rights.rowOfGrant[grants[i] ?? -1] ?? Infinity;
  // The number of the question in which a row was found to be above a place.
  const aboveIn = new Int32Array(rights.nodes.paths.length);
  let question = 0;

  /** The rows above places, in path order. */
  const rowsAbove = (places: readonly Rows[]): Int32Array => {
    question += 1;
    const above: number[] = [];
    for (const { from } of places) {
      let row = rights.nodes.parent[from] ?? -1;
      for (; row >= 0 && aboveIn[row] !== question; row = rights.nodes.parent[row] ?? -1) {
        aboveIn[row] = question;
        above.push(row);
      }
    }
    return Int32Array.from(above).sort();
  };

  return (principals, places) => {
    const above = rowsAbove(places);
    const found: Holding[] = [];
    for (const principal of principals) {
      const grants = grantsOf(rights, principal);
      if (grants.length > (places.length + above.length) * SEARCH) {
        for (const { from, until } of places) {
          for (let i = firstFrom(grants, from, rowAt); rowAt(grants, i) < until; i += 1)
            found.push(holding(grants[i] ?? 0));
        }
        for (const row of above) {
          if (isIn(places, row)) continue;
          for (let i = firstFrom(grants, row, rowAt); rowAt(grants, i) === row; i += 1)
            if (holding(grants[i] ?? 0).inherit) found.push(holding(grants[i] ?? 0));
        }
        continue;
      }
      let place = 0;
      for (const grant of grants) {
        const row = rights.rowOfGrant[grant] ?? 0;
        while ((places[place]?.until ?? Infinity) <= row) place += 1;
        const inside = (places[place]?.from ?? Infinity) <= row;
        if (inside || (aboveIn[row] === question && holding(grant).inherit)) found.push(holding(grant));
      }
    }
    return found.sort((a, b) => a.row - b.row || a.grant - b.grant);
  };
}

/** The index of the first of the grants of a principal at a row or after it: they are sorted by node. */
function firstFrom(grants: Int32Array, row: number, rowAt: (grants: Int32Array, i: number) => number): number {
  let low = 0;
  let high = grants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rowAt(grants, middle) >= row) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether a row is in one of the places; one that is above a place can be a place of its own. */
function isIn(places: readonly Rows[], row: number): boolean {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle]?.until ?? Infinity) > row) high = middle;
    else low = middle + 1;
  }
  return (places[low]?.from ?? Infinity) <= row;
}
