// What is seen where `atLeast` or `atMost` does not hold: what each identity holds there by which grants, and when nobody
// holds any of what is asked. Told place by place; where that would name too many, what is inherited is told once for all
// places that inherit it, so that a report grows with the policy and not with its places times its people.
import type { Scene } from './counted.js';
import { type Place, type Sharers, sharersOf } from './covers.js';
import type { Holding } from '../cells/holdings.js';
import type { RowNumbers, Sighting } from './world.js';
import { unionOfRows } from '../../model/row-lists.js';
import { stepsOf } from '../../model/timeline.js';

export interface Verdict {
  /** Those that are counted, as bits. */
  readonly scopes: number;
  readonly isBroken: (count: number) => boolean;
}

interface Stretch {
  readonly from: number;
  readonly until: number;
}

/** When a place breaks the rule. */
interface Breach {
  readonly broken: readonly Stretch[];
  /** The stretches of time in which nobody holds any of the scopes. */
  readonly nobody: readonly Stretch[];
}

/** All sightings of the places, which break the rule at some time. */
export function sightingsOf(scene: Scene, places: readonly Place[], verdict: Verdict): readonly Sighting[] {
  const names = places.reduce((sum, { inherited, local }) => sum + inherited.names + local.names, 0);
  return names > scene.limits.witnessNames
    ? joinedSightings(scene, places, verdict)
    : places.flatMap((place) => sightingsAt(scene, place, verdict));
}

function sightingsAt(scene: Scene, place: Place, verdict: Verdict): readonly Sighting[] {
  const breach = breachOf(place, verdict);
  const holdings = [...place.inherited.holdings, ...place.local.holdings];
  return [
    ...nobodyIn(breach, verdict, [place.row]),
    ...somebodyIn(sharersOf(scene, holdings), breach, { verdict, rows: [place.row] }),
  ];
}

/** Places that inherit the same and break the rule at the same times, with the sightings that they have in common. */
interface Likes {
  readonly breach: Breach;
  readonly inherited: Place['inherited'];
  readonly rows: number[];
}

function joinedSightings(scene: Scene, places: readonly Place[], verdict: Verdict): readonly Sighting[] {
  const likes = new Map<Place['inherited'], Map<string, Likes>>();
  const own: Sighting[] = [];
  for (const { inherited, local, row, count } of places) {
    const breach = breachOf({ count }, verdict);
    const key = JSON.stringify([breach.broken, breach.nobody]);
    const alike = likes.get(inherited) ?? new Map<string, Likes>();
    likes.set(inherited, alike);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { breach, inherited, rows: [row] });
    else known.rows.push(row);
    own.push(...joinAlike(somebodyIn(sharersOf(scene, local.holdings), breach, { verdict, rows: [row] })));
  }
  const sharers = new Map<Place['inherited'], readonly Sharers[]>();
  const common = [...likes.values()].flatMap((alike) =>
    [...alike.values()].flatMap(({ breach, inherited, rows }) => {
      const shared = sharers.get(inherited) ?? sharersOf(scene, inherited.holdings);
      sharers.set(inherited, shared);
      return [...nobodyIn(breach, verdict, rows), ...joinAlike(somebodyIn(shared, breach, { verdict, rows }))];
    }),
  );
  return [...common, ...own];
}

function breachOf({ count }: Pick<Place, 'count'>, { isBroken }: Verdict): Breach {
  const steps = stepsOf(count).filter(({ value }) => isBroken(value));
  const nobody = steps.filter(({ value }) => value === 0).map(({ from, until }) => ({ from, until }));
  return { broken: joinStretches(steps), nobody };
}

/** The first of the rows, and those where the same is so. */
function regionOf([row = 0, ...alsoAt]: readonly number[]): Pick<Sighting, 'region' | 'alsoAt'> {
  return { region: { row, extent: 'exact', except: [] }, ...(alsoAt.length === 0 ? {} : { alsoAt }) };
}

function nobodyIn({ nobody }: Breach, { scopes }: Verdict, rows: readonly number[]): readonly Sighting[] {
  return nobody.map(({ from, until }) => ({ ...regionOf(rows), identities: [], scopes, from, until, grants: [] }));
}

function somebodyIn(
  sharers: readonly Sharers[],
  { broken }: Breach,
  { verdict, rows }: { readonly verdict: Verdict; readonly rows: readonly number[] },
): readonly Sighting[] {
  const place = regionOf(rows);
  return sharers.flatMap(({ identities, holdings }) =>
    broken
      .flatMap((stretch) => cut(stretch, holdings))
      .flatMap(({ from, until }) => {
        // Nothing that they hold begins or ends within the stretch, so that any instant of it stands for all.
        const inForce = holdings.filter((holding) => holding.from <= from && from < holding.until);
        const scopes = inForce.reduce((all, holding) => all | (holding.scopes & verdict.scopes), 0);
        const grants = inForce.map(({ grant }) => grant).sort((a, b) => a - b);
        return grants.length === 0 ? [] : [{ ...place, identities, scopes, from, until, grants }];
      }),
  );
}

/** Sightings of the same places as one for each stretch and set of scopes, whoever holds them by whatever grant. */
function joinAlike(sightings: readonly Sighting[]): readonly Sighting[] {
  const groups = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const key = `${String(sighting.scopes)} ${String(sighting.from)} ${String(sighting.until)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sighting]);
    else group.push(sighting);
  }
  const union = (alike: readonly Sighting[], of: (one: Sighting) => RowNumbers): Int32Array =>
    unionOfRows(alike.map(of));
  return [...groups.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined || alike.length === 1) return alike;
    const identities = union(alike, (one) => one.identities);
    return [{ ...first, identities, grants: [...union(alike, (one) => one.grants)] }];
  });
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
