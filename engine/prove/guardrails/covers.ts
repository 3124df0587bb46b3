// What `atLeast` and `atMost` count: who holds any of the scopes in one namespace, when, by which grants, and how many people that
// is.
import type { Scene } from './counted.js';
import { listRows, rowsOf } from '../../model/row-lists.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { rowsAbove } from '../cells/nodes.js';
import { combine, during, either, NOTHING, piecesOf, type Timeline } from '../../model/timeline.js';

import { windowsOf } from '../cells/walk.js';

/** For each identity when it is covered: 1 in those stretches. */
type Cover = ReadonlyMap<number, Timeline>;

/** Some grants of a place and the people that they reach. */
export interface Held {
  readonly holdings: readonly Holding[];
  readonly grants: ReadonlySet<number>;
  /** How many grants and identities these are. */
  readonly names: number;
}

/** The grants that count in one namespace, and how many they cover. */
export interface Place {
  readonly row: number;
  /** The same object in all namespaces of one parent. */
  readonly inherited: Held;
  readonly local: Held;
  /** How many identities are covered. */
  readonly count: Timeline;
}

interface Base {
  readonly held: Held;
  readonly cover: Cover;
  readonly count: Timeline;
}

/** Makes places; what they inherit from one parent is computed once. */
export function makePlaces(scene: Scene, scopes: number): (row: number) => Place {
  const { nodes, rights } = scene;
  const grantsAt = listRows(rights.rowOfGrant, nodes.paths.length);
  const relevantAt = (row: number): readonly Holding[] =>
    Array.from(rowsOf(grantsAt, row), (grant) => holdingOf(rights, grant)).filter(
      (holding) => (holding.scopes & scopes) !== 0 && holding.from < holding.until,
    );

  const coverOf = (holdings: readonly Holding[]): Cover => {
    const cover = new Map<number, Timeline>();
    for (const [principal, held] of byPrincipal(scene, holdings)) {
      const window = windowsOf(held.map((holding) => ({ ...holding, scopes: 1 })));
      for (const identity of scene.counted.reach(principal))
        cover.set(identity, either(cover.get(identity) ?? NOTHING, window));
    }
    return cover;
  };

  const bases = new Map<number, Base>();
  const baseOf = (row: number): Base => {
    const parent = nodes.parent[row] ?? -1;
    const known = bases.get(parent);
    if (known !== undefined) return known;
    const holdings = rowsAbove(nodes, row).flatMap((above) => relevantAt(above).filter((holding) => holding.inherit));
    const cover = coverOf(holdings);
    const base = { held: heldBy(holdings, cover), cover, count: countOf(cover.values()) };
    bases.set(parent, base);
    return base;
  };

  return (row) => {
    const base = baseOf(row);
    const here = relevantAt(row);
    const local = coverOf(here);
    const beyond = [...local].map(([identity, timeline]) => without(timeline, base.cover.get(identity)));
    const count = combine(base.count, countOf(beyond), (a, b) => a + b);
    return { row, inherited: base.held, local: heldBy(here, local), count };
  };
}

function heldBy(holdings: readonly Holding[], cover: Cover): Held {
  return { holdings, grants: new Set(holdings.map(({ grant }) => grant)), names: holdings.length + cover.size };
}

/** When the first is covered and the second is not. */
export function without(timeline: Timeline, other: Timeline | undefined): Timeline {
  return other === undefined ? timeline : combine(timeline, other, (a, b) => a & ~b);
}

/** How many of the timelines are not 0. */
export function countOf(timelines: Iterable<Timeline>): Timeline {
  const changes = new Map<number, number>();
  for (const timeline of timelines) {
    for (const { from, until } of piecesOf(timeline)) {
      changes.set(from, (changes.get(from) ?? 0) + 1);
      changes.set(until, (changes.get(until) ?? 0) - 1);
    }
  }
  const starts = [-Infinity];
  const values = [changes.get(-Infinity) ?? 0];
  changes.delete(-Infinity);
  changes.delete(Infinity);
  for (const start of [...changes.keys()].sort((a, b) => a - b)) {
    const change = changes.get(start) ?? 0;
    if (change === 0) continue;
    starts.push(start);
    values.push((values.at(-1) ?? 0) + change);
  }
  return { starts, values };
}

/** People who hold the same subset of these grants. */
export interface Sharers {
  /** Those of the grants that they hold: one at least. */
  readonly holdings: readonly Holding[];
  /** Sorted. */
  readonly identities: readonly number[];
}

/**
 * Everybody who holds any of these grants, each listed once. People are told apart by their principals, so that no grant is read
 * once for each person.
 */
export function sharersOf(scene: Scene, holdings: readonly Holding[]): readonly Sharers[] {
  interface Shared {
    readonly before: Shared | null;
    readonly holdings: readonly Holding[];
  }
  const sharedBy = new Map<number, Shared | null>();
  for (const [principal, held] of byPrincipal(scene, holdings)) {
    const extended = new Map<Shared | null, Shared>();
    for (const identity of scene.counted.reach(principal)) {
      const before = sharedBy.get(identity) ?? null;
      const shared = extended.get(before) ?? { before, holdings: held };
      extended.set(before, shared);
      sharedBy.set(identity, shared);
    }
  }
  const sharers = new Map<Shared | null, number[]>();
  for (const [identity, shared] of sharedBy) {
    const known = sharers.get(shared);
    if (known === undefined) sharers.set(shared, [identity]);
    else known.push(identity);
  }
  return [...sharers].map(([last, identities]) => {
    const all: Holding[] = [];
    for (let shared = last; shared !== null; shared = shared.before) all.push(...shared.holdings);
    return { holdings: all, identities: identities.sort((a, b) => a - b) };
  });
}

function byPrincipal({ policy }: Scene, holdings: readonly Holding[]): ReadonlyMap<number, readonly Holding[]> {
  const principalOf = policy.tables.grants.principal;
  const lists = new Map<number, Holding[]>();
  for (const holding of holdings) {
    const principal = principalOf[holding.grant] ?? 0;
    const known = lists.get(principal);
    if (known === undefined) lists.set(principal, [holding]);
    else known.push(holding);
  }
  return lists;
}

/** A window as a count of one. */
export function inForceOf({ from, until }: Holding): Timeline {
  return during({ from, until, value: 1 });
}
