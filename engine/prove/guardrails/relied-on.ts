// Which exclusive pairs a guardrail holds by: a set of pairs with which it holds, and without any one of them it does not.
import { countPairs, type ExclusivePair } from '../../model/exclusions.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { sortTexts } from '../../model/order.js';

type List = readonly Identity[];

/** A guardrail that holds only because no actor carries both identities of a pair. */
export interface Reliance {
  readonly guardrail: string;
  /** In the order of the policy. */
  readonly pairs: readonly ExclusivePair[];
  /** Not known, because the proof would need more steps than the limit. Absent otherwise. */
  readonly unknown?: true;
}

/**
 * The pairs that are needed. `holds` proves the rule as if there were only these lists; it is called at most `tries` times. With more
 * pairs, entire lists are tried, and with more lists each is named.
 */
export function reliedOn(
  exclusive: readonly List[],
  holds: (lists: readonly List[]) => boolean,
  tries: number,
): Reliance['pairs'] {
  if (exclusive.length === 0 || holds([])) return [];
  const pairs = countPairs(exclusive.map(({ length }) => length)) < tries ? exclusive.flatMap(pairsOf) : exclusive;
  let needed = pairs;
  if (pairs.length < tries) {
    for (const list of pairs) {
      const others = needed.filter((one) => one !== list);
      if (holds(others)) needed = others;
    }
  }
  const texts = needed.flatMap(pairsOf).map(([a, b]) => sortTexts([formatIdentity(a), formatIdentity(b)]));
  return texts.map(([a = '', b = '']) => [a, b]);
}

function pairsOf(list: List): readonly (readonly [Identity, Identity])[] {
  return list.flatMap((a, i) => list.slice(i + 1).map((b) => [a, b] as const));
}
