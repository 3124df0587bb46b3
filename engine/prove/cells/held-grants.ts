// Grants as answers cite them, with the reason that the policy gives, and how somebody holds one: a shortest chain of memberships from an
// identity to the role of the grant. Every report cites with this file, so each shows the texts of the policy alike.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { formatInstant, instantOf } from '../../model/instant.js';
import { statedId, statedRow } from '../../model/narrow-members.js';
import { firstFrom } from '../../model/row-lists.js';
import {
  type MemberColumns,
  memberText,
  type PlaceColumns,
  type PolicyTables,
  type TextColumn,
} from '../../model/tables.js';
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
  /** Bounds of the membership, in RFC 3339; absent where open. */
  readonly notBefore?: string;
  readonly expires?: string;
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

/** In the order of the rows. Rows that were narrowed from one grant are cited once. */
export function grantRefs(tables: PolicyTables, grants: ArrayLike<number>): readonly CitedGrant[] {
  const rows = Array.from(grants, (grant) => statedRow(tables, grant));
  return [...new Set(rows)].map((grant) => grantRef(tables, grant));
}

/** With the role that the grant names. */
export function grantRefsWithRole(
  tables: PolicyTables,
  grants: ArrayLike<number>,
): readonly (CitedGrant & Partial<CitedRole>)[] {
  const rows = Array.from(grants, (grant) => statedRow(tables, grant));
  return [...new Set(rows)].map((grant) => ({
    ...grantRef(tables, grant),
    ...citeHolder(tables, tables.grants.principal[grant] ?? 0),
  }));
}

function grantRef(tables: PolicyTables, grant: number): CitedGrant {
  return {
    id: statedId(tables.grants.id[grant] ?? ''),
    ...placeOf(tables, tables.grants, grant),
    ...reasonOf(tables, grant),
  };
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

/** A member edge: the role, who is in it, and where that is declared. */
export function citeMember(
  tables: PolicyTables,
  edge: number,
): CitedRole & Pick<ChainLink, 'file' | 'line'> & { readonly member: string } {
  const { role, member } = tables.members;
  return {
    ...citeRole(tables, role[edge] ?? 0),
    member: memberText(tables, member[edge] ?? 0),
    ...placeOf(tables, tables.members, edge),
  };
}

/** The memberships with a window for which a row was narrowed, and those between them and the grant. */
export function narrowedLinks({ narrowed }: PolicyTables, row: number): readonly ChainLink[] {
  const edges = narrowed?.edges.get(row);
  if (narrowed === undefined || edges === undefined) return [];
  return edges.map((edge) => linkOf(narrowed.stated, edge));
}

export function linkOf(tables: PolicyTables, edge: number): ChainLink {
  const { role, windows } = tables.members;
  const [from, until] = windowOf(windows, edge);
  return {
    ...citeRole(tables, role[edge] ?? 0),
    ...(from === -Infinity ? {} : { notBefore: formatInstant(instantOf(from)) }),
    ...(until === Infinity ? {} : { expires: formatInstant(instantOf(until)) }),
    ...placeOf(tables, tables.members, edge),
  };
}

function windowOf(windows: MemberColumns['windows'], edge: number): readonly [from: number, until: number] {
  if (windows === null) return [-Infinity, Infinity];
  const { row } = windows;
  const at = firstFrom(row.length, (place) => (row[place] ?? Infinity) >= edge);
  return row[at] === edge ? [windows.from[at] ?? -Infinity, windows.until[at] ?? Infinity] : [-Infinity, Infinity];
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
        links.push(linkOf(tables, edge));
        [edge] = edges.get(members.member[edge] ?? 0) ?? [];
      }
      return links.reverse();
    };
    const shortest = new Map<number, readonly ChainLink[]>();
    for (const row of grants) {
      const stated = statedRow(tables, row);
      const through = [...chainTo(columns.principal[row] ?? -1), ...narrowedLinks(tables, row)];
      if (through.length < (shortest.get(stated)?.length ?? Infinity)) shortest.set(stated, through);
    }
    return Array.from(shortest, ([row, through]) => ({
      ...grantRef(tables, row),
      ...(through.length === 0 ? {} : { through }),
    }));
  };
}
