// How OpenFGA answers a check by tuples alone, for relations that the model lets users have directly: the tuple is there, or one for a set of
// users to which the user belongs.
import type { RelationTuple } from './read-tuples.js';

/** Answers for one user. */
export function checkerFor(
  tuples: readonly RelationTuple[],
  user: string,
): (relation: string, object: string) => boolean {
  const byTarget = new Map<string, string[]>();
  for (const { user: who, relation, object } of tuples) {
    const target = `${object}#${relation}`;
    byTarget.set(target, [...(byTarget.get(target) ?? []), who]);
  }
  const has = (target: string, above: readonly string[]): boolean =>
    (byTarget.get(target) ?? []).some(
      (who) => who === user || (who.includes('#') && !above.includes(who) && has(who, [...above, who])),
    );
  return (relation, object) => has(`${object}#${relation}`, [`${object}#${relation}`]);
}
