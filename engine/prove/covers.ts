// Who holds any of some scopes in one namespace, when, and how many they are: what `atLeast` and `atMost` count.
import { listRows, rowsOf } from '../model/row-lists.js';
import { type Holding, holdingOf } from './holdings.js';
import { rowsAbove } from './nodes.js';
import { combine, during, either, NOTHING, piecesOf, type Timeline } from './timeline.js';
import type { World } from './witness.js';
import { windowsOf } from './walk.js';

/** For each identity when it is covered: 1 in those stretches. */
export type Cover = ReadonlyMap<number, Timeline>;

/** The grants that count in one namespace, and the cover that they make. */
export interface Place {
  readonly row: number;
  readonly holdings: readonly Holding[];
  /** What is inherited; one object for all namespaces of one parent. */
  readonly base: Base;
  /** The cover of those identities that grants at the namespace itself cover. */
  readonly local: Cover;
  /** How many identities are covered. */
  readonly count: Timeline;
}

export interface Base {
  readonly holdings: readonly Holding[];
  readonly cover: Cover;
  readonly count: Timeline;
}

/** Makes places; what they inherit from one parent is worked out once. */
export function makePlaces(world: World, scopes: number): (row: number) => Place {
  const { nodes, rights, policy } = world;
  const grantsAt = listRows(rights.rowOfGrant, nodes.paths.length);
  const relevantAt = (row: number): readonly Holding[] =>
    Array.from(rowsOf(grantsAt, row), (grant) => holdingOf(rights, grant)).filter(
      (holding) => (holding.scopes & scopes) !== 0 && holding.from < holding.until,
    );
  const principalOf = policy.tables.grants.principal;

  const coverOf = (holdings: readonly Holding[]): Cover => {
    const byPrincipal = new Map<number, Holding[]>();
    for (const holding of holdings) {
      const principal = principalOf[holding.grant] ?? 0;
      const known = byPrincipal.get(principal);
      if (known === undefined) byPrincipal.set(principal, [holding]);
      else known.push(holding);
    }
    const cover = new Map<number, Timeline>();
    for (const [principal, held] of byPrincipal) {
      const window = windowsOf(held.map((holding) => ({ ...holding, scopes: 1 })));
      for (const identity of world.reach(principal))
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
    const base = { holdings, cover, count: countOf(cover.values()) };
    bases.set(parent, base);
    return base;
  };

  return (row) => {
    const base = baseOf(row);
    const here = relevantAt(row);
    const local = coverOf(here);
    const beyond = [...local].map(([identity, timeline]) => without(timeline, base.cover.get(identity)));
    const count = combine(base.count, countOf(beyond), (a, b) => a + b);
    return { row, holdings: [...base.holdings, ...here], base, local, count };
  };
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

/** The identities that are covered at an instant of a place, sorted. */
export function coveredAt({ base, local }: Place, isCovered: (timeline: Timeline) => boolean): readonly number[] {
  const covered = new Set<number>();
  for (const cover of [base.cover, local]) {
    for (const [identity, timeline] of cover) if (isCovered(timeline)) covered.add(identity);
  }
  return [...covered].sort((a, b) => a - b);
}

/** A window as a count of one. */
export function windowOf({ from, until }: Holding): Timeline {
  return during({ from, until, value: 1 });
}
