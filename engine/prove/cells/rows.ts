// Rows of exact answers: cells in which something is so, folded into regions, each with those concerned and with its causes.
import { compareLists } from '../../model/order.js';
import { identityText, type PolicyTables } from '../../model/tables.js';
import { type CellSpace, countCells, instantsOf, scopesOfAny } from './count-cells.js';
import { makeOrder } from './identities.js';
import type { Nodes } from './nodes.js';
import {
  comparePatches,
  type CellPatch,
  type PlaceKey,
  patchKey,
  type Region,
  type ScopesThen,
  toRegion,
  toScopesThen,
} from './regions.js';

/** All of the identities, scopes, region and time. */
export interface CellRow<Cause> extends Region, ScopesThen {
  /** `provider:subject`, sorted. */
  readonly identities: readonly string[];
  readonly causes: readonly Cause[];
}

/** A cause, and the text by which causes are sorted. */
export interface KeyedCause<Cause> {
  readonly cause: Cause;
  readonly key: string;
}

export interface RowSpace extends CellSpace {
  /** How many identities there are. */
  readonly identities: number;
  /** `provider:subject` */
  readonly nameOf: (identity: number) => string;
}

/** Of policies whose identities have the numbers that they have in the first. */
export function rowSpace(nodes: Nodes, policies: readonly [PolicyTables, ...PolicyTables[]]): RowSpace {
  const [first] = policies;
  return {
    nodes,
    instants: instantsOf(policies),
    scopes: scopesOfAny(policies),
    identities: first.identities.subject.length,
    nameOf: (identity) => identityText(first, identity),
  };
}

interface Rowed {
  readonly patch: CellPatch;
  readonly identities: number[];
  /** Numbers of causes. */
  readonly causes: Set<number>;
}

export interface RowMaker<Cause> {
  /** Adds identities to the row of a patch, and returns the set of its causes for the caller to extend. */
  readonly add: (patch: CellPatch, identities: readonly number[]) => Set<number>;
  /** The number of cells that were added. */
  readonly cells: () => bigint;
  readonly finish: () => readonly CellRow<Cause>[];
}

/** Patches that differ only in their identities share one row. */
export function makeRows<Cause>(space: RowSpace, allCauses: readonly KeyedCause<Cause>[]): RowMaker<Cause> {
  const rows = new Map<PlaceKey, Rowed>();
  return {
    add: (patch, identities) => {
      const key = patchKey(patch);
      const row = rows.get(key) ?? { patch, identities: [], causes: new Set<number>() };
      rows.set(key, row);
      for (const identity of identities) row.identities.push(identity);
      return row.causes;
    },
    cells: () =>
      [...rows.values()].reduce(
        (sum, { patch, identities }) => sum + BigInt(identities.length) * countCells(space, [patch]),
        0n,
      ),
    finish: () => {
      const all = [...rows.values()];
      const names = makeOrder(
        { count: space.identities, textOf: space.nameOf },
        all.map(({ identities }) => identities),
      );
      const orderCauses = makeOrder(
        { count: allCauses.length, textOf: (number) => allCauses[number]?.key ?? '' },
        all.map(({ causes }) => causes),
      );
      return all
        .map(({ patch, identities, causes }) => ({
          patch,
          row: {
            ...toRegion(space.nodes, patch.region),
            identities: names(identities).map(({ text }) => text),
            ...toScopesThen(patch),
            causes: orderCauses(causes).flatMap(({ number }) => allCauses[number]?.cause ?? []),
          },
        }))
        .sort((a, b) => comparePatches(a.patch, b.patch) || compareLists(a.row.identities, b.row.identities))
        .map(({ row }) => row);
    },
  };
}
