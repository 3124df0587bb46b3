// Cuts what people hold into clusters of grants that meet in some namespace. Nothing outside a cluster affects it, and each is
// listed once for all people who hold exactly it. Teams share most of what they hold, so that a proof over clusters does hardly
// anything twice.
import { addTo, groupBy } from '../../model/group.js';
import { sortedRows } from '../../model/row-lists.js';
import { type Holding, reachOf, type Rows } from '../cells/holdings.js';
import type { Group } from '../cells/identities.js';
import { endOf, type Nodes } from '../cells/nodes.js';
import type { RowNumbers } from './scene.js';

/** Everything that some people hold at a node, or at and below it. Outside of these rows they break nothing. */
export interface Cluster {
  /** Sorted by node, then grant; those bound above the rows inherit. */
  readonly holdings: readonly Holding[];
  /** The node alone, or its subtree. */
  readonly rows: Rows;
  /** Those who hold these and nothing else here, sorted; never empty. */
  readonly people: RowNumbers;
}

/** What a rule of scopes that must not meet is about. */
export interface Concerned {
  readonly nodes: Nodes;
  /** The node at and below which the rule counts. */
  readonly under: number;
  /** Indexed by a set of scopes: 1 if a cell where these are held breaks the rule. Adding scopes never makes it hold again. */
  readonly breaks: Uint8Array;
  /** Grants that matter somewhere at or below `under`, sorted by node, then grant. */
  readonly holdings: readonly Holding[];
  /** By position in the holdings, whose they are. */
  readonly principals: Int32Array;
  readonly groups: readonly Group[];
  /** Those of the groups who are a principal or are in it, sorted. */
  readonly reach: (principal: number) => RowNumbers;
}

/** Several holdings (by position) that meet in some rows, and the groups that hold exactly these there. */
interface Meeting {
  readonly positions: readonly number[];
  readonly rows: Rows;
  readonly groups: Group[];
}

/** The clusters in which the rule may be broken: the scopes meet there, though perhaps not at one time. */
export function clustersOf(concerned: Concerned): readonly Cluster[] {
  const { holdings, principals, groups } = concerned;
  const byPrincipal = groupBy(holdings.keys(), (position) => principals[position] ?? 0);
  const cut = makeCut(concerned);
  const found = new Map<string, Meeting>();
  for (const group of groups) {
    const held = sortedRows(group.principals.map((principal) => byPrincipal.get(principal) ?? []));
    cut(held, (positions, rows) => {
      const key = positions.join();
      const known = found.get(key);
      if (known === undefined) found.set(key, { positions, rows, groups: [group] });
      else known.groups.push(group);
    });
  }
  const meetings = [...found.values()];
  const together = meetings.map(({ positions, rows, groups: who }) => ({
    holdings: positions.flatMap((position) => holdings[position] ?? []),
    rows,
    people: sortedRows(who.map(({ parties }) => parties)),
  }));
  return [...together, ...aloneOf(concerned, meetings)];
}

/**
 * Grants that break the rule by themselves, for those who have nothing else that meets them. Most of what is found in a policy
 * that breaks a rule everywhere, so it is not collected group by group: they are all who have the grant, except for the others.
 */
function aloneOf(
  { nodes, under, breaks, holdings, principals, reach }: Concerned,
  meetings: readonly Meeting[],
): readonly Cluster[] {
  const othersOf = new Map<number, Group[]>();
  for (const { positions, groups } of meetings) {
    for (const position of positions)
      if (breaks[holdings[position]?.scopes ?? 0] === 1) for (const group of groups) addTo(othersOf, position, group);
  }
  return holdings.flatMap((holding, position) => {
    if (breaks[holding.scopes] !== 1) return [];
    const rest = new Set(othersOf.get(position)?.flatMap(({ parties }) => parties));
    const all = reach(principals[position] ?? 0);
    const people = rest.size === 0 ? all : all.filter((person) => !rest.has(person));
    const row = Math.max(holding.row, under);
    return people.length === 0 ? [] : [{ holdings: [holding], rows: reachOf(nodes, { ...holding, row }), people }];
  });
}

/** Positions of several grants that are held in one place and count in some rows. */
type Take = (positions: readonly number[], rows: Rows) => void;

/** A node, what is passed on to it from above, and the run of what is bound there or below. */
interface Part extends Rows {
  readonly row: number;
  readonly above: readonly number[];
}

/** Cuts what a group holds, from the node where the rule counts downwards. Grants that meet no other are passed over. */
function makeCut({ nodes, under, breaks, holdings }: Concerned): (held: Int32Array, take: Take) => void {
  const rowAt = Int32Array.from(holdings, ({ row }) => row);
  const scopesAt = Uint16Array.from(holdings, ({ scopes }) => scopes);
  return (held, take) => {
    const endBefore = (row: number, from: number): number => {
      let end = from;
      while (end < held.length && (rowAt[held[end] ?? -1] ?? 0) < row) end += 1;
      return end;
    };
    const scopesOf = (positions: ArrayLike<number>, from = 0, until = positions.length): number => {
      let scopes = 0;
      for (let i = from; i < until; i += 1) scopes |= scopesAt[positions[i] ?? -1] ?? 0;
      return scopes;
    };
    const withRun = (above: readonly number[], from: number, until: number): readonly number[] => {
      const positions = above.slice();
      for (let i = from; i < until; i += 1) positions.push(held[i] ?? 0);
      return positions;
    };
    const visit = ({ row, above, from, until }: Part): void => {
      if (above.length + until - from < 2) return;
      const passed = scopesOf(above);
      if (breaks[passed | scopesOf(held, from, until)] !== 1) return;
      const below = endBefore(row + 1, from);
      const here = withRun(above, from, below);
      const passing = here.filter((position) => holdings[position]?.inherit === true);
      // If the inherited scopes may already break the rule, everything below belongs to the same cluster.
      if (breaks[scopesOf(passing)] === 1) {
        take(withRun(above, from, until), { from: row, until: endOf(nodes, row) });
        return;
      }
      if (here.length > 1 && breaks[scopesOf(here)] === 1) take(here, { from: row, until: row + 1 });
      for (let first = below; first < until;) {
        const next = rowAt[held[first] ?? -1] ?? 0;
        const end = endBefore(endOf(nodes, next), first);
        visit({ row: next, above: passing, from: first, until: end });
        first = end;
      }
    };
    const start = endBefore(under, 0);
    visit({ row: under, above: withRun([], 0, start), from: start, until: held.length });
  };
}
