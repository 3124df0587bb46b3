// What an actor may do in one namespace: every scope that passes steps 1 to 5 there, with the grants that carry it.
import type { Actor } from '../model/actor.js';
import type { GrantRef } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import { ALL_SCOPES, scopeBit, type ScopeName, scopeNames } from '../model/scope.js';
import { citedGrants } from './decide.js';
import { ASKED, judgeScopes } from './judge-request.js';
import type { Policy } from './policy.js';
import { beginTurn, endTurn } from './turn.js';
import { type Asker, askerOf, askFor, type ResolvedActor } from './resolve-actor.js';

export interface HeldScope {
  readonly scope: ScopeName;
  readonly grants: readonly GrantRef[];
}

interface Place {
  readonly namespace: NamespacePath;
  readonly at: Instant;
}

/** In the order of code points. With context and target the same, step 6 always holds. */
export function heldScopes(policy: Policy, input: Place & { readonly actor: Actor }): readonly HeldScope[] {
  const turn = beginTurn();
  return endTurn(turn, heldBy(askFor(policy, input.actor), input));
}

/** Like `heldScopes`, under the policy that the actor was resolved against. */
export function heldScopesAs(actor: ResolvedActor, place: Place): readonly HeldScope[] {
  const turn = beginTurn();
  return endTurn(turn, heldBy(askerOf(actor), place));
}

function heldBy(asker: Asker, { namespace, at }: Place): readonly HeldScope[] {
  const bits = judgeScopes(asker, namespace, at);
  const held = scopeNames(ALL_SCOPES).filter((scope) => (bits & scopeBit(scope)) !== 0);
  return held.map((scope) => {
    ASKED.scopes = scopeBit(scope);
    return { scope, grants: citedGrants(asker) };
  });
}
