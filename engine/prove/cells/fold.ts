// Folds cells into regions: rights that differ from node to node become a few disjoint regions by one fixed rule (docs/meaning.md
// "Cells"). A node with the same rights as its surroundings belongs to their region. A node that differs is left out of that region,
// with its subtree, and starts its own.
import { SCOPES } from '../../model/scope.js';
import {
  bitsOf,
  isNothing,
  mapTimeline,
  NOTHING,
  piecesOf,
  sameTimeline,
  type Timeline,
} from '../../model/timeline.js';
import { countClasses } from './count-cells.js';
import { endOf, type Nodes } from './nodes.js';
import { type Extent, type Patch, type PlaceKey, placeKey, type RowRegion } from './regions.js';
import { type Walk, walkRights } from './walk.js';

/** Each scope by itself, so that a scope that differs somewhere does not split the regions of the others. */
export const EACH_SCOPE: readonly number[] = SCOPES.map((_, bit) => 1 << bit);

export interface Fold {
  /**
   * Call this for nodes in path order, with the scopes at the node and below it. A node that is not visited has those of the node above
   * it. At the start there are none.
   */
  readonly visit: (row: number, at: Timeline, below: Timeline) => void;
  /** Ends the fold. The patches are disjoint and together exactly what was visited. */
  readonly finish: () => readonly Patch[];
}

/** Folds what `measure` returns for the rights of each node of a walk. */
export function foldRights(
  walk: Walk,
  planes: readonly number[],
  measure: (sides: readonly Timeline[]) => Timeline,
): readonly Patch[] {
  const fold = makeFold(walk.nodes, planes);
  walkRights(walk, (row, at, below) => {
    fold.visit(row, measure(at), measure(below));
  });
  return fold.finish();
}

/** `planes` are sets of scopes that are folded separately. Patches with the same region and interval are then joined. */
export function makeFold(nodes: Nodes, planes: readonly number[]): Fold {
  // Folds are made only when needed: most walks are short and meet one or two scopes.
  const folds = planes.map((plane): { readonly plane: number; fold: PlaneFold | null } => ({ plane, fold: null }));
  return {
    visit: (row, at, below) => {
      const bits = bitsOf(at) | bitsOf(below);
      for (const each of folds) {
        const { plane } = each;
        // Nothing is held here, and nothing is held around it.
        if ((bits & plane) === 0 && (each.fold?.isIdle(row) ?? true)) continue;
        each.fold ??= makePlane(nodes);
        const inPlane = (whole: Timeline): Timeline =>
          (bits & ~plane) === 0 ? whole : mapTimeline(whole, (value) => value & plane);
        each.fold.visit(row, inPlane(at), inPlane(below));
      }
    },
    finish: () => {
      const found = folds.flatMap(({ fold }) => (fold === null ? [] : [fold.finish()]));
      if (found.length < 2) return found[0] ?? [];
      const joined = new Map<PlaceKey, { patch: Patch; scopes: number }>();
      for (const patch of found.flat()) {
        const key = placeKey(patch);
        const known = joined.get(key);
        if (known === undefined) joined.set(key, { patch, scopes: patch.scopes });
        else known.scopes |= patch.scopes;
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
      const whole = sameTimeline(at, down);
      if (!whole) open(row, 'exact', at);
      frames.push({ end, below: down, region: open(row, whole ? 'subtree' : 'below', down) });
    },
    finish: () =>
      regions.flatMap(({ region, timeline }) =>
        countClasses(nodes, region) === 0
          ? []
          : piecesOf(timeline).map(({ from, until, value }) => ({ region, from, until, scopes: value })),
      ),
  };
}
