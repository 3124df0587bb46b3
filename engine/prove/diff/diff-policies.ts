// What anyone gains or loses from one policy to another: exactly, over all identities, namespaces, scopes and time, folded
// into few disjoint rows, each with what caused it (docs/meaning.md "Cells").
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { compareLists, compareNumbers, compareTexts } from '../../model/order.js';
import { type ScopeName, SCOPES } from '../../model/scope.js';
import { findAffected } from './affected.js';
import { countAllCells, countCells } from '../cells/count-cells.js';
import { type Cause, causeKey, type Direction, makeCauseFinder } from './causes.js';
import { type Fold, makeFold, type Patch, type PlaceKey, placeKey } from '../cells/fold.js';
import { identityText } from '../cells/identity-groups.js';
import { type Holding, makePlaceHoldings, type Rows } from '../cells/holdings.js';
import { visitCarriers } from './patch-carriers.js';
import { makePair, type PolicyPair } from './policy-pair.js';
import { combine } from '../../model/timeline.js';
import { walkPlaces } from '../cells/walk.js';
import { compareExtents, openOr, type Region, scopesOf, toRegion } from '../cells/regions.js';

/** Cells that one policy holds and the other does not: all of the identities, scopes, region and time. */
export interface DiffRow extends Region {
  /** `provider:subject`, sorted. */
  readonly identities: readonly string[];
  readonly scopes: readonly ScopeName[];
  /** Null is open. */
  readonly from: Instant | null;
  readonly until: Instant | null;
  /** Never empty. */
  readonly causes: readonly Cause[];
}

export interface DiffReport {
  /** No request that the two decide differently. */
  readonly equal: boolean;
  /** Disjoint, in path order. */
  readonly gained: readonly DiffRow[];
  readonly lost: readonly DiffRow[];
  /** `compared` = `equal` + `gained` + `lost`. */
  readonly cells: { readonly compared: bigint; readonly equal: bigint; readonly gained: bigint; readonly lost: bigint };
  /** How much was looked at: grows with what was changed, not with the policies. */
  readonly visited: { readonly groups: number; readonly nodes: number };
}

/**
 * Both must be compiled policies whose decision digests are theirs. Takes time and memory about linear in what the identities
 * concerned hold near changes.
 */
export function diffPolicies(old: Policy, changed: Policy): DiffReport {
  const report = comparePolicies(prepared(old), prepared(changed));
  // Computed in two ways that have nothing in common but the tables.
  invariant(
    report.equal === (old.decisions === changed.decisions),
    'no cell differs exactly if the decision digests are equal',
  );
  return report;
}

function prepared(policy: Policy): PreparedPolicy {
  const tables = preparedOf(policy);
  invariant(tables !== null, 'only compiled policies have cells');
  return tables;
}

function comparePolicies(old: PreparedPolicy, changed: PreparedPolicy): DiffReport {
  const pair = makePair(old, changed);
  const { groups, changes } = findAffected(pair);
  const heldAt = { old: makePlaceHoldings(pair.old.rights), new: makePlaceHoldings(pair.new.rights) };
  const causeFinder = makeCauseFinder(pair, changes);
  const rows = { gained: makeRows(pair), lost: makeRows(pair) };
  let nodes = 0;
  for (const group of groups) {
    const places = group.places();
    const sides = { old: heldAt.old(group.before, places), new: heldAt.new(group.after, places) };
    const patches = comparePlaces(pair, places, sides);
    nodes += patches.nodes;
    const findCauses = causeFinder(group.identities);
    for (const direction of ['gained', 'lost'] as const) {
      const holdings = direction === 'gained' ? sides.new : sides.old;
      visitCarriers(pair.space.nodes, { holdings, patches: patches[direction] }, (patch, carriers) => {
        const row = rows[direction].rowOf(patch);
        for (const identity of group.identities) row.identities.push(identity);
        findCauses({ direction, difference: patch, carriers }, row.causes);
      });
    }
  }
  const compared = countAllCells(pair.space, pair.identities);
  const cells = { gained: rows.gained.cells(), lost: rows.lost.cells() };
  return {
    equal: cells.gained === 0n && cells.lost === 0n,
    gained: rows.gained.finish(),
    lost: rows.lost.finish(),
    cells: { compared, equal: compared - cells.gained - cells.lost, ...cells },
    visited: { groups: groups.length, nodes },
  };
}

interface PlacePatches {
  readonly gained: readonly Patch[];
  readonly lost: readonly Patch[];
  readonly nodes: number;
}

const PLANES = SCOPES.map((_, bit) => 1 << bit);

