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
  // The places above the present one, with what is true below each of them.
  const above: Above[] = [{ at: null, inLeft: false, inRight: false, region: null }];
  for (const place of places) {
    let parent = above.at(-1);
    while (parent !== undefined && parent.at !== null && !isWithin(place, parent.at)) {
      above.pop();
      parent = above.at(-1);
    }
    if (parent === undefined) break;
    const inLeft = parent.inLeft || left.subtrees.has(place);
    const inRight = parent.inRight || right.subtrees.has(place);
    const here = (inLeft || left.exact.has(place)) && !(inRight || right.exact.has(place));
    const below = inLeft && !inRight;
    if (here && below && parent.region !== null) {
      above.push({ at: place, inLeft, inRight, region: parent.region });
      continue;
    }
    parent.region?.except.push(place);
    const opened: Open | null =
      here || below ? { namespace: place, extent: here ? (below ? 'subtree' : 'exact') : 'below', except: [] } : null;
    if (opened !== null) regions.push(opened);
    above.push({ at: place, inLeft, inRight, region: below ? opened : null });
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

interface Above {
  /** Null above the root. */
  readonly at: NamespacePath | null;
  readonly inLeft: boolean;
  readonly inRight: boolean;
  /** The region that what is below the place belongs to; null if that is in none. */
  readonly region: Open | null;
}

interface Parts {
  readonly exact: ReadonlySet<NamespacePath>;
  readonly subtrees: ReadonlySet<NamespacePath>;
}

function partsOf(visible: Visibility): Parts {
  if (visible.kind === 'none') return { exact: new Set(), subtrees: new Set() };
  if (visible.kind === 'all') return { exact: new Set(), subtrees: new Set([ROOT]) };
  return { exact: new Set(visible.exact), subtrees: new Set(visible.subtrees) };
}
