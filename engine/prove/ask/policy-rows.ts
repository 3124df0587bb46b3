// A compiled policy as plain rows, for programs that decide elsewhere: in a database, or in another engine.
import { compiledOf, type Policy, preparedOf } from '../../evaluate/policy.js';
import { type NamespacePath, ROOT } from '../../model/namespace.js';
import type { ScopeName } from '../../model/scope.js';
import { NO_SCOPES, scopeNames } from '../../model/scope-set.js';
import { identityText } from '../../model/tables.js';
import { pairTexts } from '../../model/exclusions.js';
import { statedId } from '../../model/narrow-members.js';

/** Identities have the text `provider:subject`, roles their name, which has no colon. */
export interface PrincipalRow {
  readonly kind: 'identity' | 'role';
  readonly name: string;
}

/** What one grant gives one principal. */
export interface GrantRow {
  /** Several rows have the same one where a window of a member narrows the grant. */
  readonly id: string;
  readonly principal: number;
  readonly namespace: NamespacePath;
  /** Whether it counts below its namespace, too. */
  readonly inherit: boolean;
  readonly scopes: readonly ScopeName[];
  /** Milliseconds since 1970; infinite where open. In force: `from <= t < until`. */
  readonly from: number;
  readonly until: number;
}

export interface PolicyRows {
  /** All that the policy knows. */
  readonly scopes: readonly ScopeName[];
  /** By their numbers. */
  readonly principals: readonly PrincipalRow[];
  /** Pairs of a role and a member of it. */
  readonly members: readonly (readonly [role: number, member: number])[];
  readonly grants: readonly GrantRow[];
  /** Pairs of which no actor may have both. */
  readonly exclusive: readonly (readonly [string, string])[];
}

/** Windows of members are grants of their own to these members, as they are when a decision is made. */
export function policyRows(policy: Policy): PolicyRows {
  const prepared = compiledOf(policy);
  const { exclusive, grants, identities, members, roles } = prepared.tables;
  const textOf = (row: number): string => identityText(prepared.tables, row);
  return {
    scopes: prepared.tables.vocabulary.scopes,
    principals: [
      ...roles.name.map((name) => ({ kind: 'role' as const, name })),
      ...identities.subject.map((_, row) => ({ kind: 'identity' as const, name: textOf(row) })),
    ],
    members: Array.from(members.role, (role, edge) => [role, members.member[edge] ?? 0] as const),
    grants: Array.from(grants.principal, (principal, row) => ({
      id: statedId(grants.id[row] ?? ''),
      principal,
      namespace: prepared.paths[grants.namespace[row] ?? 0] ?? ROOT,
      inherit: grants.inherit[row] === 1,
      scopes: scopeNames(grants.scopes[row] ?? NO_SCOPES),
      from: grants.notBefore[row] ?? -Infinity,
      until: grants.expires[row] ?? Infinity,
    })),
    exclusive: pairTexts(exclusive, textOf),
  };
}

// The grants that a policy has, by their ids.

export function knownGrants(policy: Policy): ReadonlySet<string> {
  return new Set((preparedOf(policy)?.tables.grants.id ?? []).map(statedId));
}
