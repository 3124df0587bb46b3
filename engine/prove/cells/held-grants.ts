// Grants as answers cite them, with the reason that the policy gives, and how somebody holds one: a shortest chain of memberships from an
// identity to the role of the grant. Every report cites with this file, so each shows the texts of the policy alike.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { firstFrom } from '../../model/row-lists.js';
import type { PlaceColumns, PolicyTables, TextColumn } from '../../model/tables.js';
import { edgesAbove, makeMembership } from './membership.js';

/** A grant, and why it is there. */
export interface CitedGrant extends GrantRef {
  /** Absent if the policy gives none, and for snapshots before format 3. */
  readonly reason?: string;
}

/** A role by name. */
export interface CitedRole {
  readonly role: string;
  /** Absent like the reason of a grant. */
  readonly description?: string;
}

/**
 * One membership, and where it is declared: the role has the identity, or the previous link's role, as a member. File and line are absent
 * if the policy was built in memory.
 */
export interface ChainLink extends CitedRole {
  readonly file?: string;
  readonly line?: number;
}

/** A grant as a particular identity holds it. */
export interface HeldGrant extends CitedGrant {
  /** A shortest chain from the identity to the role of the grant. Absent if the grant names the identity itself. */
  readonly through?: readonly ChainLink[];
}

/** Grants by row, as anyone with one of these identities (also by row) holds them. */
export type HeldGrants = (identities: readonly number[], grants: readonly number[]) => readonly HeldGrant[];

export function grantRefs(tables: PolicyTables, grants: ArrayLike<number>): readonly CitedGrant[] {
  return Array.from(grants, (grant) => ({
    id: tables.grants.id[grant] ?? '',
    ...placeOf(tables, tables.grants, grant),
    ...reasonOf(tables, grant),
  }));
}

export function reasonOf({ grants }: PolicyTables, grant: number): Pick<CitedGrant, 'reason'> {
  const reason = textAt(grants.reason, grant);
  return reason === undefined ? {} : { reason };
}

export function citeRole({ roles }: PolicyTables, row: number): CitedRole {
  const description = textAt(roles.description, row);
  return { role: roles.name[row] ?? '', ...(description === undefined ? {} : { description }) };
}

/** The role of a row of principals; nothing for an identity. */
export function citeHolder(tables: PolicyTables, principal: number): Partial<CitedRole> {
  return principal < tables.roles.name.length ? citeRole(tables, principal) : {};
}

function textAt({ row: rows, text }: TextColumn, row: number): string | undefined {
  const at = firstFrom(rows.length, (i) => (rows[i] ?? Infinity) >= row);
  return rows[at] === row ? text[at] : undefined;
}

/** Where a row was declared. */
export function placeOf(
  { files }: PolicyTables,
  columns: PlaceColumns,
  row: number,
): { readonly file?: string; readonly line?: number } {
  const file = files[(columns.file[row] ?? 0) - 1];
  return file === undefined ? {} : { file, line: columns.line[row] ?? 0 };
}

export function makeHeldGrants({ tables }: Pick<PreparedPolicy, 'tables'>): HeldGrants {
  const membership = makeMembership(tables);
  const { members, roles, grants: columns } = tables;
  return (identities, grants) => {
    const edges = edgesAbove(
      membership,
      identities.map((identity) => roles.name.length + identity),
    );
    // The first edge to a role comes from the principal that was reached first, so no chain is shorter.
    const chainTo = (principal: number): readonly ChainLink[] => {
      const links: ChainLink[] = [];
      for (let [edge] = edges.get(principal) ?? []; edge !== undefined;) {
        links.push({ ...citeRole(tables, members.role[edge] ?? 0), ...placeOf(tables, members, edge) });
        [edge] = edges.get(members.member[edge] ?? 0) ?? [];
      }
      return links.reverse();
    };
    return grantRefs(tables, grants).map((ref, i) => {
      const through = chainTo(columns.principal[grants[i] ?? -1] ?? -1);
      return through.length === 0 ? ref : { ...ref, through };
    });
  };
}
