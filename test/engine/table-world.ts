// A decision table to ask: small policies of one person's grants.
import { compilePolicy } from '../../engine/compiler.js';
import {
  decide,
  type Identity,
  type Instant,
  instantOf,
  loadSnapshot,
  type NamespacePath,
  type Policy,
  type ScopeSet,
} from '../../engine/index.js';
import type { PolicyGrant, PolicySet } from '../../engine/model/policy-set.js';
import { pathOf } from './oracle/worlds.js';

export const READ = 16 as ScopeSet;
export const NOW = instantOf(0);
export const ADA: Identity = { provider: 'orcid', subject: 'ada' };

export function load(set: PolicySet): Policy {
  const loaded = loadSnapshot(bytesOf(set));
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

export function bytesOf(set: PolicySet): Uint8Array {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('it compiles');
  return compiled.snapshot.bytes;
}

export const grant = (namespace: string, change: Partial<PolicyGrant> = {}): Omit<PolicyGrant, 'id'> => ({
  principal: { kind: 'identity', identity: ADA },
  namespace: pathOf(namespace),
  scopes: READ,
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
  ...change,
});

export const actorOf = (...identities: readonly Identity[]) =>
  ({ kind: 'request', identities, credentialScopes: 1023 as ScopeSet, namespaceRestrictions: null }) as const;

/** The grants that allow reading there, or the step that fails. */
export function ask(policy: Policy, identity: Identity, path: string): string {
  return askAt(policy, identity, { path, at: NOW });
}

export function askAt(
  policy: Policy,
  identity: Identity,
  { path, at }: { readonly path: string; readonly at: Instant },
): string {
  const namespace: NamespacePath = pathOf(path);
  const request = { kind: 'access', scope: 'resource:read', context: namespace, target: namespace } as const;
  const decision = decide(policy, { actor: actorOf(identity), request, at });
  return decision.decision === 'allow' ? decision.grants.map(({ id }) => id).join() : decision.step;
}
