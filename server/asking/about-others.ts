// Decisions about others (docs/asking.md): an asker learns what the policy says of a subject, but only of what its own
// credential reaches. Outside of that every answer is no, whatever the policy says. Recording, replaying and answering
// use this file, so they agree.
import {
  type Actor,
  canonicalize,
  carriedByBoth,
  carriesScope,
  type Decision,
  decideAs,
  type Instant,
  isWithin,
  lineageOf,
  type NamespacePath,
  type Policy,
  type RawRequest,
  type Request,
  resolveActor,
  type ResolvedActor,
  type ScopeName,
  unrestrictedLike,
  type Visibility,
} from '../../engine/index.js';

/** The part of an asker that bounds what it may ask about. */
export type AskerBounds = Pick<Actor, 'credentialScopes' | 'namespaceRestrictions'>;

/** What an asker may ask about, as an actor who holds everything there. */
export type Bounds = ResolvedActor;

/** By policy: everything, in the scopes of that policy. */
const everything = new WeakMap<Policy, Policy>();

export function boundsOf({ credentialScopes, namespaceRestrictions }: AskerBounds, policy: Policy): Bounds {
  let all = everything.get(policy);
  if (all === undefined) everything.set(policy, (all = unrestrictedLike(policy)));
  return resolveActor(all, { kind: 'key', identities: [], credentialScopes, namespaceRestrictions });
}

/** `decide` is only called about what the asker may ask about. */
export function decideWithin(
  bounds: Bounds,
  { request, at }: { readonly request: RawRequest; readonly at: Instant },
  decide: () => Decision,
): Decision {
  const own = decideAs(bounds, { request, at });
  // The relation of target and context is the same for everybody, and comes after what the subject holds.
  if (own.decision === 'allow' || (own.cause ?? own.step) === 'target_relationship') return decide();
  return own;
}

/** Null if a part is no path or no scope of the policy, so that nothing could be decided about it. */
export function canonicalRequest(request: RawRequest, { scopes }: Pick<Policy, 'scopes'>): Request | null {
  switch (request.kind) {
    case 'access': {
      const [target, context] = [canonicalize(request.target), canonicalize(request.context ?? request.target)];
      const scope = scopes.find((known) => known === request.scope);
      if (!target.ok || !context.ok || scope === undefined) return null;
      return { kind: 'access', scope, context: context.path, target: target.path };
    }
    case 'create-namespace': {
      const named = canonicalize(request.namespace);
      return named.ok ? { kind: 'create-namespace', namespace: named.path } : null;
    }
    case 'copy': {
      const [source, destination] = [canonicalize(request.source), canonicalize(request.destination)];
      if (!source.ok || !destination.ok) return null;
      return { kind: 'copy', source: source.path, destination: destination.path };
    }
  }
}

/** The subject with no more than the asker may ask about. */
export function narrowed(asker: AskerBounds, subject: Actor): Actor {
  const credentialScopes = carriedByBoth(asker.credentialScopes, subject.credentialScopes);
  const [own, others] = [asker.namespaceRestrictions, subject.namespaceRestrictions];
  const namespaceRestrictions = own === null ? others : others === null ? own : meet(own, others);
  return { ...subject, credentialScopes, namespaceRestrictions };
}

/** `see` is only called for a scope that the asker may ask about. */
export function seeWithin(asker: AskerBounds, scope: ScopeName, see: () => Visibility): Visibility {
  if (mayAskOf(asker, scope)) return see();
  return { kind: 'none', step: 'credential_scope' };
}

export function mayAskOf({ credentialScopes }: AskerBounds, scope: ScopeName): boolean {
  return carriesScope(credentialScopes, scope);
}

/** Whether the asker may ask about this very namespace. */
export function mayAskAt({ namespaceRestrictions: restrictions }: AskerBounds, namespace: NamespacePath): boolean {
  return restrictions === null || restrictions.some((restriction) => isWithin(namespace, restriction));
}

interface Region {
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'subtree' | 'below';
  readonly except?: readonly NamespacePath[];
}

/** By the restrictions of an asker, because one answer has many regions: those that are not below others. */
const outermost = new WeakMap<readonly NamespacePath[], readonly NamespacePath[]>();

/** The parts of a region that the asker may ask about. None of them overlap. */
export function partsWithin<Held extends Region>(
  { namespaceRestrictions }: AskerBounds,
  region: Held,
): readonly Held[] {
  if (namespaceRestrictions === null) return [region];
  const { namespace, extent, except = [] } = region;
  let own = outermost.get(namespaceRestrictions);
  if (own === undefined) outermost.set(namespaceRestrictions, (own = tops(namespaceRestrictions)));
  return own.flatMap((top): readonly Held[] => {
    if (isWithin(namespace, top)) return [region];
    if (extent === 'exact' || !isWithin(top, namespace) || except.some((out) => isWithin(top, out))) return [];
    return [{ ...region, namespace: top, extent: 'subtree', except: except.filter((out) => isWithin(out, top)) }];
  });
}

/** Every path that is at or below one of each list. */
function meet(a: readonly NamespacePath[], b: readonly NamespacePath[]): readonly NamespacePath[] {
  const [ofA, ofB] = [new Set(a), new Set(b)];
  return tops([...a.filter((path) => isBelowAny(path, ofB)), ...b.filter((path) => isBelowAny(path, ofA))]);
}

/** Without those that are below others, each once. */
export function tops(paths: readonly NamespacePath[]): readonly NamespacePath[] {
  const distinct = new Set(paths);
  return [...distinct].filter((path) => !lineageOf(path).some((above) => above !== path && distinct.has(above)));
}

/** Whether the path is one of these or below one. */
export function isBelowAny(path: NamespacePath, places: ReadonlySet<NamespacePath>): boolean {
  return lineageOf(path).some((above) => places.has(above));
}
