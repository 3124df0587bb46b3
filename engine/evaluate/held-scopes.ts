// What an actor may do in one namespace: every scope that passes steps 1 to 5 there, with the grants that carry it.
import type { Actor } from '../model/actor.js';
import type { GrantRef } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import { ALL_SCOPES, type ScopeName, scopeNames } from '../model/scope.js';
import { decide } from './decide.js';
import type { Policy } from './policy.js';

export interface HeldScope {
  readonly scope: ScopeName;
  readonly grants: readonly GrantRef[];
}

/** In the order of code points. With context and target the same, step 6 always holds. */
export function heldScopes(
  policy: Policy,
  input: { readonly actor: Actor; readonly namespace: NamespacePath; readonly at: Instant },
): readonly HeldScope[] {
  const { actor, namespace, at } = input;
  const held: HeldScope[] = [];
  for (const scope of scopeNames(ALL_SCOPES)) {
    const request = { kind: 'access', scope, context: namespace, target: namespace } as const;
    const decision = decide(policy, { actor, request, at });
    if (decision.decision === 'allow') held.push({ scope, grants: decision.grants });
  }
  return held;
}
