// The judge of all contestants: the rules as plain loops over all grants, without an index, a mask or a tree. Slow.
import { isWithin } from './paths.mjs';

export function makeReference({ roles, grants }) {
  const keyOf = ({ provider, subject }) => JSON.stringify([provider, subject]);
  const rolesOf = new Map();
  const put = (member, role) => rolesOf.set(member, [...(rolesOf.get(member) ?? []), role]);
  for (const role of roles) {
    for (const identity of role.identities) put(keyOf(identity), role.name);
    for (const inner of role.roles) put(inner, role.name);
  }
  const holders = grants.map((grant) => grant.role ?? keyOf(grant.identity));
  return ({ identities, scopes, restrictions, scope, target }) => {
    if (restrictions !== null && !restrictions.some((path) => isWithin(target, path))) return false;
    if (!scopes.includes(scope)) return false;
    const held = new Set(identities.map(keyOf));
    for (const holder of held) for (const role of rolesOf.get(holder) ?? []) held.add(role);
    return grants.some(
      (grant, row) => held.has(holders[row]) && grant.scopes.includes(scope) && isWithin(target, grant.namespace),
    );
  };
}
