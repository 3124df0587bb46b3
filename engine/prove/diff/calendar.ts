// Each instant at which anybody's access changes by itself, because the window of a grant or of a membership begins or ends. What changes
// is exact: it is read off what everybody holds for all time, not sampled before and after (docs/meaning.md "Changes by themselves").
import { commonScopes, NO_SCOPES, type ScopeSet, scopesWithout } from '../../model/scope-set.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { groupBy } from '../../model/group.js';
import { type Instant, instantOf, type Window } from '../../model/instant.js';
import { compareNumbers, compareTexts } from '../../model/order.js';
import { firstFrom } from '../../model/row-lists.js';
import { NOTHING, SOMETHING, type Timeline, unionOf } from '../../model/timeline.js';
import { instantsOf } from '../cells/count-cells.js';
import { makeFold } from '../cells/fold.js';
import {
  carriers,
  compareHoldings,
  type Holding,
  holdingOf,
  holdingsIn,
  makeRights,
  namedPaths,
  type NodeRights,
  outermost,
  principalsNear,
  rowsNear,
} from '../cells/holdings.js';
import { groupsNear, type HolderClass } from '../cells/identities.js';
import { makeNodes } from '../cells/nodes.js';
import type { CellPatch } from '../cells/regions.js';
import { type CellRow, makeRows, rowSpace } from '../cells/rows.js';
import { walkRights } from '../cells/walk.js';
import { makeTurnCauses, type Turn, type TurnCause } from './turn-causes.js';

/**
 * Cells that turn at an instant, which is `from`. If they are gained, they are held until `until`; if they are lost, nobody of them holds
 * them before `until`. `causes` is never empty.
 */
export type CalendarRow = CellRow<TurnCause>;

export interface CalendarChange {
  readonly at: Instant;
  /** Disjoint, in path order. */
  readonly gained: readonly CalendarRow[];
  readonly lost: readonly CalendarRow[];
  /** Guardrails that break (`holds` is false) or come to hold then, by id. */
  readonly guardrails: readonly { readonly id: string; readonly holds: boolean }[];
}

export interface Calendar {
  readonly from: Instant;
  readonly until: Instant;
  /** In the order of time; none is empty. */
  readonly changes: readonly CalendarChange[];
  /** Changes from this instant on are left out, because there would be too many. Absent if all of them are there. */
  readonly cutAt?: Instant;
  /** Guardrails of which nothing is known, because their proofs would take too long. */
  readonly unproved: readonly string[];
}

/** What `checkGuardrails` reports of a violated guardrail. */
interface Violation {
  readonly guardrail: string;
  readonly unproved?: true;
  readonly witnesses: readonly (Stretch & { readonly also?: readonly Stretch[] })[];
}

interface Stretch {
  readonly from: Instant | null;
  readonly until: Instant | null;
}

export interface CalendarRequest {
  readonly from: Instant;
  /** Exclusive. */
  readonly until: Instant;
  /** Of the same policy. */
  readonly violations?: readonly Violation[];
  readonly limits?: Pick<EngineLimits, 'calendarSteps'>;
}

