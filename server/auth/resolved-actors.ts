// Actors under the policies that decide about them. An actor is resolved once for each credential and policy, not for
// each request. What is kept for a policy goes away with its handle, so nothing outlives a swap. It is used only for
// exactly the same identities, scopes and restrictions, so a credential that changes cannot make it wrong.
import { type Policy, resolveActor, type ResolvedActor } from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import { makeLruCache, type LruCache } from '../lib/lru-cache.js';
import { bytesOf, type RequestActor } from './request-actor.js';

export type ActorResolver = (policy: Policy, actor: RequestActor) => ResolvedActor;

interface Known {
  readonly actor: RequestActor;
  readonly resolved: ResolvedActor;
}

/**
 * For each policy it keeps `POLICY_LIMITS.resolvedActors` actors, and forgets the one that has not come for longest.
 */
export function makeActorResolver(resolve: typeof resolveActor = resolveActor): ActorResolver {
  const byPolicy = new WeakMap<Policy, LruCache<Known>>();
  return (policy, actor) => {
    let recent = byPolicy.get(policy);
    if (recent === undefined) {
      recent = makeLruCache<Known>(POLICY_LIMITS.resolvedActorBytes, POLICY_LIMITS.resolvedActors);
      byPolicy.set(policy, recent);
    }
    const name = actor.credentialFingerprint ?? actor.kind;
    const known = recent.get(name);
    if (known !== undefined && isSame(known.actor, actor)) return known.resolved;
    const resolved = resolve(policy, actor);
    recent.put(name, { actor, resolved }, bytesOf(actor));
    return resolved;
  };
}

/** Whether two actors are the same in everything that a decision depends on. */
function isSame(a: RequestActor, b: RequestActor): boolean {
  return (
    a === b ||
    (a.kind === b.kind &&
      a.credentialScopes === b.credentialScopes &&
      areSame(a.identities, b.identities, (x, y) => x.provider === y.provider && x.subject === y.subject) &&
      areSame(a.namespaceRestrictions, b.namespaceRestrictions, (x, y) => x === y))
  );
}

function areSame<Item>(
  a: readonly Item[] | null,
  b: readonly Item[] | null,
  isEqual: (x: Item, y: Item) => boolean,
): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((item, index) => b[index] !== undefined && isEqual(item, b[index]));
}
