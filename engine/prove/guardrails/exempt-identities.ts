// Whom a guardrail leaves out (design 3.4, `except`).
import type { Exemption } from '../../model/policy-set.js';
import { withMembersBelow } from '../cells/membership.js';
import type { World } from './world.js';

/** 1 for each identity that an exemption names, or that is in a role that it names, however deep. */
export function exemptIdentities({ policy, membership }: World, exemption: Exemption): Uint8Array {
  const { tables, identityRows } = policy;
  const roles = tables.roles.name.length;
  const exempt = new Uint8Array(tables.identities.subject.length);
  const named = new Set(exemption.roles);
  const rows = [...tables.roles.name.keys()].filter((row) => named.has(tables.roles.name[row] ?? ''));
  for (const principal of withMembersBelow(membership, rows)) if (principal >= roles) exempt[principal - roles] = 1;
  for (const { provider, subject } of exemption.identities) {
    const row = identityRows.get(provider)?.get(subject);
    if (row !== undefined) exempt[row] = 1;
  }
  return exempt;
}
