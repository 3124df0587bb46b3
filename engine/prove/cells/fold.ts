// Cells to regions: what differs from node to node, in path order, becomes a few disjoint regions by one fixed rule
// (docs/meaning.md "Cells"). A node that is as its surroundings belongs to their region; one that is not is left out of it,
// with its subtree, and starts its own.
import { countClasses } from './count-cells.js';
import type { Extent, RowRegion } from './regions.js';
import { endOf, type Nodes } from './nodes.js';
import {
  bitsOf,
  isNothing,
  mapTimeline,
  NOTHING,
  piecesOf,
  sameTimeline,
  type Timeline,
} from '../../model/timeline.js';

/** A value other than 0 throughout a region and a stretch of time. */
export interface Patch {
  readonly region: RowRegion;
  readonly from: number;
  readonly until: number;
  readonly value: number;
}

export interface Fold {
  /**
   * To be called for nodes in path order, with the values at the node and below it. A node that is not visited has the values of
   * the node above it; at the start they are 0.
   */
  readonly visit: (row: number, at: Timeline, below: Timeline) => void;
  /** The patches: disjoint, and exactly what was visited. Ends the fold. */
  readonly finish: () => readonly Patch[];
}

/**
 * `planes` are sets of bits that are folded apart from each other; patches that then agree in region and time are joined.
 * By single scopes, a scope that differs somewhere does not break up the regions of the others.
 */
export function makeFold(nodes: Nodes, planes: readonly number[]): Fold {
  const folds = planes.map((plane): { readonly plane: number; fold: PlaneFold | null } => ({ plane, fold: null }));
  return {
    visit: (row, at, below) => {
      const bits = bitsOf(at) | bitsOf(below);
      for (const folded of folds) {
        const { plane } = folded;
        // Nothing inside nothing.
        if ((bits & plane) === 0 && (folded.fold?.isIdle(row) ?? true)) continue;
        folded.fold ??= makePlane(nodes);
        const here = mapTimeline(at, (value) => value & plane);
        folded.fold.visit(row, here, at === below ? here : mapTimeline(below, (value) => value & plane));
      }
    },
    finish: () => joinPlanes(folds.flatMap(({ fold }) => (fold === null ? [] : [fold.finish()]))),
  };
}

interface OpenRegion {
  readonly region: { readonly row: number; readonly extent: Extent; readonly except: number[] };
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
      // Where no path lies below, nothing there can differ from anything.
      const down = nodes.hasBelow[row] === 0 && !hasRowsBelow(nodes, row) ? inherited : below;
      if (sameTimeline(at, inherited) && sameTimeline(down, inherited)) return;
      around?.region?.region.except.push(row);
      const whole = sameTimeline(at, down);
      if (!whole) open(row, 'exact', at);
      frames.push({ end: endOf(nodes, row), below: down, region: open(row, whole ? 'subtree' : 'below', down) });
    },
    finish: () =>
      regions
        .filter(({ region }) => countClasses(nodes, region) > 0)
        .flatMap(({ region, timeline }) =>
          piecesOf(timeline).map(({ from, until, value }) => ({ region, from, until, value })),
        ),
  };
}

function hasRowsBelow(nodes: Nodes, row: number): boolean {
  return endOf(nodes, row) > row + 1;
}

function joinPlanes(planes: readonly (readonly Patch[])[]): readonly Patch[] {
  const [first, ...more] = planes.filter((patches) => patches.length > 0);
  if (more.length === 0) return first ?? [];
  const joined = new Map<PlaceKey, Patch>();
  for (const patch of planes.flat()) {
    const key = placeKey(patch);
    const known = joined.get(key);
    joined.set(key, known === undefined ? patch : { ...known, value: known.value | patch.value });
  }
  return [...joined.values()];
}

/** Most patches are whole regions for all time. Their key is a number, because building texts would take most of the time. */
export type PlaceKey = number | string;

const EXTENTS: readonly Extent[] = ['exact', 'below', 'subtree'];

/** A key that two patches share exactly if region and stretch of time are the same. */
export function placeKey({ region: { row, extent, except }, from, until }: Patch): PlaceKey {
  const place = row * EXTENTS.length + EXTENTS.indexOf(extent);
  if (except.length === 0 && from === -Infinity && until === Infinity) return place;
  return `${String(place)} ${except.join()} ${String(from)} ${String(until)}`;
}
