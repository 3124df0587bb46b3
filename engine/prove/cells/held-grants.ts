// Grants as answers cite them, and why somebody holds one: a shortest chain of memberships from an identity to the role of the grant.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import type { PlaceColumns, PolicyTables } from '../../model/tables.js';
import { edgesAbove, makeMembership } from './membership.js';

/** One membership, and where it is declared. File and line are absent if the policy was built in memory. */
export interface ChainLink {
  /** The role that has the identity, or the previous link's role, as a member. */
  readonly role: string;
  readonly file?: string;
  readonly line?: number;
}

/** A grant as a particular identity holds it. */
export interface HeldGrant extends GrantRef {
  /** A shortest chain from the identity to the role of the grant. Absent if the grant names the identity itself. */
  readonly through?: readonly ChainLink[];
}

/** Grants by row, as anyone with one of these identities (also by row) holds them. */
export type HeldGrants = (identities: readonly number[], grants: readonly number[]) => readonly HeldGrant[];

export function grantRefs(tables: PolicyTables, grants: ArrayLike<number>): readonly GrantRef[] {
  return Array.from(grants, (grant) => ({
    id: tables.grants.id[grant] ?? '',
    ...placeOf(tables, tables.grants, grant),
  }));
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
        links.push({ role: roles.name[members.role[edge] ?? 0] ?? '', ...placeOf(tables, members, edge) });
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
