// `atLeast` and `atMost` (docs/language.md "Guardrails"): how many identities hold any of some scopes in a namespace, in each
// interval of time.
import type { Scene } from './counted.js';
import { combine, NOTHING, type Timeline } from '../../model/timeline.js';
import { countOf, makePlaces, type Place, inForceOf, without } from './covers.js';
import { sightingsOf } from './count-sightings.js';
import type { CountedAt } from '../../model/policy-set.js';
import type { Holding } from '../cells/holdings.js';
import { endOf } from '../cells/nodes.js';
import type { Finding } from './world.js';

export interface CountRule {
  readonly kind: 'atLeast' | 'atMost';
  readonly identities: number;
  readonly scopes: number;
  readonly at: CountedAt;
  /** Rows of the nodes where it counts. */
  readonly places: readonly number[];
}

export function checkCounts(scene: Scene, rule: CountRule): Finding {
  const placeAt = makePlaces(scene, rule.scopes);
  const isBroken = (count: number): boolean =>
    rule.kind === 'atLeast' ? count < rule.identities : count > rule.identities;
  const broken: Place[] = [];
  for (const row of rule.places) {
    const place = placeAt(row);
    if (place.count.values.some(isBroken)) broken.push(place);
  }
  return {
    sightings: sightingsOf(scene, broken, { scopes: rule.scopes, isBroken }),
    // Removing grants never adds holders, so `atLeast` has no repair.
    repair: rule.kind === 'atLeast' ? [] : ceilingRepair(scene, rule, broken),
  };
}

/** A place with the grants that have been put back so far. */
interface Refill {
  readonly row: number;
  /** Those that count there, shared with other places as far as they are inherited. */
  readonly grants: readonly ReadonlySet<number>[];
  /** Whether it is asked for: a top level is one only while a grant names something there. */
  isThere: boolean;
  readonly cover: Map<number, Timeline>;
  count: Timeline;
}

/**
 * Takes all grants of the places that break the rule away and puts back, one by one, each that does not break it again;
 * those that reach few identities first, so that few stay away. Places that keep the rule keep it with fewer grants too.
 */
function ceilingRepair(scene: Scene, rule: CountRule, broken: readonly Place[]): readonly number[] {
  const candidates = new Map<number, Holding>();
  for (const held of new Set(broken.flatMap(({ inherited, local }) => [inherited, local])))
    for (const holding of held.holdings) candidates.set(holding.grant, holding);
  const named = new Uint8Array(scene.nodes.paths.length);
  scene.rights.rowOfGrant.forEach((row, grant) => {
    if (!candidates.has(grant)) named[row] = 1;
  });
  const refills: Refill[] = broken.map(({ row, inherited, local }) => ({
    row,
    grants: [inherited.grants, local.grants],
    isThere: rule.at.kind === 'path' || named.subarray(row, endOf(scene.nodes, row)).includes(1),
    cover: new Map(),
    count: NOTHING,
  }));
  const principalOf = scene.policy.tables.grants.principal;
  const reachOf = (grant: number): Int32Array => scene.counted.reach(principalOf[grant] ?? 0);
  const order = [...candidates.values()].sort(
    (a, b) => reachOf(a.grant).length - reachOf(b.grant).length || a.grant - b.grant,
  );
  return order
    .filter(
      (holding) =>
        !putBack(
          refills.filter(({ grants }) => grants.some((some) => some.has(holding.grant))),
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
  const window = inForceOf(holding);
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
