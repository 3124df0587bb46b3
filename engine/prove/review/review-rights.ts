// What has become of rights that were reviewed: which are still held under a policy, cell by cell, whatever grant gives them now, and what
// is held that was not there before (docs/access-review.md "Check the decisions").
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { addTo, groupBy } from '../../model/group.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { type NamespacePath, sortPaths } from '../../model/namespace.js';
import type { Instant } from '../../model/instant.js';
import type { ScopeName } from '../../model/scope.js';
import { commonScopes, scopeSetOf } from '../../model/scope-set.js';
import { combine, NOTHING, type Timeline, without } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import {
  type CitedGrant,
  type CitedRole,
  grantRefsWithRole,
  type HeldGrant,
  makeHeldGrants,
} from '../cells/held-grants.js';
import {
  carriers,
  compareHoldings,
  type Holding,
  holdingsAmong,
  makeRights,
  mergeHoldings,
  namedPaths,
  reachOf,
  type RowRange,
} from '../cells/holdings.js';
import { identityRow, principalsOfClass } from '../cells/identities.js';
import { endOf, makeNodes, type Nodes } from '../cells/nodes.js';
import {
  type CellPatch,
  comparePatches,
  type Region,
  type ScopesThen,
  toRegion,
  toScopesThen,
} from '../cells/regions.js';
import { type CellRow, makeRows, rowSpace } from '../cells/rows.js';
import { type Walk } from '../cells/walk.js';
import { type RightsSelection, selectedHoldings } from './held-rights.js';
import { identityText } from '../../model/tables.js';

/** A right as it was frozen, and what was decided about it; null if nothing was. */
export interface ReviewedRight {
  readonly identity: Identity;
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree';
  readonly scopes: readonly ScopeName[];
  readonly from: Instant | null;
  readonly until: Instant | null;
  readonly decision: 'keep' | 'revoke' | null;
}

/** Cells that are still held, and by which grants. */
export interface StillHeld extends Region, ScopesThen {
  readonly grants: readonly HeldGrant[];
}

/**
 * `ended`: the right has ended by itself. `held`, `partly`, `gone`: all, some or none of its cells are held. Of a right that was revoked,
 * cells that a right which was not revoked also gives do not count, and it is `covered` if no others are left.
 */
export type RightState = 'ended' | 'held' | 'partly' | 'gone' | 'covered';

export interface RightNow {
  readonly state: RightState;
  /** Of a right that was revoked: the cells that are to go and are still held. Disjoint, in path order. */
  readonly left: readonly StillHeld[];
}

export interface RightsNow {
  /** In the order of the rights that were given. */
  readonly rights: readonly RightNow[];
  /** What is selected and held, and in none of the rights that were given. Disjoint. */
  readonly appeared: readonly CellRow<CitedGrant & Partial<CitedRole>>[];
}

/** All of it from `selection.at` on: what is past is nothing that anybody could still have. */
export function reviewRights(
  policy: Policy,
  reviewed: readonly ReviewedRight[],
  selection: RightsSelection,
): RightsNow {
  const prepared = compiledOf(policy);
  const nodes = makeNodes(
    namedPaths(prepared),
    sortPaths([selection.under, ...reviewed.map(({ namespace }) => namespace)]),
  );
  const rights = makeRights(prepared, nodes);
  const presentOf = (row: number | undefined): readonly Holding[] => {
    const principals = principalsOfClass(prepared, prepared.holders.classOf[row ?? -1] ?? -1);
    return selectedHoldings(rights, principals, selection).map((holding) => fromThen(holding, selection.at));
  };
  const byIdentity = groupBy(reviewed.keys(), (index) => textOf(reviewed[index]));
  const heldGrants = makeHeldGrants(prepared);
  const now: RightNow[] = [];
  for (const indexes of byIdentity.values()) {
    const identity = reviewed[indexes[0] ?? -1]?.identity;
    const row = identity === undefined ? undefined : identityRow(prepared, identity);
    const frozen = holdingsOf(nodes, reviewed, { indexes, at: selection.at });
    const present = presentOf(row);
    const merged = mergeHoldings(present);
    const ownOf = new Map(frozen.map((holding) => [holding.grant, holding]));
    const spared = mergeHoldings(frozen.filter(({ grant }) => reviewed[grant]?.decision !== 'revoke'));
    for (const index of indexes) {
      const isRevoked = reviewed[index]?.decision === 'revoke';
      const found = rightNow(nodes, ownOf.get(index), { present: merged, spared: isRevoked ? spared : [] });
      const left = isRevoked ? found.left : [];
      now[index] = {
        state: found.state,
        left: left.toSorted(comparePatches).map((patch) => ({
          ...toRegion(nodes, patch.region),
          ...toScopesThen(patch),
          grants: heldGrants(
            row === undefined ? [] : [row],
            carriers(nodes, present, patch).map(({ grant }) => grant),
          ),
        })),
      };
    }
  }
  const frozenOf = (row: number): readonly Holding[] =>
    holdingsOf(nodes, reviewed, {
      indexes: byIdentity.get(identityText(prepared.tables, row)) ?? [],
      at: selection.at,
    });
  return { rights: now, appeared: findAppeared(prepared, nodes, { selection, presentOf, frozenOf }) };
}

