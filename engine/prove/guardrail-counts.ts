// `atLeast` and `atMost` (design 3.4): how many identities hold any of some scopes in a namespace, in each interval of time.
import { combine, NOTHING, stepsOf, type Timeline, valueAt } from './timeline.js';
import { coveredAt, countOf, makePlaces, type Place, windowOf, without } from './covers.js';
import type { Holding } from './holdings.js';
import type { Finding, Sighting, World } from './witness.js';

export interface CountRule {
  readonly kind: 'atLeast' | 'atMost';
  readonly identities: number;
  readonly scopes: number;
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
    sightings: broken.flatMap((place) => sightingsAt(place, rule, isBroken)),
    // Nothing that is taken away brings more identities.
    repair: rule.kind === 'atLeast' ? [] : ceilingRepair(world, rule.identities, broken),
  };
}

/** One sighting for each stretch of time in which the same identities hold by the same grants. */
function sightingsAt(place: Place, rule: CountRule, isBroken: (count: number) => boolean): readonly Sighting[] {
  const sightings: (Sighting & { readonly key: string })[] = [];
  for (const step of stepsOf(place.count)) {
    if (!isBroken(step.value)) continue;
    for (const [from, until] of stretches(place, step)) {
      // Nothing begins or ends within the stretch, so that any instant of it stands for all.
      const identities = coveredAt(place, (timeline) => valueAt(timeline, from) !== 0);
      const inForce = place.holdings.filter((holding) => holding.from <= from && from < holding.until);
      const grants = inForce.map((holding) => holding.grant).sort((a, b) => a - b);
      const held = inForce.reduce((all, holding) => all | (holding.scopes & rule.scopes), 0);
      const key = `${identities.join()} ${grants.join()}`;
      const last = sightings.at(-1);
      if (last?.until === from && last.key === key) sightings[sightings.length - 1] = { ...last, until };
      else {
        const region = { row: place.row, extent: 'exact', except: [] } as const;
        sightings.push({
          identities,
          region,
          scopes: rule.kind === 'atLeast' ? rule.scopes : held,
          from,
          until,
          grants,
          key,
        });
      }
    }
  }
  return sightings;
}

/** A stretch cut wherever a grant of the place begins or ends. */
function stretches(
  place: Place,
  { from, until }: { from: number; until: number },
): readonly (readonly [number, number])[] {
  const cuts = new Set([from]);
  for (const holding of place.holdings) {
    if (from < holding.from && holding.from < until) cuts.add(holding.from);
    if (from < holding.until && holding.until < until) cuts.add(holding.until);
  }
  const starts = [...cuts].sort((a, b) => (a < b ? -1 : 1));
  return starts.map((start, i) => [start, starts[i + 1] ?? until]);
}

/** A place with the grants that have been put back so far. */
interface Refill {
  readonly rows: ReadonlySet<number>;
  readonly cover: Map<number, Timeline>;
  count: Timeline;
}

/**
 * Takes all grants of the places that break the rule away and puts back, one by one, each that does not break it again;
 * those that reach few identities first, so that few stay away. Places that keep the rule keep it with fewer grants too.
 */
function ceilingRepair(world: World, ceiling: number, broken: readonly Place[]): readonly number[] {
  const refills: Refill[] = broken.map((place) => ({
    rows: new Set(place.holdings.map((holding) => holding.grant)),
    cover: new Map(),
    count: NOTHING,
  }));
  const candidates = new Map<number, Holding>();
  for (const place of broken) for (const holding of place.holdings) candidates.set(holding.grant, holding);
  const principalOf = world.policy.tables.grants.principal;
  const reachOf = (grant: number): Int32Array => world.reach(principalOf[grant] ?? 0);
  const order = [...candidates.values()].sort(
    (a, b) => reachOf(a.grant).length - reachOf(b.grant).length || a.grant - b.grant,
  );
  return order
    .filter(
      (holding) =>
        !putBack(
          refills.filter((refill) => refill.rows.has(holding.grant)),
          holding,
          { ceiling, reach: reachOf(holding.grant) },
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
  if (reach.length > ceiling) return false;
  const window = windowOf(holding);
  const counts: Timeline[] = [];
  for (const refill of refills) {
    const beyond = Array.from(reach, (identity) => without(window, refill.cover.get(identity)));
    const count = combine(refill.count, countOf(beyond), (a, b) => a + b);
    if (count.values.some((value) => value > ceiling)) return false;
    counts.push(count);
  }
  refills.forEach((refill, i) => {
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
