// What `atLeast` and `atMost` count: who holds any of the scopes in one namespace, when and by which grants, and how many people these
// are.
import { addTo, groupBy, remember } from '../../model/group.js';
import { listRows, rowsOf } from '../../model/row-lists.js';
import { haveCommon, type ScopeSet } from '../../model/scope-set.js';
import { combine, during, NOTHING, piecesOf, SOMETHING, type Timeline, unite, without } from '../../model/timeline.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { rowsAbove } from '../cells/nodes.js';
import { STEPS_OF } from './proof-budget.js';
import type { Scene } from './scene.js';

/** Some grants of a place. `cover` has a timeline for each person whom they reach: `SOMETHING` while the person holds one of them. */
export interface CoveringGrants {
  readonly holdings: readonly Holding[];
  readonly cover: ReadonlyMap<number, Timeline>;
}

/** The grants that count in one namespace, and how many people they cover. */
export interface CoveredPlace {
  readonly row: number;
  /** The node itself, or what is below it and has no nearer node. */
  readonly extent: 'exact' | 'below';
  /** The same object for all children of one parent. */
  readonly inherited: CoveringGrants;
  readonly local: CoveringGrants;
  /** How many people are covered. */
  readonly count: Timeline<number>;
}

/** Makes places. What the children of one parent inherit is computed once. */
export function makePlaces(
  scene: Scene,
  scopes: ScopeSet,
): (where: Pick<CoveredPlace, 'row' | 'extent'>) => CoveredPlace {
  const { nodes } = scene;
  const grantsAt = listRows(scene.rowOfGrant, nodes.paths.length);
  const relevantAt = (row: number): readonly Holding[] =>
    Array.from(rowsOf(grantsAt, row), (grant) => holdingOf(scene, grant)).filter(
      (holding) => haveCommon(holding.scopes, scopes) && holding.from < holding.until,
    );
  const passedOn = remember((parent: number) => {
    const rows = parent < 0 ? [] : [parent, ...rowsAbove(nodes, parent)];
    const held = heldBy(
      scene,
      rows.flatMap((row) => relevantAt(row).filter(({ inherit }) => inherit)),
    );
    return { held, count: countOf(held.cover.values()) };
  });
  return ({ row, extent }) => {
    scene.spend(STEPS_OF.place);
    const { held, count } = passedOn(extent === 'below' ? row : (nodes.parent[row] ?? -1));
    const local = heldBy(scene, extent === 'below' ? [] : relevantAt(row));
    const beyond = [...local.cover].map(([person, timeline]) => without(timeline, held.cover.get(person) ?? NOTHING));
    return { row, extent, inherited: held, local, count: plus(count, countOf(beyond)) };
  };
}

function heldBy(scene: Scene, holdings: readonly Holding[]): CoveringGrants {
  const covers = new Map<number, Timeline[]>();
  for (const [principal, held] of byPrincipal(scene, holdings)) {
    const window = unite(held.map(inForceOf));
    const people = scene.counted.reach(principal);
    scene.spend(STEPS_OF.named * (held.length + people.length * window.starts.length));
    for (const person of people) addTo(covers, person, window);
  }
  return { holdings, cover: new Map(Array.from(covers, ([person, windows]) => [person, unite(windows)])) };
}

/** A timeline that is `SOMETHING` while the grant is in force. */
export function inForceOf({ from, until }: Holding): Timeline {
  return during({ from, until, value: SOMETHING });
}

export function plus(a: Timeline<number>, b: Timeline<number>): Timeline<number> {
  return combine(a, b, (x, y) => x + y);
}

/** For each instant, the number of timelines that are not 0. */
export function countOf(timelines: Iterable<Timeline>): Timeline<number> {
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
  /** The grants that they hold; at least one. */
  readonly holdings: readonly Holding[];
  /** Sorted. */
  readonly people: readonly number[];
}

/** What somebody holds through one principal, linked to what they hold through earlier principals. */
interface Shared {
  readonly before: Shared | null;
  readonly holdings: readonly Holding[];
}

/**
 * Everybody who holds any of these grants, each listed once. People are grouped by their principals, so that no grant is read once for
 * each person.
 */
export function sharersOf(scene: Scene, holdings: readonly Holding[]): readonly Sharers[] {
  const sharedBy = new Map<number, Shared>();
  for (const [principal, held] of byPrincipal(scene, holdings)) {
    const extended = remember((before: Shared | null): Shared => ({ before, holdings: held }));
    const people = scene.counted.reach(principal);
    scene.spend(STEPS_OF.named * (held.length + people.length));
    for (const person of people) sharedBy.set(person, extended(sharedBy.get(person) ?? null));
  }
  return Array.from(
    groupBy(sharedBy, ([, shared]) => shared),
    ([last, people]) => {
      const all: Holding[] = [];
      // One by one: a call cannot take as many arguments as one principal can have grants.
      for (let shared: Shared | null = last; shared !== null; shared = shared.before)
        for (const holding of shared.holdings) all.push(holding);
      return { holdings: all, people: people.map(([person]) => person).sort((a, b) => a - b) };
    },
  );
}

function byPrincipal({ policy }: Scene, holdings: readonly Holding[]): ReadonlyMap<number, readonly Holding[]> {
  return groupBy(holdings, ({ grant }) => policy.tables.grants.principal[grant] ?? 0);
}
