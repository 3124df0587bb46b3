// `never` (docs/language.md "Guardrails"): scopes that nobody may hold at or below a namespace at any time.
import type { RowRegion } from '../cells/regions.js';
import type { Holding } from '../cells/holdings.js';
import { endOf, type Nodes } from '../cells/nodes.js';
import { checkGrants } from './by-grant.js';
import type { Scene } from './counted.js';
import type { Finding } from './world.js';

export interface NeverRule {
  /** Row of the node at and below which it counts. */
  readonly under: number;
  readonly scopes: number;
}

export function checkNever(scene: Scene, rule: NeverRule): Finding {
  return checkGrants(scene, (holding) => {
    const scopes = holding.scopes & rule.scopes;
    const region = scopes === 0 ? null : regionUnder(scene.nodes, holding, rule.under);
    return region === null ? null : { region, scopes };
  });
}

/** Where a grant counts at or below a namespace; null if nowhere. */
export function regionUnder(nodes: Nodes, { row, inherit }: Holding, under: number): RowRegion | null {
  if (under <= row && row < endOf(nodes, under)) return { row, extent: inherit ? 'subtree' : 'exact', except: [] };
  const above = row < under && under < endOf(nodes, row);
  return above && inherit ? { row: under, extent: 'subtree', except: [] } : null;
}
