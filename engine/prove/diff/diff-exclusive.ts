// Which identities exclude each other in one policy and not in the other. A removed pair opens everything that an actor with both
// identities would hold; an added one closes it.
import { type ExclusivePair, pairTexts } from '../../model/exclusions.js';
import { identityText, type PolicyTables } from '../../model/tables.js';

export interface ExclusiveDiff {
  /** Sorted. */
  readonly added: readonly ExclusivePair[];
  readonly removed: readonly ExclusivePair[];
}

export function diffExclusive(old: PolicyTables, changed: PolicyTables): ExclusiveDiff {
  const [before, after] = [pairsOf(old), pairsOf(changed)];
  const missing = (from: Pairs, other: Pairs): readonly ExclusivePair[] =>
    [...from].filter(([key]) => !other.has(key)).map(([, pair]) => pair);
  return { added: missing(after, before), removed: missing(before, after) };
}

type Pairs = ReadonlyMap<string, ExclusivePair>;

function pairsOf(tables: PolicyTables): Pairs {
  const pairs = pairTexts(tables.exclusive, (row) => identityText(tables, row));
  return new Map(pairs.map((pair) => [JSON.stringify(pair), pair]));
}
