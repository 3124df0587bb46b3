// Which exclusive pairs a guardrail holds by: a set of pairs with which it holds, and without any one of them it does not.
import { countPairs, type ExclusivePair } from '../../model/exclusions.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { compareTexts } from '../../model/order.js';
import { type ProofBudget, STEPS_OF } from './proof-budget.js';

type List = readonly Identity[];

/** A guardrail that holds only because no actor carries both identities of a pair. */
export interface Reliance {
  readonly guardrail: string;
  /** In the order of the policy. */
  readonly pairs: readonly ExclusivePair[];
  /** Not known, because the proof would need more steps than the limit. Absent otherwise. */
  readonly unknown?: true;
}

interface Search {
  /** Proves the rule as if there were only these lists. */
  readonly holds: (lists: readonly List[]) => boolean;
  readonly spend: ProofBudget['spend'];
  /** How often `holds` may be asked. */
  readonly tries: number;
}

/** The pairs that are needed. With more pairs than `tries`, entire lists are tried, and with more lists each is named. */
export function reliedOn(exclusive: readonly List[], { holds, spend, tries }: Search): Reliance['pairs'] {
  if (exclusive.length === 0 || holds([])) return [];
  const count = countPairs(exclusive.map(({ length }) => length));
  spend(STEPS_OF.pair * count);
  const pairs = count < tries ? exclusive.flatMap(pairsOf) : exclusive;
  let needed = pairs;
  if (pairs.length < tries) {
    for (const list of pairs) {
      const others = needed.filter((one) => one !== list);
      if (holds(others)) needed = others;
    }
  }
  return needed
    .flatMap((list) => pairsOf(list.map(formatIdentity)))
    .map(([a, b]) => (compareTexts(a, b) < 0 ? [a, b] : [b, a]));
}

function pairsOf<T>(list: readonly T[]): readonly (readonly [T, T])[] {
  return list.flatMap((a, i) => list.slice(i + 1).map((b) => [a, b] as const));
}
