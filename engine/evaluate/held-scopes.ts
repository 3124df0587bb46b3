// What an actor may do in one namespace: every scope that passes steps 1 to 5 there, with the grants that carry it.
import type { Actor } from '../model/actor.js';
import type { GrantRef } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import type { NamespacePath } from '../model/namespace.js';
import { isScopeName, type ScopeName } from '../model/scope.js';
import { RECORD_SCOPE_SET, scopeNames } from '../model/scope-set.js';
import { compareTexts } from '../model/order.js';
import { bitOf, WORD_BITS } from '../table/scope-numbers.js';
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
  const isLong = RECORD_SCOPES.length + asker.own.names.length > WORD_BITS;
  const held = [
    judgeScopes(asker, namespace, { at, word: 0 }),
    isLong ? judgeScopes(asker, namespace, { at, word: 1 }) : 0,
  ];
  return scopesOf(asker).flatMap((scope) => {
    const { scopes, word } = bitOf(scope, asker.own);
    if (((held[word] ?? 0) & scopes) === 0) return [];
    ASKED.scopes = scopes;
    ASKED.word = word;
    return [{ scope, grants: citedGrants(asker) }];
  });
}

const RECORD_SCOPES = scopeNames(RECORD_SCOPE_SET);

/** All scopes that the policy knows, sorted. */
function scopesOf({ own }: Asker): readonly ScopeName[] {
  if (own.names.length === 0) return RECORD_SCOPES;
  return [...RECORD_SCOPES, ...own.names.filter(isScopeName)].sort(compareTexts);
}
