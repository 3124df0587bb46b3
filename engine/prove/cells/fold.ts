// Folds cells into regions: rights that differ from node to node become a few disjoint regions by one fixed rule (docs/meaning.md
// "Cells"). A node with the same rights as its surroundings belongs to their region. A node that differs is left out of that region,
// with its subtree, and starts its own.
import { SCOPES } from '../../model/scope.js';
import {
  commonScopes,
  compareScopeSets,
  haveCommon,
  NO_SCOPES,
  partsOf,
  scopeBit,
  type ScopeSet,
  scopesWithout,
  unionScopes,
} from '../../model/scope-set.js';
import {
  isNothing,
  mapTimeline,
  NOTHING,
  piecesOf,
  sameTimeline,
  scopesIn,
  type Timeline,
} from '../../model/timeline.js';
import { countClasses } from './count-cells.js';
import { endOf, type Nodes } from './nodes.js';
import { type CellPatch, type Extent, type PlaceKey, placeKey, type RowRegion } from './regions.js';
import { type Walk, walkRights } from './walk.js';

/**
 * Which scopes are folded together: `each` by itself, so that a scope that differs somewhere does not split the regions of the
 * others, or `all`.
 */
export type Planes = 'each' | 'all';

const EACH_RECORD_SCOPE: readonly ScopeSet[] = SCOPES.map(scopeBit);

/** The scopes that are in some set of a list, each as a set of its own: the ten in their order, then the others. */
export function eachScope(scopes: ScopeSet): readonly ScopeSet[] {
  const { own } = partsOf(scopes);
  return own.length === 0 ? EACH_RECORD_SCOPE : [...EACH_RECORD_SCOPE, ...own.map((name) => scopeBit(name))];
}

export interface Fold {
  /**
   * Call this for nodes in path order, with the scopes at the node and below it. A node that is not visited has those of the node above
   * it. At the start there are none.
   */
  readonly visit: (row: number, at: Timeline, below: Timeline) => void;
  /** Ends the fold. The patches are disjoint and together exactly what was visited. */
  readonly finish: () => readonly CellPatch[];
}

/** Folds what `measure` returns for the rights of each node of a walk. */
export function foldRights(
  walk: Walk,
  planes: Planes,
  measure: (sides: readonly Timeline[]) => Timeline,
): readonly CellPatch[] {
  const fold = makeFold(walk.nodes, planes);
  walkRights(walk, (row, at, below) => {
    fold.visit(row, measure(at), measure(below));
  });
  return fold.finish();
}

/** Patches with the same region and interval are joined. */
export function makeFold(nodes: Nodes, planes: Planes): Fold {
  if (planes === 'all') return makePlane(nodes);
  // Folds are made only when needed: most walks are short and meet one or two scopes.
  const folds: { readonly plane: ScopeSet; fold: PlaneFold | null }[] = [];
  for (const plane of EACH_RECORD_SCOPE) folds.push({ plane, fold: null });
  let own: ScopeSet = NO_SCOPES;
  return {
    visit: (row, at, below) => {
      const scopes = unionScopes(scopesIn(at), scopesIn(below));
      if (typeof scopes === 'string') {
        for (const plane of eachScope(scopesWithout(scopes, own)).slice(EACH_RECORD_SCOPE.length))
          folds.push({ plane, fold: null });
        own = unionScopes(own, scopes);
      }
      for (const each of folds) {
        const { plane } = each;
        // Nothing is held here, and nothing is held around it.
        if (!haveCommon(scopes, plane) && (each.fold?.isIdle(row) ?? true)) continue;
        each.fold ??= makePlane(nodes);
        const inPlane = (held: Timeline): Timeline =>
          scopesWithout(scopes, plane) === NO_SCOPES ? held : mapTimeline(held, (value) => commonScopes(value, plane));
        each.fold.visit(row, inPlane(at), inPlane(below));
      }
    },
    finish: () => {
      folds.sort((a, b) => compareScopeSets(a.plane, b.plane));
      const found = folds.flatMap(({ fold }) => (fold === null ? [] : [fold.finish()]));
      if (found.length < 2) return found[0] ?? [];
      const joined = new Map<PlaceKey, { patch: CellPatch; scopes: ScopeSet }>();
      for (const patch of found.flat()) {
        const key = placeKey(patch);
        const known = joined.get(key);
        if (known === undefined) joined.set(key, { patch, scopes: patch.scopes });
        else known.scopes = unionScopes(known.scopes, patch.scopes);
      }
      return Array.from(joined.values(), ({ patch, scopes }) => ({ ...patch, scopes }));
    },
  };
}

interface OpenRegion {
  readonly region: RowRegion & { readonly except: number[] };
  readonly timeline: Timeline;
}

interface PlaneFold extends Fold {
  /** Whether no region is open at a row. */
  readonly isIdle: (row: number) => boolean;
}

function makePlane(nodes: Nodes): PlaneFold {
  const regions: OpenRegion[] = [];
  const frames: { readonly end: number; readonly below: Timeline; readonly region: OpenRegion | null }[] = [];
  const open = (row: number, extent: Extent, timeline: Timeline): OpenRegion | null => {
    if (isNothing(timeline)) return null;
    const opened = { region: { row, extent, except: [] }, timeline };
    regions.push(opened);
    return opened;
  };
  return {
    isIdle: (row) => (frames[0]?.end ?? 0) <= row,
    visit: (row, at, below) => {
      for (let top = frames.at(-1); top !== undefined && top.end <= row; top = frames.at(-1)) frames.pop();
      const around = frames.at(-1);
      const inherited = around?.below ?? NOTHING;
      const end = endOf(nodes, row);
      // If no path can be below, rights below cannot differ.
      const down = nodes.hasBelow[row] === 0 && end === row + 1 ? inherited : below;
      if (sameTimeline(at, inherited) && sameTimeline(down, inherited)) return;
      around?.region?.region.except.push(row);
      const isSubtree = sameTimeline(at, down);
      if (!isSubtree) open(row, 'exact', at);
      frames.push({ end, below: down, region: open(row, isSubtree ? 'subtree' : 'below', down) });
    },
    finish: () =>
      regions.flatMap(({ region, timeline }) =>
        countClasses(nodes, region) === 0
          ? []
          : piecesOf(timeline).map(({ from, until, value }) => ({ region, from, until, scopes: value })),
      ),
  };
}
