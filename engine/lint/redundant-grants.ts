// Redundant grants: without such a grant everybody could still do the same, since everybody who holds it has each of its cells
// through other grants. Grants are examined from the last to the first. A grant that was found redundant no longer counts as cover
// for others, so all findings can be removed at once without changing a decision. After that no grant is redundant.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { PolicyGrant } from '../model/policy-set.js';
import {
  commonScopes,
  haveCommon,
  NO_SCOPES,
  scopeBit,
  scopeNames,
  type ScopeSet,
  scopesWithout,
  unionScopes,
} from '../model/scope-set.js';
import type { Piece } from '../model/timeline.js';
import { classesByPrincipal, type HolderClasses } from '../model/holders.js';
import { firstFrom, listRows, makeColumn, sortedRows } from '../model/row-lists.js';
import { isReachable, leastClasses, type LintWorld, type NamespaceClass } from './lint-world.js';
import { GRANTS_BEFORE, type LintContext, placed, relatedTo } from './rule.js';
import { countPrincipals } from '../model/tables.js';

/** At most this many covering grants are named; if there are more, the message gives their number. */
const MAX_NAMED = 3;
/** The places of at most this many covering grants are given. */
const MAX_RELATED = 8;
/** A cover of more grants than `MAX_SPARED` is not made smaller, nor one that needs more than `MAX_TRIED` trials. */
const MAX_SPARED = 64;
const MAX_TRIED = 4096;

/** A run is a range of `rows`: the grants to one principal at one namespace, in the order of the policy. */
interface Runs {
  readonly rows: Int32Array;
  /** By run, the index of its first row; the last entry is the number of rows. */
  readonly start: Int32Array;
  readonly principal: Int32Array;
  /** The runs of node `n` are `ofNode[n]` up to `ofNode[n + 1]`, by principal. */
  readonly ofNode: Int32Array;
  /** The same runs of each node, by their first grant. */
  readonly byFirst: Int32Array;
}

export function findRedundantGrants(world: LintWorld, context: LintContext): void {
  const { grants } = world.set;
  if (world.holders === null) {
    context.onLimit(placed(grants.at(-1)?.place ?? null), GRANTS_BEFORE);
    return;
  }
  const search = makeSearch(world, world.holders, context.maxPairs);
  for (let index = grants.length - 1; index >= 0; index -= 1) {
    const grant = grants[index];
    if (grant === undefined || search.idle[index] === 1 || isNarrowed(world, index)) continue;
    const cover = findCover(search, { index, ...pieceOf(search, index) });
    if (search.isSpent()) {
      context.onLimit(placed(grant.place), GRANTS_BEFORE);
      return;
    }
    if (cover === null) continue;
    search.idle[index] = 1;
    // Few of them are named, and there may be as many as there are grants.
    const covering = Array.from(Int32Array.from(cover).sort().subarray(0, MAX_RELATED)).flatMap(
      (other) => grants[other] ?? [],
    );
    context.report({
      code: 'LINT_GRANT_REDUNDANT',
      place: placed(grant.place),
      message: `the grant \`${grant.id}\` adds nothing to ${namesOf(covering, cover.length)}`,
      help: 'remove it, or what makes it redundant',
      related: covering.flatMap(({ id, place }) => relatedTo(place, `\`${id}\` covers it`)),
    });
  }
}

/** Whether a member with a window holds the grant: nobody has looked whether others cover that, too. */
function isNarrowed({ tables, grantRows }: LintWorld, index: number): boolean {
  return tables.narrowed?.edges.has((grantRows[index] ?? 0) + 1) === true;
}

function namesOf(covering: readonly PolicyGrant[], count: number): string {
  return count > MAX_NAMED ? `${groupDigits(count)} other grants` : covering.map(({ id }) => `\`${id}\``).join(' and ');
}