/** What changes by itself at each instant with `from <= at < until`, for everybody, everywhere. */
export function calendarOf(
  policy: Policy,
  { from, until, violations = [], limits = ENGINE_LIMITS }: CalendarRequest,
): Calendar {
  const prepared = compiledOf(policy);
  const rights = makeRights(prepared, makeNodes(namedPaths(prepared)));
  const instants = [...instantsOf([prepared.tables])].filter((instant) => from <= instant && instant < until);
  let window: Window = { from, until };
  let most = instants.length;
  let turns = turnsIn(rights, window, most < 2 ? Infinity : limits.calendarSteps);
  while (typeof turns === 'number') {
    // As many of the instants as there was room for, by how far it came.
    most = Math.max(1, Math.floor(most * Math.min(turns, 0.5)));
    window = { from, until: instants[most] ?? until };
    turns = turnsIn(rights, window, most < 2 ? Infinity : limits.calendarSteps);
  }
  const [gained, lost] = [groupBy(turns.gained, ({ from: at }) => at), groupBy(turns.lost, ({ from: at }) => at)];
  const guardrails = groupBy(guardrailTurns(violations, window), ({ at }) => at);
  const all = new Set([...gained.keys(), ...lost.keys(), ...guardrails.keys()].filter((at) => at !== null));
  return {
    from,
    until,
    changes: [...all].sort(compareNumbers).map((at) => ({
      at,
      gained: gained.get(at) ?? [],
      lost: lost.get(at) ?? [],
      guardrails: (guardrails.get(at) ?? [])
        .map(({ id, holds }) => ({ id, holds }))
        .sort((a, b) => compareTexts(a.id, b.id)),
    })),
    ...(window.until < until ? { cutAt: instantOf(window.until) } : {}),
    unproved: violations.filter(({ unproved }) => unproved === true).map(({ guardrail }) => guardrail),
  };
}

interface Turns {
  readonly gained: readonly CalendarRow[];
  readonly lost: readonly CalendarRow[];
}

/** Steps for an instant of a group, and for each identity that a row names. */
const STEPS_OF = { turn: 100, named: 40 };

/** If it takes more than so many steps, the part of the groups that it came through. */
function turnsIn(
  rights: NodeRights & { readonly policy: PreparedPolicy },
  window: Window,
  most: number,
): Turns | number {
  const { policy, nodes } = rights;
  const space = rowSpace(nodes, [policy.tables]);
  const { matters, timed } = findTimed(rights, window);
  const parties = Array.from({ length: space.identities }, (_, row) => ({ row, identities: [row] }));
  const causes = makeTurnCauses(policy.tables);
  const rows = { begins: makeRows(space, causes.causes), ends: makeRows(space, causes.causes) };
  let left = most;
  const groups = groupsNear(policy, matters, parties);
  for (const [i, group] of groups.entries()) {
    const { steps, turns } = turnsOf(rights, { group, timed, window, most: left });
    left -= steps;
    for (const { turn, at, holdings, patches } of turns) {
      left -= patches.length * group.parties.length * STEPS_OF.named;
      if (left < 0) break;
      for (const patch of patches) {
        const found = rows[turn].add(patch, group.parties);
        // Whatever turns at this instant is in force right after it, or right before it.
        const around = { ...patch, from: -Infinity, until: Infinity };
        for (const { grant } of carriers(nodes, holdings, around))
          for (const cause of causes.of(grant, turn, at)) found.add(cause);
      }
    }
    if (left < 0) return i / groups.length;
  }
  return { gained: rows.begins.finish(), lost: rows.ends.finish() };
}

interface Timed {
  /** 1 for each principal that has grants near what turns. */
  readonly matters: Uint8Array;
  /** By principal, what begins or ends in the window. */
  readonly timed: ReadonlyMap<number, readonly Holding[]>;
}

function findTimed(rights: NodeRights, window: Window): Timed {
  const { notBefore, expires, principal } = rights.policy.tables.grants;
  const holdings: Holding[] = [];
  for (let grant = 0; grant < principal.length; grant += 1) {
    const [from, until] = [notBefore[grant] ?? 0, expires[grant] ?? 0];
    if (from < until && (isIn(window, from) || isIn(window, until))) holdings.push(holdingOf(rights, grant));
  }
  return {
    timed: groupBy(holdings, ({ grant }) => principal[grant] ?? 0),
    matters: principalsNear(rights, rowsNear(rights.nodes, outermost(rights.nodes, holdings))),
  };
}

function isIn({ from, until }: Window, instant: number): boolean {
  return from <= instant && instant < until;
}

/** What a group gains or loses at an instant, and the holdings that begin or end then. */
interface GroupTurn {
  readonly turn: Turn;
  readonly at: number;
  readonly holdings: readonly Holding[];
  readonly patches: readonly CellPatch[];
}

interface Asked {
  readonly group: HolderClass;
  readonly timed: Timed['timed'];
  readonly window: Window;
  readonly most: number;
}

