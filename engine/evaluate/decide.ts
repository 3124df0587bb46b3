// One request to one decision (design 2.3): the six steps in their order, creation and copy on top of them. Total and
// pure: any actor, request and instant gives an answer.
import type { Actor } from '../model/actor.js';
import type { Access, AccessStep, Copy, CreateNamespace, Decision, Request, Step } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { assertNever } from '../model/invariant.js';
import { isWithin, type NamespacePath, parentOf } from '../model/namespace.js';
import { hasScope, scopeBit, type ScopeName } from '../model/scope.js';
import { findGrants, grantRefs } from './find-grants.js';
import type { Policy } from './policy.js';
import { passesRestriction, type Resolved, resolve, type ResolvedActor } from './resolve-actor.js';

export interface DecideInput {
  readonly actor: Actor;
  readonly request: Request;
  readonly at: Instant;
}

/** Grants are all that carry the scope, sorted by id; for a copy those of both sides; none where no policy applies. */
export function decide(policy: Policy, input: DecideInput): Decision {
  return decideResolved(resolve(policy, input.actor), input);
}

/** As `decide`, under the policy that the actor was resolved against. */
export function decideAs(actor: ResolvedActor, input: { readonly request: Request; readonly at: Instant }): Decision {
  return decideResolved(actor as Resolved, input);
}

function decideResolved(
  actor: Resolved,
  { request, at }: { readonly request: Request; readonly at: Instant },
): Decision {
  switch (request.kind) {
    case 'access':
      return answer(actor, judge(actor, request, at));
    case 'create-namespace':
      return decideCreation(actor, request, at);
    case 'copy':
      return decideCopy(actor, request, at);
    default:
      return assertNever(request);
  }
}

/** The root cannot be created; anything else needs `namespace:write` at its parent. */
function decideCreation(actor: Resolved, request: CreateNamespace, at: Instant): Decision {
  const parent = parentOf(request.namespace);
  return parent === null ? denied('canonicalize') : answer(actor, judge(actor, own('namespace:write', parent), at));
}

/** The source first, so that a permission there is never enough and a denial there never speaks of the destination. */
function decideCopy(actor: Resolved, request: Copy, at: Instant): Decision {
  const source = judge(actor, own('resource:read', request.source), at);
  if (!Array.isArray(source)) return { decision: 'deny', step: 'source_read', cause: source };
  const destination = judge(actor, own('resource:write', request.destination), at);
  if (!Array.isArray(destination)) return { decision: 'deny', step: 'destination_write', cause: destination };
  return answer(
    actor,
    [...new Set([...source, ...destination])].sort((a, b) => a - b),
  );
}

function own(scope: ScopeName, namespace: NamespacePath): Access {
  return { kind: 'access', scope, context: namespace, target: namespace };
}

/** Steps 2 to 6: the rows of the grants, or the step that failed. */
export function judge(actor: Resolved, access: Access, at: Instant): number[] | AccessStep {
  const { scope, context, target } = access;
  if (!passesRestriction(actor, target)) return 'restriction';
  let grants: number[] = [];
  if (actor.policy !== null) {
    grants = findGrants(actor.policy, actor.principals, { target, scopes: scopeBit(scope), at });
    if (grants.length === 0) return 'no_matching_grant';
  }
  if (!actor.local && !hasScope(actor.credentialScopes, scope)) return 'credential_scope';
  return isRelated(scope, context, target) ? grants : 'target_relationship';
}

/** Step 6: what may be read from below is published downwards; process runs and every write stay where they are. */
function isRelated(scope: ScopeName, context: NamespacePath, target: NamespacePath): boolean {
  if (target === context) return true;
  return scope.endsWith(':read') && scope !== 'process-run:read' && isWithin(context, target);
}

function answer(actor: Resolved, judged: readonly number[] | AccessStep): Decision {
  if (typeof judged === 'string') return denied(judged);
  return { decision: 'allow', grants: actor.policy === null ? [] : grantRefs(actor.policy.tables, judged) };
}

export function denied(step: Step): Decision {
  return { decision: 'deny', step };
}