interface Search {
  readonly world: LintWorld;
  readonly holders: HolderClasses;
  /**
   * Whether `test` holds for each class of identities that holds the grants of a principal. Stops at the first class where it fails,
   * and tries that class first when the same principal comes up again.
   */
  readonly everyHolder: (principal: number, test: (holder: number) => boolean) => boolean;
  readonly runs: Runs;
  /** By grant, as columns, since they are looked at for each other grant. */
  readonly scopes: readonly ScopeSet[];
  readonly inherit: Uint8Array;
  /** The grants in the order in which they begin, and the place of each in it. */
  readonly starts: () => Starts;
  /** 1 for a grant that gives nobody anything or has already been found redundant. */
  readonly idle: Uint8Array;
  readonly spend: (steps: number) => void;
  readonly isSpent: () => boolean;
}

interface Starts {
  readonly order: Int32Array;
  readonly rank: Int32Array;
}

/** Made once, when first asked for: few policies have grants that cover one another for parts of their time. */
function makeStarts(from: Float64Array): () => Starts {
  let made: Starts | null = null;
  return () => {
    if (made !== null) return made;
    // There are few instants, so they are sorted and not the grants.
    const instants = Float64Array.from(new Set(from)).sort();
    const numberOf = new Map(Array.from(instants, (instant, number) => [instant, number]));
    const order = listRows(
      Int32Array.from(from, (instant) => numberOf.get(instant) ?? 0),
      instants.length,
    ).rows;
    const rank = new Int32Array(order.length);
    order.forEach((grant, place) => {
      rank[grant] = place;
    });
    return (made = { order, rank });
  };
}

function makeSearch(world: LintWorld, holders: HolderClasses, steps: number): Search {
  const { from, until } = world;
  const { grants } = world.set;
  const scopes = grants.map((grant) => grant.scopes);
  const inherit = Uint8Array.from(grants, (grant) => (grant.inherit ? 1 : 0));
  const idle = new Uint8Array(from.length);
  for (let index = 0; index < idle.length; index += 1) {
    const isEver = (from[index] ?? 0) < (until[index] ?? 0);
    if (!isEver || !isReachable(world, world.principals[index] ?? 0)) idle[index] = 1;
  }
  let left = steps;
  const spend = (more: number): void => {
    left -= more;
  };
  const classes = classesByPrincipal(holders, countPrincipals(world.tables));
  const lastFailed = new Int32Array(classes.start.length).fill(-1);
  const everyHolder: Search['everyHolder'] = (principal, test) => {
    const failed = lastFailed[principal] ?? -1;
    if (failed >= 0 && !test(failed)) return false;
    for (let i = classes.start[principal] ?? 0; i < (classes.start[principal + 1] ?? 0); i += 1) {
      const holder = classes.rows[i] ?? 0;
      spend(1);
      if (holder === failed || test(holder)) continue;
      lastFailed[principal] = holder;
      return false;
    }
    return true;
  };
  const runs = makeRuns(world, idle);
  const starts = makeStarts(from);
  return { world, holders, everyHolder, runs, scopes, inherit, starts, idle, spend, isSpent: () => left < 0 };
}

/** The runs of all grants that are not idle. */
function makeRuns({ tree, nodes, principals }: LintWorld, idle: Uint8Array): Runs {
  const nodeCount = tree.parent.length;
  const byPrincipal = listRows(
    principals,
    principals.reduce((most, one) => (one < most ? most : one + 1), 0),
  ).rows;
  const rows = listRows(nodes, nodeCount, byPrincipal).rows.filter((grant) => idle[grant] !== 1);
  const starts = makeColumn();
  for (let i = 0; i < rows.length; i += 1) {
    const grant = rows[i] ?? 0;
    const before = rows[i - 1] ?? -1;
    if (nodes[grant] !== nodes[before] || principals[grant] !== principals[before]) starts.push(i);
  }
  starts.push(rows.length);
  const start = starts.rows();
  const first = start.subarray(0, -1).map((i) => rows[i] ?? 0);
  const nodeOf = first.map((grant) => nodes[grant] ?? 0);
  const inOrder = listRows(first, principals.length).rows;
  const { start: ofNode, rows: byFirst } = listRows(nodeOf, nodeCount, inOrder);
  const principal = first.map((grant) => principals[grant] ?? 0);
  return { rows, start, principal, ofNode, byFirst };
}

