// `atLeast` and `atMost` (design 3.4): how many identities hold any of some scopes in a namespace, in each interval of time.
import { combine, NOTHING, stepsOf, type Timeline } from './timeline.js';
import { countOf, makePlaces, type Place, sharersOf, windowOf, without } from './covers.js';
import type { CountedAt } from '../model/policy-set.js';
import type { Holding } from './holdings.js';
import { endOf } from './nodes.js';
import type { Finding, Sighting, World } from './witness.js';

export interface CountRule {
  readonly kind: 'atLeast' | 'atMost';
  readonly identities: number;
  readonly scopes: number;
  readonly at: CountedAt;
  /** Rows of the nodes where it counts. */
  readonly places: readonly number[];
}

export function checkCounts(world: World, rule: CountRule): Finding {
  const placeAt = makePlaces(world, rule.scopes);
  const isBroken = (count: number): boolean =>
    rule.kind === 'atLeast' ? count < rule.identities : count > rule.identities;
  const broken: Place[] = [];
  for (const row of rule.places) {
    const place = placeAt(row);
    if (place.count.values.some(isBroken)) broken.push(place);
  }
  return {
    sightings: broken.flatMap((place) => sightingsAt(world, place, { rule, isBroken })),
    // Nothing that is taken away brings more identities.
    repair: rule.kind === 'atLeast' ? [] : ceilingRepair(world, rule, broken),
  };
}

interface Stretch {
  readonly from: number;
  readonly until: number;
}

interface Verdict {
  readonly rule: CountRule;
  readonly isBroken: (count: number) => boolean;
}

/** While a place breaks the rule: what each identity holds there by which grants, and when nobody holds any of what is asked. */
function sightingsAt(world: World, place: Place, { rule, isBroken }: Verdict): readonly Sighting[] {
  const region = { row: place.row, extent: 'exact', except: [] } as const;
  const steps = stepsOf(place.count).filter(({ value }) => isBroken(value));
  const broken = joinStretches(steps);
  const nobody = steps
    .filter(({ value }) => value === 0)
    .map(({ from, until }) => ({ identities: [], region, scopes: rule.scopes, from, until, grants: [] }));
  const somebody = sharersOf(world, place.holdings).flatMap(({ identities, holdings }) =>
    broken
      .flatMap((stretch) => cut(stretch, holdings))
      .flatMap(({ from, until }) => {
        // Nothing that they hold begins or ends within the stretch, so that any instant of it stands for all.
        const inForce = holdings.filter((holding) => holding.from <= from && from < holding.until);
        const scopes = inForce.reduce((all, holding) => all | (holding.scopes & rule.scopes), 0);
        const grants = inForce.map(({ grant }) => grant).sort((a, b) => a - b);
        return grants.length === 0 ? [] : [{ identities, region, scopes, from, until, grants }];
      }),
  );
  return [...nobody, ...somebody];
}

/** Stretches in order, those that follow upon each other as one. */
function joinStretches(stretches: readonly Stretch[]): readonly Stretch[] {
  const joined: Stretch[] = [];
  for (const { from, until } of stretches) {
    const last = joined.at(-1);
    if (last?.until === from) joined[joined.length - 1] = { from: last.from, until };
    else joined.push({ from, until });
  }
  return joined;
}

/** A stretch cut wherever one of the grants begins or ends. */
function cut({ from, until }: Stretch, holdings: readonly Holding[]): readonly Stretch[] {
  const cuts = new Set([from]);
  for (const holding of holdings) {
    if (from < holding.from && holding.from < until) cuts.add(holding.from);
    if (from < holding.until && holding.until < until) cuts.add(holding.until);
  }
  const starts = [...cuts].sort((a, b) => (a < b ? -1 : 1));
  return starts.map((start, i) => ({ from: start, until: starts[i + 1] ?? until }));
}

/** A place with the grants that have been put back so far. */
interface Refill {
  readonly row: number;
  readonly grants: ReadonlySet<number>;
  /** Whether it is asked for: a top level is one only while a grant names something there. */
  isThere: boolean;
  readonly cover: Map<number, Timeline>;
  count: Timeline;
}

/**
 * Takes all grants of the places that break the rule away and puts back, one by one, each that does not break it again;
 * those that reach few identities first, so that few stay away. Places that keep the rule keep it with fewer grants too.
 */
function ceilingRepair(world: World, rule: CountRule, broken: readonly Place[]): readonly number[] {
  const candidates = new Map<number, Holding>();
  for (const place of broken) for (const holding of place.holdings) candidates.set(holding.grant, holding);
  const named = new Uint8Array(world.nodes.paths.length);
  world.rights.rowOfGrant.forEach((row, grant) => {
    if (!candidates.has(grant)) named[row] = 1;
  });
  const refills: Refill[] = broken.map(({ row, holdings }) => ({
    row,
    grants: new Set(holdings.map((holding) => holding.grant)),
    isThere: rule.at.kind === 'path' || named.subarray(row, endOf(world.nodes, row)).includes(1),
    cover: new Map(),
    count: NOTHING,
  }));
  const principalOf = world.policy.tables.grants.principal;
  const reachOf = (grant: number): Int32Array => world.reach(principalOf[grant] ?? 0);
  const order = [...candidates.values()].sort(
    (a, b) => reachOf(a.grant).length - reachOf(b.grant).length || a.grant - b.grant,
  );
  return order
    .filter(
      (holding) =>
        !putBack(
          refills.filter((refill) => refill.grants.has(holding.grant)),
          holding,
          { ceiling: rule.identities, reach: reachOf(holding.grant) },
        ),
    )
    .map((holding) => holding.grant)
    .sort((a, b) => a - b);
}

function putBack(
  refills: readonly Refill[],
  holding: Holding,
  { ceiling, reach }: { ceiling: number; reach: Int32Array },
): boolean {
  const isThere = ({ row, isThere: before }: Refill): boolean => before || holding.row === row;
  if (reach.length > ceiling && refills.some(isThere)) return false;
  const window = windowOf(holding);
  const counts: Timeline[] = [];
  for (const refill of refills) {
    const beyond = Array.from(reach, (identity) => without(window, refill.cover.get(identity)));
    const count = combine(refill.count, countOf(beyond), (a, b) => a + b);
    if (isThere(refill) && count.values.some((value) => value > ceiling)) return false;
    counts.push(count);
  }
  refills.forEach((refill, i) => {
    refill.isThere = isThere(refill);
    refill.count = counts[i] ?? refill.count;
    for (const identity of reach) {
      refill.cover.set(
        identity,
        combine(refill.cover.get(identity) ?? NOTHING, window, (a, b) => a | b),
      );
    }
  });
  return true;
}
