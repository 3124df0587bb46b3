// What one visible set has and another does not, as disjoint regions of the namespace tree.
import type { Visibility } from '../model/decision.js';
import { comparePaths, isWithin, type NamespacePath, ROOT } from '../model/namespace.js';

/** `exact`: the namespace alone. `subtree`: with everything below. `below`: everything below, without it. */
export interface VisibleRegion {
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree' | 'below';
  /** Subtrees that are left out; absent if there are none. */
  readonly except?: readonly NamespacePath[];
}

/** Exactly the namespaces that `a` has and `b` does not have, in path order. Every region is as large as it can be. */
export function visibleDifference(a: Visibility, b: Visibility): readonly VisibleRegion[] {
  const [left, right] = [partsOf(a), partsOf(b)];
  const places = [...new Set([...left.exact, ...left.subtrees, ...right.exact, ...right.subtrees])].sort(comparePaths);
  const regions: Open[] = [];
  let last: Above | null = null;
  for (const place of places) {
    const above = nearestAbove(place, last);
    const inLeft = above?.inLeft === true || left.subtrees.has(place);
    const inRight = above?.inRight === true || right.subtrees.has(place);
    // What the right set has not is named by the left one.
    const here = !inRight && !right.exact.has(place);
    const below = inLeft && !inRight;
    let region = above?.region ?? null;
    if (!here || !below || region === null) {
      region?.except.push(place);
      region =
        here || below ? { namespace: place, extent: here ? (below ? 'subtree' : 'exact') : 'below', except: [] } : null;
      if (region !== null) regions.push(region);
    }
    last = { at: place, above, inLeft, inRight, region: below ? region : null };
  }
  return regions.map(({ namespace, extent, except }) => ({
    namespace,
    extent,
    ...(except.length === 0 ? {} : { except }),
  }));
}

interface Open {
  readonly namespace: NamespacePath;
  readonly extent: VisibleRegion['extent'];
  readonly except: NamespacePath[];
}

/** What is true below a place. */
interface Above {
  readonly at: NamespacePath;
  readonly above: Above | null;
  readonly inLeft: boolean;
  readonly inRight: boolean;
  /** The region that what is below the place belongs to; null if that is in none. */
  readonly region: Open | null;
}

/** Places are in path order, so it is the last one or above that. */
function nearestAbove(place: NamespacePath, last: Above | null): Above | null {
  let above = last;
  while (above !== null && !isWithin(place, above.at)) above = above.above;
  return above;
}

interface Parts {
  readonly exact: ReadonlySet<NamespacePath>;
  readonly subtrees: ReadonlySet<NamespacePath>;
}

function partsOf(visible: Visibility): Parts {
  const { exact, subtrees } =
    visible.kind === 'some' ? visible : { exact: [], subtrees: visible.kind === 'all' ? [ROOT] : [] };
  return { exact: new Set(exact), subtrees: new Set(subtrees) };
}
