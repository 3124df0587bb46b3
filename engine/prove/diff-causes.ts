// Why a cell was gained or lost: the grants, members and roles that one policy has and the other has not. What is lost from
// the old to the new policy is what would be gained on the way back, so there is one search for both.
import { grantRefs } from '../evaluate/find-grants.js';
import { changedFields, type GrantChanges, type GrantField } from './changed-grants.js';
import { identityText } from './holders-near.js';
import { type Holding, holdingOf } from './holdings.js';
import { edgesOfMember, isMember, makeMembership, type Membership, withRolesAbove } from './membership.js';
import { endOf } from './nodes.js';
import type { PolicyPair, Side } from './policy-pair.js';

export type ChangeKind = 'added' | 'removed' | 'changed';

interface Placed {
  /** Where it stands: in the new policy, or in the old one for what was removed. Absent where it was built in memory. */
  readonly file?: string;
  readonly line?: number;
}

export type Cause = Placed &
  (
    | {
        readonly change: ChangeKind;
        readonly kind: 'grant';
        readonly id: string;
        /** `role <name>` or `provider:subject`. */
        readonly principal: string;
        /** What was changed; absent for what was added or removed. */
        readonly fields?: readonly GrantField[];
      }
    | { readonly change: 'added' | 'removed'; readonly kind: 'member'; readonly role: string; readonly member: string }
    | { readonly change: 'added' | 'removed'; readonly kind: 'role'; readonly role: string }
  );

/** Those who have something on one side that they have not on the other. */
export interface Havers {
  /** Common numbers. */
  readonly identities: readonly number[];
  /** Principals that they are or are in, on the side that has it; rows of that side. */
  readonly principals: ReadonlySet<number>;
  /** The same on the other side, as rows of that side. */
  readonly without: ReadonlySet<number>;
}

/** What they have there alone. */
export interface Difference {
  readonly from: number;
  readonly until: number;
  readonly value: number;
  /** The grants that carry it; rows of the side that has it. */
  readonly carriers: readonly number[];
}

export type Direction = 'gained' | 'lost';

/** `gained` is what the new policy has and the old has not, `lost` the other way round. */
export type CauseFinder = (direction: Direction, havers: Havers) => (difference: Difference) => readonly Cause[];

interface View {
  readonly having: Side;
  readonly lacking: Side;
  readonly members: Membership;
  readonly lackingMembers: Membership;
  /** By grant of the side that has it, its version on the other side; -1 for none. */
  readonly other: Int32Array;
  readonly differs: Uint8Array;
  readonly change: 'added' | 'removed';
}

export function makeCauseFinder(pair: PolicyPair, changes: GrantChanges): CauseFinder {
  const [old, after] = [makeMembership(pair.old.policy.tables), makeMembership(pair.new.policy.tables)];
  const views: Readonly<Record<'gained' | 'lost', View>> = {
    gained: {
      having: pair.new,
      lacking: pair.old,
      members: after,
      lackingMembers: old,
      other: changes.oldVersion,
      differs: changes.newDiffers,
      change: 'added',
    },
    lost: {
      having: pair.old,
      lacking: pair.new,
      members: old,
      lackingMembers: after,
      other: changes.newVersion,
      differs: changes.oldDiffers,
      change: 'removed',
    },
  };
  return (direction, havers) => {
    const view = views[direction];
    const byRole = new Map<number, readonly Cause[]>();
    const joining = (principal: number): readonly Cause[] => {
      const known = byRole.get(principal) ?? membershipCauses(view, havers, principal);
      byRole.set(principal, known);
      return known;
    };
    return (difference) => {
      const causes = new Map<string, Cause>();
      for (const grant of difference.carriers) {
        const own =
          view.differs[grant] === 1 && !wouldCarry(view, pair, { grant, difference })
            ? [grantCause(view, pair, grant)]
            : [];
        for (const cause of [...own, ...joining(principalOf(view.having, grant))]) causes.set(causeKey(cause), cause);
      }
      return [...causes.values()];
    };
  };
}

function principalOf({ policy }: Side, grant: number): number {
  return policy.tables.grants.principal[grant] ?? 0;
}

export function causeKey(cause: Cause): string {
  switch (cause.kind) {
    case 'grant':
      return `grant ${cause.id}`;
    case 'member':
      return `member ${cause.role} ${cause.member}`;
    case 'role':
      return `role ${cause.role}`;
  }
}