/** All places of a group: scope by scope, so that one that changes in many places does not break up the others' rows. */
function comparePlaces(
  { space: { nodes } }: PolicyPair,
  places: readonly Rows[],
  sides: { readonly old: readonly Holding[]; readonly new: readonly Holding[] },
): PlacePatches {
  const folds: Readonly<Record<Direction, Fold>> = { gained: makeFold(nodes, PLANES), lost: makeFold(nodes, PLANES) };
  let visited = 0;
  walkPlaces({ nodes, places, sides: [sides.old, sides.new] }, (row, [oldAt, newAt], [oldBelow, newBelow]) => {
    if (oldAt === undefined || newAt === undefined || oldBelow === undefined || newBelow === undefined) return;
    visited += 1;
    folds.gained.visit(row, combine(newAt, oldAt, minus), combine(newBelow, oldBelow, minus));
    folds.lost.visit(row, combine(oldAt, newAt, minus), combine(oldBelow, newBelow, minus));
  });
  return { gained: folds.gained.finish(), lost: folds.lost.finish(), nodes: visited };
}

function minus(a: number, b: number): number {
  return a & ~b;
}

interface Rowed {
  readonly patch: Patch;
  readonly identities: number[];
  readonly causes: Set<Cause>;
}

interface RowMaker {
  /** The one row of a region, a stretch of time and scopes. */
  readonly rowOf: (patch: Patch) => Rowed;
  /** How many cells were added. */
  readonly cells: () => bigint;
  readonly finish: () => readonly DiffRow[];
}

/** Sets of scopes. */
const VALUES = 1 << SCOPES.length;

/** Rows that agree in all but the identities are one row. */
function makeRows(pair: PolicyPair): RowMaker {
  const rows = new Map<PlaceKey, Rowed>();
  return {
    rowOf: (patch) => {
      const place = placeKey(patch);
      const key = typeof place === 'number' ? place * VALUES + patch.value : `${place} ${String(patch.value)}`;
      const known = rows.get(key);
      if (known !== undefined) return known;
      const row = { patch, identities: [], causes: new Set<Cause>() };
      rows.set(key, row);
      return row;
    },
    cells: () => {
      let sum = 0n;
      for (const { patch, identities } of rows.values())
        sum += BigInt(identities.length) * countCells(pair.space, patch);
      return sum;
    },
    finish: () => {
      const all = [...rows.values()];
      const names = makeOrder(
        all.map((row) => row.identities),
        (identity) => nameOf(pair, identity),
      );
      const causes = makeOrder(
        all.map((row) => row.causes),
        causeKey,
      );
      return all
        .map(({ patch, ...row }) => ({
          patch,
          row: {
            ...toRegion(pair.space.nodes, patch.region),
            identities: names(row.identities).map(({ text }) => text),
            scopes: scopesOf(patch.value),
            from: openOr(patch.from),
            until: openOr(patch.until),
            causes: causes(row.causes).map(({ item }) => item),
          },
        }))
        .sort((a, b) => comparePatches(a.patch, b.patch) || compareLists(a.row.identities, b.row.identities))
        .map(({ row }) => row);
    },
  };
}

interface Named<T> {
  readonly item: T;
  readonly text: string;
}

/**
 * Sorts lists of things by their texts. Each text is made and compared once for all lists together, which have most things
 * in common; the lists themselves are sorted by number.
 */
function makeOrder<T>(
  lists: readonly Iterable<T>[],
  textOf: (item: T) => string,
): (list: Iterable<T>) => readonly Named<T>[] {
  const items = new Set<T>();
  for (const list of lists) for (const item of list) items.add(item);
  const sorted = Array.from(items, (item) => ({ item, text: textOf(item) })).sort((a, b) =>
    compareTexts(a.text, b.text),
  );
  const rankOf = new Map(sorted.map(({ item }, rank) => [item, rank]));
  return (list) => {
    const ranks = Int32Array.from(list, (item) => rankOf.get(item) ?? 0).sort();
    return Array.from(ranks, (rank) => sorted[rank]).filter((named) => named !== undefined);
  };
}

/** A common identity as text. */
function nameOf({ old, new: after }: PolicyPair, identity: number): string {
  const row = after.identityRow[identity] ?? -1;
  return row >= 0 ? identityText(after.policy, row) : identityText(old.policy, old.identityRow[identity] ?? 0);
}

function comparePatches(a: Patch, b: Patch): number {
  return (
    a.region.row - b.region.row ||
    compareExtents(a.region.extent, b.region.extent) ||
    compareNumbers(a.from, b.from) ||
    compareNumbers(a.until, b.until) ||
    a.value - b.value
  );
}
