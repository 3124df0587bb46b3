// What an application needs in addition to another library: grants and memberships by holder, and the credential's part of the decision,
// which the libraries do not know.
import { isWithin } from '../paths.mjs';

export const identityKey = ({ provider, subject }) => `${provider}|${subject}`;
export const roleKey = (name) => `role:${name}`;

export function makeApplication({ roles, grants }) {
  const grantsOf = new Map();
  const rolesOf = new Map();
  const push = (map, key, value) => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [value]);
    else list.push(value);
  };
  for (const grant of grants) push(grantsOf, holderOf(grant), grant);
  for (const role of roles) {
    for (const identity of role.identities) push(rolesOf, identityKey(identity), roleKey(role.name));
    for (const inner of role.roles) push(rolesOf, roleKey(inner), roleKey(role.name));
  }
  /** The identities and every role that they are in. */
  const holdersOf = (identities) => {
    const holders = new Set(identities.map(identityKey));
    for (const holder of holders) for (const role of rolesOf.get(holder) ?? []) holders.add(role);
    return holders;
  };
  return { grantsOf, rolesOf, holdersOf };
}

export function holderOf(grant) {
  return grant.role === undefined ? identityKey(grant.identity) : roleKey(grant.role);
}

/** Whether the credential carries the scope and may go there. */
export function passesCredential({ scopes, restrictions, scope, target }) {
  if (!scopes.includes(scope)) return false;
  if (restrictions === null) return true;
  for (const path of restrictions) if (isWithin(target, path)) return true;
  return false;
}
