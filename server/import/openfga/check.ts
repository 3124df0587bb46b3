// How OpenFGA answers a check by tuples alone, for relations that the model lets users have directly: the tuple is there, or one for a set of
// users to which the user belongs.
import { valueIn } from '../value-in.js';
import type { RelationTuple } from './read-tuples.js';

/** By a set of users such as `team:eng#member`: who is in it by a tuple. */
export type UsersByTarget = ReadonlyMap<string, readonly string[]>;

/** Made once for all users. */
export function usersByTarget(tuples: readonly RelationTuple[]): UsersByTarget {
  const byTarget = new Map<string, string[]>();
  for (const { user, relation, object } of tuples) valueIn(byTarget, `${object}#${relation}`, () => []).push(user);
  return byTarget;
}

/** Answers for one user. */
export function checkerFor(byTarget: UsersByTarget, user: string): (relation: string, object: string) => boolean {
  return (relation, object) => {
    const sets = new Set([`${object}#${relation}`]);
    // A set that is added on the way comes later in the same loop.
    for (const set of sets)
      for (const who of byTarget.get(set) ?? []) {
        if (who === user) return true;
        if (who.includes('#')) sets.add(who);
      }
    return false;
  };
}
