// Why an access that a test expects is not allowed: the grant that comes nearest to allowing it, and what that grant lacks.
import type { Actor } from '../../model/actor.js';
import type { GrantRef, Step } from '../../model/decision.js';
import { formatIdentity } from '../../model/identity.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { isWithin, lineageOf, type NamespacePath } from '../../model/namespace.js';
import type { PolicyGrant, Principal } from '../../model/policy-set.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope, NO_SCOPES, scopeNames } from '../../model/scope-set.js';
import { carriesAll } from '../../model/vocabulary.js';
import { lineOf } from '../../model/span.js';

export interface NearestMiss {
  /** Null if no grant could help. */
  readonly grant: GrantRef | null;
  /** What stands in the way, in one line. */
  readonly text: string;
}

export interface Miss {
  readonly actor: Actor;
  readonly scope: ScopeName;
  readonly namespace: NamespacePath;
  readonly at: Instant;
  readonly step: Step;
}

/** `held` are the ids of the actor's grants; `grants` are all grants of the policy. */
export function nearestMiss(miss: Miss, held: ReadonlySet<string>, grants: readonly PolicyGrant[]): NearestMiss {
  const { actor, step } = miss;
  if (step === 'restriction') {
    const restrictions = actor.namespaceRestrictions ?? [];
    const text =
      restrictions.length === 0
        ? 'the credential is restricted to no namespace at all'
        : `the credential is restricted to ${restrictions.join(', ')}`;
    return { grant: null, text };
  }
  if (step === 'credential_scope') {
    const carried = scopeNames(carriesAll(actor.credentialScopes) ? NO_SCOPES : actor.credentialScopes);
    return {
      grant: null,
      text:
        carried.length === 0 ? 'the credential carries no scope' : `the credential carries only ${carried.join(', ')}`,
    };
  }
  if (step === 'exclusive') return { grant: null, text: 'nobody may have both identities (`exclusive`)' };
  if (step === 'target_relationship')
    return { grant: null, text: 'the namespaces are not related as this access needs' };
  return nearestGrant(miss, held, grants);
}

function nearestGrant(miss: Miss, held: ReadonlySet<string>, grants: readonly PolicyGrant[]): NearestMiss {
  const { scope, namespace, at } = miss;
  const own = nearestFirst(
    grants.filter(({ id }) => held.has(id)),
    namespace,
  );
  const above = own.filter((grant) => isWithin(namespace, grant.namespace));
  const covers = (grant: PolicyGrant): boolean => grant.inherit || grant.namespace === namespace;

  const early = above.find((grant) => covers(grant) && hasScope(grant.scopes, scope) && !inForce(grant, at));
  if (early !== undefined) return found(early, `is in force ${windowText(early)} only`);
  const exact = above.find((grant) => !covers(grant) && hasScope(grant.scopes, scope) && inForce(grant, at));
  if (exact !== undefined) return found(exact, `counts at ${exact.namespace} only (\`inherit: false\`)`);
  const inTime = above.find((grant) => covers(grant) && hasScope(grant.scopes, scope) && inForce(grant, at));
  if (inTime !== undefined) return found(inTime, 'is held through a membership that is not in force then');
  const narrow = above.find((grant) => covers(grant) && inForce(grant, at));
  if (narrow !== undefined) return found(narrow, `carries only ${scopeNames(narrow.scopes).join(', ')}`);
  const others = grants.filter((grant) => !held.has(grant.id) && isWithin(namespace, grant.namespace) && covers(grant));
  const foreign = nearestFirst(others, namespace).find((grant) => hasScope(grant.scopes, scope) && inForce(grant, at));
  if (foreign !== undefined)
    return found(foreign, `is for ${principalText(foreign.principal)}, which does not include this actor`);
  const elsewhere = own.find((grant) => hasScope(grant.scopes, scope));
  if (elsewhere !== undefined)
    return found(elsewhere, `is bound to ${elsewhere.namespace}, which is not ${namespace} or above it`);
  return { grant: null, text: 'no grant comes close' };
}

/** Longest common lineage first, then by id, so that the answer does not depend on the order of files. */
function nearestFirst(grants: readonly PolicyGrant[], namespace: NamespacePath): readonly PolicyGrant[] {
  const line = lineageOf(namespace);
  const shared = (grant: PolicyGrant): number => line.findLastIndex((path) => isWithin(grant.namespace, path));
  return grants
    .map((grant) => ({ grant, common: shared(grant) }))
    .sort((a, b) => b.common - a.common || (a.grant.id < b.grant.id ? -1 : 1))
    .map(({ grant }) => grant);
}

function inForce(grant: PolicyGrant, at: Instant): boolean {
  return (grant.notBefore === null || grant.notBefore <= at) && (grant.expires === null || at < grant.expires);
}

function windowText(grant: PolicyGrant): string {
  const from = grant.notBefore === null ? '' : `from ${formatInstant(grant.notBefore)}`;
  const until = grant.expires === null ? '' : `until ${formatInstant(grant.expires)}`;
  return `${from} ${until}`.trim();
}

function principalText(principal: Principal): string {
  return principal.kind === 'role'
    ? `role \`${principal.role}\``
    : `identity \`${formatIdentity(principal.identity)}\``;
}

function found(grant: PolicyGrant, lacks: string): NearestMiss {
  return { grant: toGrantRef(grant), text: `grant \`${grant.id}\` ${lacks}` };
}

export function toGrantRef({ id, place }: PolicyGrant): GrantRef {
  return place === null ? { id } : { id, file: place.file, line: lineOf(place) };
}
