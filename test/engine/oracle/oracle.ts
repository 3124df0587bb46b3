// The slow, obvious evaluator: it follows docs/meaning.md word for word, over the linked policy. It has no numbers, no trie and no bits,
// and shares only types with the engine.
import type {
  Access,
  Actor,
  Decision,
  Identity,
  NamespacePath,
  Request,
  ScopeName,
  ScopeSet,
  Step,
  Visibility,
  VisibilityRequest,
} from '../../../engine/index.js';
import { ALL_SCOPES, isScopeName, scopeNames, SCOPES } from '../../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicySet, Principal } from '../../../engine/model/policy-set.js';

/** `/labs/optics` is at or below `/labs`; `/labs2` is not. */
export function isAtOrBelow(path: string, above: string): boolean {
  const have = segmentsOf(path);
  return segmentsOf(above).every((segment, index) => have[index] === segment);
}

const split = new Map<string, readonly string[]>();

/** Kept: brute force asks for the same few paths millions of times. */
function segmentsOf(path: string): readonly string[] {
  let segments = split.get(path);
  if (segments === undefined) {
    segments = path.split('/').filter((segment) => segment !== '');
    split.set(path, segments);
  }
  return segments;
}

function isOne(a: Identity, b: Identity): boolean {
  return a.provider === b.provider && a.subject === b.subject;
}

/** A membership has a window, or none. */
function isMemberAt({ notBefore = null, expires = null }: PolicyMember, at: number): boolean {
  return (notBefore === null || notBefore <= at) && (expires === null || at < expires);
}

function includes(
  policy: PolicySet,
  principal: Principal,
  { identity, at }: { identity: Identity; at: number },
): boolean {
  if (principal.kind === 'identity') return isOne(principal.identity, identity);
  const role = policy.roles.find((candidate) => candidate.name === principal.role);
  return (
    role !== undefined &&
    role.members.some((member) => isMemberAt(member, at) && includes(policy, member, { identity, at }))
  );
}

/** Steps 3 and 4: the ids of the grants that carry the scope, sorted. */
export function oracleGrants(
  policy: PolicySet,
  asked: { identities: readonly Identity[]; scope: ScopeName; target: string; at: number },
): readonly string[] {
  const carries = (grant: PolicyGrant): boolean =>
    asked.identities.some((identity) => includes(policy, grant.principal, { identity, at: asked.at })) &&
    (grant.namespace === asked.target || (grant.inherit && isAtOrBelow(asked.target, grant.namespace))) &&
    (grant.notBefore === null || grant.notBefore <= asked.at) &&
    (grant.expires === null || asked.at < grant.expires) &&
    scopeNames(grant.scopes).includes(asked.scope);
  return policy.grants
    .filter(carries)
    .map((grant) => grant.id)
    .sort();
}

/** The first two different identities of the actor that stand in one list of `exclusive`. */
function excluded(policy: PolicySet, actor: Actor): readonly [string, string] | null {
  if (actor.kind === 'local') return null;
  const texts = [...new Set(actor.identities.map(({ provider, subject }) => `${provider}:${subject}`))].sort();
  for (const [i, a] of texts.entries()) {
    for (const b of texts.slice(i + 1)) {
      const both = policy.exclusive.some(({ identities }) =>
        [a, b].every((text) => identities.some(({ provider, subject }) => `${provider}:${subject}` === text)),
      );
      if (both) return [a, b];
    }
  }
  return null;
}

/** The ten, and those of the families that the policy declares. */
export function oracleScopes({ families = [] }: PolicySet): readonly ScopeName[] {
  const own = families.flatMap(({ name, actions }) =>
    ['read', 'write', ...actions].map((action) => `${name}:${action}`),
  );
  return [...SCOPES, ...own.filter(isScopeName)];
}

/** The grants of an allowed access, or the step at which it fails. */
function oracleAccess(policy: PolicySet, actor: Actor, access: Access, at: number): readonly string[] | Step {
  const { scope, context, target } = access;
  if (!oracleScopes(policy).includes(scope)) return 'unknown_scope';
  if (excluded(policy, actor) !== null) return 'exclusive';
  const local = actor.kind === 'local';
  const restrictions = actor.namespaceRestrictions;
  if (!local && restrictions !== null && !restrictions.some((restriction) => isAtOrBelow(target, restriction))) {
    return 'restriction';
  }
  const grants = local ? [] : oracleGrants(policy, { identities: actor.identities, scope, target, at });
  if (!local && grants.length === 0) return 'no_matching_grant';
  const carried = actor.credentialScopes;
  if (!local && carried !== ALL_SCOPES && !scopeNames(carried as ScopeSet).includes(scope)) return 'credential_scope';
  const inherits = scope.split(':')[1] === 'read' && scope.split(':')[0] !== 'process-run';
  const related = inherits ? isAtOrBelow(context, target) : context === target;
  return related ? grants : 'target_relationship';
}

