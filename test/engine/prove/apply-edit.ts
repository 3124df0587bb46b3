// Edits that `explain` proposes, made in a policy as an author would make them.
import { formatIdentity, type Identity, scopeSetOf } from '../../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicySet } from '../../../engine/model/policy-set.js';
import type { Change } from '../../../engine/prove/explain/edits.js';
import { EVERYONE } from './requests.js';

/** Files may not say that a window ends before it begins. */
export function writable(set: PolicySet): PolicySet {
  const isEmpty = ({ notBefore, expires }: PolicyGrant): boolean =>
    notBefore !== null && expires !== null && expires <= notBefore;
  return { ...set, grants: set.grants.map((grant) => (isEmpty(grant) ? { ...grant, notBefore: null } : grant)) };
}

function identityOf(text: string): Identity {
  const found = EVERYONE.find((identity) => formatIdentity(identity) === text);
  if (found === undefined) throw new Error(`nobody is called ${text}`);
  return found;
}

export function applyEdit(set: PolicySet, change: Change): PolicySet {
  const { providers } = set;
  const declared = 'provider' in change ? [...providers, { name: change.provider, description: null }] : providers;
  switch (change.kind) {
    case 'grant': {
      const { namespace, inherit } = change;
      const principal = { kind: 'identity', identity: identityOf(change.identity) } as const;
      const grant = {
        id: 'edit',
        principal,
        namespace,
        scopes: scopeSetOf(change.scopes),
        inherit,
        notBefore: null,
        expires: null,
        reason: null,
        place: null,
      };
      return { ...set, providers: declared, grants: [...set.grants, grant] };
    }
    case 'member': {
      const member: PolicyMember = { kind: 'identity', identity: identityOf(change.identity), place: null };
      const isListed = (other: PolicyMember): boolean =>
        other.kind === 'identity' && formatIdentity(other.identity) === change.identity;
      const join = (members: readonly PolicyMember[]): readonly PolicyMember[] =>
        members.some(isListed) ? members : [...members, member];
      return {
        ...set,
        providers: declared,
        roles: set.roles.map((role) => (role.name === change.role ? { ...role, members: join(role.members) } : role)),
      };
    }
    case 'credential':
      return set;
    default: {
      const { grant: ref, scopes, notBefore, expires, inherit } = change;
      const more: Partial<PolicyGrant> = {
        ...(scopes === undefined ? {} : { scopes: scopeSetOf(scopes) }),
        ...(notBefore === undefined || expires === undefined ? {} : { notBefore, expires }),
        ...(inherit === undefined ? {} : { inherit }),
      };
      return { ...set, grants: set.grants.map((grant) => (grant.id === ref.id ? { ...grant, ...more } : grant)) };
    }
  }
}
