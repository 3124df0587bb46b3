// Exactly what anyone gains or loses from one policy to another, over all identities, namespaces, scopes and time. The result is folded
// into a few disjoint rows, each with its causes (docs/meaning.md "Cells").
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { invariant } from '../../model/invariant.js';
import { without } from '../../model/timeline.js';
import { countAllCells } from '../cells/count-cells.js';
import { makeFold } from '../cells/fold.js';
import { type Holding, holdingsIn, type RowRange } from '../cells/holdings.js';
import type { CellPatch } from '../cells/regions.js';
import { type CellRow, makeRows } from '../cells/rows.js';
import { walkRights } from '../cells/walk.js';
import { findAffected } from './affected.js';
import { type Cause, makeCauseFinder } from './causes.js';
import { visitCarriers } from './patch-carriers.js';
import { makePair, type PolicyPair } from './policy-pair.js';
import { identityText, type PolicyTables } from '../../model/tables.js';
import type { ScopeName } from '../../model/scope.js';
import { type ExclusivePair, pairTexts } from '../../model/exclusions.js';

/** Cells that one policy holds and the other does not. `causes` is never empty. */
export type DiffRow = CellRow<Cause>;

export interface DiffReport {
  /** True if the two decide every request alike. */
  readonly equal: boolean;
  /** Disjoint, in path order. */
  readonly gained: readonly DiffRow[];
  readonly lost: readonly DiffRow[];
  /** Identities that exclude each other in one of the two alone. */
  readonly exclusive: ExclusiveDiff;
  /** Scopes of declared families that one of the two alone knows. */
  readonly scopes: ScopesDiff;
  /** `compared` = `equal` + `gained` + `lost`. */
  readonly cells: { readonly compared: bigint; readonly equal: bigint; readonly gained: bigint; readonly lost: bigint };
  /** How much was examined. This grows with the changes, not with the policies. */
  readonly visited: { readonly groups: number; readonly nodes: number };
}

/**
 * Both must be compiled policies with correct decision digests. Time and memory are about linear in what the affected identities hold
 * near changes.
 */
export function diffPolicies(old: Policy, changed: Policy): DiffReport {
  const report = comparePolicies(compiledOf(old), compiledOf(changed));
  // A cross-check: the two computations have only the tables in common.
  invariant(
    report.equal === (old.decisions === changed.decisions),
    'no cell differs exactly if the decision digests are equal',
  );
  return report;
}

/** The same of drafts, which have no digests yet. */
export function diffDrafts(old: Policy, changed: Policy): DiffReport {
  return comparePolicies(compiledOf(old), compiledOf(changed));
}

/** The same of policies that were prepared already. */
export function comparePolicies(old: PreparedPolicy, changed: PreparedPolicy): DiffReport {
  const pair = makePair(old, changed);
  const groups = findAffected(pair);
  const finder = makeCauseFinder(pair);
  const space = { ...pair, nameOf: (identity: number) => identityText(pair.new.policy.tables, identity) };
  const rows = { gained: makeRows(space, finder.causes), lost: makeRows(space, finder.causes) };
  let nodes = 0;
  for (const group of groups) {
    const places = group.places();
    const before = holdingsIn(pair.old, group.old, places);
    const after = holdingsIn(pair.new, group.new, places);
    const patches = comparePlaces(pair, places, [before, after]);
    nodes += patches.nodes;
    const findCauses = finder.of(group.identities);
    visitCarriers(pair.nodes, { holdings: after, patches: patches.gained }, (difference, carriers) => {
      const causes = rows.gained.add(difference, group.identities);
      findCauses({ having: 'new', difference, carriers }, causes);
    });
    visitCarriers(pair.nodes, { holdings: before, patches: patches.lost }, (difference, carriers) => {
      const causes = rows.lost.add(difference, group.identities);
      findCauses({ having: 'old', difference, carriers }, causes);
    });
  }
  const compared = countAllCells(pair, pair.identities);
  const exclusive = diffExclusive(old.tables, changed.tables);
  const scopes = diffScopes(old.tables, changed.tables);
  const differences = [exclusive, scopes].flatMap(({ added, removed }) => [...added, ...removed]);
  const cells = { gained: rows.gained.cells(), lost: rows.lost.cells() };
  return {
    equal: cells.gained + cells.lost === 0n && differences.length === 0,
    gained: rows.gained.finish(),
    lost: rows.lost.finish(),
    exclusive,
    scopes,
    cells: { compared, equal: compared - cells.gained - cells.lost, ...cells },
    visited: { groups: groups.length, nodes },
  };
}

interface Differences {
  readonly gained: readonly CellPatch[];
  readonly lost: readonly CellPatch[];
  readonly nodes: number;
}

/** Compares all places of a group in one walk. */
function comparePlaces(
  { nodes }: PolicyPair,
  places: readonly RowRange[],
  sides: readonly [readonly Holding[], readonly Holding[]],
): Differences {
  const folds = { gained: makeFold(nodes, 'each'), lost: makeFold(nodes, 'each') };
  let visited = 0;
  walkRights({ nodes, places, sides }, (row, [oldAt, newAt], [oldBelow, newBelow]) => {
    if (oldAt === undefined || newAt === undefined || oldBelow === undefined || newBelow === undefined) return;
    visited += 1;
    folds.gained.visit(row, without(newAt, oldAt), without(newBelow, oldBelow));
    folds.lost.visit(row, without(oldAt, newAt), without(oldBelow, newBelow));
  });
  return { gained: folds.gained.finish(), lost: folds.lost.finish(), nodes: visited };
}

// Which scopes one policy knows and the other does not. A scope that nobody holds is in no cell, but a request for it is answered
// differently once the policy knows it.

interface ScopesDiff {
  /** Sorted. */
  readonly added: readonly ScopeName[];
  readonly removed: readonly ScopeName[];
}

function diffScopes(old: PolicyTables, changed: PolicyTables): ScopesDiff {
  const missing = (from: PolicyTables, other: PolicyTables): readonly ScopeName[] => {
    const known = new Set(other.vocabulary.own);
    return from.vocabulary.own.filter((scope) => !known.has(scope));
  };
  return { added: missing(changed, old), removed: missing(old, changed) };
}

// Which identities exclude each other in one policy and not in the other. A removed pair opens everything that an actor with both
// identities would hold; an added one closes it.

interface ExclusiveDiff {
  /** Sorted. */
  readonly added: readonly ExclusivePair[];
  readonly removed: readonly ExclusivePair[];
}

function diffExclusive(old: PolicyTables, changed: PolicyTables): ExclusiveDiff {
  const [before, after] = [pairsOf(old), pairsOf(changed)];
  const missing = (from: Pairs, other: Pairs): readonly ExclusivePair[] =>
    [...from].filter(([key]) => !other.has(key)).map(([, pair]) => pair);
  return { added: missing(after, before), removed: missing(before, after) };
}

type Pairs = ReadonlyMap<string, ExclusivePair>;

function pairsOf(tables: PolicyTables): Pairs {
  const pairs = pairTexts(tables.exclusive, (row) => identityText(tables, row));
  return new Map(pairs.map((pair) => [JSON.stringify(pair), pair]));
}