function textOf(right: ReviewedRight | undefined): string {
  return right === undefined ? '' : formatIdentity(right.identity);
}

function fromThen(holding: Holding, at: Instant): Holding {
  return { ...holding, from: Math.max(holding.from, at) };
}

/** Rights as holdings whose `grant` is the index of the right, without those that have ended. */
function holdingsOf(
  nodes: Nodes,
  reviewed: readonly ReviewedRight[],
  { indexes, at }: { readonly indexes: readonly number[]; readonly at: Instant },
): readonly Holding[] {
  return indexes
    .flatMap((index) => {
      const right = reviewed[index];
      const until = right?.until ?? Infinity;
      if (right === undefined || until <= at) return [];
      const row = nodes.rowOf.get(right.namespace) ?? 0;
      const inherit = right.extent === 'subtree';
      const scopes = scopeSetOf(right.scopes);
      return [fromThen({ grant: index, row, inherit, scopes, from: right.from ?? -Infinity, until }, at)];
    })
    .sort(compareHoldings);
}

interface Around {
  readonly present: readonly Holding[];
  /** What must not go with it. */
  readonly spared: readonly Holding[];
}

function rightNow(
  nodes: Nodes,
  own: Holding | undefined,
  { present, spared }: Around,
): { readonly state: RightState; readonly left: readonly CellPatch[] } {
  if (own === undefined) return { state: 'ended', left: [] };
  const walk = walkNear(nodes, [reachOf(nodes, own)], [[own], present, spared]);
  const toGo = (held: Timeline = NOTHING, kept: Timeline = NOTHING): Timeline => without(held, kept);
  const left = foldRights(walk, 'each', ([held, now = NOTHING, kept]) => combine(toGo(held, kept), now, commonScopes));
  const gone = foldRights(walk, 'all', ([held, now = NOTHING, kept]) => without(toGo(held, kept), now));
  const isSomeGone = gone.length > 0;
  if (left.length > 0) return { state: isSomeGone ? 'partly' : 'held', left };
  return { state: isSomeGone ? 'gone' : 'covered', left };
}

/** Only the holdings in and above the places are walked. */
function walkNear(nodes: Nodes, places: readonly RowRange[], sides: Walk['sides']): Walk {
  return { nodes, places, sides: sides.map((side) => holdingsAmong(nodes, side, places)) };
}

interface Present {
  readonly selection: RightsSelection;
  readonly presentOf: (identity: number | undefined) => readonly Holding[];
  readonly frozenOf: (identity: number) => readonly Holding[];
}

function findAppeared(
  policy: PreparedPolicy,
  nodes: Nodes,
  { selection, presentOf, frozenOf }: Present,
): RightsNow['appeared'] {
  const { tables } = policy;
  const under = nodes.rowOf.get(selection.under) ?? 0;
  const places = [{ from: under, until: endOf(nodes, under) }];
  const causes = makeCauses(tables);
  const rows = makeRows(rowSpace(nodes, [tables]), causes.all);
  const selected =
    selection.identities === null
      ? tables.identities.subject.keys()
      : new Set(selection.identities.flatMap((identity) => identityRow(policy, identity) ?? []));
  const add = (identities: readonly number[], frozen: readonly Holding[]): void => {
    const present = presentOf(identities[0]);
    if (present.length === 0) return;
    const walk = walkNear(nodes, places, [present, frozen]);
    for (const patch of foldRights(walk, 'each', ([now = NOTHING, before = NOTHING]) => without(now, before))) {
      const found = rows.add(patch, identities);
      for (const { grant } of carriers(nodes, present, patch)) found.add(causes.of(grant));
    }
  };
  /** By class: those of whom nothing was reviewed. All that each of them holds has appeared. */
  const newcomers = new Map<number, number[]>();
  for (const identity of selected) {
    const frozen = frozenOf(identity);
    if (frozen.length > 0) add([identity], frozen);
    else addTo(newcomers, policy.holders.classOf[identity] ?? -1, identity);
  }
  for (const identities of newcomers.values()) add(identities, []);
  return rows.finish();
}

type Cited = CitedGrant & Partial<CitedRole>;

/** Numbers of grants that are cited, as they are met. */
function makeCauses(tables: PreparedPolicy['tables']): {
  readonly all: readonly { readonly cause: Cited; readonly key: string }[];
  readonly of: (grant: number) => number;
} {
  const all: { readonly cause: Cited; readonly key: string }[] = [];
  const known = new Map<string, number>();
  return {
    all,
    of: (grant) => {
      const [cause = { id: '' }] = grantRefsWithRole(tables, [grant]);
      const number = known.get(cause.id) ?? all.length;
      if (number === all.length) all.push({ cause, key: cause.id });
      known.set(cause.id, number);
      return number;
    },
  };
}
