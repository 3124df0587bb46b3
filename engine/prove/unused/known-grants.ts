// The grants that a policy has, by their ids.
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { statedId } from '../../model/narrow-members.js';

export function knownGrants(policy: Policy): ReadonlySet<string> {
  return new Set((preparedOf(policy)?.tables.grants.id ?? []).map(statedId));
}
