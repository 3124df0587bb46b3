// Small policies of which tests compare the checks.
import { type Identity, scopeSetOf } from '../../engine/index.js';
import type { Exemption, GuardrailRule, PolicyGrant, PolicyMember, PolicySet } from '../../engine/model/policy-set.js';
import { ADA, FULL, place } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';

export const EVE: Identity = { provider: 'orcid', subject: 'eve' };
export const READ = scopeSetOf(['resource:read']);
export const WRITE = scopeSetOf(['resource:write']);
export const BOTH = scopeSetOf(['resource:read', 'resource:write']);
export const NOBODY: Exemption = { roles: [], identities: [] };
export const EVERYONE = { to: null, except: NOBODY } as const;

export const person = (identity: Identity): PolicyMember => ({ kind: 'identity', identity, place: null });
export const inner = (role: string): PolicyMember => ({ kind: 'role', role, place: null });
export const role = (name: string, ...members: PolicyMember[]): PolicySet['roles'][number] => ({
  ...{ name, members, description: null, place: null },
});
export const grantIn = (id: string, file: string | null): PolicyGrant => ({
  ...{ id, principal: { kind: 'identity', identity: ADA }, namespace: pathOf('/a'), scopes: READ, inherit: true },
  ...{ notBefore: null, expires: null, reason: null, place: file === null ? null : place(file, 1) },
});

export const PLAIN: PolicySet = {
  ...FULL,
  ...{ families: [], exclusive: [], folders: [], roles: [], people: [], grants: [], tests: [], guardrails: [] },
};

export function guarded(rule: GuardrailRule, more: Partial<PolicySet> = {}): PolicySet {
  return { ...PLAIN, ...more, guardrails: [{ id: 'g', description: null, rule, place: null }] };
}
