// Who asks, in the terms of one policy: done once per actor and policy, so that a gateway may keep the result for as long
// as neither changes (specification 5, step 3).
import type { Actor } from '../model/actor.js';
import type { Identity } from '../model/identity.js';
import { isWithin, type NamespacePath } from '../model/namespace.js';
import type { ScopeSet } from '../model/scope.js';
import { type Policy, preparedOf } from './policy.js';
import type { PreparedPolicy } from './prepare.js';

declare const brand: unique symbol;

/** Opaque; belongs to the policy that it was resolved against. */
export interface ResolvedActor {
  readonly [brand]: 'ResolvedActor';
}

export interface Resolved extends ResolvedActor {
  /** Null where grants do not matter: the local actor, and everyone under the unrestricted policy. */
  readonly policy: PreparedPolicy | null;
  readonly local: boolean;
  /** Sorted; those that have grants. */
  readonly principals: Int32Array;
  readonly credentialScopes: ScopeSet;
  readonly restrictions: readonly NamespacePath[] | null;
}

const NOBODY = new Int32Array(0);

export function resolveActor(policy: Policy, actor: Actor): ResolvedActor {
  return resolve(policy, actor);
}

export function resolve(policy: Policy, actor: Actor): Resolved {
  const local = actor.kind === 'local';
  const tables = local ? null : preparedOf(policy);
  return {
    policy: tables,
    local,
    principals: tables === null ? NOBODY : principalsOf(tables, actor.identities),
    credentialScopes: actor.credentialScopes,
    restrictions: actor.namespaceRestrictions,
  } as Resolved;
}

function principalsOf(policy: PreparedPolicy, identities: readonly Identity[]): Int32Array {
  if (identities.length === 1) return identities[0] === undefined ? NOBODY : principalsOfOne(policy, identities[0]);
  const all = new Set<number>();
  for (const identity of identities) for (const principal of principalsOfOne(policy, identity)) all.add(principal);
  return Int32Array.from(all).sort();
}

function principalsOfOne(policy: PreparedPolicy, identity: Identity): Int32Array {
  const row = policy.identityRows.get(identity.provider)?.get(identity.subject);
  const holder = row === undefined ? -1 : (policy.holders.classOf[row] ?? -1);
  return holder < 0
    ? NOBODY
    : policy.holders.principals.subarray(policy.holders.start[holder], policy.holders.start[holder + 1]);
}

/** Step 2: unrestricted, or a restriction is the target or an ancestor of it. */
export function passesRestriction(actor: Resolved, target: NamespacePath): boolean {
  if (actor.local || actor.restrictions === null) return true;
  for (const restriction of actor.restrictions) if (isWithin(target, restriction)) return true;
  return false;
}