/** The grant that is being examined: its scopes during its window. */
interface Wanted extends Piece {
  readonly index: number;
}

/** Grants that together give every holder every cell of this one, each once; null if there are none. */
function findCover(search: Search, wanted: Wanted): readonly number[] | null {
  const { world, everyHolder } = search;
  const principal = world.principals[wanted.index] ?? 0;
  const classes = leastClasses(world.tree, {
    node: world.nodes[wanted.index] ?? 0,
    inherit: search.inherit[wanted.index] === 1,
  });
  // Most grants have no cover, so the set is made when there is something to put in.
  let cover: Set<number> | null = null;
  let cases = 0;
  /** What covers the last case, which for most grants is the only one. */
  let last: readonly number[] = [];
  const isCovered = everyHolder(principal, (holder) => {
    for (const place of classes) {
      if (search.isSpent()) return false;
      cases += 1;
      if (last.length > 0) cover = withAll(cover, last);
      const own = coverAt(search, wanted, { holder, place, preferred: cover ?? NONE });
      if (own === null) return false;
      last = own;
    }
    return true;
  });
  if (!isCovered || search.isSpent()) return null;
  if (cases === 1) return last;
  const all = withAll(cover, last);
  if (all.size === 1 || all.size > MAX_SPARED || cases * all.size > MAX_TRIED) return [...all];
  for (const spared of [...all].sort((a, b) => b - a)) {
    all.delete(spared);
    const suffices = everyHolder(principal, (holder) =>
      classes.every((place) => coverAt(search, wanted, { holder, place, preferred: all, among: all }) !== null),
    );
    if (!suffices) all.add(spared);
  }
  return [...all];
}

const NONE: ReadonlySet<number> = new Set();

function withAll(found: Set<number> | null, more: readonly number[]): Set<number> {
  const all = found ?? new Set();
  for (const one of more) all.add(one);
  return all;
}

/** The holder and the namespace class that are being examined. */
interface Case {
  readonly holder: number;
  readonly place: NamespaceClass;
  /** Grants that are chosen before others. */
  readonly preferred: ReadonlySet<number>;
  /** If present, only these grants are considered. */
  readonly among?: ReadonlySet<number>;
}

/** One grant that gives the holder everything there, or several that do so together, or null. */
function coverAt(search: Search, wanted: Wanted, { holder, place, preferred, among }: Case): readonly number[] | null {
  const { world, idle } = search;
  const partly: number[] = [];
  // Among grants that give everything, the nearest is chosen. For a grant to a role, one to a role is preferred: other holders may
  // have it too.
  const isShared = (other: number): boolean => (world.principals[other] ?? 0) < world.roles.length;
  const isOfMany = isShared(wanted.index);
  const rank = (other: number): number => (preferred.has(other) ? 2 : isOfMany && isShared(other) ? 1 : 0);
  const best = preferred.size > 0 ? 2 : isOfMany ? 1 : 0;
  let single = -1;
  let scopes: ScopeSet = NO_SCOPES;
  forEachHeld(search, { holder, place }, (other) => {
    const given = search.scopes[other] ?? NO_SCOPES;
    if (other === wanted.index || idle[other] === 1) return true;
    if (among?.has(other) === false || !haveCommon(given, wanted.value)) return true;
    const [from, until] = [world.from[other] ?? 0, world.until[other] ?? 0];
    if (from >= wanted.until || until <= wanted.from) return true;
    const isWhole = scopesWithout(wanted.value, given) === NO_SCOPES && from <= wanted.from && until >= wanted.until;
    if (isWhole) {
      if (single < 0 || rank(other) > rank(single)) single = other;
    } else if (single < 0) {
      partly.push(other);
      scopes = unionScopes(scopes, given);
    }
    return single < 0 || rank(single) < best;
  });
  if (single >= 0) return [single];
  if (scopesWithout(wanted.value, scopes) !== NO_SCOPES || !coversAll(search, ranksOf(search, partly), wanted))
    return null;
  return withoutSpared(search, partly, wanted);
}

