// Cuts what people hold into clusters of grants that meet in some namespace. Nothing outside a cluster affects it, and each is
// listed once for all people who hold exactly it. Teams share most of what they hold, so that a proof over clusters does hardly
// anything twice.
import { listRows, rowsOf, sortedRows } from '../../model/row-lists.js';
import type { Group } from '../cells/identity-groups.js';
import { type Holding, type Rows, subtreeRows } from '../cells/holdings.js';
import { endOf, type Nodes } from '../cells/nodes.js';

/** Everything that some identities hold at a node, or at and below it. Outside of these rows they break nothing. */
export interface Cluster {
  /** Sorted by node, then grant; those bound above the rows inherit. */
  readonly holdings: readonly Holding[];
  /** The node alone, or its subtree. */
  readonly rows: Rows;
  /** Those people who hold these and nothing else here, sorted; never empty. */
  readonly identities: Int32Array;
}

export interface ClusterSpace {
  readonly nodes: Nodes;
  /** The node at and below which the rule counts. */
  readonly under: number;
  /** Indexed by a set of scopes: 1 if a cell where these are held breaks the rule. Adding scopes never makes it hold again. */
  readonly breaks: Uint8Array;
}

/** Grants that matter somewhere at or below `under`, sorted by node, then grant, and whose they are. */
export interface Concerned {
  readonly holdings: readonly Holding[];
  /** By position in the holdings, the principal. */
  readonly principals: Int32Array;
  readonly groups: readonly Group[];
  /** Those of the groups who are a principal or are in it, sorted. */
  readonly identitiesOf: (principal: number) => Int32Array;
}

/** The clusters in which the rule may be broken: the scopes meet there, though perhaps not at one time. */
export function clustersOf(space: ClusterSpace, concerned: Concerned): readonly Cluster[] {
  const { holdings, principals, groups } = concerned;
  const byPrincipal = listRows(
    principals,
    principals.reduce((most, principal) => Math.max(most, principal + 1), 0),
  );
  const cut = makeCut(space, holdings);
  const found = new Map<
    string,
    { readonly positions: readonly number[]; readonly rows: Rows; readonly groups: Group[] }
  >();
  for (const group of groups) {
    const held = sortedRows(group.principals.map((principal) => rowsOf(byPrincipal, principal)));
    cut(held, (positions, rows) => {
      const key = positions.join();
      const known = found.get(key);
      if (known === undefined) found.set(key, { positions, rows, groups: [group] });
      else known.groups.push(group);
    });
  }
  const meeting = [...found.values()];
  const together = meeting.map((cluster) => ({
    holdings: cluster.positions.flatMap((position) => holdings[position] ?? []),
    rows: cluster.rows,
    identities: sortedRows(cluster.groups.map(({ identities }) => identities)),
  }));
  return [...together, ...aloneOf(space, concerned, meeting)];
}

/**
 * Grants that break the rule by themselves, for those who have nothing else that meets them. Most of what is found in a policy
 * that breaks a rule everywhere, so it is not collected group by group: they are all who have the grant, except for the others.
 */
function aloneOf(
  { nodes, under, breaks }: ClusterSpace,
  { holdings, principals, identitiesOf }: Concerned,
  meeting: readonly { readonly positions: readonly number[]; readonly groups: readonly Group[] }[],
): readonly Cluster[] {
  const others = new Map<number, Group[]>();
  for (const { positions, groups } of meeting) {
    for (const position of positions) {
      if (breaks[holdings[position]?.scopes ?? 0] !== 1) continue;
      const known = others.get(position) ?? [];
      others.set(position, known);
      for (const group of groups) known.push(group);
    }
  }
  return holdings.flatMap((holding, position) => {
    if (breaks[holding.scopes] !== 1) return [];
    const all = identitiesOf(principals[position] ?? 0);
    const rest = new Set(others.get(position)?.flatMap(({ identities }) => identities));
    const identities = rest.size === 0 ? all : all.filter((identity) => !rest.has(identity));
    if (identities.length === 0) return [];
    const row = Math.max(holding.row, under);
    const rows = holding.inherit ? subtreeRows(nodes, row) : { from: row, until: row + 1 };
    return [{ holdings: [holding], rows, identities }];
  });
}

/** Positions of several grants that are held in one place and count in some rows. */
type Take = (positions: readonly number[], rows: Rows) => void;

/** A node, what is passed on to it from above, and the run of what is bound there or below. */
interface Part extends Rows {
  readonly row: number;
  readonly above: readonly number[];
  readonly passed: number;
}

/** Cuts what a group holds, from the node where the rule counts downwards. Grants that meet no other are passed over. */
function makeCut(
  { nodes, under, breaks }: ClusterSpace,
  holdings: readonly Holding[],
): (held: Int32Array, take: Take) => void {
  const rowAt = Int32Array.from(holdings, (holding) => holding.row);
  const scopesAt = Uint16Array.from(holdings, (holding) => holding.scopes);
  const inheritAt = Uint8Array.from(holdings, (holding) => (holding.inherit ? 1 : 0));
  return (held, take) => {
    const firstFrom = (row: number, { from, until }: Rows): number => {
      let first = from;
      while (first < until && (rowAt[held[first] ?? 0] ?? 0) < row) first += 1;
      return first;
    };
    const scopesOf = (from: number, until: number): number => {
      let scopes = 0;
      for (let i = from; i < until; i += 1) scopes |= scopesAt[held[i] ?? 0] ?? 0;
      return scopes;
    };
    const takeRun = (above: readonly number[], run: Rows, rows: Rows): void => {
      if (above.length + run.until - run.from > 1) take(withRun(above, run), rows);
    };
    const withRun = (above: readonly number[], { from, until }: Rows): readonly number[] => {
      const positions = [...above];
      for (let i = from; i < until; i += 1) positions.push(held[i] ?? 0);
      return positions;
    };
    const visit = ({ row, above, passed, from, until }: Part): void => {
      if (breaks[passed | scopesOf(from, until)] !== 1) return;
      const below = firstFrom(row + 1, { from, until });
      let passedOn = passed;
      for (let i = from; i < below; i += 1) {
        const position = held[i] ?? 0;
        if (inheritAt[position] === 1) passedOn |= scopesAt[position] ?? 0;
      }
      // If the inherited scopes may already break the rule, everything below belongs to the same cluster.
      if (breaks[passedOn] === 1) {
        takeRun(above, { from, until }, subtreeRows(nodes, row));
        return;
      }
      if (breaks[passed | scopesOf(from, below)] === 1)
        takeRun(above, { from, until: below }, { from: row, until: row + 1 });
      if (below === until) return;
      const passing = withRun(above, { from, until: below }).filter((position) => inheritAt[position] === 1);
      for (let first = below; first < until;) {
        const next = rowAt[held[first] ?? 0] ?? 0;
        const end = firstFrom(endOf(nodes, next), { from: first, until });
        visit({ row: next, above: passing, passed: passedOn, from: first, until: end });
        first = end;
      }
    };
    const start = firstFrom(under, { from: 0, until: held.length });
    visit({
      row: under,
      above: withRun([], { from: 0, until: start }),
      passed: scopesOf(0, start),
      from: start,
      until: held.length,
    });
  };
}
