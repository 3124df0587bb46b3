// A request in the texts that somebody typed: step 1 for everything that must be a path, then the scope's name, then the
// decision itself (design 2.3, 5.1).
import type { Actor } from '../model/actor.js';
import type { Decision, Request } from '../model/decision.js';
import type { Identity } from '../model/identity.js';
import type { Instant } from '../model/instant.js';
import { canonicalize, type NamespacePath } from '../model/namespace.js';
import { ALL_SCOPES, isScopeName, type ScopeName, scopeSetOf } from '../model/scope.js';
import { LOCAL_ACTOR } from '../model/actor.js';
import { decide, denied } from './decide.js';
import type { Policy } from './policy.js';

export type RawActor =
  | { readonly kind: 'local' }
  | {
      readonly kind: 'request';
      readonly identities: readonly Identity[];
      /** Null is all ten; a text that is no scope carries nothing. */
      readonly credentialScopes: readonly string[] | null;
      /** Null is none; an empty list allows nothing. */
      readonly namespaceRestrictions: readonly string[] | null;
    };

export type RawRequest =
  /** Without a context it is the target. */
  | { readonly kind: 'access'; readonly scope: string; readonly context?: string | undefined; readonly target: string }
  | { readonly kind: 'create-namespace'; readonly namespace: string }
  | { readonly kind: 'copy'; readonly source: string; readonly destination: string };

export interface RawInput {
  readonly actor: RawActor;
  readonly request: RawRequest;
  readonly at: Instant;
}

/** As `decide`, with the steps `canonicalize` and `unknown_scope` before it. */
export function decideRaw(policy: Policy, { actor, request, at }: RawInput): Decision {
  const known = canonicalActor(actor);
  const asked = canonicalRequest(request);
  if (known === null || asked === null) return denied('canonicalize');
  if (asked === 'unknown_scope') return denied('unknown_scope');
  return decide(policy, { actor: known, request: asked, at });
}

/** Null where a restriction is not a path. */
function canonicalActor(actor: RawActor): Actor | null {
  if (actor.kind === 'local') return LOCAL_ACTOR;
  const restrictions = actor.namespaceRestrictions === null ? null : canonicalPaths(actor.namespaceRestrictions);
  if (restrictions === null && actor.namespaceRestrictions !== null) return null;
  return {
    kind: 'request',
    identities: actor.identities,
    credentialScopes:
      actor.credentialScopes === null ? ALL_SCOPES : scopeSetOf(actor.credentialScopes.filter(isScopeName)),
    namespaceRestrictions: restrictions,
  };
}

function canonicalRequest(request: RawRequest): Request | 'unknown_scope' | null {
  switch (request.kind) {
    case 'access':
      return canonicalAccess(request.scope, request.context ?? request.target, request.target);
    case 'create-namespace': {
      const [namespace] = canonicalPaths([request.namespace]) ?? [];
      return namespace === undefined ? null : { kind: 'create-namespace', namespace };
    }
    case 'copy': {
      const [source, destination] = canonicalPaths([request.source, request.destination]) ?? [];
      return source === undefined || destination === undefined ? null : { kind: 'copy', source, destination };
    }
  }
}

function canonicalAccess(scope: string, contextText: string, targetText: string): Request | 'unknown_scope' | null {
  const [context, target] = canonicalPaths([contextText, targetText]) ?? [];
  if (context === undefined || target === undefined) return null;
  const name: ScopeName | null = isScopeName(scope) ? scope : null;
  return name === null ? 'unknown_scope' : { kind: 'access', scope: name, context, target };
}

/** Null unless every text is a path. */
function canonicalPaths(texts: readonly string[]): readonly NamespacePath[] | null {
  const paths: NamespacePath[] = [];
  for (const text of texts) {
    const result = canonicalize(text);
    if (!result.ok) return null;
    paths.push(result.path);
  }
  return paths;
}