/** As `decide`, with grants by id. */
export function oracleDecide(
  policy: PolicySet,
  { actor, request, at }: { actor: Actor; request: Request; at: number },
): {
  readonly decision: Decision['decision'];
  readonly grants?: readonly string[];
  readonly step?: Step;
  readonly cause?: Step;
  readonly identities?: readonly [string, string];
} {
  const identities = excluded(policy, actor);
  const answer = (judged: readonly string[] | Step): ReturnType<typeof oracleDecide> =>
    typeof judged !== 'string'
      ? { decision: 'allow', grants: judged }
      : { decision: 'deny', step: judged, ...(judged === 'exclusive' && identities !== null ? { identities } : {}) };
  const access = (scope: ScopeName, namespace: NamespacePath): readonly string[] | Step =>
    oracleAccess(policy, actor, { kind: 'access', scope, context: namespace, target: namespace }, at);
  if (request.kind === 'access') return answer(oracleAccess(policy, actor, request, at));
  if (request.kind === 'create-namespace') {
    if (request.namespace === '/') return { decision: 'deny', step: 'canonicalize' };
    const parent = request.namespace.slice(0, request.namespace.lastIndexOf('/')) || '/';
    return answer(access('namespace:write', parent as NamespacePath));
  }
  if (identities !== null) return answer('exclusive');
  const source = access('resource:read', request.source);
  if (typeof source === 'string') return { decision: 'deny', step: 'source_read', cause: source };
  const destination = access('resource:write', request.destination);
  if (typeof destination === 'string') return { decision: 'deny', step: 'destination_write', cause: destination };
  return answer([...new Set([...source, ...destination])].sort());
}

/** docs/meaning.md "Visibility": which of `universe` are visible, one by one. */
export function oracleVisible(
  policy: PolicySet,
  asked: { actor: Actor; request: VisibilityRequest; at: number; universe: readonly NamespacePath[] },
): ReadonlySet<NamespacePath> {
  const { actor, request, at, universe } = asked;
  const { family, context, reach, action = 'read' } = request;
  const scope = `${family}:${action}`;
  if (!isScopeName(scope)) return new Set();
  const visible = universe.filter((target) => {
    if (reach === 'exact' && target !== context) return false;
    if (reach === 'subtree' && !isAtOrBelow(target, context)) return false;
    if (reach === 'lineage' && !isAtOrBelow(context, target)) return false;
    // In subtree reach the relation is that the target is the context or below it; asking from the target itself leaves
    // just the other steps. So it does for runs, each of which has its own namespace as its context.
    const from = reach === 'subtree' || family === 'process-run' ? target : context;
    return typeof oracleAccess(policy, actor, { kind: 'access', scope, context: from, target }, at) !== 'string';
  });
  return new Set(visible);
}

/** The members of `universe` that a visibility stands for. */
export function spell(visibility: Visibility, universe: readonly NamespacePath[]): ReadonlySet<NamespacePath> {
  if (visibility.kind === 'none') return new Set();
  if (visibility.kind === 'all') return new Set(universe);
  const { exact, subtrees } = visibility;
  return new Set(universe.filter((path) => exact.includes(path) || subtrees.some((root) => isAtOrBelow(path, root))));
}

/** Everything that is decided at the given places and times, as one text for each place: equal texts, equal decisions. */
export function oracleCells(
  policy: PolicySet,
  asked: { identities: readonly Identity[]; paths: readonly NamespacePath[]; instants: readonly number[] },
): ReadonlyMap<NamespacePath, string> {
  const pairs = asked.identities.flatMap((a) =>
    asked.identities
      .filter((b) =>
        policy.exclusive.some(({ identities }) => [a, b].every((one) => identities.some((other) => isOne(one, other)))),
      )
      .map((b) => `${a.provider} ${a.subject} excludes ${b.provider} ${b.subject}`),
  );
  const texts = asked.paths.map((target): [NamespacePath, string] => {
    const above = policy.grants.filter(
      (grant) => grant.namespace === target || (grant.inherit && isAtOrBelow(target, grant.namespace)),
    );
    const lines = asked.identities.flatMap((identity) => {
      return asked.instants.map((at) => {
        const inForce = above.filter(
          (grant) =>
            includes(policy, grant.principal, { identity, at }) &&
            (grant.notBefore ?? -Infinity) <= at &&
            at < (grant.expires ?? Infinity),
        );
        const scopes = new Set(inForce.flatMap((grant) => scopeNames(grant.scopes)));
        return `${identity.provider} ${identity.subject} ${String(at)} ${[...scopes].sort().join()}`;
      });
    });
    return [target, [...lines, ...pairs, ...oracleScopes(policy)].join('\n')];
  });
  return new Map(texts);
}
