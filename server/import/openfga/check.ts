// How OpenFGA answers a check by tuples alone, for relations that the model lets users have directly: the tuple is there, or one for a set of
// users to which the user belongs.
import { valueIn } from '../value-in.js';
import type { RelationTuple } from './read-tuples.js';

/** By a user or a set of users such as `team:eng#member`: the sets in which it is by a tuple. */
export type TargetsByUser = ReadonlyMap<string, readonly string[]>;

/** Made once for all users. */
export function targetsByUser(tuples: readonly RelationTuple[]): TargetsByUser {
  const byUser = new Map<string, string[]>();
  for (const { user, relation, object } of tuples) valueIn(byUser, user, () => []).push(`${object}#${relation}`);
  return byUser;
}

/** Answers for one user, whose sets are looked up once. */
export function checkerFor(byUser: TargetsByUser, user: string): (relation: string, object: string) => boolean {
  const sets = new Set(byUser.get(user));
  // A set that is added on the way comes later in the same loop.
  for (const set of sets) for (const outer of byUser.get(set) ?? []) sets.add(outer);
  return (relation, object) => sets.has(`${object}#${relation}`);
}