/** What a group holds at a node and below it. */
interface Visited {
  readonly row: number;
  readonly at: Timeline;
  readonly below: Timeline;
}

/** One walk over all that turns, then one fold for each instant, so that no instant divides the regions of another. */
function turnsOf(
  rights: NodeRights,
  { group, timed, window, most }: Asked,
): { readonly turns: readonly GroupTurn[]; readonly steps: number } {
  const { nodes } = rights;
  const turning = group.principals.flatMap((principal) => timed.get(principal) ?? []).sort(compareHoldings);
  const places = outermost(nodes, turning);
  // What ended before the window changes nothing in it.
  const side = holdingsIn(rights, group.principals, places).filter(({ until }) => until >= window.from);
  const visited: Visited[] = [];
  let steps = turning.length + side.length;
  if (steps > most) return { turns: [], steps };
  walkRights({ nodes, places, sides: [side] }, (row, [at = NOTHING], [below = NOTHING]) => {
    steps += at.starts.length + below.starts.length;
    if (steps <= most) visited.push({ row, at, below });
  });
  const turns: GroupTurn[] = [];
  for (const turn of ['begins', 'ends'] as const) {
    for (const [at, holdings] of groupBy(turning, ({ from, until }) => (turn === 'begins' ? from : until))) {
      if (!isIn(window, at) || steps > most) continue;
      const fold = makeFold(nodes, 'each');
      for (const place of outermost(nodes, holdings)) {
        const first = firstFrom(visited.length, (i) => (visited[i]?.row ?? Infinity) >= place.from);
        for (let i = first; (visited[i]?.row ?? Infinity) < place.until; i += 1) {
          const { row, at: here = NOTHING, below = NOTHING } = visited[i] ?? { row: 0 };
          fold.visit(row, turnAt(here, turn, at), turnAt(below, turn, at));
          steps += 1;
        }
      }
      steps += STEPS_OF.turn;
      turns.push({ turn, at, holdings, patches: fold.finish() });
    }
  }
  return { turns, steps };
}

/** The scopes that begin at an instant, while they are held from then on; or those that end then, while they are not held. */
function turnAt({ starts, values }: Timeline, turn: Turn, at: number): Timeline {
  const first = firstFrom(starts.length, (i) => (starts[i] ?? Infinity) >= at);
  if (first === 0 || starts[first] !== at) return NOTHING;
  const turned: { readonly starts: number[]; readonly values: ScopeSet[] } = {
    starts: [-Infinity],
    values: [NO_SCOPES],
  };
  const [before = NO_SCOPES, from = NO_SCOPES] = [values[first - 1], values[first]];
  let left = turn === 'begins' ? scopesWithout(from, before) : scopesWithout(before, from);
  for (let i = first; i < starts.length && left !== NO_SCOPES; i += 1) {
    const now = values[i] ?? NO_SCOPES;
    left = turn === 'begins' ? commonScopes(left, now) : scopesWithout(left, now);
    if (left === turned.values.at(-1)) continue;
    turned.starts.push(starts[i] ?? 0);
    turned.values.push(left);
  }
  return turned.values.length === 1 ? NOTHING : turned;
}

interface GuardrailTurn {
  readonly at: Instant;
  readonly id: string;
  readonly holds: boolean;
}

/** A guardrail is broken while any of its witnesses lasts. */
function guardrailTurns(violations: readonly Violation[], window: Window): readonly GuardrailTurn[] {
  return violations.flatMap(({ guardrail, witnesses }) => {
    const stretches = witnesses.flatMap(({ also = [], ...witness }) => [witness, ...also]);
    const broken = unionOf(
      stretches.map(({ from, until }) => ({ from: from ?? -Infinity, until: until ?? Infinity, value: SOMETHING })),
    );
    return broken.starts.flatMap((start, i) =>
      isIn(window, start) ? [{ at: instantOf(start), id: guardrail, holds: broken.values[i] === 0 }] : [],
    );
  });
}
