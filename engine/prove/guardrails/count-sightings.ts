// The sightings where `atLeast` or `atMost` does not hold: what each person holds there and by which grants, and when nobody holds any
// of the scopes. They are listed place by place. If that would name too many, inherited grants are listed once for all places that
// inherit them, so that a report grows with the policy and not with places times people.
import { groupBy, remember } from '../../model/group.js';
import { childrenOf } from '../../model/namespace-tree.js';
import { compareNumbers } from '../../model/order.js';
import { commonScopes, type ScopeSet, uniteScopes } from '../../model/scope-set.js';
import { mapTimeline, type Piece, piecesOf } from '../../model/timeline.js';
import type { Holding } from '../cells/holdings.js';
import { type CoveredPlace, type CoveringGrants, type Sharers, sharersOf } from './covers.js';
import { STEPS_OF } from './proof-budget.js';
import { joinSightings, type Scene, type Sighting } from './scene.js';

export interface CountVerdict {
  /** The scopes that are counted. */
  readonly scopes: ScopeSet;
  readonly isBroken: (count: number) => boolean;
}

type Stretch = Omit<Piece, 'value'>;

/** Places that break the rule at the same times. */
interface Breach {
  /** Null for places that are nodes. Below a node, the nodes there that are places of their own. */
  readonly except: readonly number[] | null;
  readonly rows: readonly number[];
  readonly broken: readonly Stretch[];
  /** The intervals in which nobody holds any of the scopes. */
  readonly nobody: readonly Stretch[];
}

/** All sightings of the places. Each place must break the rule at some time. */
export function sightingsOf(scene: Scene, places: readonly CoveredPlace[], verdict: CountVerdict): readonly Sighting[] {
  const namesOf = ({ holdings, cover }: CoveringGrants): number => holdings.length + cover.size;
  const names = places.reduce((sum, { inherited, local }) => sum + namesOf(inherited) + namesOf(local), 0);
  const { scopes } = verdict;
  const wanted = { scene, scopes };
  if (names <= scene.limits.witnessNames) {
    return places.flatMap((place) => {
      const breach = breachOf(scene, place, verdict);
      const sharers = sharersOf(scene, [...place.inherited.holdings, ...place.local.holdings]);
      return [...nobodyIn(breach, scopes), ...somebodyIn(wanted, sharers, breach)];
    });
  }
  const own = places.flatMap((place) =>
    joinAll(somebodyIn(wanted, sharersOf(scene, place.local.holdings), breachOf(scene, place, verdict))),
  );
  const sharers = remember(({ holdings }: CoveringGrants) => sharersOf(scene, holdings));
  const common = [...groupBy(places, ({ inherited }) => inherited)].flatMap(([inherited, heirs]) => {
    const alike = groupBy(
      heirs.map((place) => breachOf(scene, place, verdict)),
      ({ except, rows, broken, nobody }) => JSON.stringify([except === null ? null : rows, broken, nobody]),
    );
    return [...alike.values()].flatMap(([first, ...more]) => {
      if (first === undefined) return [];
      const breach = { ...first, rows: [...first.rows, ...more.flatMap(({ rows }) => rows)] };
      return [...nobodyIn(breach, scopes), ...joinAll(somebodyIn(wanted, sharers(inherited), breach))];
    });
  });
  return [...common, ...own];
}

function breachOf({ nodes }: Scene, { row, extent, count }: CoveredPlace, { isBroken }: CountVerdict): Breach {
  const when = (test: (count: number) => boolean): readonly Stretch[] =>
    piecesOf(mapTimeline(count, (value) => (test(value) ? 1 : 0)));
  return {
    except: extent === 'below' ? childrenOf(nodes, row) : null,
    rows: [row],
    broken: when(isBroken),
    nobody: when((value) => value === 0 && isBroken(value)),
  };
}

/** The region of the first row, with the other rows in `alsoAt`. */
function regionOf({ except, rows: [row = 0, ...alsoAt] }: Breach): Pick<Sighting, 'region' | 'alsoAt'> {
  return {
    region: { row, extent: except === null ? 'exact' : 'below', except: except ?? [] },
    ...(alsoAt.length === 0 ? {} : { alsoAt }),
  };
}

function nobodyIn(breach: Breach, scopes: ScopeSet): readonly Sighting[] {
  return breach.nobody.map(({ from, until }) => ({ ...regionOf(breach), people: [], scopes, from, until, grants: [] }));
}

interface Wanted {
  readonly scene: Scene;
  readonly scopes: ScopeSet;
}

function somebodyIn(
  { scene, scopes: wanted }: Wanted,
  sharers: readonly Sharers[],
  breach: Breach,
): readonly Sighting[] {
  const place = regionOf(breach);
  return sharers.flatMap(({ people, holdings }) => {
    scene.spend(STEPS_OF.named * breach.broken.length * holdings.length);
    return breach.broken
      .flatMap((stretch) => cut(stretch, holdings))
      .flatMap(({ from, until }) => {
        // None of their grants begins or ends within the interval, so one instant stands for all of it.
        const inForce = holdings.filter((holding) => holding.from <= from && from < holding.until);
        const scopes = uniteScopes(inForce.map((holding) => commonScopes(holding.scopes, wanted)));
        const grants = inForce.map(({ grant }) => grant).sort((a, b) => a - b);
        return grants.length === 0 ? [] : [{ ...place, people, scopes, from, until, grants }];
      });
  });
}

/** Joins sightings with the same place, time and scopes, whoever holds them and by whatever grants. */
function joinAll(sightings: readonly Sighting[]): readonly Sighting[] {
  return joinSightings(sightings, () => null);
}

/** Cuts an interval wherever one of the grants begins or ends. */
function cut({ from, until }: Stretch, holdings: readonly Holding[]): readonly Stretch[] {
  const changes = holdings.flatMap((holding) => [holding.from, holding.until]);
  const starts = [...new Set([from, ...changes.filter((change) => from < change && change < until)])].sort(
    compareNumbers,
  );
  return starts.map((start, i) => ({ from: start, until: starts[i + 1] ?? until }));
}
