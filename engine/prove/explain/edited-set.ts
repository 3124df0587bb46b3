// Edits that `explain` proposes, made in the declarations of a policy.
import { formatIdentity, parseIdentity, type Identity } from '../../model/identity.js';
import { invariant } from '../../model/invariant.js';
import type { PolicyGrant, PolicyMember, PolicySet } from '../../model/policy-set.js';
import { scopeSetOf } from '../../model/scope-set.js';
import type { GrantAmendment } from './amendments.js';
import type { Change } from './edits.js';
import type { MemberRef, Removal } from './removals.js';
import type { TakingChange } from './take-away.js';

/** A change of the credential leaves the policy as it is. */
export function editedSet(set: PolicySet, change: Change | TakingChange): PolicySet {
  switch (change.kind) {
    case 'credential':
    case 'narrow-credential':
      return set;
    case 'several':
      return change.changes.reduce<PolicySet>(withRemoval, set);
    case 'grant': {
      const { namespace, inherit, scopes } = change;
      const principal = { kind: 'identity', identity: identityOf(change.identity) } as const;
      const window = { notBefore: null, expires: null };
      // An empty id cannot collide with the id of a grant that was read.
      const about = { id: '', reason: null, place: null };
      const grant: PolicyGrant = { principal, namespace, scopes: scopeSetOf(scopes), inherit, ...window, ...about };
      return { ...set, providers: declared(set, change), grants: [...set.grants, grant] };
    }
    case 'member': {
      const member: PolicyMember = { kind: 'identity', identity: identityOf(change.identity), place: null };
      const roles = set.roles.map((role) =>
        role.name === change.role
          ? { ...role, members: [...role.members.filter((one) => textOf(one) !== change.identity), member] }
          : role,
      );
      return { ...set, providers: declared(set, change), roles };
    }
    case 'scope':
    case 'window':
    case 'inherit':
    case 'amend':
      return withGrants(set, (grant) => (grant.id === change.grant.id ? amended(grant, change) : grant));
    default:
      return withRemoval(set, change);
  }
}

function withRemoval(set: PolicySet, change: Removal): PolicySet {
  switch (change.kind) {
    case 'drop-grant':
      return withGrants(set, (grant) => (grant.id === change.grant.id ? null : grant));
    case 'drop-scope':
      return withGrants(set, (grant) => {
        if (grant.id !== change.grant.id) return grant;
        const { isRoleScoped: _, ...own } = grant;
        return { ...own, scopes: scopeSetOf(change.scopes) };
      });
    case 'end-grant':
      return withGrants(set, (grant) => (grant.id === change.grant.id ? { ...grant, expires: change.expires } : grant));
    case 'narrow':
      return withGrants(set, (grant) => (grant.id === change.grant.id ? { ...grant, inherit: false } : grant));
    case 'drop-member':
      return withMember(set, change, () => null);
    case 'end-member':
      return withMember(set, change, (member) => ({ ...member, expires: change.expires }));
    case 'drop-role-scope':
      return withGrants(set, (grant) =>
        grant.isRoleScoped === true && grant.principal.kind === 'role' && grant.principal.role === change.role
          ? { ...grant, scopes: scopeSetOf(change.scopes) }
          : grant,
      );
  }
}

function withGrants(set: PolicySet, edit: (grant: PolicyGrant) => PolicyGrant | null): PolicySet {
  return { ...set, grants: set.grants.map(edit).filter((grant) => grant !== null) };
}

function withMember(set: PolicySet, ref: MemberRef, edit: (member: PolicyMember) => PolicyMember | null): PolicySet {
  const roles = set.roles.map((role) => {
    if (role.name !== ref.role) return role;
    const members = role.members.map((member) => (textOf(member) === ref.member ? edit(member) : member));
    return { ...role, members: members.filter((member) => member !== null) };
  });
  return { ...set, roles };
}

/** As a `MemberRef` names it. */
function textOf(member: PolicyMember): string {
  return member.kind === 'identity' ? formatIdentity(member.identity) : `role ${member.role}`;
}

function amended(grant: PolicyGrant, { scopes, notBefore, expires, inherit }: GrantAmendment): PolicyGrant {
  return {
    ...grant,
    ...(scopes === undefined ? {} : { scopes: scopeSetOf(scopes) }),
    ...(notBefore === undefined || expires === undefined ? {} : { notBefore, expires }),
    ...(inherit === undefined ? {} : { inherit }),
  };
}

function declared({ providers }: PolicySet, { provider }: { readonly provider?: string }): PolicySet['providers'] {
  return provider === undefined ? providers : [...providers, { name: provider, description: null }];
}

function identityOf(text: string): Identity {
  const read = parseIdentity(text);
  invariant(read.ok, 'edits name identities of the request');
  return read.identity;
}
