// Why somebody holds a grant: the memberships that lead from an identity to the role of the grant, none of which is a detour.
import { grantRefs } from './grant-refs.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { GrantRef } from '../../model/decision.js';
import { edgesOfMember, makeMembership, type Membership } from './membership.js';

/** One membership, and where it is declared; file and line are absent where the policy was built in memory. */
export interface ChainLink {
  /** Of which the identity, or the role before, is a member. */
  readonly role: string;
  readonly file?: string;
  readonly line?: number;
}

/** A grant as somebody in particular holds it. */
export interface HeldGrant extends GrantRef {
  /** From the identity to the role of the grant, a shortest chain; absent if the grant names the identity itself. */
  readonly through?: readonly ChainLink[];
}

/** Grants by row, as anyone with one of these identities (also by row) holds them. */
export type HeldGrants = (identities: readonly number[], grants: readonly number[]) => readonly HeldGrant[];

export function makeHeldGrants({ tables }: Pick<PreparedPolicy, 'tables'>): HeldGrants {
  const membership = makeMembership(tables);
  const roles = tables.roles.name.length;
  return (identities, grants) => {
    const edges = shortestEdges(
      membership,
      identities.map((identity) => roles + identity),
    );
    return grantRefs(tables, grants).map((ref, i) => {
      const through = chainTo(membership, tables.grants.principal[grants[i] ?? -1] ?? -1, edges);
      return through.length === 0 ? ref : { ...ref, through };
    });
  };
}

/** By role: the membership by which the walk up from these principals came to it first; null for where it began. */
function shortestEdges(membership: Membership, from: readonly number[]): ReadonlyMap<number, number | null> {
  const reached = new Map<number, number | null>(from.map((principal) => [principal, null]));
  // A map is walked in order of insertion, also over what is added meanwhile: nearest first.
  for (const principal of reached.keys()) {
    for (const edge of edgesOfMember(membership, principal)) {
      const role = membership.tables.members.role[edge] ?? 0;
      if (!reached.has(role)) reached.set(role, edge);
    }
  }
  return reached;
}

function chainTo(
  { tables }: Membership,
  principal: number,
  edges: ReadonlyMap<number, number | null>,
): readonly ChainLink[] {
  const links: ChainLink[] = [];
  for (let edge = edges.get(principal) ?? null; edge !== null;) {
    const role = tables.roles.name[tables.members.role[edge] ?? 0] ?? '';
    const file = tables.files[(tables.members.file[edge] ?? 0) - 1];
    links.push(file === undefined ? { role } : { role, file, line: tables.members.line[edge] ?? 0 });
    edge = edges.get(tables.members.member[edge] ?? 0) ?? null;
  }
  return links.reverse();
}
