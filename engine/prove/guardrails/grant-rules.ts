// `never`, and half of `expires` (docs/language.md "Guardrails"): rules that a single grant can break. Each such grant is a witness, and the
// repair is all of them.
import { commonScopes, NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';
import { type Holding, holdingOf } from '../cells/holdings.js';
import { endOf, type Nodes } from '../cells/nodes.js';
import type { RowRegion } from '../cells/regions.js';
import type { GuardrailFinding, RuleOf, Scene, Sighting } from './scene.js';

/** The region in which a grant breaks a rule for everybody who holds it, and the scopes that do so. Null if it does not. */
type JudgeGrant = (grant: number) => { readonly region: RowRegion; readonly scopes: ScopeSet } | null;

/** Scopes that nobody may hold at or below a namespace at any time. */
export function checkNever(scene: Scene, rule: RuleOf<'never'>): GuardrailFinding {
  const under = scene.nodes.rowOf.get(rule.under) ?? 0;
  const { scopes: given } = scene.policy.tables.grants;
  return checkGrants(scene, (grant) => {
    const scopes = commonScopes(given[grant] ?? NO_SCOPES, rule.scopes);
    const region = scopes === NO_SCOPES ? null : regionUnder(scene.nodes, holdingOf(scene, grant), under);
    return region === null ? null : { region, scopes };
  });
}

/** Grants that are never in force give nothing and are skipped. */
export function checkGrants(scene: Scene, judge: JudgeGrant): GuardrailFinding {
  const { id, principal, notBefore, expires } = scene.policy.tables.grants;
  const sightings: Sighting[] = [];
  for (let grant = 0; grant < id.length; grant += 1) {
    const [from, until] = [notBefore[grant] ?? 0, expires[grant] ?? 0];
    const broken = from < until ? judge(grant) : null;
    const people = broken === null ? [] : scene.counted.reach(principal[grant] ?? 0);
    scene.spend(people.length);
    if (broken !== null && people.length > 0) sightings.push({ people, ...broken, from, until, grants: [grant] });
  }
  return { sightings, repair: sightings.flatMap(({ grants }) => [...grants]) };
}

/** The region in which a grant counts at or below a namespace; null if it counts nowhere there. */
export function regionUnder(nodes: Nodes, { row, inherit }: Holding, under: number): RowRegion | null {
  if (under <= row && row < endOf(nodes, under)) return { row, extent: inherit ? 'subtree' : 'exact', except: [] };
  const above = row < under && under < endOf(nodes, row);
  return above && inherit ? { row: under, extent: 'subtree', except: [] } : null;
}
