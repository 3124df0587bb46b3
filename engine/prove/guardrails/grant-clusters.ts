// Cuts what people hold into clusters: sets of grants that meet in some namespace. Nothing outside a cluster affects it. A cluster is
// listed once for all people who hold exactly its grants. Teams share most of what they hold, so a proof over clusters repeats
// hardly anything.
import { addTo, groupBy } from '../../model/group.js';
import { sortedRows } from '../../model/row-lists.js';
import { NO_SCOPES, type ScopeSet, unionScopes } from '../../model/scope-set.js';
import { type Holding, reachOf, type RowRange } from '../cells/holdings.js';
import type { HolderClass } from '../cells/identities.js';
import { endOf, type Nodes } from '../cells/nodes.js';
import type { RowNumbers } from './scene.js';

/** Everything that some people hold at a node, or at and below it. */
export interface Cluster {
  /** Sorted by node, then grant. Those bound above the rows are inherited there. */
  readonly holdings: readonly Holding[];
  /** The node alone, or its subtree. */
  readonly rows: RowRange;
  /** Those who hold exactly these grants here, sorted; never empty. */
  readonly people: RowNumbers;
}

/** What a rule about scopes that must not meet applies to. */
export interface Concerned {
  readonly nodes: Nodes;
  /** The node at and below which the rule counts. */
  readonly under: number;
  /** Whether holding these scopes in one cell breaks the rule. More scopes never make it hold again. */
  readonly breaks: (held: ScopeSet) => boolean;
  /** Grants that matter somewhere at or below `under`, sorted by node, then grant. */
  readonly holdings: readonly Holding[];
  /** By position in the holdings, the principal that holds the grant. */
  readonly principals: Int32Array;
  readonly groups: readonly HolderClass[];
  /** The parties of the groups that are a principal or are in it, sorted. */
  readonly reach: (principal: number) => RowNumbers;
}

/** Several holdings (by position) that meet in some rows, and the groups that hold exactly these there. */
interface Meeting {
  readonly positions: readonly number[];
  readonly rows: RowRange;
  readonly groups: HolderClass[];
}

/** The clusters in which the rule may be broken: the scopes meet there, though perhaps never at the same time. */
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
 * Clusters of a single grant that breaks the rule by itself, for the people who have no other grant that meets it. If a policy breaks a
 * rule everywhere, most clusters are of this kind. So their people are not collected group by group: they are all who have the grant,
 * except the people of other clusters with it.
 */
function aloneOf(
  { nodes, under, breaks, holdings, principals, reach }: Concerned,
  meetings: readonly Meeting[],
): readonly Cluster[] {
  const othersOf = new Map<number, HolderClass[]>();
  for (const { positions, groups } of meetings) {
    for (const position of positions)
      if (breaks(holdings[position]?.scopes ?? NO_SCOPES)) for (const group of groups) addTo(othersOf, position, group);
  }
  return holdings.flatMap((holding, position) => {
    if (!breaks(holding.scopes)) return [];
    const rest = new Set(othersOf.get(position)?.flatMap(({ parties }) => parties));
    const all = reach(principals[position] ?? 0);
    const people = rest.size === 0 ? all : all.filter((person) => !rest.has(person));
    const row = Math.max(holding.row, under);
    return people.length === 0 ? [] : [{ holdings: [holding], rows: reachOf(nodes, { ...holding, row }), people }];
  });
}

/** Called with the positions of several grants that meet, and the rows in which they count. */
type Take = (positions: readonly number[], rows: RowRange) => void;

/** A node, the grants that it inherits from above, and the range of grants that are bound there or below. */
interface Part extends RowRange {
  readonly row: number;
  readonly above: readonly number[];
}

/** Cuts what a group holds into clusters, from the node where the rule counts downwards. Grants that meet no other are skipped. */
function makeCut({ nodes, under, breaks, holdings }: Concerned): (held: Int32Array, take: Take) => void {
  const rowAt = Int32Array.from(holdings, ({ row }) => row);
  return (held, take) => {
    const endBefore = (row: number, from: number): number => {
      let end = from;
      while (end < held.length && (rowAt[held[end] ?? -1] ?? 0) < row) end += 1;
      return end;
    };
    const scopesOf = (positions: ArrayLike<number>, from = 0, until = positions.length): ScopeSet => {
      let scopes: ScopeSet = NO_SCOPES;
      for (let i = from; i < until; i += 1)
        scopes = unionScopes(scopes, holdings[positions[i] ?? -1]?.scopes ?? NO_SCOPES);
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
      if (!breaks(unionScopes(passed, scopesOf(held, from, until)))) return;
      const below = endBefore(row + 1, from);
      const here = withRun(above, from, below);
      const passing = here.filter((position) => holdings[position]?.inherit === true);
      // If the inherited scopes may already break the rule, everything below belongs to the same cluster.
      if (breaks(scopesOf(passing))) {
        take(withRun(above, from, until), { from: row, until: endOf(nodes, row) });
        return;
      }
      if (here.length > 1 && breaks(scopesOf(here))) take(here, { from: row, until: row + 1 });
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