/** Visits the grants of a holder that count in a namespace class, nearest first, until `visit` returns false. */
function forEachHeld(
  { world, holders, runs, inherit, spend }: Search,
  { holder, place: { node: own, extent } }: Pick<Case, 'holder' | 'place'>,
  visit: (grant: number) => boolean,
): void {
  const firstHeld = holders.start[holder] ?? 0;
  const endHeld = holders.start[holder + 1] ?? 0;
  const ifHeld = (run: number): number =>
    placeIn(holders.principals, { from: firstHeld, to: endHeld, value: runs.principal[run] ?? 0 }) < 0 ? -1 : run;
  for (let node = own; node >= 0; node = world.tree.parent[node] ?? -1) {
    const firstRun = runs.ofNode[node] ?? 0;
    const endRun = runs.ofNode[node + 1] ?? 0;
    if (firstRun === endRun) continue;
    const needsInherit = node !== own || extent === 'below';
    // Goes through whichever are fewer: the holder's principals, or the principals with grants here.
    const byHeld = endHeld - firstHeld <= endRun - firstRun;
    const end = byHeld ? endHeld : endRun;
    for (let i = byHeld ? firstHeld : firstRun; i < end; i += 1) {
      const run = byHeld
        ? placeIn(runs.principal, { from: firstRun, to: endRun, value: holders.principals[i] ?? 0 })
        : ifHeld(runs.byFirst[i] ?? 0);
      const from = runs.start[run] ?? 0;
      const to = run < 0 ? from : (runs.start[run + 1] ?? 0);
      spend(1 + to - from);
      for (let row = from; row < to; row += 1) {
        const grant = runs.rows[row] ?? 0;
        if ((!needsInherit || inherit[grant] === 1) && !visit(grant)) return;
      }
    }
  }
}

/** The index of a value in an ascending part of a column, or -1. */
function placeIn(
  column: Int32Array,
  { from, to, value }: { readonly from: number; readonly to: number; readonly value: number },
): number {
  const place = from + firstFrom(to - from, (i) => (column[from + i] ?? 0) >= value);
  return place < to && column[place] === value ? place : -1;
}

function pieceOf({ world: { from, until }, scopes }: Search, grant: number): Piece {
  return { from: from[grant] ?? 0, until: until[grant] ?? 0, value: scopes[grant] ?? NO_SCOPES };
}

/** Whether grants give a piece of what is wanted all the time. They are given by their places in `search.starts`, without the one at `left`. */
function coversAll({ world, scopes, starts }: Search, ranks: Int32Array, piece: Piece, left = -1): boolean {
  const { from, until } = world;
  const { order } = starts();
  return scopeNames(piece.value).every((name) => {
    const scope = scopeBit(name);
    let reached = piece.from;
    for (let i = 0; i < ranks.length && reached < piece.until; i += 1) {
      const grant = order[ranks[i] ?? 0] ?? 0;
      if ((from[grant] ?? 0) > reached) return false;
      if (i === left || (until[grant] ?? 0) <= reached) continue;
      if (haveCommon(scopes[grant] ?? NO_SCOPES, scope)) reached = until[grant] ?? 0;
    }
    return reached >= piece.until;
  });
}

/** The places of grants in `search.starts`, ascending. */
function ranksOf({ starts }: Search, grants: readonly number[]): Int32Array {
  const { rank } = starts();
  return sortedRows([grants.map((grant) => rank[grant] ?? 0)]);
}

/** Removes grants from a cover until each remaining grant is needed. */
function withoutSpared(search: Search, cover: readonly number[], wanted: Piece): readonly number[] {
  if (cover.length > MAX_SPARED) return cover;
  const { rank } = search.starts();
  let ranks = ranksOf(search, cover);
  return cover.filter((candidate) => {
    const place = ranks.indexOf(rank[candidate] ?? 0);
    // What it gives outside its own window is given by others already.
    const own = pieceOf(search, candidate);
    const piece = {
      from: Math.max(own.from, wanted.from),
      until: Math.min(own.until, wanted.until),
      value: commonScopes(own.value, wanted.value),
    };
    if (!coversAll(search, ranks, piece, place)) return true;
    ranks = ranks.filter((_, i) => i !== place);
    return false;
  });
}
