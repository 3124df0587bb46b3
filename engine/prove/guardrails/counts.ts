// `atLeast` and `atMost` (docs/language.md "Guardrails"): how many people hold any of some scopes in a namespace, in each
// interval of time.
import { addTo } from '../../model/group.js';
import { either, NOTHING, type Timeline, without } from '../../model/timeline.js';
import type { Holding } from '../cells/holdings.js';
import { endOf } from '../cells/nodes.js';
import { sightingsOf } from './count-sightings.js';
import { countOf, inForceOf, makePlaces, type Place, plus } from './covers.js';
import type { Finding, RowNumbers, RuleOf, Scene } from './scene.js';

/** `rows` are the nodes at which the rule counts. */
export function checkCounts(scene: Scene, rule: RuleOf<'atLeast' | 'atMost'>, rows: readonly number[]): Finding {
  const isBroken = (count: number): boolean =>
    rule.kind === 'atLeast' ? count < rule.identities : count > rule.identities;
  const broken = rows.map(makePlaces(scene, rule.scopes)).filter(({ count }) => count.values.some(isBroken));
  return {
    sightings: sightingsOf(scene, broken, { scopes: rule.scopes, isBroken }),
    // Removing grants never adds holders, so `atLeast` has no repair.
    repair: rule.kind === 'atLeast' ? [] : ceilingRepair(scene, rule, broken),
  };
}

/** A place with the grants that have been put back so far. */
interface Refill {
  readonly row: number;
  /** Whether the rule counts here: a top-level namespace exists only while a grant names it or something below it. */
  isThere: boolean;
  readonly cover: Map<number, Timeline>;
  count: Timeline;
}

/**
 * Removes all grants that count in places that break the rule, then puts back each one that does not break it again. Grants that reach
 * few people come first, so that few stay removed. Places that keep the rule also keep it with fewer grants.
 */
function ceilingRepair(scene: Scene, rule: RuleOf<'atMost'>, broken: readonly Place[]): readonly number[] {
  const candidates = new Map<number, Holding>();
  for (const held of new Set(broken.flatMap(({ inherited, local }) => [inherited, local])))
    for (const holding of held.holdings) candidates.set(holding.grant, holding);
  const named = new Uint8Array(scene.nodes.paths.length);
  scene.rowOfGrant.forEach((row, grant) => {
    if (!candidates.has(grant)) named[row] = 1;
  });
  const refillsOf = new Map<number, Refill[]>();
  for (const { row, inherited, local } of broken) {
    const isThere = rule.at.kind === 'path' || named.subarray(row, endOf(scene.nodes, row)).includes(1);
    const refill = { row, isThere, cover: new Map<number, Timeline>(), count: NOTHING };
    for (const { grant } of [...inherited.holdings, ...local.holdings]) addTo(refillsOf, grant, refill);
  }
  const principalOf = scene.policy.tables.grants.principal;
  const reachOf = ({ grant }: Holding): RowNumbers => scene.counted.reach(principalOf[grant] ?? 0);
  return [...candidates.values()]
    .sort((a, b) => reachOf(a).length - reachOf(b).length || a.grant - b.grant)
    .filter((holding) => {
      const refills = refillsOf.get(holding.grant) ?? [];
      return !putBack(refills, holding, { ceiling: rule.identities, reach: reachOf(holding) });
    })
    .map((holding) => holding.grant)
    .sort((a, b) => a - b);
}

function putBack(
  refills: readonly Refill[],
  holding: Holding,
  { ceiling, reach }: { readonly ceiling: number; readonly reach: RowNumbers },
): boolean {
  const isThere = ({ row, isThere: before }: Refill): boolean => before || holding.row === row;
  if (reach.length > ceiling && refills.some(isThere)) return false;
  const window = inForceOf(holding);
  const counts: Timeline[] = [];
  for (const refill of refills) {
    const beyond = Array.from(reach, (person) => without(window, refill.cover.get(person) ?? NOTHING));
    const count = plus(refill.count, countOf(beyond));
    if (isThere(refill) && count.values.some((value) => value > ceiling)) return false;
    counts.push(count);
  }
  refills.forEach((refill, i) => {
    refill.isThere = isThere(refill);
    refill.count = counts[i] ?? refill.count;
    for (const person of reach) refill.cover.set(person, either(refill.cover.get(person) ?? NOTHING, window));
  });
  return true;
}