/** Whether the other version of a grant gives as much of the difference, so that it is not what made it. */
function wouldCarry(
  view: View,
  pair: PolicyPair,
  { grant, difference }: { grant: number; difference: Difference },
): boolean {
  const other = view.other[grant] ?? -1;
  if (other < 0 || commonPrincipal(view.having, grant) !== commonPrincipal(view.lacking, other)) return false;
  const [has, had] = [holdingOf(view.having.rights, grant), holdingOf(view.lacking.rights, other)];
  const scopes = has.scopes & difference.value;
  return (
    (had.scopes & scopes) === scopes &&
    had.from <= Math.max(has.from, difference.from) &&
    Math.min(has.until, difference.until) <= had.until &&
    covers(pair, had, has)
  );
}

function covers({ space: { nodes } }: PolicyPair, wide: Holding, narrow: Holding): boolean {
  if (wide.row === narrow.row) return wide.inherit || !narrow.inherit;
  return wide.inherit && wide.row < narrow.row && narrow.row < endOf(nodes, wide.row);
}

function commonPrincipal(side: Side, grant: number): number {
  return side.principalOf[principalOf(side, grant)] ?? -1;
}

function grantCause(view: View, pair: PolicyPair, grant: number): Cause {
  const other = view.other[grant] ?? -1;
  const principal = principalText(view.having, principalOf(view.having, grant));
  if (other < 0) {
    const { id, ...place } = refOf(view.having, grant);
    return { change: view.change, kind: 'grant', id, principal, ...place };
  }
  const versions = view.having === pair.new ? { old: other, new: grant } : { old: grant, new: other };
  const { id, ...place } = refOf(pair.new, versions.new);
  return { change: 'changed', kind: 'grant', id, principal, fields: changedFields(pair, versions), ...place };
}

function refOf({ policy }: Side, grant: number): { id: string; file?: string; line?: number } {
  const [ref] = grantRefs(policy.tables, [grant]);
  return ref ?? { id: '' };
}

export function principalText({ policy }: Side, principal: number): string {
  const { name } = policy.tables.roles;
  return principal < name.length ? `role ${name[principal] ?? ''}` : identityText(policy, principal - name.length);
}

/**
 * The edges that lead from the identities to a role and are on this side alone; none where they are in the role on the
 * other side too. Those of a role that is itself on this side alone are told as the role.
 */
function membershipCauses(
  view: View,
  { identities, principals, without }: Havers,
  principal: number,
): readonly Cause[] {
  const { having, lacking, members, change } = view;
  const { tables } = having.policy;
  const roles = tables.roles.name.length;
  const there = lacking.principalRow[having.principalOf[principal] ?? -1] ?? -1;
  if (principal >= roles || (there >= 0 && without.has(there))) return [];
  const leading = new Set(
    [...principals].filter((role) => role < roles && withRolesAbove(members, [role]).has(principal)),
  );
  const causes: Cause[] = [];
  for (const role of leading) {
    if (!isOnThisSideAlone(view, role)) continue;
    causes.push({ change, kind: 'role', role: tables.roles.name[role] ?? '', ...placeOf(having, tables.roles, role) });
  }
  const own = identities.map((identity) => roles + (having.identityRow[identity] ?? -1));
  for (const member of [...own, ...leading]) {
    for (const edge of edgesOfMember(members, member)) {
      const role = tables.members.role[edge] ?? 0;
      if (!leading.has(role) || isOnThisSideAlone(view, role) || hasEdge(view, role, member)) continue;
      const place = placeOf(having, tables.members, edge);
      causes.push({
        change,
        kind: 'member',
        role: tables.roles.name[role] ?? '',
        member: principalText(having, member),
        ...place,
      });
    }
  }
  return causes;
}

function isOnThisSideAlone({ having, lacking }: View, role: number): boolean {
  return (lacking.principalRow[having.principalOf[role] ?? -1] ?? -1) < 0;
}

/** Whether the other side has the member in the role too. */
function hasEdge({ having, lacking, lackingMembers }: View, role: number, member: number): boolean {
  const otherRole = lacking.principalRow[having.principalOf[role] ?? -1] ?? -1;
  const otherMember = lacking.principalRow[having.principalOf[member] ?? -1] ?? -1;
  if (otherRole < 0 || otherMember < 0) return false;
  return isMember(lackingMembers, otherRole, otherMember);
}

function placeOf(
  { policy }: Side,
  columns: { readonly file: Int32Array; readonly line: Int32Array },
  row: number,
): Placed {
  const file = policy.tables.files[(columns.file[row] ?? 0) - 1];
  return file === undefined ? {} : { file, line: columns.line[row] ?? 0 };
}
