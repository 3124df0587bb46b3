// What anyone gains or loses from one policy to another: exactly, over all identities, namespaces, scopes and time, folded
// into few disjoint rows, each with what caused it (design 5; interfaces.md, Cells).
import { type Policy, preparedOf } from '../evaluate/policy.js';
import type { PreparedPolicy } from '../evaluate/prepare.js';
import type { Instant } from '../model/instant.js';
import { invariant } from '../model/invariant.js';
import { compareTexts } from '../model/order.js';
import { type ScopeName, SCOPES } from '../model/scope.js';
import { type AffectedGroup, findAffected } from './affected.js';
import { countAllCells, countCells } from './cells.js';
import { type Cause, causeKey, type Direction, makeCauseFinder } from './diff-causes.js';
import { type Fold, makeFold, type Patch, placeKey } from './fold.js';
import { identityText } from './holders-near.js';
import { type Holding, holdingsNear, type Rows } from './holdings.js';
import { makeMembership, type Membership, withRolesAbove } from './membership.js';
import { makePair, type PolicyPair, type Side } from './policy-pair.js';
import { combine } from './timeline.js';
import { walkRights } from './walk.js';
import {
  carriers,
  compareExtents,
  compareLists,
  compareNumbers,
  openOr,
  type Region,
  scopesOf,
  toRegion,
} from './witness.js';

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

/** Both must be compiled policies. */
export function diffPolicies(old: Policy, changed: Policy): DiffReport {
  return comparePolicies(prepared(old), prepared(changed));
}

function prepared(policy: Policy): PreparedPolicy {
  const tables = preparedOf(policy);
  invariant(tables !== null, 'only compiled policies have cells');
  return tables;
}

function comparePolicies(old: PreparedPolicy, changed: PreparedPolicy): DiffReport {
  const pair = makePair(old, changed);
  const { groups, changes } = findAffected(pair);
  const memberships = { old: makeMembership(old.tables), new: makeMembership(changed.tables) };
  const causeFinder = makeCauseFinder(pair, changes);
  const rows = { gained: makeRows(pair), lost: makeRows(pair) };
  const cells = { gained: 0n, lost: 0n };
  let nodes = 0;
  for (const group of groups) {
    const held = principalsHeld(pair, memberships, group);
    const { identities } = group;
    const causesOf = {
      gained: causeFinder('gained', { identities, principals: held.new, without: held.old }),
      lost: causeFinder('lost', { identities, principals: held.old, without: held.new }),
    };
    for (const place of group.places) {
      const sides = {
        old: holdingsNear(pair.old.rights, group.before, place),
        new: holdingsNear(pair.new.rights, group.after, place),
      };
      const patches = comparePlace(pair, place, sides);
      nodes += patches.nodes;
      for (const direction of ['gained', 'lost'] as const) {
        for (const patch of patches[direction]) {
          const carrying = carriers(pair.space.nodes, direction === 'gained' ? sides.new : sides.old, patch);
          const causes = causesOf[direction]({ ...patch, carriers: carrying.map((holding) => holding.grant) });
          rows[direction].add(patch, group, causes);
          cells[direction] += BigInt(identities.length) * countCells(pair.space, patch);
        }
      }
    }
  }
  const compared = countAllCells(pair.space, pair.identities);
  return {
    equal: cells.gained === 0n && cells.lost === 0n,
    gained: rows.gained.finish(),
    lost: rows.lost.finish(),
    cells: { compared, equal: compared - cells.gained - cells.lost, ...cells },
    visited: { groups: groups.length, nodes },
  };
}

/** The principals that the identities of a group are or are in, on either side; the identities themselves left out. */
function principalsHeld(
  { old, new: after }: PolicyPair,
  memberships: { readonly old: Membership; readonly new: Membership },
  group: AffectedGroup,
): { readonly old: ReadonlySet<number>; readonly new: ReadonlySet<number> } {
  const held = (side: Side, membership: Membership): ReadonlySet<number> => {
    const roles = side.policy.tables.roles.name.length;
    const rows = group.identities.map((identity) => side.identityRow[identity] ?? -1).filter((row) => row >= 0);
    return withRolesAbove(
      membership,
      rows.map((row) => roles + row),
    );
  };
  return { old: held(old, memberships.old), new: held(after, memberships.new) };
}

interface PlacePatches {
  readonly gained: readonly Patch[];
  readonly lost: readonly Patch[];
  readonly nodes: number;
}

const PLANES = SCOPES.map((_, bit) => 1 << bit);

/** One place of a group: scope by scope, so that one that changes in many places does not break up the others' rows. */
function comparePlace(
  { space: { nodes } }: PolicyPair,
  rows: Rows,
  sides: { readonly old: readonly Holding[]; readonly new: readonly Holding[] },
): PlacePatches {
  const folds: Readonly<Record<Direction, Fold>> = { gained: makeFold(nodes, PLANES), lost: makeFold(nodes, PLANES) };
  let visited = 0;
  walkRights({ nodes, rows, sides: [sides.old, sides.new] }, (row, [oldAt, newAt], [oldBelow, newBelow]) => {
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
  readonly causes: Map<string, Cause>;
}

interface RowMaker {
  readonly add: (patch: Patch, group: AffectedGroup, causes: readonly Cause[]) => void;
  readonly finish: () => readonly DiffRow[];
}

/** Rows that agree in all but the identities are one row. */
function makeRows(pair: PolicyPair): RowMaker {
  const rows = new Map<string, Rowed>();
  return {
    add: (patch, { identities }, causes) => {
      const key = `${placeKey(patch)} ${String(patch.value)}`;
      let row = rows.get(key);
      if (row === undefined) {
        row = { patch, identities: [], causes: new Map() };
        rows.set(key, row);
      }
      for (const identity of identities) row.identities.push(identity);
      for (const cause of causes) row.causes.set(causeKey(cause), cause);
    },
    finish: () => {
      const textOf = makeTexts(pair);
      return [...rows.values()]
        .map((row) => ({ patch: row.patch, row: toRow(pair, row, textOf) }))
        .sort((a, b) => comparePatches(a.patch, b.patch) || compareLists(a.row.identities, b.row.identities))
        .map(({ row }) => row);
    },
  };
}

function toRow(pair: PolicyPair, { patch, identities, causes }: Rowed, textOf: (identity: number) => string): DiffRow {
  return {
    ...toRegion(pair.space.nodes, patch.region),
    identities: identities.map(textOf).sort(compareTexts),
    scopes: scopesOf(patch.value),
    from: openOr(patch.from),
    until: openOr(patch.until),
    causes: [...causes].sort((a, b) => compareTexts(a[0], b[0])).map(([, cause]) => cause),
  };
}

/** Texts of common identities, each made once. */
function makeTexts({ old, new: after }: PolicyPair): (identity: number) => string {
  const texts = new Map<number, string>();
  return (identity) => {
    const known = texts.get(identity);
    if (known !== undefined) return known;
    const row = after.identityRow[identity] ?? -1;
    const text = row >= 0 ? identityText(after.policy, row) : identityText(old.policy, old.identityRow[identity] ?? 0);
    texts.set(identity, text);
    return text;
  };
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
