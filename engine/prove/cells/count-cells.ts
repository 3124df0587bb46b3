// Counts cells (docs/meaning.md "Cells"): identities times namespace classes times scopes times intervals of time. Counts are bigint
// throughout: with 100,000 identities, namespaces and instants they exceed the integers that a double can represent.
import { firstFrom } from '../../model/row-lists.js';
import type { PolicyTables } from '../../model/tables.js';
import { countScopes } from '../../model/scope-set.js';
import { endOf, type Nodes } from './nodes.js';
import type { CellPatch, RowRegion } from './regions.js';

/** The number of namespace classes in a region. */
export function countClasses(nodes: Nodes, { row, extent, except }: RowRegion): number {
  if (extent === 'exact') return 1;
  const subtree = (root: number): number =>
    (nodes.classesBefore[endOf(nodes, root)] ?? 0) - (nodes.classesBefore[root] ?? 0);
  const all = subtree(row) - (extent === 'below' ? 1 : 0);
  return except.reduce((count, left) => count - subtree(left), all);
}

/** The sorted instants at which some grant begins or ends. n of them divide time into n + 1 intervals. */
export function instantsOf(policies: readonly PolicyTables[]): Float64Array {
  const instants = new Set<number>();
  for (const { grants } of policies) {
    for (const instant of grants.notBefore) if (Number.isFinite(instant)) instants.add(instant);
    for (const instant of grants.expires) if (Number.isFinite(instant)) instants.add(instant);
  }
  return Float64Array.from(instants).sort();
}

/** The number of scopes that any of the policies knows. */
export function scopesOfAny(policies: readonly PolicyTables[]): number {
  return new Set(policies.flatMap(({ vocabulary }) => vocabulary.scopes)).size;
}

/** The nodes and instants by which patches are counted, and how many scopes there are. */
export interface CellSpace {
  readonly nodes: Nodes;
  readonly instants: Float64Array;
  readonly scopes: number;
}

/** The number of cells in patches, for one identity. */
export function countCells(space: CellSpace, patches: readonly CellPatch[]): bigint {
  return patches.reduce((cells, { region, scopes, from, until }) => {
    const intervals = intervalsBefore(space, until) - intervalsBefore(space, from);
    return cells + BigInt(countClasses(space.nodes, region)) * BigInt(countScopes(scopes)) * BigInt(intervals);
  }, 0n);
}

/** The number of intervals that begin before an instant of the space; for Infinity, the number of all intervals. */
function intervalsBefore({ instants }: CellSpace, instant: number): number {
  if (instant === -Infinity) return 0;
  if (instant === Infinity) return instants.length + 1;
  return firstFrom(instants.length, (i) => (instants[i] ?? Infinity) >= instant) + 1;
}

/** The number of all cells. */
export function countAllCells({ nodes, instants, scopes }: CellSpace, identities: number): bigint {
  const classes = nodes.classesBefore.at(-1) ?? 0;
  return BigInt(identities) * BigInt(classes) * BigInt(scopes) * BigInt(instants.length + 1);
}
