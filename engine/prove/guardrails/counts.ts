// `atLeast` and `atMost` (docs/language.md "Guardrails"): how many people hold any of some scopes in a namespace, in each
// interval of time.
import { addTo } from '../../model/group.js';
import { either, NOTHING, type Timeline, without } from '../../model/timeline.js';
import type { Holding } from '../cells/holdings.js';
import { endOf } from '../cells/nodes.js';
import { type CountVerdict, sightingsOf } from './count-sightings.js';
import { countOf, type CoveredPlace, inForceOf, makePlaces, plus } from './covers.js';
import { STEPS_OF } from './proof-budget.js';
import type { GuardrailFinding, RowNumbers, RuleOf, Scene, World } from './scene.js';

/** A class of namespaces in which a rule counts. */
export type Where = Pick<CoveredPlace, 'row' | 'extent'>;

export function checkAtLeast(
  scene: Scene,
  { scopes, identities }: RuleOf<'atLeast'>,
  places: readonly Where[],
): GuardrailFinding {
  const isBroken = (count: number): boolean => count < identities;
  // Removing grants never adds holders, so there is no repair.
  return {
    sightings: sightingsOf(scene, brokenIn(scene, places, { scopes, isBroken }), { scopes, isBroken }),
    repair: [],
  };
}

/** People and groups are counted each by itself: a group is no number of people. */
export function checkAtMost(
  { people, groups }: { readonly people: Scene; readonly groups: Scene | null },
  rule: RuleOf<'atMost'>,
  places: readonly Where[],
): GuardrailFinding {
  const counted = [
    { scene: people, most: rule.identities },
    ...(groups === null ? [] : [{ scene: groups, most: rule.groups }]),
  ];
  const ceilings = counted.map(({ scene, most }): Ceiling => {
    const verdict = { scopes: rule.scopes, isBroken: (count: number) => count > most };
    return { scene, verdict, most, broken: brokenIn(scene, places, verdict) };
  });
  return {
    sightings: ceilings.flatMap(({ scene, broken, verdict }) => sightingsOf(scene, broken, verdict)),
    repair: ceilingRepair(people, rule, ceilings),
  };
}

function brokenIn(scene: Scene, places: readonly Where[], { scopes, isBroken }: CountVerdict): readonly CoveredPlace[] {
  return places.map(makePlaces(scene, scopes)).filter(({ count }) => count.values.some(isBroken));
}

/** How many people, or groups, there may be, and where there are more. */
interface Ceiling {
  readonly scene: Scene;
  readonly verdict: CountVerdict;
  readonly most: number;
  readonly broken: readonly CoveredPlace[];
}

/** A place with the grants that have been put back so far. */
interface Refill {
  readonly ceiling: Ceiling;
  readonly row: number;
  /** Whether the rule counts here: a top-level namespace exists only while a grant names it or something below it. */
  isThere: boolean;
  readonly cover: Map<number, Timeline>;
  count: Timeline<number>;
}

/**
 * Removes all grants that count in places that break the rule, then puts back each one that does not break it again. Grants that reach
 * few people come first, so that few stay removed. Places that keep the rule also keep it with fewer grants.
 */
function ceilingRepair(world: World, rule: RuleOf<'atMost'>, ceilings: readonly Ceiling[]): readonly number[] {
  const candidates = new Map<number, Holding>();
  for (const held of new Set(
    ceilings.flatMap(({ broken }) => broken.flatMap(({ inherited, local }) => [inherited, local])),
  ))
    for (const holding of held.holdings) candidates.set(holding.grant, holding);
  const named = new Uint8Array(world.nodes.paths.length);
  world.rowOfGrant.forEach((row, grant) => {
    if (!candidates.has(grant)) named[row] = 1;
  });
  const refillsOf = new Map<number, Refill[]>();
  for (const ceiling of ceilings) {
    for (const { row, inherited, local } of ceiling.broken) {
      const isThere = rule.at.kind !== 'every-top-level' || named.subarray(row, endOf(world.nodes, row)).includes(1);
      const refill = { ceiling, row, isThere, cover: new Map<number, Timeline>(), count: NOTHING };
      for (const { grant } of [...inherited.holdings, ...local.holdings]) addTo(refillsOf, grant, refill);
    }
  }
  const principalOf = world.policy.tables.grants.principal;
  const sizeOf = ({ grant }: Holding): number => world.reach(principalOf[grant] ?? 0).length;
  return [...candidates.values()]
    .sort((a, b) => sizeOf(a) - sizeOf(b) || a.grant - b.grant)
    .filter((holding) => !putBack(refillsOf.get(holding.grant) ?? [], holding, principalOf[holding.grant] ?? 0))
    .map((holding) => holding.grant)
    .sort((a, b) => a - b);
}

function putBack(refills: readonly Refill[], holding: Holding, principal: number): boolean {
  const isThere = ({ row, isThere: before }: Refill): boolean => before || holding.row === row;
  const reachOf = ({ ceiling }: Refill): RowNumbers => ceiling.scene.counted.reach(principal);
  if (refills.some((refill) => reachOf(refill).length > refill.ceiling.most && isThere(refill))) return false;
  const window = inForceOf(holding);
  const counts: Timeline<number>[] = [];
  for (const refill of refills) {
    refill.ceiling.scene.spend(STEPS_OF.named * (reachOf(refill).length + refill.count.starts.length));
    const beyond = Array.from(reachOf(refill), (person) => without(window, refill.cover.get(person) ?? NOTHING));
    const count = plus(refill.count, countOf(beyond));
    if (isThere(refill) && count.values.some((value) => value > refill.ceiling.most)) return false;
    counts.push(count);
  }
  refills.forEach((refill, i) => {
    refill.isThere = isThere(refill);
    refill.count = counts[i] ?? refill.count;
    for (const person of reachOf(refill)) refill.cover.set(person, either(refill.cover.get(person) ?? NOTHING, window));
  });
  return true;
}
